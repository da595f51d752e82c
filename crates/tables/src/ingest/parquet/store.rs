//! An object store with one open file and nothing else. No path is ever opened through it.

use std::{fmt, ops::Range, slice, time::SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result, path::Path,
};

use crate::{
    flaw::{self, Flaw},
    ingest::blocks::Source,
};

#[derive(Debug)]
pub(super) struct FileStore {
    pub(super) source: Source,
    pub(super) path: Path,
}

const NAME: &str = "the store of one file";

impl fmt::Display for FileStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(NAME)
    }
}

impl FileStore {
    fn meta(&self, location: &Path) -> Result<ObjectMeta> {
        if *location != self.path {
            let source = "there is no other file here".into();
            return Err(Error::NotFound { path: location.to_string(), source });
        }
        Ok(ObjectMeta {
            location: self.path.clone(),
            // The path is never used for another file.
            last_modified: SystemTime::UNIX_EPOCH.into(),
            size: self.source.length,
            e_tag: None,
            version: None,
        })
    }

    /// Reads ranges on the calling thread. That is a thread for analyses alone, and on a busy machine
    /// most ranges are read before another thread would have been woken.
    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if let Some(range) = ranges.iter().find(|range| range.end > self.source.length) {
            return Err(failed(format!("{range:?} is beyond the end of the file")));
        }
        let read = ranges.iter().map(|range| read_exactly(&self.source, range.clone()));
        read.collect::<flaw::Result<_>>().map_err(|flaw| failed(format!("{flaw:?}")))
    }
}

fn read_exactly(source: &Source, range: Range<u64>) -> flaw::Result<Bytes> {
    let bytes = source.read(range.clone())?;
    if bytes.len() as u64 == range.end - range.start {
        Ok(bytes.into())
    } else {
        Err(Flaw::changed())
    }
}

fn failed(reason: String) -> Error {
    Error::Generic { store: NAME, source: reason.into() }
}

fn refused<T>(operation: &str) -> Result<T> {
    Err(Error::NotImplemented { operation: operation.to_owned(), implementer: NAME.to_owned() })
}

#[async_trait]
impl ObjectStore for FileStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let meta = self.meta(location)?;
        let range = match options.range {
            _ if options.head => 0..0,
            None => 0..meta.size,
            Some(range) => range.as_range(meta.size).map_err(|error| failed(error.to_string()))?,
        };
        let bytes = if options.head { Vec::new() } else { self.read(slice::from_ref(&range))? };
        let payload = GetResultPayload::Stream(stream::iter(bytes.into_iter().map(Ok)).boxed());
        Ok(GetResult { payload, meta, range, attributes: Attributes::new() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.meta(location)?;
        self.read(ranges)
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::once(async { refused("list") }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        refused("list")
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        refused("put")
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        refused("put")
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        stream::once(async { refused("delete") }).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        refused("copy")
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;
    use object_store::{GetRange, ObjectStoreExt};

    use super::*;
    use crate::ingest::tests::open;

    fn store() -> FileStore {
        let source = Source::new(open("0123456789")).expect("source");
        FileStore { source, path: Path::from("7.parquet") }
    }

    #[tokio::test]
    async fn the_file_is_there_and_nothing_else() {
        let (store, path) = (store(), Path::from("7.parquet"));
        assert_eq!(store.head(&path).await.expect("there").size, 10);
        assert_eq!(store.get_range(&path, 2..5).await.expect("bytes"), "234");
        let ranges = store.get_ranges(&path, &[0..2, 8..10]).await.expect("bytes");
        assert_eq!(ranges, ["01", "89"]);
        let suffix = GetOptions { range: Some(GetRange::Suffix(3)), ..Default::default() };
        let suffix = store.get_opts(&path, suffix).await.expect("there");
        assert_eq!(suffix.bytes().await.expect("bytes"), "789");
        for other in ["8.parquet", "etc/passwd", "7.parquet/x", ""] {
            let other = Path::from(other);
            assert!(matches!(store.get(&other).await, Err(Error::NotFound { .. })), "{other}");
            assert!(matches!(store.head(&other).await, Err(Error::NotFound { .. })), "{other}");
            assert!(
                store.get_ranges(&other, std::slice::from_ref(&(0..1))).await.is_err(),
                "{other}"
            );
        }
    }

    #[tokio::test]
    async fn nothing_is_read_beyond_the_end() {
        let (store, path) = (store(), Path::from("7.parquet"));
        let beyond = store.get_ranges(&path, std::slice::from_ref(&(5..u64::MAX / 2))).await;
        assert!(matches!(beyond, Err(Error::Generic { .. })), "{beyond:?}");
        assert!(store.get_range(&path, 10..20).await.is_err());
    }

    #[tokio::test]
    async fn nothing_can_be_changed_or_listed() {
        let (store, path) = (store(), Path::from("7.parquet"));
        let refused = |result: Result<()>| matches!(result, Err(Error::NotImplemented { .. }));
        assert!(refused(store.put(&path, "x".into()).await.map(drop)));
        assert!(refused(store.put_multipart(&path).await.map(drop)));
        assert!(refused(store.delete(&path).await));
        assert!(refused(store.copy(&path, &Path::from("x")).await));
        assert!(refused(store.rename(&path, &Path::from("x")).await));
        assert!(refused(store.list(None).try_collect::<Vec<_>>().await.map(drop)));
        assert!(refused(store.list_with_delimiter(None).await.map(drop)));
    }
}
