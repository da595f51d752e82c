//! How much a place may hold and how much it holds.

use std::sync::{Mutex, MutexGuard, PoisonError};

use narrows_model::LimitKind;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Bytes and files, with a bound on each.
#[derive(Debug)]
pub(super) struct Quota {
    max_bytes: u64,
    max_files: u64,
    /// The limits to name when one is reached.
    names: (LimitKind, LimitKind),
    used: Mutex<Usage>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) bytes: u64,
    pub(super) files: u64,
    /// The last limit that was reached, until somebody asks.
    refused: Option<LimitKind>,
}

impl Quota {
    pub(super) fn new(max_bytes: u64, max_files: u64, names: (LimitKind, LimitKind)) -> Self {
        Self { max_bytes, max_files, names, used: Mutex::default() }
    }

    /// Returns how many bytes and files there may be.
    pub(super) fn most(&self) -> (u64, u64) {
        (self.max_bytes, self.max_files)
    }

    fn used(&self) -> MutexGuard<'_, Usage> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_bytes(&self, bytes: u64) -> Result<(), ErrorCode> {
        // A write that does not grow a file is never refused, however full the place is.
        if bytes == 0 {
            return Ok(());
        }
        let mut used = self.used();
        match used.bytes.checked_add(bytes) {
            Some(total) if total <= self.max_bytes => {
                used.bytes = total;
                Ok(())
            }
            _ => {
                used.refused = Some(self.names.0);
                Err(ErrorCode::Quota)
            }
        }
    }

    pub(super) fn take_file(&self) -> Result<(), ErrorCode> {
        let mut used = self.used();
        if used.files >= self.max_files {
            used.refused = Some(self.names.1);
            return Err(ErrorCode::Quota);
        }
        used.files += 1;
        Ok(())
    }

    pub(super) fn give_bytes(&self, bytes: u64) {
        let mut used = self.used();
        used.bytes = used.bytes.saturating_sub(bytes);
    }

    pub(super) fn give_file(&self) {
        let mut used = self.used();
        used.files = used.files.saturating_sub(1);
    }

    /// Starts from what is already there.
    pub(super) fn set(&self, bytes: u64, files: u64) {
        let mut used = self.used();
        used.bytes = bytes;
        used.files = files;
    }

    #[cfg(test)]
    pub(super) fn usage(&self) -> Usage {
        *self.used()
    }

    /// Returns the limit that was reached since this was last asked.
    pub(super) fn refusal(&self) -> Option<LimitKind> {
        self.used().refused.take()
    }
}
