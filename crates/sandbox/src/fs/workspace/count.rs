//! Counts what the workspace holds, so that it is never more than it may be.
//!
//! Whoever makes the workspace grow takes from the quota first and gives back what it did not use. The
//! files themselves are counted when the workspace is opened, when the quota is reached, and from
//! time to time.

use std::{
    io,
    sync::{MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::fs::FileType;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::{OpenFiles, Workspace};
use crate::fs::{
    quota::Quota,
    walk::{Next, Unreadable, WalkEntry, walk},
};

/// When the quota is reached, the directory is counted again at most so often: somebody else
/// may have removed files, but a program must not make the host walk the tree without end.
const RECOUNT_INTERVAL: Duration = Duration::from_secs(1);

/// A count that is older is made again before the workspace grows: other processes may have written
/// to the directory, each of which counts only what it writes itself.
const MAX_COUNT_AGE: Duration = Duration::from_secs(30);

/// How often a count is tried that another process got in the way of.
const MAX_TRIES: u32 = 3;

/// The error for programs that want to write while the count is not known. No other error of a
/// workspace is this one.
pub(in crate::fs) const UNCOUNTED: ErrorCode = ErrorCode::NotRecoverable;

/// When the workspace was last counted, and what came of it.
#[derive(Debug)]
pub(super) struct LastCount {
    pub(super) at: Instant,
    /// Why the count is not known. Nothing may grow then: an unknown count is not an empty one.
    failure: Option<String>,
    /// Whether the failure kept somebody from writing, and was not reported yet.
    is_untold: bool,
}

impl Default for LastCount {
    fn default() -> Self {
        Self { at: Instant::now(), failure: None, is_untold: false }
    }
}

impl Workspace {
    /// Returns why nothing can be written, if that kept somebody from writing since this was last
    /// asked.
    pub(in crate::fs) fn count_failure(&self) -> Option<String> {
        let mut counted = self.last_count();
        let is_untold = std::mem::take(&mut counted.is_untold);
        let failure = counted.failure.as_ref().filter(|_| is_untold)?;
        Some(format!(
            "what the workspace holds cannot be counted ({failure}), so nothing can be written to it \
             until it can"
        ))
    }

    pub(super) fn take_bytes(&self, open: &OpenFiles, bytes: u64) -> Result<(), ErrorCode> {
        if bytes == 0 {
            return Ok(());
        }
        self.know_count(open)?;
        self.quota.take_bytes(bytes).or_else(|full| self.recount(open, full)?.take_bytes(bytes))
    }

    pub(super) fn take_file(&self, open: &OpenFiles) -> Result<(), ErrorCode> {
        self.know_count(open)?;
        self.quota.take_file().or_else(|full| self.recount(open, full)?.take_file())
    }

    /// Makes sure that the workspace is counted, before it grows.
    fn know_count(&self, open: &OpenFiles) -> Result<(), ErrorCode> {
        let (age, is_known) = {
            let counted = self.last_count();
            (counted.at.elapsed(), counted.failure.is_none())
        };
        let max_age = if is_known { MAX_COUNT_AGE } else { RECOUNT_INTERVAL };
        if age >= max_age {
            let _ = self.count_again(open, |_| true);
        }
        let mut counted = self.last_count();
        if counted.failure.is_none() {
            return Ok(());
        }
        counted.is_untold = true;
        Err(UNCOUNTED)
    }

    fn recount(&self, open: &OpenFiles, full: ErrorCode) -> Result<&Quota, ErrorCode> {
        if self.last_count().at.elapsed() < RECOUNT_INTERVAL {
            return Err(full);
        }
        self.count_again(open, |_| true)?;
        Ok(&self.quota)
    }

    /// Counts what is there. If that cannot be done the count is unknown from then on, and nothing is
    /// written until it can.
    pub(super) fn count_again(
        &self,
        open: &OpenFiles,
        is_kept: impl Fn(&WalkEntry<'_>) -> bool,
    ) -> Result<(), ErrorCode> {
        let mut counted = self.count(open, &is_kept);
        for _ in 1..MAX_TRIES {
            match &counted {
                Err(error) if is_disturbed(error) => counted = self.count(open, &is_kept),
                _ => break,
            }
        }
        let mut last = self.last_count();
        last.at = Instant::now();
        last.failure = counted.as_ref().err().map(ToString::to_string);
        match counted {
            Ok((bytes, files)) => {
                self.quota.set(bytes, files);
                Ok(())
            }
            Err(_) => Err(UNCOUNTED),
        }
    }

    /// Returns the bytes and the files that are there.
    fn count(
        &self,
        open: &OpenFiles,
        is_kept: impl Fn(&WalkEntry<'_>) -> bool,
    ) -> io::Result<(u64, u64)> {
        let mut bytes: u64 = open.values().filter_map(|open| open.removed_bytes).sum();
        let mut files = 0;
        // Fails at a folder that may not be read, because its content may be large all the same.
        walk(&self.dir, Unreadable::Fail, |entry| {
            if !is_kept(entry) {
                return Ok(Next::PassBy);
            }
            files += 1;
            if entry.kind() == FileType::RegularFile {
                bytes = bytes.saturating_add(entry.bytes());
            }
            Ok(Next::Enter)
        })?;
        Ok((bytes, files))
    }

    pub(super) fn last_count(&self) -> MutexGuard<'_, LastCount> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells whether another process moved or removed what the count stood on.
fn is_disturbed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::NotFound)
}
