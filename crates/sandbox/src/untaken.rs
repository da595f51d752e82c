//! Answers that a program has not taken yet: they are in the host's memory, and not in the program's.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use narrows_model::{Caller, FairBudget};

/// Filling the host's memory with answers to calls that the program makes and never waits for: while it
/// has not taken so much, none of its calls begin.
pub(crate) const MAX_UNTAKEN_BYTES: usize = 32 << 20;

/// Answers up to this size get memory whatever others hold, so that no program is told that a call
/// failed which was made. There are never more of them than that bound and the calls in flight allow.
const SMALL_BYTES: usize = 256 << 10;

/// The answers of one run that its program has not taken yet.
#[derive(Debug)]
pub(crate) struct Untaken {
    bytes: AtomicUsize,
    /// The memory of all programs: calls that are in flight together may bring more than one program
    /// may have.
    memory: Arc<FairBudget>,
    caller: Caller,
}

/// The memory of one answer, until it is handed over or dropped.
#[derive(Debug)]
pub(crate) struct UntakenBytes {
    untaken: Arc<Untaken>,
    bytes: usize,
}

impl Untaken {
    pub(crate) fn new(memory: Arc<FairBudget>, caller: Caller) -> Arc<Self> {
        Arc::new(Self { bytes: AtomicUsize::new(0), memory, caller })
    }

    /// Counts an answer. Returns `None` if it is large and there is no memory for it.
    pub(crate) fn add(self: &Arc<Self>, bytes: usize) -> Option<UntakenBytes> {
        if bytes <= SMALL_BYTES {
            self.memory.count(&self.caller, bytes as u64);
        } else if !self.memory.take(&self.caller, bytes as u64) {
            return None;
        }
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        Some(UntakenBytes { untaken: Arc::clone(self), bytes })
    }

    /// Tells whether the program has to take some answers before its calls go on.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Acquire) >= MAX_UNTAKEN_BYTES
    }
}

impl UntakenBytes {
    /// Counts the answer as taken, and tells whether calls may go on that had to wait for it.
    pub(crate) fn taken(mut self) -> bool {
        self.give_back()
    }

    fn give_back(&mut self) -> bool {
        let bytes = mem::take(&mut self.bytes);
        let untaken = &self.untaken;
        untaken.memory.give_back(&untaken.caller, bytes as u64);
        let before = untaken.bytes.fetch_sub(bytes, Ordering::AcqRel);
        before >= MAX_UNTAKEN_BYTES && before - bytes < MAX_UNTAKEN_BYTES
    }
}

impl Drop for UntakenBytes {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn calls_wait_from_the_bound_on_and_are_told_once_when_they_may_go_on() {
        let untaken = Untaken::new(FairBudget::new(u64::MAX, u64::MAX), "a".into());
        let half = MAX_UNTAKEN_BYTES / 2;
        let first = untaken.add(half).unwrap();
        assert!(!untaken.is_full());
        let [second, third] = [half, half].map(|bytes| untaken.add(bytes).unwrap());
        assert!(untaken.is_full());
        assert!(!first.taken(), "there is still too much");
        assert!(second.taken());
        assert!(!untaken.is_full());
        assert!(!third.taken(), "that is told already");
    }

    #[test]
    fn a_large_answer_for_which_there_is_no_memory_is_not_counted() {
        let large = SMALL_BYTES + 1;
        let memory = FairBudget::new(large as u64, large as u64);
        let untaken = Untaken::new(Arc::clone(&memory), "a".into());
        let max = untaken.add(large).unwrap();
        assert!(untaken.add(large).is_none());
        assert!(untaken.add(SMALL_BYTES).is_some(), "a small one always is");
        drop(max);
        assert!(untaken.add(large).is_some(), "what is dropped is given back");
        assert!(memory.take(&"b".into(), large as u64));
    }
}
