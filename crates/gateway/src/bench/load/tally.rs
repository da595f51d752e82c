//! Counts requests, their times and their failures since the last look.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;

use super::requests::RequestKind;

/// The number of failed requests of a kind, and the message of the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Failures {
    pub(super) count: u64,
    pub(super) first: String,
}

/// The counters that all users share.
#[derive(Debug, Default)]
pub(super) struct Tally {
    since_last: Mutex<Period>,
    failures: Mutex<BTreeMap<RequestKind, Failures>>,
}

/// The counts of one interval.
#[derive(Debug, Default)]
pub(super) struct Period {
    pub(super) times: Vec<Duration>,
    pub(super) errors: u64,
    /// The longest time that `/health` took.
    pub(super) health: Duration,
    /// The longest time that a program of the bystander took.
    pub(super) bystander: Duration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tally {
    pub(super) fn count(&self, time: Duration) {
        lock(&self.since_last).times.push(time);
    }

    pub(super) fn count_failure(&self, kind: RequestKind, error: String) {
        lock(&self.since_last).errors += 1;
        let mut failures = lock(&self.failures);
        failures.entry(kind).or_insert(Failures { count: 0, first: error }).count += 1;
    }

    pub(super) fn see_health(&self, time: Duration) {
        let mut period = lock(&self.since_last);
        period.health = period.health.max(time);
    }

    pub(super) fn see_bystander(&self, time: Duration) {
        let mut period = lock(&self.since_last);
        period.bystander = period.bystander.max(time);
    }

    /// Returns what was counted since the last call.
    pub(super) fn take(&self) -> Period {
        std::mem::take(&mut *lock(&self.since_last))
    }

    /// Returns all failures since the start.
    pub(super) fn failures(&self) -> BTreeMap<RequestKind, Failures> {
        lock(&self.failures).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_begins_anew_and_failures_stay() {
        let tally = Tally::default();
        tally.count(Duration::from_millis(1));
        tally.count_failure(RequestKind::Code, "first".into());
        tally.count_failure(RequestKind::Code, "second".into());
        tally.see_health(Duration::from_millis(3));
        tally.see_health(Duration::from_millis(2));
        let period = tally.take();
        assert_eq!((period.times.len(), period.errors), (1, 2));
        assert_eq!(period.health, Duration::from_millis(3));
        let empty = tally.take();
        assert_eq!((empty.times.len(), empty.errors, empty.health), (0, 0, Duration::ZERO));
        let expected = Failures { count: 2, first: "first".into() };
        assert_eq!(tally.failures(), BTreeMap::from([(RequestKind::Code, expected)]));
    }
}
