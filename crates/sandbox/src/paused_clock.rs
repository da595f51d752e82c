//! Time that does not count against a program, because it waits for a person.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The longest time that a program can wait for people in all: it keeps its isolate meanwhile.
const MAX_PAUSE: Duration = Duration::from_secs(600);

/// A clock of the time for which a program waits for people. Its host says when it begins to wait.
#[derive(Clone, Debug, Default)]
pub struct PausedClock(Arc<Mutex<Waits>>);

/// A guard: while it exists, a person is asked.
#[derive(Debug)]
pub struct Waiting(PausedClock);

#[derive(Debug, Default)]
struct Waits {
    /// How many are asked now, and since when anybody is.
    open: u32,
    since: Option<Instant>,
    /// The time of those who have answered.
    over: Duration,
}

impl PausedClock {
    /// Begins to wait for a person, until the result is dropped.
    pub fn wait(&self) -> Waiting {
        self.waits().begin(Instant::now());
        Waiting(self.clone())
    }

    /// Returns how long people have been asked until now.
    pub(crate) fn so_far(&self, now: Instant) -> Duration {
        self.waits().so_far(now)
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waits().end(Instant::now());
    }
}

impl Waits {
    fn begin(&mut self, now: Instant) {
        self.open += 1;
        self.since.get_or_insert(now);
    }

    fn end(&mut self, now: Instant) {
        self.open -= 1;
        if self.open == 0 {
            self.over = self.so_far(now);
            self.since = None;
        }
    }

    fn so_far(&self, now: Instant) -> Duration {
        let open = self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        (self.over + open).min(MAX_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_are_asked_at_once_take_their_time_together() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut waits = Waits::default();
        let so_far = |waits: &Waits, seconds| waits.so_far(at(seconds)).as_secs();
        assert_eq!(so_far(&waits, 5), 0);
        waits.begin(at(5));
        waits.begin(at(7));
        assert_eq!(so_far(&waits, 8), 3);
        waits.end(at(9));
        waits.end(at(10));
        assert_eq!(so_far(&waits, 20), 5);
        waits.begin(at(30));
        assert_eq!(so_far(&waits, 32), 7);
        assert_eq!(waits.so_far(at(10_000)), MAX_PAUSE);
    }
}
