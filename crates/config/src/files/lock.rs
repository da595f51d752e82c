//! A lock that keeps two commands from changing the same file at once.

use std::{fs::File, io, path::Path};

/// A lock that is held while a file is read, changed and written. It is on the directory, so that no
/// lock file is left behind, and it ends with the process. Editors ignore it, which is why a file is
/// also compared again before it is replaced.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _directory: Option<File>,
}

impl DirectoryLock {
    /// Waits until no other command holds the lock, and takes it.
    pub(crate) fn of(file: &Path) -> io::Result<Self> {
        // Windows cannot open a directory as a file.
        if !cfg!(unix) {
            return Ok(Self { _directory: None });
        }
        let directory = match file.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let directory = File::open(directory)?;
        match directory.lock() {
            Ok(()) => Ok(Self { _directory: Some(directory) }),
            // Some network file systems have no locks.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                Ok(Self { _directory: None })
            }
            Err(error) => Err(error),
        }
    }
}
