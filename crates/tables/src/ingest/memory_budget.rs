//! The limits of a load: memory of the pool, and time as long as somebody waits for the table.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

use crate::flaw::{Flaw, Result};

/// The memory reservation of one table. The threads that load the table share it, and it is then kept
/// with the table.
#[derive(Debug)]
pub(crate) struct Allowance {
    reservation: MemoryReservation,
    given_up: Arc<AtomicBool>,
}

impl Allowance {
    pub(crate) fn new(table: &str, pool: &Arc<dyn MemoryPool>) -> Arc<Self> {
        let reservation = MemoryConsumer::new(format!("table {table}")).register(pool);
        Arc::new(Self { reservation, given_up: Arc::default() })
    }

    /// Makes a separate reservation for temporary memory, which is given back when dropped.
    pub(super) fn beside(&self) -> Arc<Self> {
        let reservation = self.reservation.new_empty();
        Arc::new(Self { reservation, given_up: Arc::clone(&self.given_up) })
    }

    pub(super) fn take(&self, bytes: usize) -> Result<()> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(Flaw::GivenUp);
        }
        Ok(self.reservation.try_grow(bytes)?)
    }

    /// Sets the reservation to exactly this many bytes.
    pub(super) fn settle(&self, bytes: usize) -> Result<()> {
        Ok(self.reservation.try_resize(bytes)?)
    }
}

/// A guard that stops the load when it is dropped, because nobody waits for the table any more.
pub(super) struct GiveUp(pub(super) Arc<Allowance>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.given_up.store(true, Ordering::Relaxed);
    }
}

/// The part of an allowance that one thread uses. It reserves memory in large steps, so that it can be
/// charged for every single value.
#[derive(Debug)]
pub(crate) struct Budget {
    allowance: Arc<Allowance>,
    spent: usize,
}

const STEP: usize = 1 << 20;

impl Budget {
    pub(crate) fn new(allowance: &Arc<Allowance>) -> Self {
        Self { allowance: Arc::clone(allowance), spent: 0 }
    }

    #[inline]
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<()> {
        self.spent = self.spent.saturating_add(bytes);
        if self.spent < STEP { Ok(()) } else { self.ask() }
    }

    #[cold]
    fn ask(&mut self) -> Result<()> {
        self.allowance.take(std::mem::take(&mut self.spent))
    }

    pub(super) fn allowance(&self) -> &Arc<Allowance> {
        &self.allowance
    }
}
