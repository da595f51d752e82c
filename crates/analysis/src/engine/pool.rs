//! The memory of one analysis, shared by its operators.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use datafusion::{
    error::{DataFusionError, Result},
    execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation},
};

use super::explain::exhausted;

/// Operators that can write to disk share half of the memory evenly. The other half is for what
/// cannot be written, above all for merging what they wrote: a sort of long texts needs as much
/// again for that.
#[derive(Debug)]
pub(super) struct Pool {
    bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many operators can write to disk.
    sharing: usize,
    shared: usize,
    fixed: usize,
}

impl Pool {
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&mut self, consumer: &MemoryConsumer) -> &mut usize {
        if consumer.can_spill() { &mut self.shared } else { &mut self.fixed }
    }
}

impl MemoryPool for Pool {
    fn name(&self) -> &str {
        "analysis"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.state().sharing += usize::from(consumer.can_spill());
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut state = self.state();
        state.sharing = state.sharing.saturating_sub(usize::from(consumer.can_spill()));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        *self.state().of(reservation.consumer()) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut state = self.state();
        let held = state.of(reservation.consumer());
        *held = held.saturating_sub(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut state = self.state();
        let free = self.bytes.saturating_sub(state.shared + state.fixed);
        let room = match reservation.consumer().can_spill() {
            true => {
                let all = self.bytes.saturating_sub(state.fixed).min(self.bytes / 2);
                let share = all / state.sharing.max(1);
                share.saturating_sub(reservation.size()).min(free)
            }
            false => free,
        };
        if additional > room {
            let (name, size) = (reservation.consumer().name(), reservation.size());
            let reason =
                format!("{name} needs {additional} bytes more and has {size}; {room} are left");
            // This join would run its input once more, which not every input can do, and lose or
            // repeat rows of outer joins.
            return Err(match name.starts_with("NestedLoopJoinLoad") {
                true => exhausted(reason),
                false => DataFusionError::ResourcesExhausted(reason),
            });
        }
        *state.of(reservation.consumer()) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        let state = self.state();
        state.shared + state.fixed
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "analysis({} bytes)", self.bytes)
    }
}
