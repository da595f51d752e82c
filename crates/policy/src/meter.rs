//! Counts the use of each principal, and refuses what exceeds a quota.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use thiserror::Error;

use super::{decide::Policy, pattern::Spelled, quota::CompiledQuota, window::Window};

/// How many windows are kept, so that principals without number do not fill the memory. Each window
/// is of one principal and one quota; the one that was unused for longest makes room.
const MAX_WINDOWS: usize = 10_000;

/// The error for a quota that is used up for now.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the quota {quota:?} is used up ({what}): try again in {} s", seconds(.retry_after))]
pub struct Exceeded {
    pub quota: String,
    /// `10 runs per minute`
    pub what: String,
    pub retry_after: Duration,
}

/// Rounds up to whole seconds, so that the wait is surely over after them.
fn seconds(wait: &Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// The subject of a count: runs, bytes, or calls of tools that fit a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum QuotaSubject {
    Runs,
    Bytes,
    Calls(String),
}

impl fmt::Display for QuotaSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs => f.write_str("runs per minute"),
            Self::Bytes => f.write_str("bytes read from servers per minute"),
            Self::Calls(pattern) => write!(f, "calls of {pattern} per minute"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct QuotaKey {
    quota: String,
    principal: String,
    counted: QuotaSubject,
}

/// The counters of all principals, shared by all threads.
#[derive(Debug, Default)]
pub struct Meter(Mutex<Windows>);

#[derive(Debug, Default)]
struct Windows {
    /// The first moment that a caller passed. Seconds are counted from it.
    start: Option<Instant>,
    by_key: HashMap<QuotaKey, Window>,
}

impl Meter {
    /// Counts a run that is about to start, or refuses it.
    pub fn run(&self, policy: &Policy, principal: &str, now: Instant) -> Result<(), Exceeded> {
        let limits = policy.fitting(principal).filter_map(|quota| {
            let limit = quota.quota.runs_per_minute?;
            Some(Limit::one(quota, QuotaSubject::Runs, limit.into()))
        });
        self.windows().take(limits.collect(), principal, now)
    }

    /// Counts a call that is about to be made, or refuses it; also if too many bytes were read lately.
    pub fn call(
        &self,
        policy: &Policy,
        principal: &str,
        server: &str,
        tool: &str,
        now: Instant,
    ) -> Result<(), Exceeded> {
        let mut limits = Vec::new();
        let tool = Spelled::new(server, tool);
        for quota in policy.fitting(principal) {
            let fitting = quota.tools.iter().filter(|(_, tools, _)| tools.fit_tool(&tool));
            limits.extend(fitting.map(|(pattern, _, limit)| {
                Limit::one(quota, QuotaSubject::Calls(pattern.clone()), (*limit).into())
            }));
            if let Some(limit) = quota.quota.bytes_per_minute {
                limits.push(Limit { more: 0, ..Limit::one(quota, QuotaSubject::Bytes, limit) });
            }
        }
        self.windows().take(limits, principal, now)
    }

    /// Counts bytes that were read from a server. They are read already, so nothing is refused here.
    pub fn bytes(&self, policy: &Policy, principal: &str, bytes: u64, now: Instant) {
        let mut windows = self.windows();
        let limited = policy.fitting(principal).filter(|one| one.quota.bytes_per_minute.is_some());
        for quota in limited {
            let now = windows.since_start(now);
            windows
                .window(key(&quota.quota.name, principal, QuotaSubject::Bytes), now)
                .add(bytes, now);
        }
    }

    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.windows().by_key.len()
    }
}

fn key(quota: &str, principal: &str, counted: QuotaSubject) -> QuotaKey {
    QuotaKey { quota: quota.to_owned(), principal: principal.to_owned(), counted }
}

/// An amount that is to be counted, and its limit.
#[derive(Debug)]
struct Limit<'a> {
    quota: &'a str,
    counted: QuotaSubject,
    more: u64,
    limit: u64,
}

impl<'a> Limit<'a> {
    fn one(allowance: &'a CompiledQuota, counted: QuotaSubject, limit: u64) -> Self {
        Self { quota: &allowance.quota.name, counted, more: 1, limit }
    }
}

impl Windows {
    fn since_start(&mut self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.start.get_or_insert(now))
    }

    /// Counts all of the amounts, or none of them if one limit would be exceeded.
    fn take(&mut self, limits: Vec<Limit<'_>>, who: &str, now: Instant) -> Result<(), Exceeded> {
        let now = self.since_start(now);
        let mut longest: Option<Exceeded> = None;
        for Limit { quota, counted, more, limit } in &limits {
            // Bytes are counted afterwards: there has to be room for one more.
            let more = (*more).max(1);
            let window = self.by_key.get_mut(&key(quota, who, counted.clone()));
            let wait = match window {
                Some(window) => window.wait(more, *limit, now),
                None => (more > *limit).then_some(Duration::from_secs(60)),
            };
            let Some(retry_after) = wait else { continue };
            if longest.as_ref().is_none_or(|other| other.retry_after < retry_after) {
                let what = format!("{limit} {counted}");
                longest = Some(Exceeded { quota: (*quota).to_owned(), what, retry_after });
            }
        }
        if let Some(exceeded) = longest {
            return Err(exceeded);
        }
        for Limit { quota, counted, more, .. } in limits.into_iter().filter(|one| one.more > 0) {
            self.window(key(quota, who, counted), now).add(more, now);
        }
        Ok(())
    }

    /// Returns the window of a key, and makes room for it first.
    fn window(&mut self, key: QuotaKey, now: Duration) -> &mut Window {
        if self.by_key.len() >= MAX_WINDOWS && !self.by_key.contains_key(&key) {
            self.by_key.retain(|_, window| !window.is_over(now));
            if self.by_key.len() >= MAX_WINDOWS
                && let Some(quiet) = self.by_key.iter().min_by_key(|(_, window)| window.last())
            {
                let quiet = quiet.0.clone();
                self.by_key.remove(&quiet);
            }
        }
        self.by_key.entry(key).or_default()
    }
}

impl Policy {
    fn fitting(&self, principal: &str) -> impl Iterator<Item = &CompiledQuota> {
        self.allowances.iter().filter(move |one| one.principals.fit(principal))
    }

    /// Returns how many calls a run of a principal may make, if a quota limits them.
    pub fn calls_per_run(&self, principal: &str) -> Option<u64> {
        self.fitting(principal).filter_map(|one| one.quota.calls_per_run).min()
    }
}
