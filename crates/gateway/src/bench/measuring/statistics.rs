//! Summaries of measured times.

use std::{fmt, time::Duration};

use serde::Serialize;

/// The percentiles of many measurements, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::bench) struct LatencySummary {
    pub(in crate::bench) samples: usize,
    pub(in crate::bench) p50_ms: f64,
    pub(in crate::bench) p95_ms: f64,
    pub(in crate::bench) p99_ms: f64,
}

impl LatencySummary {
    pub(in crate::bench) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |part: f64| {
            let index = (times.len().saturating_sub(1) as f64 * part).round() as usize;
            times.get(index).map_or(0.0, |time| time.as_nanos() as f64 / 1e6)
        };
        Self { samples: times.len(), p50_ms: at(0.50), p95_ms: at(0.95), p99_ms: at(0.99) }
    }
}

impl fmt::Display for LatencySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p50 {:.3} ms, p95 {:.3} ms, p99 {:.3} ms ({} samples)",
            self.p50_ms, self.p95_ms, self.p99_ms, self.samples
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let times = (1..=100).rev().map(Duration::from_millis).collect();
        let summary = LatencySummary::of(times);
        assert_eq!((summary.p50_ms, summary.p95_ms, summary.p99_ms), (51.0, 95.0, 99.0));
    }
}
