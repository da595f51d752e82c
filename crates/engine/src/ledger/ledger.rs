//! The figures of an installation, and of this process.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    Kind, Run, Tab, Totals,
    book::Book,
    count::{Sample, tokens},
    tab::{Closed, Direct},
    totals::{Counted, now},
};
use crate::{
    background::Background,
    catalog::{Catalog, ServerTools, Snapshot},
};

/// Keys of sessions that are remembered. Past them a client may be counted again.
const MOST_SESSIONS: usize = 10_000;
/// What may wait to be counted. A program that reads faster than we count is estimated.
const MOST_HELD: usize = if cfg!(test) { 1 << 20 } else { 32 << 20 };

/// What was counted within this time is written at once: files are not rewritten for every run.
const WRITE_DELAY: Duration = Duration::from_millis(250);

/// Counts, and keeps what was counted.
#[derive(Debug)]
pub struct Ledger {
    background: Background,
    /// Locked while it is read or written, so that nothing is counted twice or left out.
    book: Option<Mutex<Book>>,
    /// What is to be counted, in its order: beside the work, or before somebody reads the figures.
    waiting: Mutex<VecDeque<Waiting>>,
    /// Locked while one of them is counted.
    counting: Mutex<()>,
    /// The bytes that wait to be counted.
    held: AtomicUsize,
    state: Mutex<State>,
}

/// Something to be counted.
#[derive(Debug)]
enum Waiting {
    Session { snapshot: Arc<Snapshot>, surface: String },
    Call { request: Sample, result: Sample, direct: Arc<Direct> },
    Run(Closed),
}

#[derive(Debug, Default)]
struct State {
    /// Of this process.
    totals: Totals,
    /// Counted, and not in the book yet.
    unwritten: Vec<Counted>,
    sessions: HashSet<String>,
    /// Tokens of the definitions of a server, as long as its listing is the same.
    definitions: HashMap<String, (Arc<ServerTools>, u64)>,
}

impl Ledger {
    /// Keeps its figures in a directory, or only in memory.
    pub fn new(dir: Option<PathBuf>, background: Background) -> Arc<Self> {
        Arc::new(Self {
            background,
            book: dir.map(|dir| Mutex::new(Book::new(dir))),
            waiting: Mutex::default(),
            counting: Mutex::default(),
            held: AtomicUsize::default(),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn book(&self) -> Option<MutexGuard<'_, Book>> {
        self.book.as_ref().map(|book| book.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins to count a request. `request` is what the model wrote.
    pub fn open(self: &Arc<Self>, kind: Kind, request: &str) -> Arc<Tab> {
        Arc::new(Tab::new(Arc::clone(self), kind, request))
    }

    /// Returns whether a session is counted already.
    pub fn has_session(&self, key: &str) -> bool {
        self.state().sessions.contains(key)
    }

    /// A client's session began to work; `surface` gives the definitions that its model reads. Of
    /// each key only the first counts.
    pub fn session(
        self: &Arc<Self>,
        key: String,
        catalog: &Catalog,
        surface: impl FnOnce() -> String,
    ) {
        {
            let mut state = self.state();
            if state.sessions.len() == MOST_SESSIONS {
                state.sessions.clear();
            }
            if !state.sessions.insert(key) {
                return;
            }
        }
        self.count_later(Waiting::Session { snapshot: catalog.snapshot(), surface: surface() });
    }

    /// The figures of this process, with all that it has done so far.
    pub fn here(self: &Arc<Self>) -> Totals {
        self.count_waiting();
        self.state().totals.clone()
    }

    /// The figures of all processes on this data directory, since they are kept.
    pub fn all(self: &Arc<Self>) -> Totals {
        self.count_waiting();
        let Some(book) = self.book() else { return self.here() };
        let mut totals = book.totals().unwrap_or_default();
        self.state().unwritten.iter().for_each(|counted| totals.add(counted));
        totals
    }

    /// The last requests, newest first.
    pub fn last_runs(self: &Arc<Self>, most: usize) -> Vec<Run> {
        self.count_waiting();
        let Some(book) = self.book() else { return Vec::new() };
        let state = self.state();
        let unwritten = state.unwritten.iter().rev().filter_map(|counted| match counted {
            Counted::Run(run) => Some(run.clone()),
            Counted::Session { .. } => None,
        });
        unwritten.chain(book.runs(most)).take(most).collect()
    }

    pub(super) fn call(self: &Arc<Self>, request: Sample, result: Sample, direct: Arc<Direct>) {
        let held = request.held() + result.held();
        if !self.hold(held) {
            direct.add(request.guess(), result.guess());
            return;
        }
        self.count_later(Waiting::Call { request, result, direct });
    }

    pub(super) fn close(self: &Arc<Self>, mut closed: Closed) {
        if !self.hold(closed.held()) {
            closed.forget_texts();
        }
        self.count_later(Waiting::Run(closed));
    }

    fn count_later(self: &Arc<Self>, waiting: Waiting) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(waiting);
        let ledger = Arc::clone(self);
        self.background.run(move || {
            ledger.count_next();
        });
    }

    /// Counts all that waits: whoever reads the figures sees what was answered before. The background
    /// may be far behind, since all others go first there.
    fn count_waiting(self: &Arc<Self>) {
        while self.count_next() {}
    }

    /// Counts what has waited longest, and returns whether anything did.
    fn count_next(self: &Arc<Self>) -> bool {
        let _turn = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(next) = next else { return false };
        let held = match next {
            Waiting::Session { snapshot, surface } => {
                let direct = snapshot.servers().map(|server| self.definitions(server)).sum();
                let seen = tokens(&surface);
                self.add(Counted::Session { at: now(), seen, direct });
                0
            }
            Waiting::Call { request, result, direct } => {
                direct.add(request.tokens(), result.tokens());
                request.held() + result.held()
            }
            Waiting::Run(closed) => {
                let held = closed.held();
                self.add(Counted::Run(closed.count()));
                held
            }
        };
        self.held.fetch_sub(held, Ordering::Relaxed);
        true
    }

    /// Has so many bytes wait to be counted, if there are not too many that do.
    fn hold(&self, bytes: usize) -> bool {
        let within = |held: usize| held.checked_add(bytes).filter(|held| *held <= MOST_HELD);
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

    fn add(self: &Arc<Self>, counted: Counted) {
        let mut state = self.state();
        state.totals.add(&counted);
        if self.book.is_none() {
            return;
        }
        if state.unwritten.is_empty() {
            let ledger = Arc::clone(self);
            self.background.run_later(WRITE_DELAY, move || ledger.write());
        }
        state.unwritten.push(counted);
    }

    fn write(&self) {
        let Some(book) = self.book() else { return };
        let unwritten = std::mem::take(&mut self.state().unwritten);
        if let Err(error) = book.write(&unwritten) {
            tracing::warn!(%error, runs = unwritten.len(), "the ledger cannot be kept");
        }
    }
}

/// A tool's definition as clients show it to a model: name, description and input schema.
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

    fn work(ledger: &Arc<Ledger>, background: &Background) {
        let tab = ledger.open(Kind::Run, "run this");
        tab.called("tool {}", &"many rows of data\n".repeat(100));
        tab.called("tool {}", "few");
        tab.close("two rows", true);
        let catalog = Catalog::new(&[], None);
        for _ in 0..2 {
            ledger.session("client".into(), &catalog, || "our own tools".into());
        }
        background.flush(Duration::from_secs(300));
    }

    #[test]
    fn a_run_is_counted_both_ways() {
        let background = Background::default();
        let ledger = Ledger::new(None, background.clone());
        work(&ledger, &background);
        let totals = ledger.here();
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
        let ledger = Ledger::new(None, background.clone());
        let (go_on, is_free) = std::sync::mpsc::channel::<()>();
        background.run(move || {
            let _ = is_free.recv();
        });
        let text = "word ".repeat(20_000);
        let requests = 2 * MOST_HELD / text.len();
        for _ in 0..requests {
            ledger.open(Kind::Run, &text).close(&text, true);
        }
        let held = ledger.held.load(Ordering::Relaxed);
        assert!((MOST_HELD / 2..=MOST_HELD).contains(&held), "{held}");
        drop(go_on);
        background.flush(Duration::from_secs(300));
        // Counted or estimated, each is in the figures.
        let totals = ledger.here();
        assert_eq!(totals.runs, requests as u64);
        assert!(totals.seen.requests >= tokens(&text) * requests as u64);
        assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
    }

    /// The thread that counts may be late: a busy machine lets everybody else go first.
    #[test]
    fn whoever_reads_the_figures_sees_what_was_answered_before() {
        let dir = tempfile::tempdir().unwrap();
        let background = Background::default();
        let ledger = Ledger::new(Some(dir.path().join("stats")), background.clone());
        let (go_on, is_free) = std::sync::mpsc::channel::<()>();
        background.run(move || {
            let _ = is_free.recv();
        });
        for runs in 1..=3 {
            let tab = ledger.open(Kind::Run, "run this");
            tab.called("tool {}", "rows");
            tab.close("rows", true);
            for totals in [ledger.here(), ledger.all()] {
                assert_eq!((totals.runs, totals.calls), (runs, runs));
                assert_eq!(totals.direct.results, runs * tokens("rows"));
            }
            assert_eq!(ledger.last_runs(10).len() as u64, runs);
        }
        // And only once.
        drop(go_on);
        background.flush(Duration::from_secs(300));
        assert_eq!((ledger.here().runs, ledger.all().runs), (3, 3));
        assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
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
                    let ledger = Ledger::new(Some(path), background.clone());
                    (0..5).for_each(|_| work(&ledger, &background));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let ledger = Ledger::new(Some(path.clone()), Background::default());
        let totals = ledger.all();
        assert_eq!((totals.runs, totals.calls, totals.sessions), (20, 40, 4));
        assert_eq!(ledger.last_runs(100).len(), 20);
        assert_eq!(ledger.last_runs(3).len(), 3);
        // A file that was cut is passed over, and begun anew.
        std::fs::write(path.join("totals.json"), "{\"runs\": 2").unwrap();
        assert_eq!(ledger.all().runs, 0);
    }
}
