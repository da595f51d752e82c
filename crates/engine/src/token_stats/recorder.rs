//! Records the figures of an installation, and of this process.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use narrows_upstream::catalog::{Catalog, ServerTools, Snapshot};
use serde_json::{Value, json};

use super::{
    RequestKind, RequestStats, RunStats, Totals,
    count::{UncountedText, tokens},
    request_stats::{Direct, FinishedRequest},
    stats_files::StatsFiles,
    totals::{StatsEntry, now},
};
use crate::background::Background;

/// The most session keys that are remembered. Beyond that, a client may be counted twice.
const MAX_SESSIONS: usize = 10_000;
/// The most bytes that may wait to be counted. Beyond that, tokens are estimated.
const MAX_HELD: usize = if cfg!(test) { 1 << 20 } else { 32 << 20 };

/// The time in which texts are collected and then counted together, after the answers: building the
/// table of the encoding takes 50 MB and a tenth of a second, and each hand-over to the thread takes
/// time from a request.
const COUNT_DELAY: Duration = Duration::from_secs(1);

/// The time in which figures are collected and then written together, so that files are not rewritten
/// for every run.
const WRITE_DELAY: Duration = Duration::from_millis(250);

/// The recorder of token figures.
#[derive(Debug)]
pub struct TokenStats {
    background: Background,
    /// Locked while it is read or written, so that nothing is counted twice or left out.
    book: Option<Mutex<StatsFiles>>,
    /// The texts to count, in their order: in the background, or before figures are read.
    waiting: Mutex<VecDeque<PendingStats>>,
    /// Locked while a text is counted.
    counting: Mutex<()>,
    /// The number of bytes that wait to be counted.
    held: AtomicUsize,
    state: Mutex<StatsState>,
}

/// An entry that waits to be counted.
#[derive(Debug)]
enum PendingStats {
    Session { snapshot: Arc<Snapshot>, surface: String },
    Call { request: UncountedText, result: UncountedText, direct: Arc<Direct> },
    Run(FinishedRequest),
}

#[derive(Debug, Default)]
struct StatsState {
    /// The totals of this process.
    totals: Totals,
    /// Counted entries that are not yet on disk.
    unwritten: Vec<StatsEntry>,
    sessions: HashSet<String>,
    /// The tokens of each server's definitions, valid while its tool list is the same.
    definitions: HashMap<String, (Arc<ServerTools>, u64)>,
}

impl TokenStats {
    /// Creates a recorder that keeps its figures in a directory, or only in memory.
    pub fn new(dir: Option<PathBuf>, background: Background) -> Arc<Self> {
        Arc::new(Self {
            background,
            book: dir.map(|dir| Mutex::new(StatsFiles::new(dir))),
            waiting: Mutex::default(),
            counting: Mutex::default(),
            held: AtomicUsize::default(),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, StatsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn book(&self) -> Option<MutexGuard<'_, StatsFiles>> {
        self.book.as_ref().map(|book| book.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins the figures of a request. `request` is the text that the model wrote.
    pub fn open(self: &Arc<Self>, kind: RequestKind, request: &str) -> Arc<RequestStats> {
        Arc::new(RequestStats::new(Arc::clone(self), kind, request))
    }

    /// Returns whether a session is counted already.
    pub fn has_session(&self, key: &str) -> bool {
        self.state().sessions.contains(key)
    }

    /// Counts the definitions of a client's session; `surface` returns those that its model reads. A
    /// key is counted only once.
    pub fn session(
        self: &Arc<Self>,
        key: String,
        catalog: &Catalog,
        surface: impl FnOnce() -> String,
    ) {
        {
            let mut state = self.state();
            if state.sessions.len() == MAX_SESSIONS {
                state.sessions.clear();
            }
            if !state.sessions.insert(key) {
                return;
            }
        }
        self.count_later(PendingStats::Session {
            snapshot: catalog.snapshot(),
            surface: surface(),
        });
    }

    /// Returns the figures of this process, after counting everything that waits.
    pub fn here(self: &Arc<Self>) -> Totals {
        self.count_waiting();
        self.state().totals.clone()
    }

    /// Returns the figures of all processes on this data directory, since its beginning.
    pub fn all(self: &Arc<Self>) -> Totals {
        self.count_waiting();
        let Some(book) = self.book() else { return self.here() };
        let mut totals = book.totals().unwrap_or_default();
        self.state().unwritten.iter().for_each(|counted| totals.add(counted));
        totals
    }

    /// Returns the last requests, newest first.
    pub fn last_runs(self: &Arc<Self>, max: usize) -> Vec<RunStats> {
        self.count_waiting();
        let Some(book) = self.book() else { return Vec::new() };
        let state = self.state();
        let unwritten = state.unwritten.iter().rev().filter_map(|counted| match counted {
            StatsEntry::Run(run) => Some(run.clone()),
            StatsEntry::Session { .. } => None,
        });
        unwritten.chain(book.runs(max)).take(max).collect()
    }

    pub(super) fn call(
        self: &Arc<Self>,
        request: UncountedText,
        result: UncountedText,
        direct: Arc<Direct>,
    ) {
        let held = request.held() + result.held();
        if !self.hold(held) {
            direct.add(request.guess(), result.guess());
            return;
        }
        self.count_later(PendingStats::Call { request, result, direct });
    }

    pub(super) fn close(self: &Arc<Self>, mut closed: FinishedRequest) {
        if !self.hold(closed.held()) {
            closed.forget_texts();
        }
        self.count_later(PendingStats::Run(closed));
    }

    fn count_later(self: &Arc<Self>, pending: PendingStats) {
        let is_first = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push_back(pending);
            waiting.len() == 1
        };
        let token_stats = Arc::clone(self);
        if self.held.load(Ordering::Relaxed) > MAX_HELD / 4 {
            self.background.run(move || token_stats.count_waiting());
        } else if is_first {
            self.background.run_later(COUNT_DELAY, move || token_stats.count_waiting());
        }
    }

    /// Counts everything that waits, so that figures include all earlier answers. The background thread
    /// may be far behind, because it has the lowest priority.
    fn count_waiting(self: &Arc<Self>) {
        while self.count_next() {}
    }

    /// Counts the oldest entry that waits, and tells whether there was one.
    fn count_next(self: &Arc<Self>) -> bool {
        let _turn = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(next) = next else { return false };
        let held = match next {
            PendingStats::Session { snapshot, surface } => {
                let direct = snapshot.servers().map(|server| self.definitions(server)).sum();
                let seen = tokens(&surface);
                self.add(StatsEntry::Session { at: now(), seen, direct });
                0
            }
            PendingStats::Call { request, result, direct } => {
                direct.add(request.tokens(), result.tokens());
                request.held() + result.held()
            }
            PendingStats::Run(closed) => {
                let held = closed.held();
                self.add(StatsEntry::Run(closed.count()));
                held
            }
        };
        self.held.fetch_sub(held, Ordering::Relaxed);
        true
    }

    /// Reserves bytes for a text that waits to be counted, unless too many wait already.
    fn hold(&self, bytes: usize) -> bool {
        let within = |held: usize| held.checked_add(bytes).filter(|held| *held <= MAX_HELD);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }

    fn definitions(&self, server: &Arc<ServerTools>) -> u64 {
        if let Some((known, tokens)) = self.state().definitions.get(&server.server)
            && Arc::ptr_eq(known, server)
        {
            return *tokens;
        }
        let tools = server.tools.iter();
        let sum = tools.map(|tool| tokens(&definition_text(&tool.id.to_string(), &tool.raw))).sum();
        self.state().definitions.insert(server.server.clone(), (Arc::clone(server), sum));
        sum
    }

    fn add(self: &Arc<Self>, counted: StatsEntry) {
        let mut state = self.state();
        state.totals.add(&counted);
        if self.book.is_none() {
            return;
        }
        if state.unwritten.is_empty() {
            let token_stats = Arc::clone(self);
            self.background.run_later(WRITE_DELAY, move || token_stats.write());
        }
        state.unwritten.push(counted);
    }

    fn write(&self) {
        let Some(book) = self.book() else { return };
        let unwritten = std::mem::take(&mut self.state().unwritten);
        if let Err(error) = book.write(&unwritten) {
            tracing::warn!(%error, runs = unwritten.len(), "token statistics could not be written");
        }
    }
}

/// Returns a tool's definition as clients show it to a model: name, description and input schema.
pub fn definition_text(name: &str, raw: &Value) -> String {
    let part = |key: &str| raw.get(key).cloned().unwrap_or(Value::Null);
    json!({"name": name, "description": part("description"), "input_schema": part("inputSchema")})
        .to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::time::Duration;

    use super::*;
    use crate::catalog::PythonNaming;

    fn work(token_stats: &Arc<TokenStats>, background: &Background) {
        let request_stats = token_stats.open(RequestKind::Run, "run this");
        request_stats.called("tool {}", &"many rows of data\n".repeat(100));
        request_stats.called("tool {}", "few");
        request_stats.close("two rows", true);
        let catalog = Catalog::new(&[], None, &PythonNaming);
        for _ in 0..2 {
            token_stats.session("client".into(), &catalog, || "our own tools".into());
        }
        background.flush(Duration::from_secs(300));
    }

    #[test]
    fn a_run_is_counted_both_ways() {
        let background = Background::default();
        let token_stats = TokenStats::new(None, background.clone());
        work(&token_stats, &background);
        let totals = token_stats.here();
        assert_eq!((totals.runs, totals.calls, totals.sessions), (1, 2, 1));
        assert_eq!(totals.seen.requests, tokens("run this"));
        assert_eq!(totals.seen.results, tokens("two rows"));
        assert_eq!(totals.seen.definitions, tokens("our own tools"));
        assert_eq!(totals.direct.requests, 2 * tokens("tool {}"));
        let results = tokens(&"many rows of data\n".repeat(100)) + tokens("few");
        assert_eq!(totals.direct.results, results);
        assert!(totals.saved_percent().unwrap() > 90.0);
    }

    #[test]
    fn texts_that_come_faster_than_they_are_counted_are_not_kept() {
        let background = Background::default();
        let token_stats = TokenStats::new(None, background.clone());
        let (go_on, is_free) = std::sync::mpsc::channel::<()>();
        background.run(move || {
            let _ = is_free.recv();
        });
        let text = "word ".repeat(20_000);
        let requests = 2 * MAX_HELD / text.len();
        for _ in 0..requests {
            token_stats.open(RequestKind::Run, &text).close(&text, true);
        }
        let held = token_stats.held.load(Ordering::Relaxed);
        assert!((MAX_HELD / 2..=MAX_HELD).contains(&held), "{held}");
        drop(go_on);
        background.flush(Duration::from_secs(300));
        // Counted or estimated, each is in the figures.
        let totals = token_stats.here();
        assert_eq!(totals.runs, requests as u64);
        assert!(totals.seen.requests >= tokens(&text) * requests as u64);
        assert_eq!(token_stats.held.load(Ordering::Relaxed), 0);
    }

    /// The thread that counts may be late: a busy machine lets everybody else go first.
    #[test]
    fn whoever_reads_the_figures_sees_what_was_answered_before() {
        let dir = tempfile::tempdir().unwrap();
        let background = Background::default();
        let token_stats = TokenStats::new(Some(dir.path().join("stats")), background.clone());
        let (go_on, is_free) = std::sync::mpsc::channel::<()>();
        background.run(move || {
            let _ = is_free.recv();
        });
        for runs in 1..=3 {
            let request_stats = token_stats.open(RequestKind::Run, "run this");
            request_stats.called("tool {}", "rows");
            request_stats.close("rows", true);
            for totals in [token_stats.here(), token_stats.all()] {
                assert_eq!((totals.runs, totals.calls), (runs, runs));
                assert_eq!(totals.direct.results, runs * tokens("rows"));
            }
            assert_eq!(token_stats.last_runs(10).len() as u64, runs);
        }
        // And only once.
        drop(go_on);
        background.flush(Duration::from_secs(300));
        assert_eq!((token_stats.here().runs, token_stats.all().runs), (3, 3));
        assert_eq!(token_stats.held.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_several_processes_count_adds_up_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stats");
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || {
                    let background = Background::default();
                    let token_stats = TokenStats::new(Some(path), background.clone());
                    (0..5).for_each(|_| work(&token_stats, &background));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let token_stats = TokenStats::new(Some(path.clone()), Background::default());
        let totals = token_stats.all();
        assert_eq!((totals.runs, totals.calls, totals.sessions), (20, 40, 4));
        assert_eq!(token_stats.last_runs(100).len(), 20);
        assert_eq!(token_stats.last_runs(3).len(), 3);
        // A file that was cut is passed over, and begun anew.
        std::fs::write(path.join("totals.json"), "{\"runs\": 2").unwrap();
        assert_eq!(token_stats.all().runs, 0);
    }
}
