//! The lasting state, shared by all agents of a gateway.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use narrows_model::Principal;
use narrows_store::Store;
use tokio::sync::OnceCell;

use super::{
    Agent, StateError, StateSettings, audit_writer::AuditWriter, boards::BoardNotifier, files::now,
    sessions::Sessions, workspaces::Workspaces,
};
use crate::{
    analysis_service::AnalysisService, compute::Compute, safety::AuditSettings, skills::Library,
};

/// The pause after a failed attempt to open the store, so that requests which can do without it do not
/// wait for it each time.
const STORE_PAUSE: Duration = Duration::from_secs(5);

/// The pause after the store failed to answer a write beside an answer, and the longest time that an
/// answer waits for such a write.
const NOTING_PAUSE: Duration = Duration::from_secs(30);
const NOTING_TIME: Duration = Duration::from_secs(5);

/// How often expired rows are removed.
const HOUSE_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// The lasting state of a gateway. The store is opened when it is first needed, so that a client is
/// answered before.
#[derive(Debug)]
pub struct State {
    pub(super) settings: StateSettings,
    pub(super) store: OnceCell<Store>,
    /// When the store failed, and why.
    failed: Mutex<Option<(Instant, String)>>,
    pub(super) workspaces: Workspaces,
    pub(super) sessions: Sessions,
    pub(super) news: BoardNotifier,
    pub(super) library: Library,
    pub(super) audit_writer: AuditWriter,
    pub(super) analysis_service: AnalysisService,
    pub(super) compute: Compute,
}

impl State {
    pub fn new(settings: StateSettings) -> Arc<Self> {
        Arc::new(Self {
            store: OnceCell::new(),
            failed: Mutex::default(),
            workspaces: Workspaces::new(&settings),
            sessions: Sessions::new(settings.sessions, settings.holders()),
            news: BoardNotifier::default(),
            library: Library::default(),
            audit_writer: AuditWriter::default(),
            analysis_service: AnalysisService::new(settings.analysis.clone()),
            compute: Compute::default(),
            settings,
        })
    }

    /// Returns the store, and opens it if needed. After a failure it is not tried again for a few
    /// seconds.
    pub async fn store(&self) -> Result<&Store, StateError> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        if let Some((when, why)) = &*self.failed()
            && when.elapsed() < STORE_PAUSE
        {
            return Err(StateError::StoreDown(why.clone()));
        }
        let opened = self.store.get_or_try_init(|| Store::open(&self.settings.store)).await;
        *self.failed() = opened.as_ref().err().map(|error| (Instant::now(), error.to_string()));
        Ok(opened?)
    }

    /// Does something with the store beside an answer, and logs `what` if it fails.
    pub(super) async fn note(
        &self,
        what: &str,
        noting: impl Future<Output = Result<(), StateError>>,
    ) {
        if let Err(why) = self.in_time(noting).await {
            tracing::warn!(reason = why, "{what}");
        }
    }

    /// Does something with the store beside an answer, within `NOTING_TIME`. A store that does not
    /// respond delays one answer, and then none for `NOTING_PAUSE`.
    pub(super) async fn in_time(
        &self,
        work: impl Future<Output = Result<(), StateError>>,
    ) -> Result<(), String> {
        let is_down = |(when, _): &(Instant, String)| when.elapsed() < NOTING_PAUSE;
        if let Some((_, why)) = self.failed().as_ref().filter(|failed| is_down(failed)) {
            return Err(why.clone());
        }
        match tokio::time::timeout(NOTING_TIME, work).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(_) => {
                let why = format!("the store {} does not answer", self.settings.store);
                *self.failed() = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }

    fn failed(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task that calls [`Self::clean`] at intervals, as long as the state exists.
    pub fn keep_house(self: &Arc<Self>) {
        let state = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(HOUSE_INTERVAL).await;
                let Some(state) = state.upgrade() else { return };
                if let Err(error) = state.clean().await {
                    tracing::warn!(%error, "expired values, approvals and audit entries could not be removed");
                }
            }
        });
    }

    /// Removes expired values of the vault, approvals and entries of the audit.
    pub async fn clean(&self) -> Result<(), StateError> {
        let store = self.store().await?;
        store.vault().sweep(now()).await?;
        store.approvals().sweep(now()).await?;
        let AuditSettings { age, bytes, .. } = *self.settings.safety.audit();
        if age.is_some() || bytes.is_some() {
            let age = age.map(|age| now() - i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
            let bytes = bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
            store.audit().prune(age, bytes).await?;
        }
        Ok(())
    }

    /// Returns the number of sessions that may stay in memory.
    pub fn live_sessions(&self) -> usize {
        self.settings.sessions.max_live
    }

    /// Returns the access of a principal.
    pub fn agent(self: &Arc<Self>, principal: Arc<Principal>) -> Agent {
        Agent::new(Arc::clone(self), principal)
    }

    /// Finishes analyses and audit writes in progress, and closes the store.
    pub async fn close(&self) {
        self.sessions.close();
        self.analysis_service.idle().await;
        self.note("the audit was not written", async {
            self.audit_writer.finish().await;
            Ok(())
        })
        .await;
        if let Some(store) = self.store.get() {
            store.close().await;
        }
    }
}
