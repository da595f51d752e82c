//! Sessions, in which a program sees the variables of earlier programs.
//!
//! A session that is in use stays in memory. After each program its variables are written to the store,
//! so that it can continue after a restart or in another gateway. The gateway that runs a program in a
//! session holds its lease; others wait.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use narrows_model::is_plain_name;
use narrows_policy::Flow;
use narrows_sandbox::Session;
use narrows_store::{LeaseResult, SessionSnapshot, SessionState};
use narrows_system::apart;
use serde_json::json;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
    time::Instant,
};

use super::{Agent, SessionSettings, State, StateError, files::milliseconds, holder::Holder};
use crate::safety::{Mode, RunGuard};

/// The lifetime of a lease that is not renewed.
const LEASE: Duration = Duration::from_secs(10);
/// How often a gateway checks whether another one has released a session, and for how long it does so.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(150);
/// How often idle sessions are removed from memory.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// The sessions that this gateway has in memory.
#[derive(Debug)]
pub(super) struct Sessions {
    settings: SessionSettings,
    /// Tells this gateway from others that use the same store.
    holder: Holder,
    slots: Mutex<HashMap<SessionKey, Arc<AsyncMutex<SessionSlot>>>>,
    sweeper: Mutex<Option<tokio::task::AbortHandle>>,
}

/// A namespace and the id of a session in it.
type SessionKey = (String, String);

#[derive(Debug)]
struct SessionSlot {
    live: Option<LiveSession>,
}

#[derive(Debug)]
struct LiveSession {
    session: Session,
    /// The version of this state in the store, which tells whether another gateway has changed the
    /// session since.
    generation: i64,
    /// Whether the store has its variables as they are here.
    is_saved: bool,
    used: Instant,
}

impl LiveSession {
    fn memory_bytes(&self) -> u64 {
        self.session.memory_bytes()
    }

    /// Splits it into the session that has to stay in memory, because it is not in the store, and the
    /// one that can be dropped.
    fn put_to_rest(mut self) -> (Option<Self>, Option<Self>) {
        if self.is_saved {
            return (None, Some(self));
        }
        self.session.rest();
        (Some(self), None)
    }

    /// Gives up a session even if it is not in the store, because there is no room for its variables.
    fn give_up(self) -> (Option<Self>, Option<Self>) {
        tracing::warn!(
            "the variables of a session, which could not be written to the store, are given up"
        );
        (None, Some(self))
    }
}

impl Sessions {
    /// Creates an empty set of sessions; `holders` is the directory for the files of lease holders.
    pub(super) fn new(settings: SessionSettings, holders: PathBuf) -> Self {
        let holder = Holder::new(holders);
        Self { settings, holder, slots: Mutex::default(), sweeper: Mutex::default() }
    }

    fn slot(&self, key: &SessionKey) -> Arc<AsyncMutex<SessionSlot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(key.clone());
        Arc::clone(slot.or_insert_with(|| Arc::new(AsyncMutex::new(SessionSlot { live: None }))))
    }

    /// Removes from memory the sessions that were idle for long, and the oldest ones if there are too
    /// many or they are too large. Their variables are in the store; variables that could not be
    /// written there stay in memory as bytes, while there is room for them.
    fn sweep(&self) {
        let mut gone = Vec::new();
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let mut resting: Vec<(Instant, OwnedMutexGuard<SessionSlot>)> = Vec::new();
        slots.retain(|_, slot| {
            let Ok(mut unused) = Arc::clone(slot).try_lock_owned() else { return true };
            gone.extend(unused.live.take_if(|live| now - live.used > self.settings.idle));
            match &unused.live {
                Some(live) => resting.push((live.used, unused)),
                // Keeps a slot that is wanted: two references are the map's and ours, and a third means
                // that somebody waits.
                None => return Arc::strong_count(slot) > 2,
            }
            true
        });
        resting.sort_by_key(|(used, _)| *used);
        let mut unused: Vec<_> = resting.into_iter().map(|(_, slot)| slot).collect();
        gone.extend(self.make_room(&mut unused));
        drop(unused);
        drop(slots);
        // Returning gigabytes to the system blocks for a while.
        apart(|| drop(gone));
    }

    /// Takes sessions out of memory, from the first on, until the rest is within the limits. Returns
    /// the sessions to drop.
    fn make_room(&self, slots: &mut [OwnedMutexGuard<SessionSlot>]) -> Vec<LiveSession> {
        let bytes = |slot: &SessionSlot| slot.live.as_ref().map_or(0, LiveSession::memory_bytes);
        let mut memory: u64 = slots.iter().map(|slot| bytes(slot)).sum();
        let mut count = slots.len();
        let mut gone = Vec::new();
        for put_away in [LiveSession::put_to_rest, LiveSession::give_up] {
            for slot in slots.iter_mut() {
                if count <= self.settings.max_live && memory <= self.settings.memory_bytes {
                    return gone;
                }
                let Some(live) = slot.live.take() else { continue };
                memory -= live.memory_bytes();
                let (kept, rest) = put_away(live);
                gone.extend(rest);
                slot.live = kept;
                memory += bytes(slot);
                count = count.saturating_sub(1);
            }
        }
        gone
    }

    /// Starts a task that sweeps at intervals, as long as the state exists.
    fn keep_sweeping(&self, state: &Arc<State>) {
        let mut sweeper = self.sweeper.lock().unwrap_or_else(PoisonError::into_inner);
        if sweeper.is_some() {
            return;
        }
        let state = Arc::downgrade(state);
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP_INTERVAL).await;
                let Some(state) = state.upgrade() else { return };
                state.sessions.sweep();
                let oldest = std::time::SystemTime::now().checked_sub(state.settings.sessions.age);
                if let Ok(store) = state.store().await
                    && let Err(error) = store.sessions().expire(milliseconds(oldest)).await
                {
                    tracing::warn!(%error, "sessions that have expired could not be removed");
                }
            }
        });
        *sweeper = Some(task.abort_handle());
    }

    /// Drops all sessions from memory; the store has them.
    pub(super) fn close(&self) {
        if let Some(sweeper) = self.sweeper.lock().unwrap_or_else(PoisonError::into_inner).take() {
            sweeper.abort();
        }
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Agent {
    /// Opens a session for one program. Waits until nobody else uses it, in this gateway or another.
    pub(crate) async fn open_session(
        &self,
        id: &str,
        guard: &RunGuard,
    ) -> Result<OpenSession, StateError> {
        if !is_plain_name(id) {
            return Err(StateError::SessionName(id.to_owned()));
        }
        let sessions = &self.state.sessions;
        sessions.keep_sweeping(&self.state);
        let key = (self.principal().home.clone(), self.kept_id(id));
        // Programs of one session run one after another.
        let mut slot = sessions.slot(&key).lock_owned().await;
        let (lease, stored) = self.lease(&key).await?;
        let live = slot.live.take().filter(|live| live.generation == stored.generation);
        let (isolate, is_saved) = match live {
            Some(live) => (live.session, live.is_saved),
            None => (Session::from_state(stored.state), true),
        };
        // Variables may hold what an earlier program has read, so it counts as read by this run.
        guard.has_read(&serde_json::from_value(stored.flow.clone()).unwrap_or_default());
        let (before, read_before) = (isolate.state().cloned(), guard.flow());
        let generation = stored.generation;
        Ok(OpenSession { isolate, lease, slot, generation, is_saved, before, read_before })
    }

    /// Waits until no other gateway holds a session, and returns the lease and the stored state.
    async fn lease(&self, key: &SessionKey) -> Result<(Lease, SessionState), StateError> {
        let store = self.store().await?;
        let holder = &self.state.sessions.holder;
        let since = Instant::now();
        loop {
            let sessions = store.sessions();
            let taken = sessions.take(&key.0, &key.1, holder.name(), LEASE, self.name()).await?;
            match taken {
                LeaseResult::Yours(stored) => {
                    let state = Arc::clone(&self.state);
                    return Ok((Lease { state, key: key.clone(), is_held: true }, stored));
                }
                // The holder was killed and cannot release the lease itself.
                LeaseResult::Held { holder: other, .. } if holder.is_dead(&other) => {
                    sessions.give_back(&key.0, &key.1, &other).await?;
                }
                LeaseResult::Held { .. } if since.elapsed() < PATIENCE => {
                    tokio::time::sleep(LOOK_INTERVAL).await;
                }
                LeaseResult::Held { .. } => {
                    let waited = since.elapsed().as_secs();
                    return Err(StateError::SessionBusy(key.1.clone(), waited));
                }
            }
        }
    }

    /// Lists the sessions of this principal's namespace.
    pub async fn sessions(&self) -> Result<Vec<narrows_store::SessionRow>, StateError> {
        let mut rows = self.store().await?.sessions().list(&self.principal().home).await?;
        let prefix = self.session_prefix();
        // Sessions of strict mode and of the other modes are invisible to each other.
        rows.retain_mut(|row| match row.id.strip_prefix(prefix) {
            Some(id) if is_plain_name(id) => {
                row.id = id.to_owned();
                true
            }
            _ => false,
        });
        Ok(rows)
    }

    /// Returns the prefix of session ids in the store. Programs in strict mode must not get variables
    /// of programs that saw real values.
    fn session_prefix(&self) -> &'static str {
        if self.safety().mode() == Mode::Strict { "strict:" } else { "" }
    }

    fn kept_id(&self, id: &str) -> String {
        format!("{}{id}", self.session_prefix())
    }

    /// Removes a session, and tells whether it existed.
    pub async fn remove_session(&self, id: &str) -> Result<bool, StateError> {
        Ok(self.store().await?.sessions().remove(&self.principal().home, &self.kept_id(id)).await?)
    }
}

/// A session that a program is using. Dropped without [`OpenSession::save`], it keeps the variables of
/// the program before.
pub(crate) struct OpenSession {
    pub(crate) isolate: Session,
    pub(crate) lease: Lease,
    slot: OwnedMutexGuard<SessionSlot>,
    generation: i64,
    is_saved: bool,
    /// The variables when it was opened, and what had been read by then.
    before: Option<Arc<[u8]>>,
    read_before: Flow,
}

impl OpenSession {
    /// Saves the variables and releases the session. Returns a note if they could not be saved. If the
    /// program was not run, no session is created.
    pub(crate) async fn save(self, guard: &RunGuard, was_run: bool) -> Option<String> {
        let Self { isolate, lease, mut slot, mut generation, mut is_saved, .. } = self;
        let mut note = None;
        // The flow is saved even if the variables did not change.
        let is_new = isolate.state() != self.before.as_ref() || guard.flow() != self.read_before;
        if !is_saved || is_new {
            let state = isolate.state().map(|state| &**state);
            match lease.save(generation, state, isolate.fleeting(), &guard.flow()).await {
                Ok(saved) => (generation, is_saved) = (saved, true),
                Err(error) => {
                    is_saved = false;
                    note = Some(format!(
                        "session: its variables could not be written down ({error}); they last only \
                         as long as this gateway keeps them"
                    ));
                }
            }
        }
        let state = Arc::clone(&lease.state);
        if !was_run && is_saved && isolate.state().is_none() && guard.flow().is_empty() {
            lease.remove().await;
        } else {
            lease.give_back().await;
            let used = Instant::now();
            slot.live = Some(LiveSession { session: isolate, generation, is_saved, used });
        }
        drop(slot);
        state.sessions.sweep();
        note
    }
}

/// A lease of a session, which is released on drop.
pub(crate) struct Lease {
    state: Arc<State>,
    key: SessionKey,
    is_held: bool,
}

impl Lease {
    /// Renews the lease while some work is done.
    pub(crate) async fn keep_during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = tokio::time::sleep(LEASE / 5) => {
                    // If renewing fails, saving reports it.
                    if let Ok(store) = self.state.store().await {
                        let (namespace, id) = &self.key;
                        let holder = self.state.sessions.holder.name();
                        let _ = store.sessions().renew(namespace, id, holder, LEASE).await;
                    }
                }
            }
        }
    }

    async fn save(
        &self,
        generation: i64,
        state: Option<&[u8]>,
        lost: &narrows_sandbox::LostVariables,
        flow: &Flow,
    ) -> Result<i64, StateError> {
        let (namespace, id) = &self.key;
        let lost = serde_json::json!(lost);
        let sessions = self.state.store().await?.sessions();
        let holder = self.state.sessions.holder.name();
        let left = SessionSnapshot { state, lost: &lost, flow: &json!(flow) };
        Ok(sessions.save(namespace, id, holder, generation, &left).await?)
    }

    /// Removes the session from the store, and the lease with it.
    async fn remove(mut self) {
        self.is_held = false;
        let (namespace, id) = &self.key;
        if let Ok(store) = self.state.store().await
            && let Err(error) = store.sessions().remove(namespace, id).await
        {
            tracing::warn!(%error, "a session that was never used could not be removed");
        }
    }

    async fn give_back(mut self) {
        self.is_held = false;
        give_back(&self.state, &self.key).await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The caller has left in the middle of its program.
        if let (true, Ok(runtime)) = (self.is_held, tokio::runtime::Handle::try_current()) {
            let (state, key) = (Arc::clone(&self.state), self.key.clone());
            runtime.spawn(async move { give_back(&state, &key).await });
        }
    }
}

async fn give_back(state: &State, (namespace, id): &SessionKey) {
    if let Ok(store) = state.store().await
        && let Err(error) =
            store.sessions().give_back(namespace, id, state.sessions.holder.name()).await
    {
        tracing::warn!(
            namespace,
            %error,
            "a session could not be released, and is in use until its lease ends"
        );
    }
}

#[cfg(test)]
mod tests;
