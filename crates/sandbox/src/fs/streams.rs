//! Reading and writing of open files as WASI streams.

use bytes::Bytes;
use wasmtime_wasi::{
    async_trait,
    p2::{
        InputStream, OutputStream, Pollable, StreamError, StreamResult,
        bindings::filesystem::types::ErrorCode,
    },
};

use super::files::OpenFile;

/// No more of a file than this is in the host's memory at once.
pub(super) const CHUNK: usize = 64 * 1024;

pub(super) struct FileReader {
    pub(super) file: OpenFile,
    pub(super) offset: u64,
}

pub(super) struct FileWriter {
    pub(super) file: OpenFile,
    pub(super) position: Position,
}

#[derive(Clone, Copy)]
pub(super) enum Position {
    At(u64),
    End,
}

/// An error that `filesystem-error-code` can find again.
#[derive(Debug, thiserror::Error)]
#[error("{0:?}")]
pub(super) struct FileFault(pub(super) ErrorCode);

fn failed(code: ErrorCode) -> StreamError {
    StreamError::LastOperationFailed(wasmtime::Error::new(FileFault(code)))
}

#[async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {}
}

#[async_trait]
impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let mut buffer = vec![0; size.min(CHUNK)];
        match self.file.read_at(&mut buffer, self.offset).map_err(failed)? {
            0 if size > 0 => Err(StreamError::Closed),
            count => {
                self.offset += count as u64;
                buffer.truncate(count);
                Ok(buffer.into())
            }
        }
    }
}

#[async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        match &mut self.position {
            Position::End => self.file.append(&bytes),
            Position::At(offset) => {
                let written = self.file.write_at(&bytes, *offset);
                *offset += bytes.len() as u64;
                written
            }
        }
        .map_err(failed)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}
