//! Token figures and their totals.

use narrows_model::EventOutcome;
use serde::{Deserialize, Serialize};

/// The kind of request that a model made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A program was run.
    Run,
    /// Tools were searched for, or a definition was read.
    Lookup,
}

/// The tokens of one way of doing the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenCounts {
    /// Tool definitions, once for each session.
    pub definitions: u64,
    /// The text that the model wrote: names and arguments of calls.
    pub requests: u64,
    /// The text that the model read: results.
    pub results: u64,
}

impl TokenCounts {
    pub fn sum(&self) -> u64 {
        self.definitions + self.requests + self.results
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.definitions += other.definitions;
        self.requests += other.requests;
        self.results += other.results;
    }
}

/// The figures of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStats {
    /// Seconds since 1970.
    pub at: u64,
    pub kind: RequestKind,
    pub succeeded: bool,
    /// The outcome; entries of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<EventOutcome>,
    pub milliseconds: u64,
    /// Calls of upstream tools.
    pub calls: u64,
    pub seen: TokenCounts,
    pub direct: TokenCounts,
}

impl RunStats {
    /// Returns the outcome, or for entries without it what `succeeded` says.
    pub fn outcome(&self) -> EventOutcome {
        let known = if self.succeeded { EventOutcome::Ok } else { EventOutcome::Failed };
        self.outcome.unwrap_or(known)
    }
}

/// A counted entry.
#[derive(Clone, Debug)]
pub(super) enum StatsEntry {
    Run(RunStats),
    /// The definitions of a client's session, in tokens.
    Session {
        at: u64,
        seen: u64,
        direct: u64,
    },
}

/// The sum of many entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// The time of the first entry, in seconds since 1970.
    pub since: u64,
    pub sessions: u64,
    pub runs: u64,
    pub failed_runs: u64,
    pub lookups: u64,
    /// Calls of upstream tools.
    pub calls: u64,
    /// The tokens that the model saw.
    pub seen: TokenCounts,
    /// The tokens that it would have seen if it had called the same tools itself.
    pub direct: TokenCounts,
}

impl Totals {
    /// Returns how many percent fewer tokens the model saw. `None` if nothing was saved, or nothing was
    /// counted.
    pub fn saved_percent(&self) -> Option<f64> {
        let (seen, direct) = (self.seen.sum() as f64, self.direct.sum() as f64);
        (direct > seen).then(|| (1.0 - seen / direct) * 100.0)
    }

    pub(super) fn add(&mut self, counted: &StatsEntry) {
        match counted {
            StatsEntry::Run(run) => self.add_run(run),
            StatsEntry::Session { at, seen, direct } => self.add_session(*at, *seen, *direct),
        }
    }

    fn add_run(&mut self, run: &RunStats) {
        self.starts_at(run.at);
        match run.kind {
            RequestKind::Run => {
                self.runs += 1;
                self.failed_runs += u64::from(!run.succeeded);
            }
            RequestKind::Lookup => self.lookups += 1,
        }
        self.calls += run.calls;
        self.seen.add(&run.seen);
        self.direct.add(&run.direct);
    }

    fn add_session(&mut self, at: u64, seen: u64, direct: u64) {
        self.starts_at(at);
        self.sessions += 1;
        self.seen.definitions += seen;
        self.direct.definitions += direct;
    }

    fn starts_at(&mut self, at: u64) {
        if self.since == 0 {
            self.since = at;
        }
    }
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_secs())
}
