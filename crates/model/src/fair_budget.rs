//! A budget, for instance of bytes, that is shared fairly between callers without waiting.
//!
//! Callers hold their parts for as long as they like, so others cannot wait for them. Therefore a
//! caller who comes while others hold some gets at most half of what they left, so that there is always
//! some for a newcomer; as with [`FairSemaphore::for_long`](crate::FairSemaphore::for_long).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::Caller;

/// A budget for all callers together.
#[derive(Debug)]
pub struct FairBudget {
    max: u64,
    /// The most for one caller.
    max_held: u64,
    state: Mutex<BudgetState>,
}

#[derive(Debug, Default)]
struct BudgetState {
    held: u64,
    callers: HashMap<Caller, u64>,
}

impl FairBudget {
    /// Creates a budget of `max`, of which one caller may have `max_held`.
    pub fn new(max: u64, max_held: u64) -> Arc<Self> {
        Arc::new(Self { max, max_held, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `more` for a caller if it may have that, and tells whether it was taken.
    pub fn take(&self, caller: &Caller, more: u64) -> bool {
        let mut state = self.state();
        let own = state.callers.get(caller).copied().unwrap_or(0);
        let (Some(held), Some(own_then)) = (state.held.checked_add(more), own.checked_add(more))
        else {
            return false;
        };
        let is_alone = own == state.held;
        let left = self.max.saturating_sub(held);
        if held > self.max || own_then > self.max_held || !is_alone && own_then > left {
            return false;
        }
        state.add(caller, more);
        true
    }

    /// Takes `more` even beyond the limits, if `own` is all that anybody has. Tells whether it was
    /// taken.
    pub fn take_as_only(&self, caller: &Caller, own: u64, more: u64) -> bool {
        let mut state = self.state();
        let is_only = state.held == own;
        if is_only {
            state.add(caller, more);
        }
        is_only
    }

    /// Adds what a caller has already, without a check.
    pub fn count(&self, caller: &Caller, more: u64) {
        self.state().add(caller, more);
    }

    /// Returns `less` of what a caller has.
    pub fn give_back(&self, caller: &Caller, less: u64) {
        let mut state = self.state();
        let Some(own) = state.callers.get_mut(caller) else { return };
        let less = less.min(*own);
        *own -= less;
        if *own == 0 {
            state.callers.remove(caller);
        }
        state.held -= less;
    }
}

impl BudgetState {
    fn add(&mut self, caller: &Caller, more: u64) {
        if more > 0 {
            *self.callers.entry(Arc::clone(caller)).or_default() += more;
            self.held += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(budget: &FairBudget, caller: &str) -> u64 {
        std::iter::from_fn(|| budget.take(&caller.into(), 1).then_some(1)).sum()
    }

    #[test]
    fn however_many_hold_what_they_can_get_there_is_some_for_a_newcomer() {
        let budget = FairBudget::new(1_000, 600);
        let shares: Vec<u64> = (0..6).map(|number| all_of(&budget, &number.to_string())).collect();
        assert_eq!(shares, [600, 200, 100, 50, 25, 12]);
        assert!(budget.take(&"newcomer".into(), 6));
    }

    #[test]
    fn who_is_alone_gets_the_full_share_and_never_more() {
        assert_eq!(all_of(&FairBudget::new(100, 100), "a"), 100);
        assert!(!FairBudget::new(100, 60).take(&"a".into(), 61));
        assert!(!FairBudget::new(100, u64::MAX).take(&"a".into(), u64::MAX));
    }

    #[test]
    fn who_has_all_that_is_held_may_have_more_than_its_share() {
        let budget = FairBudget::new(100, 50);
        let (a, b) = ("a".into(), "b".into());
        budget.count(&a, 40);
        assert!(!budget.take(&a, 20) && budget.take_as_only(&a, 40, 20));
        assert!(!budget.take_as_only(&a, 40, 20), "another one of the same caller has something");
        budget.count(&b, 1);
        assert!(!budget.take_as_only(&a, 60, 20));
    }

    #[test]
    fn what_is_given_back_others_may_have() {
        let budget = FairBudget::new(100, 100);
        let (a, b) = ("a".into(), "b".into());
        assert!(budget.take(&a, 100) && !budget.take(&b, 1));
        budget.give_back(&a, 100);
        assert!(budget.take(&b, 100));
        // More than was taken is not given back.
        budget.give_back(&b, 200);
        budget.count(&a, 150);
        assert!(!budget.take(&b, 1), "what is there is counted, though it is too much");
        budget.give_back(&a, 150);
        assert!(budget.state().callers.is_empty() && budget.state().held == 0);
    }
}
