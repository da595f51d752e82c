//! The memory of one analysis, shared by its operators.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use datafusion::{
    error::{DataFusionError, Result},
    execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation},
};

use super::budget::BudgetShare;
use crate::error::exhausted;

/// The memory pool of one analysis. Operators that can write to disk share half of it evenly. The other
/// half is for what cannot be written, above all for merging what they wrote: a sort of long texts needs
/// as much again for that.
#[derive(Debug)]
pub(super) struct Pool {
    bytes: usize,
    /// The part of the budget of all analyses that this one holds.
    share: Arc<BudgetShare>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of operators that can write to disk.
    sharing: usize,
    shared: usize,
    fixed: usize,
}

impl Pool {
    pub(super) fn new(bytes: usize, share: Arc<BudgetShare>) -> Self {
        Self { bytes, share, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&mut self, consumer: &MemoryConsumer) -> &mut usize {
        if consumer.can_spill() { &mut self.shared } else { &mut self.fixed }
    }

    fn held(&self) -> usize {
        self.shared + self.fixed
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
        let mut state = self.state();
        *state.of(reservation.consumer()) += additional;
        self.share.set(state.held());
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut state = self.state();
        let held = state.of(reservation.consumer());
        *held = held.saturating_sub(shrink);
        self.share.set(state.held());
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut state = self.state();
        let free = self.bytes.saturating_sub(state.held());
        let room = match reservation.consumer().can_spill() {
            true => {
                let all = self.bytes.saturating_sub(state.fixed).min(self.bytes / 2);
                let share = all / state.sharing.max(1);
                share.saturating_sub(reservation.size()).min(free)
            }
            false => free,
        };
        if additional > room || !self.share.try_set(state.held() + additional) {
            let (name, size) = (reservation.consumer().name(), reservation.size());
            let reason = format!(
                "{name} needs {additional} bytes more and has {size}; at most {room} are left"
            );
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
        self.state().held()
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

#[cfg(test)]
mod tests {
    use super::{super::budget::Budget, *};

    #[test]
    fn two_analyses_share_one_budget_and_give_back_what_they_had() {
        let budget = Budget::new(1_000);
        let pool =
            || -> Arc<dyn MemoryPool> { Arc::new(Pool::new(1_000, BudgetShare::new(&budget))) };
        let (first, second) = (pool(), pool());
        let table = MemoryConsumer::new("table").register(&first);
        table.try_grow(1_000).unwrap();
        let other = MemoryConsumer::new("table").register(&second);
        other.try_grow(250).unwrap();
        let refused = other.try_grow(1).unwrap_err();
        assert!(matches!(refused, DataFusionError::ResourcesExhausted(_)), "{refused}");
        assert_eq!(second.reserved(), 250);
        table.shrink(1);
        other.try_grow(1).unwrap();
        drop((table, first));
        other.try_grow(749).unwrap();
        // Its own limit holds as well.
        assert!(other.try_grow(1).is_err());
    }
}
