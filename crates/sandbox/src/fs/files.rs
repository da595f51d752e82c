//! The tree of one run: the root with its two mounts, and the files that are open in it.

use std::{collections::HashMap, sync::Arc, time::SystemTime};

use narrows_model::{LimitKind, Limits};
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::{
    memory::{MemoryFile, MemoryTree},
    mount::WorkspaceMount,
    path::{Place, VirtualPath},
    tidy,
    workspace::{DiskFile, OpenHow, Workspace},
};

/// Using up the host's file descriptors and memory by opening files and folders without end.
const MAX_OPEN: usize = 256;

/// The files and folders that a program sees below `/`.
#[derive(Debug)]
pub(crate) struct FileSystem {
    tmp: MemoryTree,
    mount: Option<WorkspaceMount>,
    open: Arc<()>,
    /// Files that the guest has begun and not put in their place yet, marked as long as they are here.
    unfinished: HashMap<String, OpenFile>,
}

/// Removes unfinished files: a program that is stopped in the middle leaves none that nobody will
/// finish.
impl Drop for FileSystem {
    fn drop(&mut self) {
        for (path, file) in self.unfinished.drain() {
            if let Some(mount) = &self.mount {
                let _ = mount.workspace().remove_file(&path);
            }
            drop(file);
        }
    }
}

/// One of the places for open files and folders, taken until it is dropped.
#[derive(Clone, Debug)]
pub(super) struct OpenPlace {
    _count: Arc<()>,
}

/// What a descriptor stands for.
#[derive(Clone, Debug)]
pub(super) enum Descriptor {
    Folder { path: VirtualPath, _place: OpenPlace },
    File(OpenFile),
}

/// A file that was opened, from whichever mount.
#[derive(Clone, Debug)]
pub(super) struct OpenFile {
    content: OpenContent,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// Whether not even its times may change.
    is_fixed: bool,
    _place: OpenPlace,
}

#[derive(Clone, Debug)]
enum OpenContent {
    Disk(Arc<DiskFile>),
    Memory(Arc<MemoryFile>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stat {
    pub(super) kind: EntryKind,
    pub(super) size: u64,
    pub(super) modified: Option<SystemTime>,
    pub(super) accessed: Option<SystemTime>,
    /// The same for two names of one file, and for nothing else.
    pub(super) identity: u128,
}

/// New times for a file; `None` leaves one as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileTimes {
    pub(super) accessed: Option<SystemTime>,
    pub(super) modified: Option<SystemTime>,
}

/// Tells whether the file of a path is not complete yet.
fn is_unfinished(path: &str) -> bool {
    tidy::is_unfinished(path.rsplit('/').next().unwrap_or_default().as_bytes())
}

impl Stat {
    pub(super) fn folder(identity: u128, modified: Option<SystemTime>) -> Self {
        Self { kind: EntryKind::Folder, size: 0, modified, accessed: None, identity }
    }
}

impl FileSystem {
    pub(crate) fn new(mount: Option<WorkspaceMount>, limits: &Limits) -> Self {
        let tmp = MemoryTree::new(limits.tmp_bytes);
        Self { tmp, mount, open: Arc::default(), unfinished: HashMap::new() }
    }

    pub(crate) fn is_of(&self, mount: Option<&WorkspaceMount>) -> bool {
        match (&self.mount, mount) {
            (Some(ours), Some(other)) => ours.is_same_as(other),
            (ours, other) => ours.is_none() && other.is_none(),
        }
    }

    /// Returns the limit that the program ran into, if it ran into one.
    pub(crate) fn refusal(&self) -> Option<LimitKind> {
        let workspace = self.mount.as_ref().and_then(|mount| mount.workspace().refusal());
        workspace.or_else(|| self.tmp.refusal())
    }

    /// Returns why nothing could be written to the workspace, if its program wanted to.
    pub(crate) fn count_failure(&self) -> Option<String> {
        self.mount.as_ref().and_then(|mount| mount.workspace().count_failure())
    }

    pub(super) fn open_place(&self) -> Result<OpenPlace, ErrorCode> {
        if Arc::strong_count(&self.open) > MAX_OPEN {
            return Err(ErrorCode::InsufficientMemory);
        }
        Ok(OpenPlace { _count: self.open.clone() })
    }

    fn workspace(&self) -> Result<&Arc<Workspace>, ErrorCode> {
        self.mount.as_ref().map(WorkspaceMount::workspace).ok_or(ErrorCode::NoEntry)
    }

    /// Returns the workspace, for something that changes it.
    fn workspace_to_change(&self) -> Result<&Arc<Workspace>, ErrorCode> {
        let mount = self.mount.as_ref().ok_or(ErrorCode::NoEntry)?;
        mount.to_write().ok_or(ErrorCode::ReadOnly)
    }

    pub(super) fn stat(&self, path: &VirtualPath, follow: bool) -> Result<Stat, ErrorCode> {
        match path.place() {
            Place::Root => Ok(Stat::folder(u128::MAX, None)),
            Place::Tmp(path) => self.tmp.stat(&path),
            Place::Workspace(path) => self.workspace()?.stat(&path, follow),
            Place::Nowhere => Err(ErrorCode::NoEntry),
        }
    }

    pub(super) fn open(
        &mut self,
        path: VirtualPath,
        how: OpenHow,
        folder_only: bool,
    ) -> Result<Descriptor, ErrorCode> {
        let place = self.open_place()?;
        if let Ok(Stat { kind: EntryKind::Folder, .. }) = self.stat(&path, how.follow) {
            return match how {
                OpenHow { create_new: true, .. } => Err(ErrorCode::Exist),
                OpenHow { write: false, truncate: false, .. } => {
                    Ok(Descriptor::Folder { path, _place: place })
                }
                _ => Err(ErrorCode::IsDirectory),
            };
        }
        if folder_only {
            self.stat(&path, how.follow)?;
            return Err(ErrorCode::NotDirectory);
        }
        let is_read_only = self.mount.as_ref().is_some_and(WorkspaceMount::is_read_only);
        let is_fixed = is_read_only && matches!(path.place(), Place::Workspace(_));
        let begun = match path.place() {
            Place::Workspace(path) if how.create_new && is_unfinished(&path) => Some(path),
            _ => None,
        };
        let content = match path.place() {
            Place::Workspace(path) => {
                let workspace = match how {
                    OpenHow { create: false, write: false, truncate: false, .. } => {
                        self.workspace()?
                    }
                    _ => self.workspace_to_change()?,
                };
                let file = match &begun {
                    Some(path) => workspace.open_unfinished(path, how)?,
                    None => workspace.open_file(&path, how)?,
                };
                OpenContent::Disk(Arc::new(file))
            }
            Place::Tmp(path) => OpenContent::Memory(self.open_in_memory(&path, how)?),
            Place::Root => return Err(ErrorCode::IsDirectory),
            Place::Nowhere if how.create => return Err(ErrorCode::ReadOnly),
            Place::Nowhere => return Err(ErrorCode::NoEntry),
        };
        let file =
            OpenFile { content, readable: how.read, writable: how.write, is_fixed, _place: place };
        if let Some(path) = begun {
            self.unfinished.insert(path, file.clone());
        }
        Ok(Descriptor::File(file))
    }

    fn open_in_memory(&mut self, path: &str, how: OpenHow) -> Result<Arc<MemoryFile>, ErrorCode> {
        let file = match self.tmp.file(path) {
            Ok(_) if how.create_new => return Err(ErrorCode::Exist),
            Err(ErrorCode::NoEntry) if how.create => self.tmp.create_file(path)?,
            found => found?,
        };
        if how.truncate {
            file.set_size(0)?;
        }
        Ok(file)
    }

    pub(super) fn list(&self, path: &VirtualPath) -> Result<Vec<(EntryKind, String)>, ErrorCode> {
        match path.place() {
            Place::Root => {
                let workspace = self.mount.as_ref().map(|_| "workspace");
                let names = std::iter::once("tmp").chain(workspace);
                Ok(names.map(|name| (EntryKind::Folder, name.to_owned())).collect())
            }
            Place::Tmp(path) => self.tmp.list(&path),
            Place::Workspace(path) => self.workspace()?.list(&path),
            Place::Nowhere => Err(ErrorCode::NoEntry),
        }
    }

    pub(super) fn create_folder(&mut self, path: &VirtualPath) -> Result<(), ErrorCode> {
        match path.place() {
            Place::Root => Err(ErrorCode::Exist),
            Place::Tmp(path) => self.tmp.create_folder(&path),
            Place::Workspace(path) if path.is_empty() && self.mount.is_some() => {
                Err(ErrorCode::Exist)
            }
            Place::Workspace(path) => self.workspace_to_change()?.create_folder(&path),
            Place::Nowhere => Err(ErrorCode::ReadOnly),
        }
    }

    pub(super) fn remove_file(&mut self, path: &VirtualPath) -> Result<(), ErrorCode> {
        match path.place() {
            Place::Root => Err(ErrorCode::IsDirectory),
            Place::Tmp(path) => self.tmp.remove_file(&path),
            Place::Workspace(path) => {
                self.workspace_to_change()?.remove_file(&path)?;
                self.unfinished.remove(&path);
                Ok(())
            }
            Place::Nowhere => Err(ErrorCode::NoEntry),
        }
    }

    pub(super) fn remove_folder(&mut self, path: &VirtualPath) -> Result<(), ErrorCode> {
        match path.place() {
            Place::Root => Err(ErrorCode::Busy),
            Place::Tmp(path) => self.tmp.remove_folder(&path),
            Place::Workspace(path) => self.workspace_to_change()?.remove_folder(&path),
            Place::Nowhere => Err(ErrorCode::NoEntry),
        }
    }

    pub(super) fn rename(&mut self, from: &VirtualPath, to: &VirtualPath) -> Result<(), ErrorCode> {
        match (from.place(), to.place()) {
            (Place::Tmp(from), Place::Tmp(to)) => self.tmp.rename(&from, &to),
            (Place::Workspace(from), Place::Workspace(to)) => {
                self.workspace_to_change()?.rename(&from, &to)?;
                self.unfinished.remove(&from);
                Ok(())
            }
            (Place::Nowhere, _) => Err(ErrorCode::NoEntry),
            (_, Place::Nowhere) => Err(ErrorCode::ReadOnly),
            (Place::Root, _) | (_, Place::Root) => Err(ErrorCode::Busy),
            // As between two disks: Python's `shutil.move` then copies.
            _ => Err(ErrorCode::CrossDevice),
        }
    }

    pub(super) fn read_link(&self, path: &VirtualPath) -> Result<String, ErrorCode> {
        match path.place() {
            Place::Workspace(path) => self.workspace()?.read_link(&path),
            _ => self.stat(path, false).and(Err(ErrorCode::Invalid)),
        }
    }

    pub(super) fn set_times(&self, path: &VirtualPath, times: FileTimes) -> Result<(), ErrorCode> {
        match path.place() {
            Place::Workspace(path) => self.workspace_to_change()?.set_times(&path, times),
            Place::Tmp(path) => {
                if let (Ok(file), Some(modified)) = (self.tmp.file(&path), times.modified) {
                    file.set_modified(modified);
                }
                self.tmp.stat(&path).map(|_| ())
            }
            Place::Root | Place::Nowhere => Err(ErrorCode::ReadOnly),
        }
    }
}

impl OpenFile {
    pub(super) fn stat(&self) -> Result<Stat, ErrorCode> {
        match &self.content {
            OpenContent::Disk(file) => file.stat(),
            OpenContent::Memory(file) => Ok(file.stat()),
        }
    }

    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, ErrorCode> {
        match &self.content {
            _ if !self.readable => Err(ErrorCode::BadDescriptor),
            OpenContent::Disk(file) => file.read_at(buffer, offset),
            OpenContent::Memory(file) => Ok(file.read_at(buffer, offset)),
        }
    }

    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), ErrorCode> {
        match &self.content {
            _ if !self.writable => Err(ErrorCode::BadDescriptor),
            OpenContent::Disk(file) => file.write_at(bytes, offset),
            OpenContent::Memory(file) => file.write_at(bytes, offset),
        }
    }

    pub(super) fn append(&self, bytes: &[u8]) -> Result<(), ErrorCode> {
        match &self.content {
            _ if !self.writable => Err(ErrorCode::BadDescriptor),
            OpenContent::Disk(file) => file.append(bytes),
            OpenContent::Memory(file) => file.append(bytes),
        }
    }

    pub(super) fn set_size(&self, size: u64) -> Result<(), ErrorCode> {
        match &self.content {
            _ if !self.writable => Err(ErrorCode::BadDescriptor),
            OpenContent::Disk(file) => file.set_size(size),
            OpenContent::Memory(file) => file.set_size(size),
        }
    }

    pub(super) fn set_times(&self, times: FileTimes) -> Result<(), ErrorCode> {
        match &self.content {
            _ if self.is_fixed => Err(ErrorCode::ReadOnly),
            OpenContent::Disk(file) => file.set_times(times),
            OpenContent::Memory(file) => {
                if let Some(modified) = times.modified {
                    file.set_modified(modified);
                }
                Ok(())
            }
        }
    }

    pub(super) fn sync(&self) -> Result<(), ErrorCode> {
        match &self.content {
            OpenContent::Disk(file) => file.sync(),
            OpenContent::Memory(_) => Ok(()),
        }
    }
}
