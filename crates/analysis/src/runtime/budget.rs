//! The memory budget of all analyses together.
//!
//! Each analysis that runs has a part of its own, so that no other can keep it from working; the rest
//! goes to whichever needs it first. An analysis that runs alone gets all that one analysis may have.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Which part of its limit each analysis has for itself, as a divisor.
const OWN_SHARE: usize = 4;

/// The memory of all analyses. Without it, several analyses at once, each within its own limit, filled
/// the machine's memory.
#[derive(Debug)]
pub(super) struct Budget {
    /// The bytes that each analysis has for itself.
    own: usize,
    /// The bytes that analyses which need more share.
    common: usize,
    taken: AtomicUsize,
}

impl Budget {
    /// Makes a budget for analyses that may have `limit` bytes each.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        let own = limit / OWN_SHARE;
        Arc::new(Self { own, common: limit - own, taken: AtomicUsize::new(0) })
    }

    /// Returns the most bytes that this many analyses have together.
    pub(super) fn total(&self, analyses: usize) -> usize {
        self.own * analyses + self.common
    }

    fn try_take(&self, bytes: usize) -> bool {
        let within = |taken: usize| taken.checked_add(bytes).filter(|taken| *taken <= self.common);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }
}

/// The part of the budget that one analysis holds, given back when dropped.
#[derive(Debug)]
pub(super) struct BudgetShare {
    budget: Arc<Budget>,
    held: AtomicUsize,
    was_refused: AtomicBool,
}

impl BudgetShare {
    pub(super) fn new(budget: &Arc<Budget>) -> Arc<Self> {
        let budget = Arc::clone(budget);
        Arc::new(Self { budget, held: AtomicUsize::new(0), was_refused: AtomicBool::new(false) })
    }

    /// Returns how much of `held` bytes comes from the common part. The pool's lock keeps two calls from
    /// changing `held` at once.
    fn common_part(&self, held: usize) -> usize {
        held.saturating_sub(self.budget.own)
    }

    /// Sets how many bytes the analysis holds. Returns false and changes nothing if the common part does
    /// not suffice.
    pub(super) fn try_set(&self, bytes: usize) -> bool {
        let before = self.common_part(self.held.load(Ordering::Relaxed));
        let more = self.common_part(bytes).saturating_sub(before);
        if more > 0 && !self.budget.try_take(more) {
            self.was_refused.store(true, Ordering::Relaxed);
            return false;
        }
        if more == 0 {
            self.set(bytes);
        } else {
            self.held.store(bytes, Ordering::Relaxed);
        }
        true
    }

    /// Sets how many bytes the analysis holds, even beyond the budget.
    pub(super) fn set(&self, bytes: usize) {
        let before = self.common_part(self.held.swap(bytes, Ordering::Relaxed));
        let after = self.common_part(bytes);
        if after > before {
            self.budget.taken.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.budget.taken.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Tells whether the analysis was refused memory at some point because others had it.
    pub(super) fn was_refused(&self) -> bool {
        self.was_refused.load(Ordering::Relaxed)
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_has_all_and_beside_it_others_have_their_own_part() {
        let budget = Budget::new(100);
        assert_eq!(budget.total(2), 125);
        let first = BudgetShare::new(&budget);
        assert!(first.try_set(100) && !first.was_refused());
        let second = BudgetShare::new(&budget);
        assert!(second.try_set(25) && !second.was_refused());
        assert!(!second.try_set(26) && second.was_refused());
        first.set(60);
        assert!(second.try_set(65) && !second.try_set(66));
        // What cannot be refused counts all the same.
        first.set(70);
        assert!(!second.try_set(66) && second.try_set(64));
        drop(first);
        assert!(second.try_set(100));
        drop(second);
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }
}
