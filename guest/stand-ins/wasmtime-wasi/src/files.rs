//! Files without times, numbers and an order of their own.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use real::{
    WasiView,
    filesystem::{WasiFilesystemCtxView, WasiFilesystemView as _},
    p2::{
        FsResult,
        bindings::{
            clocks::wall_clock::Datetime,
            filesystem::types::{
                Descriptor, DescriptorStat, DescriptorType, DirectoryEntry, DirectoryEntryStream,
                ErrorCode, HostDescriptor, HostDirectoryEntryStream, MetadataHashValue, PathFlags,
            },
        },
    },
};
use wasmtime_real::{
    Result,
    component::{Linker, Resource},
};

use crate::clocks::TIME;

/// With the version that the C library of the interpreter was made for; a later one satisfies it.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

/// Directories that are being read, by the number of their stream: the names that are left, sorted.
type Listings = Arc<Mutex<HashMap<u32, VecDeque<DirectoryEntry>>>>;

/// Puts functions of our own in the place of those that tell what differs from run to run.
pub(crate) fn add_to_linker<T: WasiView>(linker: &mut Linker<T>) -> Result<()> {
    let listings = Listings::default();
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES)?;
    types.func_wrap_async(
        "[method]descriptor.stat",
        |mut store, (file,): (Resource<Descriptor>,)| {
            Box::new(async move {
                let mut files = store.data_mut().filesystem();
                let stat = files.stat(file).await.map(without_times);
                Ok((answer(stat)?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.stat-at",
        |mut store, (file, flags, path): (Resource<Descriptor>, PathFlags, String)| {
            Box::new(async move {
                let mut files = store.data_mut().filesystem();
                let stat = files.stat_at(file, flags, path).await.map(without_times);
                Ok((answer(stat)?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.metadata-hash",
        |mut store, (file,): (Resource<Descriptor>,)| {
            Box::new(async move {
                let mut files = store.data_mut().filesystem();
                let hash = files.metadata_hash(file).await.map(without_number);
                Ok((answer(hash)?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]descriptor.metadata-hash-at",
        |mut store, (file, flags, path): (Resource<Descriptor>, PathFlags, String)| {
            Box::new(async move {
                let mut files = store.data_mut().filesystem();
                let hash = files.metadata_hash_at(file, flags, path).await.map(without_number);
                Ok((answer(hash)?,))
            })
        },
    )?;
    let begun = listings.clone();
    types.func_wrap_async(
        "[method]descriptor.read-directory",
        move |mut store, (file,): (Resource<Descriptor>,)| {
            let listings = begun.clone();
            Box::new(async move {
                let mut files = store.data_mut().filesystem();
                let stream = read_sorted(&mut files, file, &listings).await;
                Ok((answer(stream)?,))
            })
        },
    )?;
    types.func_wrap_async(
        "[method]directory-entry-stream.read-directory-entry",
        move |_store, (stream,): (Resource<DirectoryEntryStream>,)| {
            let listings = listings.clone();
            Box::new(async move {
                let mut listings = listings.lock().unwrap_or_else(PoisonError::into_inner);
                let entry = listings.get_mut(&stream.rep()).and_then(VecDeque::pop_front);
                Ok((Ok::<_, ErrorCode>(entry),))
            })
        },
    )
}

/// Reads a whole directory, and keeps its names in order for the stream.
async fn read_sorted(
    files: &mut WasiFilesystemCtxView<'_>,
    directory: Resource<Descriptor>,
    listings: &Listings,
) -> FsResult<Resource<DirectoryEntryStream>> {
    let stream = files.read_directory(directory).await?;
    let number = stream.rep();
    let mut entries = Vec::new();
    while let Some(entry) = files.read_directory_entry(Resource::new_borrow(number)).await? {
        entries.push(entry);
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    listings.lock().unwrap_or_else(PoisonError::into_inner).insert(number, entries.into());
    Ok(stream)
}

/// What the component model calls a result; other errors end the run.
fn answer<T>(result: FsResult<T>) -> Result<Result<T, ErrorCode>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}

fn without_times(stat: DescriptorStat) -> DescriptorStat {
    let time = Some(Datetime { seconds: TIME, nanoseconds: 0 });
    let is_directory = stat.type_ == DescriptorType::Directory;
    DescriptorStat {
        type_: stat.type_,
        link_count: 1,
        size: if is_directory { 0 } else { stat.size },
        data_access_timestamp: time,
        data_modification_timestamp: time,
        status_change_timestamp: time,
    }
}

fn without_number(_hash: MetadataHashValue) -> MetadataHashValue {
    MetadataHashValue { lower: 1, upper: 1 }
}
