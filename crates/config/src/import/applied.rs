//! The record of the clients' files that were changed, so that the changes can be undone.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use narrows_system::private_file;
use serde::{Deserialize, Serialize};

use super::{ClientApp, location::Location, rewrite::Unsafe};
use crate::files::{self, DirectoryLock};

/// A changed file in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedFile {
    /// The id of the client.
    pub client: String,
    pub path: PathBuf,
    /// The file with the text before the change.
    pub backup: PathBuf,
    /// A fingerprint of the text that was written.
    written: String,
    /// The number of the command; files that it changed together have the same.
    run: u64,
}

/// The record of all changes that are not undone, the oldest first.
#[derive(Debug)]
pub struct Applied {
    path: PathBuf,
    files: Vec<AppliedFile>,
    run: u64,
    _lock: DirectoryLock,
}

/// Whether undoing overwrites a file that was changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    No,
    Yes,
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error(transparent)]
    Unsafe(#[from] Unsafe),
    #[error("it was changed by another program at the same time; try again")]
    Changed,
    #[error("it cannot be written: {0}")]
    Write(#[from] io::Error),
}

/// The result of restoring one backup.
#[derive(Debug)]
pub struct UndoResult {
    pub client: String,
    pub path: PathBuf,
    pub outcome: Result<(), UndoError>,
}

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("it was changed since; look at it, and use --force to put {} back over it", .0.display())]
    Changed(PathBuf),
    #[error("the backup cannot be put back: {0}")]
    Failed(#[from] io::Error),
}

#[derive(Serialize, Deserialize)]
struct Record {
    files: Vec<AppliedFile>,
}

impl Applied {
    /// Opens the record in the data directory.
    pub fn open(data: &Path) -> io::Result<Self> {
        private_file::make_dir(data)?;
        let path = data.join("applied-imports.json");
        let lock = DirectoryLock::of(&path)?;
        let files = match files::read_text(&path) {
            Ok(text) => {
                let record: Record = serde_json::from_str(&text).map_err(|error| {
                    let reason = format!("{} is damaged: {error}", path.display());
                    io::Error::new(io::ErrorKind::InvalidData, reason)
                })?;
                record.files
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let run = files.last().map_or(1, |file| file.run + 1);
        Ok(Self { path, files, run, _lock: lock })
    }

    /// Replaces a file, after making a backup and recording the change.
    pub fn replace(
        &mut self,
        location: &Location,
        before: &str,
        after: &str,
    ) -> Result<AppliedFile, ApplyError> {
        let backup = back_up(&location.path, before)?;
        let file = AppliedFile {
            client: location.client.id().to_owned(),
            path: location.path.clone(),
            backup: backup.clone(),
            written: fingerprint(after),
            run: self.run,
        };
        self.files.push(file.clone());
        // The record comes first: an unrecorded backup is worse than a record of a change that did not
        // happen, which undoing finds to be undone.
        let outcome = self.save().map_err(ApplyError::from).and_then(|()| {
            if files::read_text(&location.path)? == before {
                Ok(files::replace(&location.path, after)?)
            } else {
                Err(ApplyError::Changed)
            }
        });
        if let Err(error) = outcome {
            // The file is unchanged. That a trace of the attempt may stay is less important than the error.
            self.files.pop();
            let _ = self.save();
            let _ = fs::remove_file(&backup);
            return Err(error);
        }
        Ok(file)
    }

    /// Undoes what the last command changed in the files of these clients.
    pub fn undo(&mut self, clients: &[ClientApp], force: Force) -> io::Result<Vec<UndoResult>> {
        let is_meant =
            |file: &&AppliedFile| clients.iter().any(|client| client.id() == file.client);
        let last = self.files.iter().filter(is_meant).map(|file| file.run).max();
        let files: Vec<_> = self
            .files
            .iter()
            .filter(is_meant)
            .filter(|file| Some(file.run) == last)
            .cloned()
            .collect();
        let mut results = Vec::new();
        for file in files {
            let outcome = put_back(&file, force);
            if outcome.is_ok() {
                self.files.retain(|known| *known != file);
                self.save()?;
                // The backup is restored; a leftover would only be confusing.
                let _ = fs::remove_file(&file.backup);
            }
            results.push(UndoResult { client: file.client, path: file.path, outcome });
        }
        Ok(results)
    }

    fn save(&self) -> io::Result<()> {
        let record = Record { files: self.files.clone() };
        files::replace(&self.path, &serde_json::to_string_pretty(&record)?)
    }
}

fn put_back(file: &AppliedFile, force: Force) -> Result<(), UndoError> {
    let backup = files::read_text(&file.backup)?;
    match files::read_text(&file.path) {
        Ok(current) if current == backup => return Ok(()),
        Ok(current) if fingerprint(&current) != file.written => {
            if force == Force::No {
                return Err(UndoError::Changed(file.backup.clone()));
            }
            // The text that is overwritten gets a backup too, so that nothing is lost.
            back_up(&file.path, &current)?;
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    Ok(files::replace(&file.path, &backup)?)
}

/// Writes a copy beside the file, with the same mode.
pub(super) fn back_up(path: &Path, text: &str) -> io::Result<PathBuf> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut backup = path.with_file_name(format!("{name}.narrows-backup-{seconds}"));
    for number in 2..100 {
        match files::create_private(&backup, text, Some(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                backup = path.with_file_name(format!("{name}.narrows-backup-{seconds}-{number}"));
            }
            outcome => return outcome.map(|()| backup),
        }
    }
    Err(io::Error::other("there are too many backups of this second"))
}

/// Returns a fingerprint, which is FNV-1a and the length: it notices edits, and nobody has a reason to
/// forge it.
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}-{}", text.len())
}
