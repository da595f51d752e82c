//! The figures of one request, while it is in progress.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use narrows_model::{Event, EventAction, EventOutcome};

use super::{
    RequestKind, TokenCounts, TokenStats,
    count::UncountedText,
    totals::{RunStats, now},
};

/// The collector of texts to count for one request. The recorder counts them later.
#[derive(Debug)]
pub struct RequestStats {
    token_stats: Arc<TokenStats>,
    kind: RequestKind,
    begun: Instant,
    request: UncountedText,
    direct: Arc<Direct>,
    /// The outcome of the run or the analysis, if the request is one.
    outcome: OnceLock<EventOutcome>,
}

/// The tokens that the calls of a request would have cost a model, as far as they are counted.
#[derive(Debug, Default)]
pub(super) struct Direct {
    calls: AtomicU64,
    requests: AtomicU64,
    results: AtomicU64,
}

impl Direct {
    pub(super) fn add(&self, request: u64, result: u64) {
        self.requests.fetch_add(request, Ordering::Relaxed);
        self.results.fetch_add(result, Ordering::Relaxed);
    }
}

/// A finished request that waits to be counted.
#[derive(Debug)]
pub(super) struct FinishedRequest {
    kind: RequestKind,
    milliseconds: u64,
    outcome: EventOutcome,
    request: UncountedText,
    answer: UncountedText,
    direct: Arc<Direct>,
}

impl RequestStats {
    pub(super) fn new(token_stats: Arc<TokenStats>, kind: RequestKind, request: &str) -> Self {
        let request = UncountedText::new(request);
        let (direct, outcome) = (Arc::default(), OnceLock::new());
        Self { token_stats, kind, begun: Instant::now(), request, direct, outcome }
    }

    /// Adds a call of a tool, with the texts that a model would have written and read.
    pub fn called(&self, request: &str, result: &str) {
        self.direct.calls.fetch_add(1, Ordering::Relaxed);
        let (request, result) = (UncountedText::new(request), UncountedText::new(result));
        self.token_stats.call(request, result, Arc::clone(&self.direct));
    }

    /// Takes the outcome from an event, if it ends the run or the analysis.
    pub(crate) fn complete(&self, event: &Event) {
        if matches!(event.action, EventAction::Run | EventAction::Analysis) {
            // A request is one run or one analysis.
            let _ = self.outcome.set(event.outcome);
        }
    }

    /// Ends the request; `answer` is the text that the model reads.
    pub fn close(&self, answer: &str, succeeded: bool) {
        let outcome = match (self.outcome.get(), succeeded) {
            // A program that succeeded may have an outcome that could not be returned.
            (None | Some(EventOutcome::Ok), false) => EventOutcome::Failed,
            (Some(outcome), _) => *outcome,
            (None, true) => EventOutcome::Ok,
        };
        self.token_stats.close(FinishedRequest {
            kind: self.kind,
            milliseconds: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            outcome,
            request: self.request.clone(),
            answer: UncountedText::new(answer),
            direct: Arc::clone(&self.direct),
        });
    }
}

impl FinishedRequest {
    /// Returns the bytes of memory that it holds until it is counted.
    pub(super) fn held(&self) -> usize {
        self.request.held() + self.answer.held()
    }

    /// Drops the texts, and keeps their lengths for an estimate.
    pub(super) fn forget_texts(&mut self) {
        self.request.forget_text();
        self.answer.forget_text();
    }

    /// Counts the request. Its calls are counted already, because entries are counted in their order.
    pub(super) fn count(self) -> RunStats {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        RunStats {
            at: now(),
            kind: self.kind,
            succeeded: self.outcome == EventOutcome::Ok,
            outcome: Some(self.outcome),
            milliseconds: self.milliseconds,
            calls: load(&self.direct.calls),
            seen: TokenCounts {
                definitions: 0,
                requests: self.request.tokens(),
                results: self.answer.tokens(),
            },
            direct: TokenCounts {
                definitions: 0,
                requests: load(&self.direct.requests),
                results: load(&self.direct.results),
            },
        }
    }
}
