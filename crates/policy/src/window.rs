//! Sliding windows of one minute.

use std::{collections::VecDeque, time::Duration};

/// The length of the window behind limits "per minute".
const SECONDS: u64 = 60;

/// A sliding window: amounts by the second, for one minute.
///
/// A token bucket would let twice the limit through in the first minute: its content, and everything
/// that flows in. A list of all events would grow with the limit. Counting by the second enforces the
/// limit in any minute with at most 61 numbers, and frees an amount less than a second too late.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Seconds and their amounts, the oldest first.
    amounts: VecDeque<(u64, u64)>,
    total: u64,
}

impl Window {
    /// Returns the second in which something was last counted.
    pub(super) fn last(&self) -> Option<u64> {
        self.amounts.back().map(|(second, _)| *second)
    }

    /// Returns how long to wait until `more` fits under `limit`; None if it fits now.
    pub(super) fn wait(&mut self, more: u64, limit: u64, now: Duration) -> Option<Duration> {
        self.forget(now.as_secs());
        let mut total = self.total.saturating_add(more);
        if total <= limit {
            return None;
        }
        let mut until = now.as_secs();
        for (second, amount) in &self.amounts {
            total = total.saturating_sub(*amount);
            until = *second;
            if total <= limit {
                break;
            }
        }
        // A second leaves the window when its end is a minute ago.
        let free = Duration::from_secs(until.saturating_add(SECONDS + 1));
        Some(free.saturating_sub(now).max(Duration::from_millis(1)))
    }

    pub(super) fn add(&mut self, amount: u64, now: Duration) {
        // Threads may come late with an earlier time; the seconds in the list must not go backwards.
        let second = now.as_secs().max(self.last().unwrap_or_default());
        self.forget(second);
        self.total = self.total.saturating_add(amount);
        match self.amounts.back_mut() {
            Some((last, amounts)) if *last == second => *amounts = amounts.saturating_add(amount),
            _ => self.amounts.push_back((second, amount)),
        }
    }

    fn forget(&mut self, now: u64) {
        while let Some((second, amount)) = self.amounts.front()
            && second.saturating_add(SECONDS) < now
        {
            self.total = self.total.saturating_sub(*amount);
            self.amounts.pop_front();
        }
    }

    /// Tells whether everything in the window is too old to count.
    pub(super) fn is_over(&self, now: Duration) -> bool {
        self.last().is_none_or(|last| last.saturating_add(SECONDS) < now.as_secs())
    }
}
