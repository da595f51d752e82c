//! How often a server lists its tools again: after it said that they changed, and for names that are not
//! among them.

use std::time::Duration;

use tokio::time::Instant;

/// Changes that come within this time are read together.
const CHANGES_TIME: Duration = Duration::from_millis(50);
/// A server that changes its tools again and again is read ever less often, down to once in this
/// time: each reading costs as much as its list is long, and an index of it.
const MAX_CHANGES_TIME: Duration = Duration::from_secs(10);
/// Wrong names make a server list its tools at most once in this time: a model that does not know the
/// names may try thousands.
pub(crate) const REFRESH_PAUSE: Duration = Duration::from_secs(5);

/// The pause before the next reading of changed tools.
#[derive(Debug, Default)]
pub(crate) struct ChangesPause {
    last: Option<(Instant, Duration)>,
}

impl ChangesPause {
    /// Returns how long the reading that is due now waits.
    pub(crate) fn next(&mut self, now: Instant) -> Duration {
        let pause = match self.last {
            // The tools changed again soon after they were read.
            Some((begun, pause)) if now < begun + pause * 4 => (pause * 2).min(MAX_CHANGES_TIME),
            _ => CHANGES_TIME,
        };
        self.last = Some((now, pause));
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_change_all_the_time_are_read_ever_less_often() {
        let start = Instant::now();
        let mut pause = ChangesPause::default();
        let mut now = start;
        let pauses: Vec<Duration> = (0..12)
            .map(|_| {
                let next = pause.next(now);
                now += next;
                next
            })
            .collect();
        assert_eq!(pauses[..3], [50, 100, 200].map(Duration::from_millis));
        assert_eq!(pauses[11], MAX_CHANGES_TIME);
        // Controls: after a rest it is read at once, and so are changes every second.
        for seconds in [40, 41, 42] {
            assert_eq!(pause.next(now + Duration::from_secs(seconds)), CHANGES_TIME);
        }
    }
}
