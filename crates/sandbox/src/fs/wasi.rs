//! `wasi:filesystem` for the guest, over [`FileSystem`].
//!
//! The traits and their types come from `wasmtime-wasi`. Its `Descriptor` is only a name here:
//! a descriptor's number in the resource table leads to ours.

use std::time::{Duration, SystemTime};

use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, FsError, FsResult,
    bindings::{
        clocks::wall_clock::Datetime,
        filesystem::preopens,
        filesystem::types::ErrorCode,
        sync::filesystem::types::{
            self, Advice, Descriptor as Handle, DescriptorFlags, DescriptorStat, DescriptorType,
            DirectoryEntry, DirectoryEntryStream, Filesize, MetadataHashValue, NewTimestamp,
            OpenFlags, PathFlags,
        },
    },
};

use super::{
    files::{Descriptor, EntryKind, FileSystem, FileTimes, OpenFile, OpenPlace, Stat},
    path::VirtualPath,
    streams::{CHUNK, FileFault, FileReader, FileWriter, Position},
    workspace::OpenHow,
};

/// The parts of a store that the file system needs.
pub(crate) struct FileSystemView<'a> {
    pub(crate) files: &'a mut FileSystem,
    pub(crate) table: &'a mut ResourceTable,
}

struct HasFileSystem;

impl HasData for HasFileSystem {
    type Data<'a> = FileSystemView<'a>;
}

/// Makes this the file system of all components that are linked with `linker`.
pub(crate) fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> FileSystemView<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<T, HasFileSystem>(linker, view)?;
    preopens::add_to_linker::<T, HasFileSystem>(linker, view)
}

/// The entries of a folder that were not read yet, the next one last.
struct Listing {
    entries: Vec<(EntryKind, String)>,
    _place: OpenPlace,
}

impl FileSystemView<'_> {
    fn descriptor(&self, handle: &Resource<Handle>) -> FsResult<&Descriptor> {
        Ok(self.table.get(&Resource::<Descriptor>::new_borrow(handle.rep()))?)
    }

    fn folder(&self, handle: &Resource<Handle>) -> FsResult<&VirtualPath> {
        match self.descriptor(handle)? {
            Descriptor::Folder { path, .. } => Ok(path),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn file(&self, handle: &Resource<Handle>) -> FsResult<&OpenFile> {
        match self.descriptor(handle)? {
            Descriptor::File(file) => Ok(file),
            Descriptor::Folder { .. } => Err(ErrorCode::IsDirectory.into()),
        }
    }

    /// Returns the path that a request means.
    fn path(&self, folder: &Resource<Handle>, path: &str) -> FsResult<VirtualPath> {
        if path.is_empty() {
            return Err(ErrorCode::NoEntry.into());
        }
        Ok(self.folder(folder)?.join(path)?)
    }

    fn add(&mut self, descriptor: Descriptor) -> FsResult<Resource<Handle>> {
        Ok(Resource::new_own(self.table.push(descriptor)?.rep()))
    }

    fn stat_of(&self, handle: &Resource<Handle>) -> FsResult<Stat> {
        Ok(match self.descriptor(handle)? {
            Descriptor::File(file) => file.stat()?,
            Descriptor::Folder { path, .. } => self.files.stat(path, true)?,
        })
    }
}

impl preopens::Host for FileSystemView<'_> {
    /// Returns one root, in which the mounts are folders, so that a warmed isolate can be given a
    /// workspace after the guest has asked.
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Handle>, String)>> {
        let place = self.files.open_place()?;
        let root = Descriptor::Folder { path: VirtualPath::default(), _place: place };
        let root = self.table.push(root)?;
        Ok(vec![(Resource::new_own(root.rep()), "/".into())])
    }
}

impl types::Host for FileSystemView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<types::ErrorCode> {
        error.downcast().map(Into::into)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<types::ErrorCode>> {
        let fault = self.table.get(&error)?.downcast_ref::<FileFault>();
        Ok(fault.map(|fault| fault.0.into()))
    }
}

impl types::HostDescriptor for FileSystemView<'_> {
    fn read_via_stream(
        &mut self,
        handle: Resource<Handle>,
        offset: Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        let reader = FileReader { file: self.file(&handle)?.clone(), offset };
        Ok(self.table.push(Box::new(reader) as DynInputStream)?)
    }

    fn write_via_stream(
        &mut self,
        handle: Resource<Handle>,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        let writer =
            FileWriter { file: self.file(&handle)?.clone(), position: Position::At(offset) };
        Ok(self.table.push(Box::new(writer) as DynOutputStream)?)
    }

    fn append_via_stream(
        &mut self,
        handle: Resource<Handle>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let writer = FileWriter { file: self.file(&handle)?.clone(), position: Position::End };
        Ok(self.table.push(Box::new(writer) as DynOutputStream)?)
    }

    fn advise(
        &mut self,
        handle: Resource<Handle>,
        _offset: Filesize,
        _length: Filesize,
        _advice: Advice,
    ) -> FsResult<()> {
        self.file(&handle).map(|_| ())
    }

    fn sync_data(&mut self, handle: Resource<Handle>) -> FsResult<()> {
        types::HostDescriptor::sync(self, handle)
    }

    fn sync(&mut self, handle: Resource<Handle>) -> FsResult<()> {
        match self.descriptor(&handle)? {
            Descriptor::File(file) => Ok(file.sync()?),
            Descriptor::Folder { .. } => Ok(()),
        }
    }

    fn get_flags(&mut self, handle: Resource<Handle>) -> FsResult<DescriptorFlags> {
        Ok(match self.descriptor(&handle)? {
            Descriptor::Folder { .. } => DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY,
            Descriptor::File(file) => {
                let flag = |set, flag| if set { flag } else { DescriptorFlags::empty() };
                flag(file.readable, DescriptorFlags::READ)
                    | flag(file.writable, DescriptorFlags::WRITE)
            }
        })
    }

    fn get_type(&mut self, handle: Resource<Handle>) -> FsResult<DescriptorType> {
        Ok(match self.descriptor(&handle)? {
            Descriptor::Folder { .. } => DescriptorType::Directory,
            Descriptor::File(_) => DescriptorType::RegularFile,
        })
    }

    fn set_size(&mut self, handle: Resource<Handle>, size: Filesize) -> FsResult<()> {
        Ok(self.file(&handle)?.set_size(size)?)
    }

    fn set_times(
        &mut self,
        handle: Resource<Handle>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let times = FileTimes { accessed: time(accessed), modified: time(modified) };
        match self.descriptor(&handle)? {
            Descriptor::File(file) => Ok(file.set_times(times)?),
            Descriptor::Folder { path, .. } => Ok(self.files.set_times(path, times)?),
        }
    }

    fn set_times_at(
        &mut self,
        handle: Resource<Handle>,
        _flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let times = FileTimes { accessed: time(accessed), modified: time(modified) };
        Ok(self.files.set_times(&self.path(&handle, &path)?, times)?)
    }

    fn read(
        &mut self,
        handle: Resource<Handle>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let mut buffer = vec![0; usize::try_from(length).unwrap_or(CHUNK).min(CHUNK)];
        let count = self.file(&handle)?.read_at(&mut buffer, offset)?;
        buffer.truncate(count);
        Ok((buffer, count == 0))
    }

    fn write(
        &mut self,
        handle: Resource<Handle>,
        bytes: Vec<u8>,
        offset: Filesize,
    ) -> FsResult<Filesize> {
        self.file(&handle)?.write_at(&bytes, offset)?;
        Ok(bytes.len() as Filesize)
    }

    fn read_directory(
        &mut self,
        handle: Resource<Handle>,
    ) -> FsResult<Resource<DirectoryEntryStream>> {
        let mut entries = self.files.list(self.folder(&handle)?)?;
        entries.reverse();
        let listing = Listing { entries, _place: self.files.open_place()? };
        Ok(Resource::new_own(self.table.push(listing)?.rep()))
    }

    fn create_directory_at(&mut self, handle: Resource<Handle>, path: String) -> FsResult<()> {
        let path = self.path(&handle, &path)?;
        Ok(self.files.create_folder(&path)?)
    }

    fn stat(&mut self, handle: Resource<Handle>) -> FsResult<DescriptorStat> {
        self.stat_of(&handle).map(Into::into)
    }

    fn stat_at(
        &mut self,
        handle: Resource<Handle>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let path = self.path(&handle, &path)?;
        Ok(self.files.stat(&path, follows(flags))?.into())
    }

    /// Refuses: links are how programs get out of directories, and no program needs one.
    fn link_at(
        &mut self,
        _handle: Resource<Handle>,
        _flags: PathFlags,
        _old: String,
        _new_handle: Resource<Handle>,
        _new: String,
    ) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    fn symlink_at(
        &mut self,
        _handle: Resource<Handle>,
        _old: String,
        _new: String,
    ) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    fn open_at(
        &mut self,
        handle: Resource<Handle>,
        flags: PathFlags,
        path: String,
        open: OpenFlags,
        mode: DescriptorFlags,
    ) -> FsResult<Resource<Handle>> {
        let path = self.path(&handle, &path)?;
        let how = OpenHow {
            read: mode.contains(DescriptorFlags::READ),
            write: mode.contains(DescriptorFlags::WRITE),
            create: open.contains(OpenFlags::CREATE),
            create_new: open.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE),
            truncate: open.contains(OpenFlags::TRUNCATE),
            follow: follows(flags),
        };
        let opened = self.files.open(path, how, open.contains(OpenFlags::DIRECTORY))?;
        self.add(opened)
    }

    fn readlink_at(&mut self, handle: Resource<Handle>, path: String) -> FsResult<String> {
        Ok(self.files.read_link(&self.path(&handle, &path)?)?)
    }

    fn remove_directory_at(&mut self, handle: Resource<Handle>, path: String) -> FsResult<()> {
        let path = self.path(&handle, &path)?;
        Ok(self.files.remove_folder(&path)?)
    }

    fn rename_at(
        &mut self,
        handle: Resource<Handle>,
        old: String,
        new_handle: Resource<Handle>,
        new: String,
    ) -> FsResult<()> {
        let (old, new) = (self.path(&handle, &old)?, self.path(&new_handle, &new)?);
        Ok(self.files.rename(&old, &new)?)
    }

    fn unlink_file_at(&mut self, handle: Resource<Handle>, path: String) -> FsResult<()> {
        let path = self.path(&handle, &path)?;
        Ok(self.files.remove_file(&path)?)
    }

    fn is_same_object(
        &mut self,
        left: Resource<Handle>,
        right: Resource<Handle>,
    ) -> wasmtime::Result<bool> {
        let identity = |handle| self.stat_of(handle).map(|stat| stat.identity).ok();
        let left = identity(&left);
        Ok(left.is_some() && left == identity(&right))
    }

    fn metadata_hash(&mut self, handle: Resource<Handle>) -> FsResult<MetadataHashValue> {
        self.stat_of(&handle).map(|stat| hash(stat.identity))
    }

    fn metadata_hash_at(
        &mut self,
        handle: Resource<Handle>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let path = self.path(&handle, &path)?;
        Ok(hash(self.files.stat(&path, follows(flags))?.identity))
    }

    fn drop(&mut self, handle: Resource<Handle>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Descriptor>::new_own(handle.rep()))?;
        Ok(())
    }
}

impl types::HostDirectoryEntryStream for FileSystemView<'_> {
    fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let listing = self.table.get_mut(&Resource::<Listing>::new_borrow(stream.rep()))?;
        let entry = listing.entries.pop();
        Ok(entry.map(|(kind, name)| DirectoryEntry { type_: kind.into(), name }))
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Listing>::new_own(stream.rep()))?;
        Ok(())
    }
}

fn follows(flags: PathFlags) -> bool {
    flags.contains(PathFlags::SYMLINK_FOLLOW)
}

fn time(new: NewTimestamp) -> Option<SystemTime> {
    match new {
        NewTimestamp::NoChange => None,
        NewTimestamp::Now => Some(SystemTime::now()),
        NewTimestamp::Timestamp(time) => {
            SystemTime::UNIX_EPOCH.checked_add(Duration::new(time.seconds, time.nanoseconds))
        }
    }
}

fn datetime(time: Option<SystemTime>) -> Option<Datetime> {
    let since = time?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Datetime { seconds: since.as_secs(), nanoseconds: since.subsec_nanos() })
}

/// Returns a number that says nothing about the host: not its inode, only whether two are the same.
fn hash(identity: u128) -> MetadataHashValue {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    let lower = hasher.finish();
    lower.hash(&mut hasher);
    MetadataHashValue { lower, upper: hasher.finish() }
}

impl From<EntryKind> for DescriptorType {
    fn from(kind: EntryKind) -> Self {
        match kind {
            EntryKind::File => Self::RegularFile,
            EntryKind::Folder => Self::Directory,
            EntryKind::Link => Self::SymbolicLink,
            EntryKind::Other => Self::Unknown,
        }
    }
}

impl From<Stat> for DescriptorStat {
    fn from(stat: Stat) -> Self {
        Self {
            type_: stat.kind.into(),
            link_count: 1,
            size: stat.size,
            data_access_timestamp: datetime(stat.accessed.or(stat.modified)),
            data_modification_timestamp: datetime(stat.modified),
            status_change_timestamp: datetime(stat.modified),
        }
    }
}
