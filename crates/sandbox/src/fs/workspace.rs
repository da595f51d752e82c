//! `/workspace`: a directory of the host, with a quota and no way out of it.

mod count;

use std::{
    collections::HashMap,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use cap_std::{
    ambient_authority,
    fs::{
        Dir, DirBuilder, DirBuilderExt, FileType, Metadata, MetadataExt, OpenOptions,
        OpenOptionsExt,
    },
};
use narrows_model::{LimitKind, Limits};
use rustix::fs::{OFlags, Timespec, Timestamps};
use thiserror::Error;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::{
    files::{EntryKind, FileTimes, Stat},
    quota::Quota,
    tidy,
};
use count::LastCount;
pub(super) use count::UNCOUNTED;

/// How often to try to begin a file that another process removes at once.
const MAX_TRIES: u32 = 3;

/// Who else may read what programs write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Privacy {
    /// Those whom the umask lets: the directory is the user's own.
    Umask,
    /// Nobody, whatever the umask is.
    OwnerOnly,
}

/// A directory that programs see as `/workspace`. Runs may share it; the quota is shared too.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    path: PathBuf,
    privacy: Privacy,
    quota: Quota,
    /// Held by whoever changes what the workspace holds, from looking at the sizes to counting them.
    open: Mutex<OpenFiles>,
    counted: Mutex<LastCount>,
    /// Set when something is written, moved or removed.
    pub(super) changed: AtomicBool,
    /// The files that the host made by itself.
    pub(super) made: Mutex<Vec<String>>,
}

/// Files that are open, by inode. One that is removed meanwhile still fills the disk.
type OpenFiles = HashMap<u64, OpenCount>;

#[derive(Debug, Default)]
struct OpenCount {
    handles: usize,
    /// How large it is, if it is removed: nobody finds it by walking any more.
    removed_bytes: Option<u64>,
}

/// Why a directory cannot be a workspace.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    #[error("cannot use {path} as a workspace: {source}")]
    Open { path: PathBuf, source: io::Error },
}

impl Workspace {
    /// Opens a directory of the user, which is made if its parent exists, with the quota of `limits`.
    pub fn open(path: impl AsRef<Path>, limits: &Limits) -> Result<Arc<Self>, WorkspaceError> {
        Self::open_as(path.as_ref(), limits, Privacy::Umask)
    }

    /// Opens a directory of Narrows' own: what is in it is for its owner only, whatever the umask is
    /// and was, and what killed processes left unfinished is removed.
    pub fn open_private(
        path: impl AsRef<Path>,
        limits: &Limits,
    ) -> Result<Arc<Self>, WorkspaceError> {
        Self::open_as(path.as_ref(), limits, Privacy::OwnerOnly)
    }

    fn open_as(
        path: &Path,
        limits: &Limits,
        privacy: Privacy,
    ) -> Result<Arc<Self>, WorkspaceError> {
        let failed = |source| WorkspaceError::Open { path: path.to_owned(), source };
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, privacy.folder_mode());
        match builder.create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => {}
        }
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
        let names = (LimitKind::WorkspaceBytes, LimitKind::WorkspaceFiles);
        let workspace = Self {
            dir,
            path: path.to_owned(),
            privacy,
            quota: Quota::new(limits.workspace_bytes, limits.workspace_files, names),
            open: Mutex::default(),
            counted: Mutex::default(),
            changed: AtomicBool::new(false),
            made: Mutex::default(),
        };
        // A workspace that cannot be counted can be read all the same.
        let _ = match privacy {
            Privacy::Umask => workspace.count_again(&OpenFiles::new(), |_| true),
            Privacy::OwnerOnly => {
                tidy::close_to_others(&workspace.dir);
                workspace.count_again(&OpenFiles::new(), tidy::put_in_order)
            }
        };
        Ok(Arc::new(workspace))
    }

    /// Returns these limits with those that hold for all programs in this workspace, whatever was
    /// given to the one that runs.
    pub(crate) fn limits(&self, limits: Limits) -> Limits {
        let (workspace_bytes, workspace_files) = self.quota.most();
        Limits { workspace_bytes, workspace_files, ..limits }
    }

    /// Returns where it is on the host.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(super) fn refusal(&self) -> Option<LimitKind> {
        self.quota.refusal()
    }

    pub(super) fn stat(&self, path: &str, follow: bool) -> Result<Stat, ErrorCode> {
        Ok(self.metadata(path, follow)?.into())
    }

    pub(super) fn open_file(
        self: &Arc<Self>,
        path: &str,
        how: OpenHow,
    ) -> Result<DiskFile, ErrorCode> {
        let mut open = self.open_files();
        let existing = self.metadata(path, how.follow);
        match &existing {
            Ok(_) if how.create_new => return Err(ErrorCode::Exist),
            // Opening a pipe blocks, and opening a device can do anything.
            Ok(found) if found.is_dir() => return Err(ErrorCode::IsDirectory),
            Ok(found) if found.is_symlink() => return Err(ErrorCode::Loop),
            Ok(found) if !found.is_file() => return Err(ErrorCode::NotPermitted),
            Ok(_) => {}
            Err(ErrorCode::NoEntry) if how.create => {}
            Err(error) => return Err(*error),
        }
        let is_new = existing.is_err();
        if is_new {
            self.take_file(&open)?;
        }
        self.open_checked(&mut open, path, &how, is_new).inspect_err(|_| {
            if is_new {
                self.quota.give_file();
            }
        })
    }

    /// Creates a file that is not complete yet, and marks it as being written.
    pub(super) fn open_unfinished(
        self: &Arc<Self>,
        path: &str,
        how: OpenHow,
    ) -> Result<DiskFile, ErrorCode> {
        for _ in 0..MAX_TRIES {
            let file = self.open_file(path, how)?;
            // A process that starts just now may have taken it for one that nobody writes any more.
            if tidy::mark_unfinished(&file.file) && self.metadata(path, false).is_ok() {
                return Ok(file);
            }
        }
        Err(ErrorCode::Interrupted)
    }

    fn open_checked(
        self: &Arc<Self>,
        open: &mut OpenFiles,
        path: &str,
        how: &OpenHow,
        is_new: bool,
    ) -> Result<DiskFile, ErrorCode> {
        if how.write || how.truncate {
            self.changed.store(true, Ordering::SeqCst);
        }
        let mut options = OpenOptions::new();
        options
            .read(how.read || !how.write)
            .write(how.write || how.truncate)
            .create_new(is_new)
            .mode(self.privacy.file_mode())
            .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
        let file = self.dir.open_with(path, &options)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(ErrorCode::NotPermitted);
        }
        let (file, inode) = (file.into_std(), metadata.ino());
        if how.truncate && metadata.len() > 0 {
            self.resize(open, &file, inode, 0)?;
        }
        open.entry(inode).or_default().handles += 1;
        Ok(DiskFile { file, inode, workspace: self.clone() })
    }

    pub(super) fn create_folder(&self, path: &str) -> Result<(), ErrorCode> {
        let open = self.open_files();
        self.take_file(&open)?;
        let mut builder = DirBuilder::new();
        builder.mode(self.privacy.folder_mode());
        let created = self.dir.create_dir_with(path, &builder);
        Ok(created.inspect_err(|_| self.quota.give_file())?)
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<(EntryKind, String)>, ErrorCode> {
        let mut entries = Vec::new();
        for entry in self.dir.read_dir(here(path))? {
            let entry = entry?;
            // A name that is no text cannot be asked for; one that vanished is no entry.
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            entries.push((kind.into(), name));
        }
        Ok(entries)
    }

    pub(super) fn read_link(&self, path: &str) -> Result<String, ErrorCode> {
        let target = self.dir.read_link(path)?;
        target.into_os_string().into_string().map_err(|_| ErrorCode::IllegalByteSequence)
    }

    pub(super) fn remove_file(&self, path: &str) -> Result<(), ErrorCode> {
        let mut open = self.open_files();
        let metadata = self.metadata(path, false)?;
        if metadata.is_dir() {
            return Err(ErrorCode::IsDirectory);
        }
        self.dir.remove_file(path)?;
        self.changed.store(true, Ordering::SeqCst);
        self.removed(&mut open, &metadata);
        Ok(())
    }

    pub(super) fn remove_folder(&self, path: &str) -> Result<(), ErrorCode> {
        if path.is_empty() {
            return Err(ErrorCode::Busy);
        }
        // Held, so that nobody counts between the two.
        let _open = self.open_files();
        self.dir.remove_dir(path)?;
        self.quota.give_file();
        Ok(())
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> Result<(), ErrorCode> {
        if from.is_empty() || to.is_empty() {
            return Err(ErrorCode::Busy);
        }
        let mut open = self.open_files();
        let moved = self.metadata(from, false)?;
        let replaced = self.metadata(to, false).ok();
        self.dir.rename(from, &self.dir, to)?;
        self.changed.store(true, Ordering::SeqCst);
        if let Some(replaced) = replaced.filter(|replaced| replaced.ino() != moved.ino()) {
            self.removed(&mut open, &replaced);
        }
        Ok(())
    }

    pub(super) fn set_times(&self, path: &str, times: FileTimes) -> Result<(), ErrorCode> {
        let found = self.metadata(path, true)?;
        if !found.is_file() && !found.is_dir() {
            return Err(ErrorCode::NotPermitted);
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
        let file = self.dir.open_with(here(path), &options)?;
        Ok(rustix::fs::futimens(&file, &times.into()).map_err(io::Error::from)?)
    }

    pub(super) fn metadata(&self, path: &str, follow: bool) -> Result<Metadata, ErrorCode> {
        let path = here(path);
        Ok(if follow { self.dir.metadata(path)? } else { self.dir.symlink_metadata(path)? })
    }

    /// Gives back to the quota what an entry had that is gone.
    fn removed(&self, open: &mut OpenFiles, entry: &Metadata) {
        if entry.is_file()
            && entry.nlink() <= 1
            && let Some(open) = open.get_mut(&entry.ino())
        {
            open.removed_bytes = Some(entry.len());
        } else if entry.is_file() {
            self.quota.give_bytes(entry.len());
        }
        self.quota.give_file();
    }

    /// Changes the size of an open file.
    fn resize(
        &self,
        open: &mut OpenFiles,
        file: &std::fs::File,
        inode: u64,
        size: u64,
    ) -> Result<(), ErrorCode> {
        let before = file.metadata()?.len();
        self.take_bytes(open, size.saturating_sub(before))?;
        let changed = file.set_len(size);
        let kept = if changed.is_ok() { size } else { before };
        self.quota.give_bytes(before.max(size) - kept);
        note_size(open, inode, kept);
        Ok(changed?)
    }

    fn open_files(&self) -> MutexGuard<'_, OpenFiles> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Privacy {
    fn file_mode(self) -> u32 {
        match self {
            Self::Umask => 0o666,
            Self::OwnerOnly => 0o600,
        }
    }

    fn folder_mode(self) -> u32 {
        match self {
            Self::Umask => 0o777,
            Self::OwnerOnly => 0o700,
        }
    }
}

/// Notes the size of an open file that was removed, which nobody finds by walking.
fn note_size(open: &mut OpenFiles, inode: u64, size: u64) {
    if let Some(bytes) = open.get_mut(&inode).and_then(|open| open.removed_bytes.as_mut()) {
        *bytes = size;
    }
}

/// Returns the path as the system has it: the directory itself is `.`.
pub(super) fn here(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// How a file is to be opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenHow {
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) create: bool,
    pub(super) create_new: bool,
    pub(super) truncate: bool,
    pub(super) follow: bool,
}

/// An open file of the workspace.
#[derive(Debug)]
pub(super) struct DiskFile {
    file: std::fs::File,
    inode: u64,
    workspace: Arc<Workspace>,
}

impl DiskFile {
    pub(super) fn stat(&self) -> Result<Stat, ErrorCode> {
        Ok(Metadata::from_just_metadata(self.file.metadata()?).into())
    }

    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, ErrorCode> {
        Ok(self.file.read_at(buffer, offset)?)
    }

    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), ErrorCode> {
        // Held throughout, so that two writers at the end of one file are both counted.
        let mut open = self.workspace.open_files();
        self.write_counted(&mut open, bytes, offset)
    }

    pub(super) fn append(&self, bytes: &[u8]) -> Result<(), ErrorCode> {
        let mut open = self.workspace.open_files();
        self.write_counted(&mut open, bytes, self.file.metadata()?.len())
    }

    fn write_counted(
        &self,
        open: &mut OpenFiles,
        bytes: &[u8],
        offset: u64,
    ) -> Result<(), ErrorCode> {
        let before = self.file.metadata()?.len();
        let end = offset.checked_add(bytes.len() as u64).ok_or(ErrorCode::FileTooLarge)?;
        let growth = end.saturating_sub(before);
        self.workspace.take_bytes(open, growth)?;
        let written = self.file.write_all_at(bytes, offset);
        let after = match &written {
            Ok(()) => before + growth,
            Err(_) => self.file.metadata().map_or(before, |now| now.len()),
        };
        self.workspace.quota.give_bytes((before + growth).saturating_sub(after.max(before)));
        note_size(open, self.inode, after);
        Ok(written?)
    }

    pub(super) fn set_size(&self, size: u64) -> Result<(), ErrorCode> {
        let mut open = self.workspace.open_files();
        self.workspace.resize(&mut open, &self.file, self.inode, size)
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(super) fn set_times(&self, times: FileTimes) -> Result<(), ErrorCode> {
        Ok(rustix::fs::futimens(&self.file, &times.into()).map_err(io::Error::from)?)
    }

    pub(super) fn sync(&self) -> Result<(), ErrorCode> {
        Ok(self.file.sync_all()?)
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        let mut open = self.workspace.open_files();
        let Some(count) = open.get_mut(&self.inode) else { return };
        count.handles -= 1;
        if count.handles == 0 {
            self.workspace.quota.give_bytes(count.removed_bytes.unwrap_or(0));
            open.remove(&self.inode);
        }
    }
}

impl From<Metadata> for Stat {
    fn from(found: Metadata) -> Self {
        Self {
            kind: found.file_type().into(),
            size: found.len(),
            modified: found.modified().ok().map(|time| time.into_std()),
            accessed: found.accessed().ok().map(|time| time.into_std()),
            identity: u128::from(found.dev()) << 64 | u128::from(found.ino()),
        }
    }
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        if kind.is_dir() {
            Self::Folder
        } else if kind.is_file() {
            Self::File
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

impl From<FileTimes> for Timestamps {
    fn from(times: FileTimes) -> Self {
        let spec = |time: Option<SystemTime>| match time {
            None => Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
            Some(time) => {
                let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                Timespec {
                    tv_sec: since.as_secs() as i64,
                    tv_nsec: i64::from(since.subsec_nanos()),
                }
            }
        };
        Self { last_access: spec(times.accessed), last_modification: spec(times.modified) }
    }
}

#[cfg(test)]
mod tests;
