//! Clocks that show the same in every run.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use real::{HostMonotonicClock, HostWallClock};

/// 2000-01-01, in seconds. Files have this time too.
pub(crate) const TIME: u64 = 946_684_800;

/// A wall clock that stands still.
pub(crate) struct Stopped;

impl HostWallClock for Stopped {
    fn resolution(&self) -> Duration {
        Duration::from_micros(1)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(TIME)
    }
}

/// A monotonic clock that goes on by one microsecond each time it is looked at.
#[derive(Default)]
pub(crate) struct Steps(AtomicU64);

impl HostMonotonicClock for Steps {
    fn resolution(&self) -> u64 {
        1_000
    }

    fn now(&self) -> u64 {
        self.0.fetch_add(1_000, Ordering::Relaxed)
    }
}
