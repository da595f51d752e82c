//! Calls of one run that need a person at about the same time are one question, and its answer is for
//! those that it lists. While a question is open, those that come later wait for their turn.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};

use super::{
    confirm::{AskedCall, Decided},
    question::Answer,
    watch::Watch,
};
use crate::upstream::Caller;

/// Calls that come within this time of each other are one question.
const GATHER_TIME: Duration = Duration::from_millis(50);
/// However many come, after so many times the person is asked.
const MAX_GATHERED: usize = 20;
/// So many calls are one question: more are not read.
const MAX_LISTED: usize = 20;

/// The questions of one run.
#[derive(Default)]
pub(super) struct Questions {
    /// The calls that will be the next question.
    open: Mutex<Option<Batch>>,
    /// All calls that were not asked about yet.
    waiting: Mutex<Vec<Weak<Slot>>>,
    /// Held while a person is asked.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Questions")
    }
}

/// Where a call finds its answer.
type Slot = OnceLock<Answer>;
type Listed = Arc<Mutex<Vec<ListedCall>>>;

/// A call, and where its answer goes; gone when its program has given it up.
type ListedCall = (Arc<AskedCall>, Weak<Slot>);

pub(super) struct Batch {
    calls: Listed,
    /// All whose calls are in it drive the question; none of them has to stay for the others.
    asking: Shared<BoxFuture<'static, ()>>,
}

impl Questions {
    pub(super) fn open(&self) -> MutexGuard<'_, Option<Batch>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the calls of a batch to be asked about, and how many wait behind them. Calls that their
    /// program has given up are not asked about.
    fn close(&self, calls: &Listed) -> (Vec<ListedCall>, usize) {
        let mut open = self.open();
        if open.as_ref().is_some_and(|batch| Arc::ptr_eq(&batch.calls, calls)) {
            *open = None;
        }
        let mut listed = std::mem::take(&mut *lock(calls));
        let is_listed = |slot: &Weak<Slot>| listed.iter().any(|(_, other)| other.ptr_eq(slot));
        lock(&self.waiting).retain(|slot| !is_listed(slot));
        listed.retain(|(_, slot)| slot.strong_count() > 0);
        (listed, self.waiting())
    }

    /// How many calls wait to be asked about.
    fn waiting(&self) -> usize {
        let mut waiting = lock(&self.waiting);
        waiting.retain(|slot| slot.strong_count() > 0);
        waiting.len()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Puts a call into the next question of this run, and waits for its answer.
    pub(super) async fn ask_with_others(
        self: &Arc<Self>,
        call: &Arc<AskedCall>,
        caller: &Arc<dyn Caller>,
    ) -> Answer {
        let slot = Arc::new(Slot::new());
        let asking = {
            let mut open = self.questions().open();
            let has_room = |batch: &&mut Batch| lock(&batch.calls).len() < MAX_LISTED;
            lock(&self.questions().waiting).push(Arc::downgrade(&slot));
            let entry = (Arc::clone(call), Arc::downgrade(&slot));
            match open.as_mut().filter(has_room) {
                Some(batch) => {
                    lock(&batch.calls).push(entry);
                    batch.asking.clone()
                }
                None => {
                    let calls: Listed = Arc::new(Mutex::new(vec![entry]));
                    let asking = ask_all(
                        Arc::downgrade(self),
                        Arc::clone(&self.questions().turn),
                        Arc::clone(&calls),
                        Arc::clone(caller),
                    );
                    let asking = asking.boxed().shared();
                    *open = Some(Batch { calls, asking: asking.clone() });
                    asking
                }
            }
        };
        asking.await;
        slot.get().cloned().unwrap_or(Answer::NotAsked)
    }
}

/// Asks about all calls of a batch when it is their turn and no others come.
async fn ask_all(
    watch: Weak<Watch>,
    turn: Arc<tokio::sync::Mutex<()>>,
    calls: Listed,
    caller: Arc<dyn Caller>,
) {
    let first = Arc::clone(&turn).try_lock_owned();
    let has_waited = first.is_err();
    let _turn = match first {
        Ok(turn) => turn,
        Err(_) => turn.lock_owned().await,
    };
    let mut seen = 0;
    for _ in 0..MAX_GATHERED {
        // Not held while it waits: it holds what waits here.
        let count = watch.upgrade().map_or(0, |watch| watch.questions().waiting());
        if count == seen {
            break;
        }
        seen = count;
        tokio::time::sleep(GATHER_TIME).await;
    }
    let Some(watch) = watch.upgrade() else { return };
    let (mut listed, waiting) = watch.questions().close(&calls);
    if has_waited {
        // What was said to the question before may cover these.
        let mut left = Vec::new();
        for (call, slot) in listed {
            match watch.decision(&call, caller.as_ref()).await {
                Ok(Some(Decided::Allowed(scope))) => answer(&slot, Answer::Allowed(scope)),
                Ok(Some(_)) => answer(&slot, Answer::Declined),
                _ => left.push((call, slot)),
            }
        }
        listed = left;
    }
    if listed.is_empty() {
        return;
    }
    let calls: Vec<Arc<AskedCall>> = listed.iter().map(|(call, _)| Arc::clone(call)).collect();
    let said = watch.ask(&calls, waiting, caller.as_ref()).await;
    listed.iter().for_each(|(_, slot)| answer(slot, said.clone()));
}

/// Tells a call its answer, if its program still waits for it.
fn answer(slot: &Weak<Slot>, answer: Answer) {
    if let Some(slot) = slot.upgrade() {
        let _ = slot.set(answer);
    }
}
