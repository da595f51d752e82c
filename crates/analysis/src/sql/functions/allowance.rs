//! How much the functions of a query may make.

use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::{common::exec_err, error::Result};
use tokio_util::sync::CancellationToken;

use crate::guard::STEP_SHARE;

/// The most bytes of all constants of a query together.
const CONSTANT_BYTES: usize = 1 << 20;

/// How much the bounded functions of a query may make: together a share of the memory in each step, so
/// that each may make less if a query calls more of them.
#[derive(Debug)]
pub(crate) struct Allowance {
    step_bytes: usize,
    calls: AtomicUsize,
    stop: CancellationToken,
}

impl Allowance {
    pub(crate) fn new(memory_bytes: usize, stop: CancellationToken) -> Self {
        Self { step_bytes: memory_bytes / STEP_SHARE, calls: AtomicUsize::new(0), stop }
    }

    /// Fails once nobody waits for the result any more.
    pub(super) fn go_on(&self) -> Result<()> {
        match self.stop.is_cancelled() {
            true => exec_err!("stopped"),
            false => Ok(()),
        }
    }

    /// Adds calls that one step of the query may make.
    pub(in crate::sql) fn expect(&self, calls: usize) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
    }

    pub(super) fn step(&self) -> usize {
        self.step_bytes / self.calls.load(Ordering::Relaxed).max(1)
    }

    pub(super) fn constant(&self) -> usize {
        CONSTANT_BYTES / self.calls.load(Ordering::Relaxed).max(1)
    }
}
