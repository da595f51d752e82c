//! Writes the audit in the background: entries are queued and written in batches, in their order.
//! Answers do not wait for them, except at levels with `audit_must_hold`.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use narrows_store::NewEntry;
use tokio::sync::{mpsc, oneshot};

use super::State;
use crate::token_stats::RequestStats;

/// The most entries in one write.
const MAX_AT_ONCE: usize = 256;
/// How long entries are collected if nobody waits for them: writing many costs little more than writing
/// one.
const COLLECTING_TIME: Duration = Duration::from_millis(10);
/// The most entries that are queued, so that a store which is down does not fill the memory.
const MAX_WAITING: usize = 10_000;

/// The queue of the task that writes the audit.
#[derive(Debug, Default)]
pub(super) struct AuditWriter {
    lines: Mutex<Option<mpsc::Sender<WriterMessage>>>,
    /// The entries that were lost since the last report.
    lost: Mutex<Option<LostEntries>>,
}

/// Entries that could not be written.
#[derive(Debug)]
pub(super) struct LostEntries {
    entries: usize,
    /// The reason why the first of them was lost.
    why: String,
}

impl fmt::Display for LostEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries, why } = self;
        let entries =
            if *entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
        write!(f, "{entries} could not be written: {why}")
    }
}

enum WriterMessage {
    Entry(Box<NewEntry>, AuditTrail),
    /// Requests a message when all entries before this one are written or lost.
    Mark(oneshot::Sender<()>),
}

/// The audit entries of one run, so that who waits for them learns about lost entries of this run, and
/// not about those of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuditTrail {
    /// The reason why the first lost entry was lost.
    lost: Arc<OnceLock<String>>,
    /// The statistics of a request, which are given the event of the run's end.
    stats: Arc<OnceLock<Arc<RequestStats>>>,
}

impl AuditTrail {
    /// Connects the run to the statistics of its request, which are given its events.
    pub(crate) fn count_in(&self, stats: &Arc<RequestStats>) {
        // A run is for one request.
        let _ = self.stats.set(Arc::clone(stats));
    }

    pub(super) fn stats(&self) -> Option<&RequestStats> {
        self.stats.get().map(|stats| &**stats)
    }

    fn lose(&self, why: &str) {
        // The first reason stays.
        let _ = self.lost.set(why.to_owned());
    }

    fn whole(&self) -> Result<(), String> {
        self.lost.get().map_or(Ok(()), |why| Err(why.clone()))
    }
}

impl AuditWriter {
    fn lines(&self, state: &Arc<State>) -> mpsc::Sender<WriterMessage> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = lines.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::channel(MAX_WAITING);
            tokio::spawn(write(Arc::downgrade(state), receiver));
            sender
        });
        lines.clone()
    }

    /// Queues an entry.
    pub(super) fn add(&self, state: &Arc<State>, audit_trail: &AuditTrail, entry: NewEntry) {
        let line = WriterMessage::Entry(Box::new(entry), audit_trail.clone());
        if self.lines(state).try_send(line).is_err() {
            let why = "too many entries wait for the store";
            tracing::error!(reason = why, "an entry of the audit was lost");
            audit_trail.lose(why);
            self.lose(1, why);
        }
    }

    fn lose(&self, entries: usize, why: &str) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert_with(|| LostEntries { entries: 0, why: why.to_owned() }).entries +=
            entries;
    }

    /// Takes the entries that were lost since the last call, so that they are reported once.
    pub(super) fn take_lost(&self) -> Option<LostEntries> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits until the entries queued so far are written; fails if one of this trail was lost.
    pub(super) async fn written(
        &self,
        state: &Arc<State>,
        audit_trail: &AuditTrail,
    ) -> Result<(), String> {
        let (told, done) = oneshot::channel();
        let gone = || "the audit is closed".to_owned();
        self.lines(state).send(WriterMessage::Mark(told)).await.map_err(|_| gone())?;
        done.await.map_err(|_| gone())?;
        audit_trail.whole()
    }

    /// Waits until the entries queued so far are written or lost.
    pub(super) async fn finish(&self) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (told, done) = oneshot::channel();
        if let Some(lines) = lines
            && lines.send(WriterMessage::Mark(told)).await.is_ok()
        {
            let _ = done.await;
        }
    }
}

/// Writes queued entries until the queue is closed.
async fn write(state: Weak<State>, mut lines: mpsc::Receiver<WriterMessage>) {
    let mut batch = Vec::new();
    while collect(&mut lines, &mut batch).await {
        let Some(state) = state.upgrade() else { return };
        let (mut entries, mut trails) = (Vec::new(), Vec::new());
        let mut marks = Vec::new();
        for line in batch.drain(..) {
            match line {
                WriterMessage::Entry(entry, audit_trail) => {
                    entries.push(*entry);
                    trails.push(audit_trail);
                }
                WriterMessage::Mark(told) => marks.push(told),
            }
        }
        if !entries.is_empty()
            && let Err(error) = append(&state, &entries).await
        {
            tracing::warn!(entries = entries.len(), %error, "the audit was not written");
            trails.iter().for_each(|audit_trail| audit_trail.lose(&error));
            state.audit_writer.lose(entries.len(), &error);
        }
        for mark in marks {
            let _ = mark.send(());
        }
    }
}

/// Waits for entries, and then a moment for more, unless somebody waits for these. Returns false when
/// the queue is closed.
async fn collect(
    lines: &mut mpsc::Receiver<WriterMessage>,
    batch: &mut Vec<WriterMessage>,
) -> bool {
    if lines.recv_many(batch, MAX_AT_ONCE).await == 0 {
        return false;
    }
    let until = tokio::time::Instant::now() + COLLECTING_TIME;
    while batch.len() < MAX_AT_ONCE
        && batch.iter().all(|line| matches!(line, WriterMessage::Entry(..)))
    {
        let room = MAX_AT_ONCE - batch.len();
        match tokio::time::timeout_at(until, lines.recv_many(batch, room)).await {
            Ok(received) if received > 0 => {}
            _ => break,
        }
    }
    true
}

async fn append(state: &State, entries: &[NewEntry]) -> Result<(), String> {
    let store = state.store().await.map_err(|error| error.to_string())?;
    store.audit().append_all(entries).await.map_err(|error| error.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::state;

    /// Both are in one batch: nobody writes before the test waits.
    #[tokio::test]
    async fn all_who_wait_for_a_batch_that_failed_learn_of_it() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("narrows.db")).unwrap();
        let state = state(home.path());
        let trails = [AuditTrail::default(), AuditTrail::default()];
        for audit_trail in &trails {
            state.audit_writer.add(&state, audit_trail, NewEntry::default());
        }
        let written =
            trails.each_ref().map(|audit_trail| state.audit_writer.written(&state, audit_trail));
        for written in futures::future::join_all(written).await {
            assert!(written.is_err(), "there is no store");
        }
        // And again, whoever waited before; but nobody else.
        assert!(state.audit_writer.written(&state, &trails[0]).await.is_err());
        assert_eq!(state.audit_writer.written(&state, &AuditTrail::default()).await, Ok(()));
        // Whoever did not wait is told once.
        let lost = state.audit_writer.take_lost().unwrap().to_string();
        assert!(lost.starts_with("2 entries could not be written"), "{lost}");
        assert!(state.audit_writer.take_lost().is_none());
    }

    #[tokio::test]
    async fn an_entry_that_finds_no_room_is_lost_to_its_trail() {
        let home = tempfile::tempdir().unwrap();
        let state = state(home.path());
        let (before, after) = (AuditTrail::default(), AuditTrail::default());
        for _ in 0..MAX_WAITING {
            state.audit_writer.add(&state, &before, NewEntry::default());
        }
        state.audit_writer.add(&state, &after, NewEntry::default());
        assert_eq!(before.whole(), Ok(()));
        assert!(after.whole().is_err());
    }
}
