//! The workspace as the host itself uses it, for callers that name files: by the same rules and
//! within the same quota as programs.

use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use rustix::fs::FileType;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::{
    path::{Place, VirtualPath},
    tidy::UNFINISHED,
    walk::{Next, Unreadable, walk},
    workspace::{DiskFile, OpenHow, UNCOUNTED, Workspace, here},
};

/// A file of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Below `/workspace`, without it.
    pub path: String,
    pub bytes: u64,
    pub modified: Option<SystemTime>,
}

/// A piece of a file, and how large the whole is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePart {
    pub bytes: Vec<u8>,
    pub total: u64,
}

impl Workspace {
    /// Makes a file for the host itself, within the quota. It must not exist.
    pub fn create(self: &Arc<Self>, name: &str) -> io::Result<WorkspaceFile> {
        let file = self.open_file(name, CREATE).map_err(|error| self.reason(error))?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        Ok(WorkspaceFile(file))
    }

    /// Returns the files that [`Self::create`] made since this was last asked.
    pub fn take_made(&self) -> Vec<String> {
        std::mem::take(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells whether anything was changed since this was last asked.
    pub fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::SeqCst)
    }

    /// Returns the path below `/workspace` that a caller means by this one.
    pub fn resolve(&self, path: &str) -> io::Result<String> {
        let inside = VirtualPath::default().join("workspace").and_then(|home| home.join(path));
        match inside.map_err(reason)?.place() {
            Place::Workspace(path) if !path.is_empty() => Ok(path),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a path of a file below /workspace; name it like reports/june.csv",
            )),
        }
    }

    /// Reads a file, if it has no more than `most` bytes. Links are followed only within the workspace.
    pub fn read(&self, path: &str, most: u64) -> io::Result<Vec<u8>> {
        let part = self.read_part(path, 0, most)?;
        if part.total > most {
            let message = format!("it has {} bytes; {most} is the most", part.total);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(part.bytes)
    }

    /// Reads at most `most` bytes of a file, from an offset.
    pub fn read_part(&self, path: &str, offset: u64, most: u64) -> io::Result<FilePart> {
        let mut file = self.open_to_read(path)?;
        let total = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(offset))?;
        file.take(most).read_to_end(&mut bytes)?;
        Ok(FilePart { bytes, total })
    }

    /// Opens a file for reading. Links are followed only within the workspace.
    pub fn open_to_read(&self, path: &str) -> io::Result<std::fs::File> {
        let path = self.resolve(path)?;
        let found = self.metadata(&path, true).map_err(reason)?;
        if !found.is_file() {
            return Err(reason(match found.is_dir() {
                true => ErrorCode::IsDirectory,
                false => ErrorCode::NotPermitted,
            }));
        }
        Ok(self.dir().open(here(&path))?.into_std())
    }

    /// Puts a whole file in place: readers see the old one or the new one, and nothing between.
    pub fn write(self: &Arc<Self>, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.begin(path)?;
        file.write_all(bytes)?;
        file.finish()
    }

    /// Begins a file that is put in place when it is finished, and goes away if it never is.
    pub fn begin(self: &Arc<Self>, path: &str) -> io::Result<UnfinishedFile> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let path = self.resolve(path)?;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.make_folders(folder).map_err(|error| self.reason(error))?;
        if self.metadata(&path, false).is_ok_and(|found| found.is_dir()) {
            return Err(reason(ErrorCode::IsDirectory));
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{UNFINISHED}{}-{number}", std::process::id());
        let unfinished = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        let file = self.open_unfinished(&unfinished, CREATE);
        let file = file.map_err(|error| self.reason(error))?;
        Ok(UnfinishedFile { workspace: Arc::clone(self), path, unfinished, file: Some(file) })
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        self.remove_file(&self.resolve(path)?).map_err(reason)
    }

    /// Returns the names of the entries at the top.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = self.list("").map_err(reason)?;
        Ok(entries.into_iter().map(|(_, name)| name).collect())
    }

    /// Tells whether there is an entry of this name.
    pub fn has(&self, name: &str) -> bool {
        self.metadata(name, false).is_ok()
    }

    /// Returns all files, in the order of their paths.
    pub fn walk(&self) -> io::Result<Vec<FoundFile>> {
        let mut found = Vec::new();
        walk(self.dir(), Unreadable::PassBy, |entry| {
            // A name that is no text cannot be asked for.
            let (Some(above), Ok(name)) = (entry.above.to_str(), entry.name.to_str()) else {
                return Ok(Next::PassBy);
            };
            if entry.kind() == FileType::RegularFile && !name.starts_with(UNFINISHED) {
                let slash = if above.is_empty() { "" } else { "/" };
                let path = format!("{above}{slash}{name}");
                found.push(FoundFile { path, bytes: entry.bytes(), modified: entry.modified() });
            }
            Ok(Next::Enter)
        })?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Returns what went wrong with something that was to be written.
    pub(super) fn reason(&self, error: ErrorCode) -> io::Error {
        match self.count_failure().filter(|_| error == UNCOUNTED) {
            Some(failure) => io::Error::other(failure),
            None => reason(error),
        }
    }

    fn make_folders(&self, folder: &str) -> Result<(), ErrorCode> {
        let ends = folder.match_indices('/').map(|(end, _)| end).chain([folder.len()]);
        for end in ends.filter(|end| *end > 0) {
            match self.create_folder(&folder[..end]) {
                Ok(()) | Err(ErrorCode::Exist) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

const CREATE: OpenHow = OpenHow {
    read: false,
    write: true,
    create: true,
    create_new: true,
    truncate: false,
    follow: false,
};

/// A file that the host writes into a workspace.
#[derive(Debug)]
pub struct WorkspaceFile(DiskFile);

impl WorkspaceFile {
    /// Adds to the end, within the quota.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes).map_err(|error| self.0.workspace().reason(error))
    }
}

impl Write for WorkspaceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is not in its place yet.
#[derive(Debug)]
pub struct UnfinishedFile {
    workspace: Arc<Workspace>,
    path: String,
    unfinished: String,
    /// None as soon as it is in its place.
    file: Option<DiskFile>,
}

impl UnfinishedFile {
    /// Puts it in its place.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let placed = file.sync().and_then(|()| self.workspace.rename(&self.unfinished, &self.path));
        placed.map_err(reason)?;
        self.file = None;
        Ok(())
    }
}

impl Write for UnfinishedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &self.file {
            file.append(bytes).map_err(|error| self.workspace.reason(error))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for UnfinishedFile {
    /// Removes what was written, unless it is in its place.
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = self.workspace.remove_file(&self.unfinished);
        }
    }
}

/// Explains an error in words for whoever named the file.
fn reason(error: ErrorCode) -> io::Error {
    use io::ErrorKind;
    let (kind, words) = match error {
        ErrorCode::NoEntry => (ErrorKind::NotFound, "there is no such file"),
        ErrorCode::IsDirectory => (ErrorKind::IsADirectory, "it is a folder"),
        ErrorCode::NotDirectory => {
            (ErrorKind::NotADirectory, "a part of the path is a file, not a folder")
        }
        ErrorCode::Exist => (ErrorKind::AlreadyExists, "it is there already"),
        ErrorCode::Quota | ErrorCode::InsufficientSpace => (
            ErrorKind::QuotaExceeded,
            "the workspace is full; remove files that are no longer needed",
        ),
        ErrorCode::NameTooLong => (ErrorKind::InvalidFilename, "a name in the path is too long"),
        ErrorCode::Invalid | ErrorCode::IllegalByteSequence => {
            (ErrorKind::InvalidFilename, "the path has a character that no file name can have")
        }
        ErrorCode::NotPermitted | ErrorCode::Access | ErrorCode::Loop => {
            (ErrorKind::PermissionDenied, "it is no plain file of the workspace")
        }
        other => return io::Error::other(other),
    };
    io::Error::new(kind, words)
}
