//! One request of a model, while it is worked on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use super::{
    Kind, Ledger, Side,
    count::Sample,
    totals::{Run, now},
};

/// Collects what is to be counted for one request. The counting itself is done elsewhere.
#[derive(Debug)]
pub struct Tab {
    ledger: Arc<Ledger>,
    kind: Kind,
    begun: Instant,
    request: Sample,
    direct: Arc<Direct>,
}

/// The calls of a tab, counted so far.
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

/// A tab that is to be counted.
#[derive(Debug)]
pub(super) struct Closed {
    kind: Kind,
    milliseconds: u64,
    succeeded: bool,
    request: Sample,
    answer: Sample,
    direct: Arc<Direct>,
}

impl Tab {
    pub(super) fn new(ledger: Arc<Ledger>, kind: Kind, request: &str) -> Self {
        let request = Sample::new(request);
        Self { ledger, kind, begun: Instant::now(), request, direct: Arc::default() }
    }

    /// The work called a tool, and this is what a model would have written and read.
    pub fn called(&self, request: &str, result: &str) {
        self.direct.calls.fetch_add(1, Ordering::Relaxed);
        let (request, result) = (Sample::new(request), Sample::new(result));
        self.ledger.call(request, result, Arc::clone(&self.direct));
    }

    /// The work is done, and this is what the model reads.
    pub fn close(&self, answer: &str, succeeded: bool) {
        self.ledger.close(Closed {
            kind: self.kind,
            milliseconds: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            succeeded,
            request: self.request.clone(),
            answer: Sample::new(answer),
            direct: Arc::clone(&self.direct),
        });
    }
}

impl Closed {
    /// Returns the bytes that it holds until it is counted.
    pub(super) fn held(&self) -> usize {
        self.request.held() + self.answer.held()
    }

    /// Keeps only what it needs to be estimated.
    pub(super) fn forget_texts(&mut self) {
        self.request.forget_text();
        self.answer.forget_text();
    }

    /// Its calls were counted before: jobs are done in their order.
    pub(super) fn count(self) -> Run {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Run {
            at: now(),
            kind: self.kind,
            succeeded: self.succeeded,
            milliseconds: self.milliseconds,
            calls: load(&self.direct.calls),
            seen: Side {
                definitions: 0,
                requests: self.request.tokens(),
                results: self.answer.tokens(),
            },
            direct: Side {
                definitions: 0,
                requests: load(&self.direct.requests),
                results: load(&self.direct.results),
            },
        }
    }
}
