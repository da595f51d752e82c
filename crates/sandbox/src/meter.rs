//! Measures what a run uses up of memory and of the processor.

use std::{mem, sync::Arc, time::Duration};

use narrows_model::{Caller, FairBudget, Limits};
use wasmtime::ResourceLimiter;

/// Why memory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryRefusal {
    /// The program reached its own limit.
    Limit,
    /// All programs together, or those of its caller, use what there is for them.
    Budget,
}

/// A meter that grants memory up to a limit. A refusal is a `MemoryError` in Python.
#[derive(Debug)]
pub(crate) struct MemoryMeter {
    limit: u64,
    used: u64,
    pub(crate) peak: u64,
    pub(crate) refused: Option<MemoryRefusal>,
    /// The memory of all programs that run: many that wait, each within its own limit, must not fill
    /// the machine, and those of one caller must leave some to others.
    budget: Arc<FairBudget>,
    /// The caller whom the program runs for; `None` while no program runs.
    caller: Option<Caller>,
    /// The part of the budget that the program has.
    counted: u64,
    /// The memory that it has beyond what an isolate begins with.
    grown: u64,
}

impl MemoryMeter {
    /// Returns a meter for an interpreter that starts, which gets what it needs before a program is
    /// there.
    pub(crate) fn for_start(budget: Arc<FairBudget>) -> Self {
        Self {
            limit: Limits::MAX_MEMORY_BYTES,
            used: 0,
            peak: 0,
            refused: None,
            budget,
            caller: None,
            counted: 0,
            grown: 0,
        }
    }

    /// Begins to count for a program, with what earlier ones of its session left.
    pub(crate) fn begin(&mut self, limits: &Limits, caller: Caller) {
        self.end();
        self.limit = limits.memory_bytes;
        self.peak = self.used;
        self.refused = None;
        self.counted = self.grown;
        self.budget.count(&caller, self.counted);
        self.caller = Some(caller);
    }

    /// Gives the program's part of the budget back. What a session keeps has a bound of its own.
    pub(crate) fn end(&mut self) {
        if let Some(caller) = self.caller.take() {
            self.budget.give_back(&caller, mem::take(&mut self.counted));
        }
    }

    /// Takes more of the budget. A program that is alone may use all that its limit allows.
    fn take(&mut self, more: u64) -> bool {
        let Some(caller) = &self.caller else { return true };
        let is_taken =
            self.budget.take(caller, more) || self.budget.take_as_only(caller, self.counted, more);
        if is_taken {
            self.counted += more;
        }
        is_taken
    }

    /// Returns what it has beyond what an isolate begins with.
    pub(crate) fn grown(&self) -> u64 {
        self.grown
    }
}

impl Drop for MemoryMeter {
    fn drop(&mut self) {
        self.end();
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
        // The memory that an isolate begins with is the same for all, until it is written to.
        if current > 0 {
            if !self.take(more) {
                self.refused = Some(MemoryRefusal::Budget);
                return Ok(false);
            }
            self.grown += more;
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

/// Returns the processor time of this thread so far.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MEGABYTE: usize = 1 << 20;

    /// A program of a caller, with the memory that it begins with.
    fn begun(budget: &Arc<FairBudget>, caller: &str) -> MemoryMeter {
        let mut meter = MemoryMeter::for_start(Arc::clone(budget));
        assert!(meter.memory_growing(0, 8 * MEGABYTE, None).unwrap());
        let limits = Limits { memory_bytes: 512 << 20, ..Limits::default() };
        meter.begin(&limits, caller.into());
        meter
    }

    fn grows(meter: &mut MemoryMeter, megabytes: usize) -> bool {
        let now = meter.used as usize;
        meter.memory_growing(now, now + megabytes * MEGABYTE, None).unwrap()
    }

    /// Programs of two callers, each of which takes what it can get.
    #[test]
    fn whatever_programs_of_others_hold_together_there_is_memory_for_one_more() {
        let max_bytes = 640 << 20;
        let budget = FairBudget::new(max_bytes, max_bytes / 5 * 4);
        let mut held = Vec::new();
        for (attacker, programs) in [("a", 20), ("b", 10)] {
            for _ in 0..programs {
                let mut meter = begun(&budget, attacker);
                while grows(&mut meter, 1) {}
                assert!(meter.refused.is_some());
                held.push(meter);
            }
        }
        let total: u64 = held.iter().map(|meter| meter.counted).sum();
        assert!(total <= max_bytes, "{total}");
        assert!(grows(&mut begun(&budget, "newcomer"), 8));
        // The control: a program that is alone has all that its limit allows, and gives it back.
        drop(held);
        for _ in 0..2 {
            let mut alone = begun(&budget, "b");
            assert!(grows(&mut alone, 500));
            assert!(!grows(&mut alone, 20));
            assert_eq!(alone.refused, Some(MemoryRefusal::Limit));
        }
    }

    #[test]
    fn what_a_session_keeps_between_its_programs_counts_while_one_runs() {
        let budget = FairBudget::new(100 << 20, 100 << 20);
        let mut session = begun(&budget, "a");
        assert!(grows(&mut session, 50));
        session.end();
        assert!(budget.take(&"b".into(), 100 << 20));
        budget.give_back(&"b".into(), 100 << 20);
        session.begin(&Limits::default(), "a".into());
        assert_eq!((session.grown(), session.counted), (50 << 20, 50 << 20));
        assert!(!budget.take(&"b".into(), 40 << 20));
    }
}
