//! Writes the audit beside the work: entries are handed over at once and written together, and
//! whoever must be sure waits until they are.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use narrows_store::NewEntry;
use tokio::sync::{mpsc, oneshot};

use super::State;

/// How many entries are written at once.
const MOST_AT_ONCE: usize = 256;
/// Entries that wait. A store that is away must not fill the memory.
const MOST_WAITING: usize = 10_000;

/// The way to the task that writes.
#[derive(Debug, Default)]
pub(super) struct Journal {
    lines: Mutex<Option<mpsc::Sender<Line>>>,
}

enum Line {
    Entry(Box<NewEntry>),
    /// Tell when all before this is written, or why it is not.
    Mark(oneshot::Sender<Result<(), String>>),
}

impl Journal {
    fn lines(&self, state: &Arc<State>) -> mpsc::Sender<Line> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = lines.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(MOST_WAITING);
            tokio::spawn(write(Arc::downgrade(state), receiver));
            sender
        });
        lines.clone()
    }

    /// Hands an entry over.
    pub(super) fn add(&self, state: &Arc<State>, entry: NewEntry) {
        if self.lines(state).try_send(Line::Entry(Box::new(entry))).is_err() {
            tracing::error!("the audit is not written: too many entries wait for the store");
        }
    }

    /// Waits until everything is written that was handed over before.
    pub(super) async fn written(&self, state: &Arc<State>) -> Result<(), String> {
        let (told, done) = oneshot::channel();
        let gone = || "the audit is closed".to_owned();
        self.lines(state).send(Line::Mark(told)).await.map_err(|_| gone())?;
        done.await.map_err(|_| gone())?
    }

    /// Waits for what was handed over, if anything was.
    pub(super) async fn finish(&self) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (told, done) = oneshot::channel();
        if let Some(lines) = lines
            && lines.send(Line::Mark(told)).await.is_ok()
        {
            let _ = done.await;
        }
    }
}

/// Writes what comes, until nobody can hand over any more.
async fn write(state: Weak<State>, mut lines: mpsc::Receiver<Line>) {
    let mut failed = None;
    let mut batch = Vec::new();
    while lines.recv_many(&mut batch, MOST_AT_ONCE).await > 0 {
        let Some(state) = state.upgrade() else { return };
        let mut entries = Vec::new();
        let mut marks = Vec::new();
        for line in batch.drain(..) {
            match line {
                Line::Entry(entry) => entries.push(*entry),
                Line::Mark(told) => marks.push(told),
            }
        }
        if !entries.is_empty()
            && let Err(error) = append(&state, &entries).await
        {
            tracing::warn!("the audit was not written: {error}");
            failed = Some(error);
        }
        for mark in marks {
            let _ = mark.send(failed.clone().map_or(Ok(()), Err));
            failed = None;
        }
    }
}

async fn append(state: &State, entries: &[NewEntry]) -> Result<(), String> {
    let store = state.store().await.map_err(|error| error.to_string())?;
    store.audit().append_all(entries).await.map_err(|error| error.to_string())?;
    Ok(())
}
