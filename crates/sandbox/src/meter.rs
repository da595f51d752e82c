//! What a run uses up of memory and of the processor.

use std::time::Duration;

use narrows_model::Limits;
use wasmtime::ResourceLimiter;

/// Grants memory up to the limit. A refusal is a `MemoryError` in Python.
#[derive(Debug, Default)]
pub(crate) struct MemoryMeter {
    limit: u64,
    used: u64,
    pub(crate) peak: u64,
    pub(crate) refused: bool,
}

impl MemoryMeter {
    pub(crate) fn set_limit(&mut self, limits: &Limits) {
        self.limit = limits.memory_bytes;
        self.peak = self.used;
        self.refused = false;
    }

    /// Before a program is there, the interpreter gets what it needs.
    pub(crate) fn for_start() -> Self {
        Self { limit: Limits::MOST_MEMORY_BYTES, ..Self::default() }
    }
}

impl ResourceLimiter for MemoryMeter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.used + (desired - current) as u64;
        if total > self.limit {
            self.refused = true;
            return Ok(false);
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
