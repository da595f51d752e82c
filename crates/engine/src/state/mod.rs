//! What lasts: files, skills, sessions, boards and shared values, for those who may see them.
//!
//! | file | subject |
//! |---|---|
//! | `agent` | one principal's way to all of it, and what it may not do |
//! | `workspaces` | the directories of all namespaces |
//! | `files` | files as a caller names them |
//! | `outputs` | what the gateway wrote into workspaces: known to the store, and cleaned up |
//! | `events` | the one place where everything that happens is written down |
//! | `audit_writer` | writes the audit beside the work |
//! | `boards` | messages and values that agents share |
//! | `sessions` | programs that see the variables of those before them |
//! | `holder` | which process has a session, and whether it lives |

mod agent;
mod audit_writer;
mod boards;
mod events;
mod files;
mod holder;
mod outputs;
mod sessions;
mod workspaces;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use narrows_model::{Access, EventOutcome, Limits, Principal};
use narrows_sandbox::SandboxError;
use narrows_store::{Store, StoreError, StoreUrl};
use thiserror::Error;
use tokio::sync::OnceCell;

pub use agent::Agent;
pub use files::{Encoding, FileContent, FileEntry, ReadRequest, WorkspaceUsage};
pub use narrows_store::{
    Approval, ApprovalState, AuditSize, Board, Entry as AuditEntry, Filter as AuditFilter, Message,
    Scope, SessionRow, SkillVersion, TokenSelection, Verdict, Verification,
};

pub(crate) use audit_writer::AuditTrail;
pub use files::now;

use crate::{
    analysis::AnalysisService,
    compute::Compute,
    policy::LevelError,
    run::ExecuteError,
    safety::{AuditSettings, Safety, VaultError},
    skills::{Library, LibraryError},
};

/// Where things are kept, and for how long.
#[derive(Clone, Debug)]
pub struct StateSettings {
    pub store: StoreUrl,
    /// The workspaces are below it, one directory for each namespace.
    pub workspaces: PathBuf,
    /// Which machine or disk this is: files of one place are not those of another.
    pub place: String,
    /// Of workspaces.
    pub limits: Limits,
    /// What the gateway itself wrote into workspaces is removed when it is older than this, or
    /// when all of it is larger than `output_bytes`.
    pub output_age: Duration,
    pub output_bytes: u64,
    pub sessions: SessionSettings,
    pub safety: Arc<Safety>,
    pub analysis: narrows_analysis::Settings,
}

impl StateSettings {
    /// Where the processes that share the workspaces say that they live.
    fn holders(&self) -> PathBuf {
        self.workspaces.parent().unwrap_or(Path::new(".")).join("holders")
    }
}

/// How long and how many sessions are kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    pub max_live: usize,
    pub idle: Duration,
    /// Of all sessions in memory that nobody uses.
    pub memory_bytes: u64,
    /// Sessions that nobody used for so long are removed from the store.
    pub age: Duration,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            max_live: 16,
            idle: Duration::from_secs(10 * 60),
            memory_bytes: 384 << 20,
            age: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}

/// Why something that lasts could not be had.
#[derive(Debug, Error)]
pub enum StateError {
    #[error("{principal:?} may not {verb} the namespace {namespace:?}; it may do so in {allowed}")]
    Denied { principal: String, verb: &'static str, namespace: String, allowed: String },
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    #[error("{0:?} is no name of a session; use 1 to 64 letters, digits, - and _")]
    SessionName(String),
    #[error(
        "the session {0:?} is in use by another gateway for {1} s already; try again later, or use another session_id"
    )]
    SessionBusy(String, u64),
    #[error("{0:?} is no pattern of file names: {1}")]
    Pattern(String, String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0} (tried just now; the next try is in a moment)")]
    StoreDown(String),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error("{0}")]
    Level(String),
    #[error("{0}")]
    Exceeded(String),
    #[error(
        "nothing was run: the audit cannot be written ({0}), and this isolation level does nothing \
         that is not in it"
    )]
    AuditDown(String),
    #[error(
        "in strict mode programs do not see what tokens stand for; pass the token to the tool that needs it"
    )]
    StrictRestore,
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

impl StateError {
    /// Returns what became of a run that could not begin for this.
    pub(crate) fn outcome(&self) -> EventOutcome {
        match self {
            Self::SessionBusy(..)
            | Self::Execute(ExecuteError::Sandbox(SandboxError::Busy { .. })) => EventOutcome::Busy,
            Self::Store(_)
            | Self::StoreDown(_)
            | Self::Vault(_)
            | Self::Execute(ExecuteError::Sandbox(_)) => EventOutcome::Failed,
            _ => EventOutcome::Refused,
        }
    }

    pub(crate) fn level(error: LevelError) -> Self {
        Self::Level(error.to_string())
    }

    /// Whether the caller asked for something that cannot be had.
    pub fn is_wrong_use(&self) -> bool {
        match self {
            Self::Execute(error) => error.is_wrong_use(),
            Self::SessionName(_) | Self::Pattern(..) | Self::Level(_) => true,
            _ => false,
        }
    }
}

/// How long nobody tries to open a store that could not be opened. Those who can do without it
/// shall not wait for it each time.
const STORE_PAUSE: Duration = Duration::from_secs(5);

/// The same for what is noted beside an answer, and how long the answer waits for it.
const NOTING_PAUSE: Duration = Duration::from_secs(30);
const NOTING_TIME: Duration = Duration::from_secs(5);

/// How often what is old is removed.
const HOUSE_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// All that lasts. The store is opened when it is first needed: a client is answered before.
#[derive(Debug)]
pub struct State {
    settings: StateSettings,
    store: OnceCell<Store>,
    /// Why the store could not be opened, and when.
    failed: Mutex<Option<(Instant, String)>>,
    workspaces: workspaces::Workspaces,
    sessions: sessions::Sessions,
    news: boards::BoardNotifier,
    library: Library,
    audit_writer: audit_writer::AuditWriter,
    analysis_service: AnalysisService,
    compute: Compute,
}

impl State {
    pub fn new(settings: StateSettings) -> Arc<Self> {
        Arc::new(Self {
            store: OnceCell::new(),
            failed: Mutex::default(),
            workspaces: workspaces::Workspaces::new(&settings),
            sessions: sessions::Sessions::new(settings.sessions, settings.holders()),
            news: boards::BoardNotifier::default(),
            library: Library::default(),
            audit_writer: audit_writer::AuditWriter::default(),
            analysis_service: AnalysisService::new(settings.analysis.clone()),
            compute: Compute::default(),
            settings,
        })
    }

    /// The store. A failure is told, and after a pause the next one who asks tries again.
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

    /// Notes something beside an answer.
    async fn note(&self, what: &str, noting: impl Future<Output = Result<(), StateError>>) {
        if let Err(why) = self.in_time(noting).await {
            tracing::warn!(reason = why, "{what}");
        }
    }

    /// Does something with the store beside an answer. A store that does not answer delays one
    /// answer, and then none for a while.
    async fn in_time(
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

    /// Removes what has had its time, now and then, as long as the state is there.
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

    /// Removes what has had its time: values of the vault, approvals, entries of the audit.
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

    /// How many sessions may stay in memory.
    pub fn live_sessions(&self) -> usize {
        self.settings.sessions.max_live
    }

    /// What lasts, as this principal may see it.
    pub fn agent(self: &Arc<Self>, principal: Arc<Principal>) -> Agent {
        Agent::new(Arc::clone(self), principal)
    }

    /// Lets everything be written that is under way.
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

/// The namespace that is meant, if the principal may use it so.
fn namespace<'a>(
    principal: &'a Principal,
    named: Option<&'a str>,
    access: Access,
) -> Result<&'a str, StateError> {
    let namespace = named.unwrap_or(&principal.home);
    if principal.may(access, namespace) {
        return Ok(namespace);
    }
    Err(StateError::Denied {
        principal: principal.name.clone(),
        verb: match access {
            Access::Read => "read",
            Access::Write => "change",
        },
        namespace: namespace.to_owned(),
        allowed: {
            let allowed = principal.namespaces().filter(|other| principal.may(access, other));
            allowed.collect::<Vec<_>>().join(", ")
        },
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use crate::safety::SafetySettings;

    /// What lasts in a directory, as nobody configured it.
    pub(crate) fn state(home: &Path) -> Arc<State> {
        state_under(home, SafetySettings::default())
    }

    /// The same, under these rules.
    pub(crate) fn state_under(home: &Path, rules: SafetySettings) -> Arc<State> {
        state_with(home, Safety::new(rules, Arc::new(|| Ok([7; 32]))).unwrap())
    }

    /// The same, with all that keeps it safe.
    pub(crate) fn state_with(home: &Path, safety: Arc<Safety>) -> Arc<State> {
        State::new(StateSettings {
            store: StoreUrl::Sqlite(home.join("narrows.db")),
            workspaces: home.join("workspaces"),
            place: "here".to_owned(),
            limits: Limits::default(),
            output_age: Duration::from_secs(60),
            output_bytes: 1 << 20,
            sessions: SessionSettings::default(),
            safety,
            analysis: narrows_analysis::Settings::default(),
        })
    }
}
