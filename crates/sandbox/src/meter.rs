//! What a run uses up of memory and of the processor.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use narrows_model::Limits;
use wasmtime::ResourceLimiter;

/// The memory of all isolates together, beyond what each begins with. Many programs that wait, each
/// within its own limit, must not fill the machine.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    max_bytes: u64,
    used: AtomicU64,
}

impl MemoryBudget {
    pub(crate) fn new(max_bytes: u64) -> Arc<Self> {
        Arc::new(Self { max_bytes, used: AtomicU64::new(0) })
    }

    fn take(&self, bytes: u64) -> bool {
        let within = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.max_bytes);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }
}

/// Why memory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryRefusal {
    /// The program reached its own limit.
    Limit,
    /// All programs together use what there is for them.
    Budget,
}

/// Grants memory up to the limit. A refusal is a `MemoryError` in Python.
#[derive(Debug)]
pub(crate) struct MemoryMeter {
    limit: u64,
    used: u64,
    pub(crate) peak: u64,
    pub(crate) refused: Option<MemoryRefusal>,
    budget: Arc<MemoryBudget>,
    /// What it took of the budget.
    taken: u64,
}

impl MemoryMeter {
    pub(crate) fn set_limit(&mut self, limits: &Limits) {
        self.limit = limits.memory_bytes;
        self.peak = self.used;
        self.refused = None;
    }

    /// Before a program is there, the interpreter gets what it needs.
    pub(crate) fn for_start(budget: Arc<MemoryBudget>) -> Self {
        let limit = Limits::MOST_MEMORY_BYTES;
        Self { limit, used: 0, peak: 0, refused: None, budget, taken: 0 }
    }

    /// Returns what it has beyond what an isolate begins with.
    pub(crate) fn grown(&self) -> u64 {
        self.taken
    }
}

impl Drop for MemoryMeter {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

impl ResourceLimiter for MemoryMeter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = (desired - current) as u64;
        let total = self.used + more;
        if total > self.limit {
            self.refused = Some(MemoryRefusal::Limit);
            return Ok(false);
        }
        // What an isolate begins with is the same memory for all, until it is written to.
        if current > 0 {
            if !self.budget.take(more) {
                self.refused = Some(MemoryRefusal::Budget);
                return Ok(false);
            }
            self.taken += more;
        }
        self.used = total;
        self.peak = self.peak.max(total);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        _desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // The allocator bounds tables by itself.
        Ok(true)
    }
}

/// The processor time of this thread so far.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
