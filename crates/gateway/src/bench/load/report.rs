//! The report of a load test: a line for each interval, and the result of the whole run.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::Serialize;

use super::{
    requests::RequestKind,
    tally::{Failures, Period},
    trend::Trend,
};
use crate::bench::{arguments::LoadBenchArgs, process::Usage, statistics::LatencySummary};

/// The shortest run that says whether a figure is flat; in a shorter one the gateway is still warming
/// up.
const MIN_MINUTES: f64 = 2.0;
/// How much each figure may vary in any case.
const SLACK_MB: f64 = 16.0;
const SLACK_DESCRIPTORS: f64 = 8.0;
const SLACK_THREADS: f64 = 4.0;
const MEGABYTE: f64 = 1e6;

/// The resources of the process at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    pub(super) usage: Usage,
}

/// The figures of one interval of a run.
#[derive(Debug, Serialize)]
pub(super) struct LoadInterval {
    pub(super) seconds: f64,
    pub(super) requests: usize,
    per_second: f64,
    errors: u64,
    times: LatencySummary,
    worst_health_ms: f64,
    worst_bystander_ms: f64,
    usage: Option<Usage>,
}

impl LoadInterval {
    pub(super) const HEADER: &str = "  time   req/s  errors      p50      p95      p99   /health  \
                                     1 + 1 ms      RSS  fds  threads";

    pub(super) fn new(
        seconds: f64,
        period: Period,
        length: Duration,
        usage: Option<Usage>,
    ) -> Self {
        let requests = period.times.len();
        Self {
            seconds,
            requests,
            per_second: requests as f64 / length.as_secs_f64().max(f64::EPSILON),
            errors: period.errors,
            times: LatencySummary::of(period.times),
            worst_health_ms: period.health.as_secs_f64() * 1e3,
            worst_bystander_ms: period.bystander.as_secs_f64() * 1e3,
            usage,
        }
    }
}

impl fmt::Display for LoadInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, per_second, errors, times, .. } = self;
        let LatencySummary { p50_ms, p95_ms, p99_ms, .. } = times;
        write!(f, "{seconds:5.0}s {per_second:7.0} {errors:7} {p50_ms:8.1} {p95_ms:8.1} ")?;
        write!(f, "{p99_ms:8.1} {:9.1} {:9.1} ", self.worst_health_ms, self.worst_bystander_ms)?;
        match &self.usage {
            Some(usage) => {
                let megabytes = usage.resident_bytes as f64 / MEGABYTE;
                write!(f, "{megabytes:7.0}MB {:4} {:8}", usage.descriptors, usage.threads)
            }
            None => write!(f, "        –    –        –"),
        }
    }
}

/// The figures of a whole run.
#[derive(Debug, Serialize)]
pub(super) struct LoadReport {
    minutes: f64,
    users: u32,
    requests: usize,
    errors: u64,
    failures: BTreeMap<RequestKind, Failures>,
    worst_health_ms: f64,
    worst_bystander_ms: f64,
    /// None if the run was too short, or if the system does not report them.
    memory_mb: Option<Trend>,
    descriptors: Option<Trend>,
    threads: Option<Trend>,
    /// Whether all three are flat.
    is_flat: Option<bool>,
    lines: Vec<LoadInterval>,
}

impl LoadReport {
    pub(super) fn new(
        args: &LoadBenchArgs,
        lines: Vec<LoadInterval>,
        samples: &[Sample],
        failures: BTreeMap<RequestKind, Failures>,
    ) -> Self {
        let is_long = args.minutes >= MIN_MINUTES;
        let trend = |value: fn(&Usage) -> f64, slack: f64| {
            let values = samples.iter().map(|sample| (sample.seconds / 60.0, value(&sample.usage)));
            is_long.then(|| Trend::of(&values.collect::<Vec<_>>(), slack)).flatten()
        };
        let memory_mb = trend(|usage| usage.resident_bytes as f64 / MEGABYTE, SLACK_MB);
        let descriptors = trend(|usage| usage.descriptors as f64, SLACK_DESCRIPTORS);
        let threads = trend(|usage| usage.threads as f64, SLACK_THREADS);
        let all = [memory_mb, descriptors, threads];
        let flat: Option<Vec<bool>> = all.iter().map(|trend| Some((*trend)?.is_flat)).collect();
        let worst = |value: fn(&LoadInterval) -> f64| lines.iter().map(value).fold(0.0, f64::max);
        Self {
            minutes: args.minutes,
            users: args.users,
            requests: lines.iter().map(|line| line.requests).sum(),
            errors: lines.iter().map(|line| line.errors).sum(),
            failures,
            worst_health_ms: worst(|line| line.worst_health_ms),
            worst_bystander_ms: worst(|line| line.worst_bystander_ms),
            memory_mb,
            descriptors,
            threads,
            is_flat: flat.map(|flat| flat.into_iter().all(|is_flat| is_flat)),
            lines,
        }
    }

    /// Tells whether nothing failed and nothing grew, as far as that is known.
    pub(super) fn is_good(&self) -> bool {
        self.errors == 0 && self.is_flat != Some(false)
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minutes, users, requests, errors, .. } = self;
        writeln!(f, "\n{users} users, {minutes} min: {requests} requests, {errors} errors")?;
        for (kind, Failures { count, first }) in &self.failures {
            writeln!(f, "  {count} × {kind:?}: {first}")?;
        }
        writeln!(f, "worst /health  {:.1} ms", self.worst_health_ms)?;
        writeln!(f, "worst 1 + 1    {:.1} ms, of an agent that does nothing else", {
            self.worst_bystander_ms
        })?;
        let known = [("memory, MB", self.memory_mb), ("descriptors", self.descriptors)];
        for (name, trend) in known.into_iter().chain([("threads", self.threads)]) {
            if let Some(trend) = trend {
                writeln!(f, "{name:14} {trend}")?;
            }
        }
        match self.is_flat {
            Some(true) => write!(f, "verdict        flat"),
            Some(false) => write!(f, "verdict        not flat"),
            None if self.minutes < MIN_MINUTES => {
                write!(f, "verdict        too short to tell; take --minutes {MIN_MINUTES} or more")
            }
            None => write!(f, "verdict        this system does not tell what a process takes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(minutes: f64, megabytes: impl Fn(u32) -> u64) -> LoadReport {
        let args =
            LoadBenchArgs { minutes, users: 1, only: Vec::new(), program: None, json: false };
        let sample = |n: u32| Sample {
            seconds: f64::from(n) * 3.0,
            usage: Usage { resident_bytes: megabytes(n) * 1_000_000, descriptors: 9, threads: 9 },
        };
        let samples: Vec<Sample> = (0..100).map(sample).collect();
        LoadReport::new(&args, Vec::new(), &samples, BTreeMap::new())
    }

    #[test]
    fn the_verdict_is_that_of_what_grows() {
        assert_eq!(report(5.0, |_| 300).is_flat, Some(true));
        let leak = report(5.0, |n| 300 + 2 * u64::from(n));
        assert!(leak.is_flat == Some(false) && !leak.is_good());
        assert!(leak.descriptors.unwrap().is_flat && !leak.memory_mb.unwrap().is_flat);
        let text = leak.to_string();
        assert!(text.contains("verdict        not flat") && text.contains("memory"), "{text}");
    }

    #[test]
    fn a_short_run_tells_nothing() {
        let short = report(1.0, |n| 300 + 2 * u64::from(n));
        assert!(short.is_flat.is_none() && short.is_good());
        assert!(short.to_string().contains("too short"));
    }
}
