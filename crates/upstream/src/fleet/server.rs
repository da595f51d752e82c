//! One upstream server: started when it is needed, restarted when it dies.

#[cfg(any(test, feature = "fakes"))]
pub(crate) mod in_process;

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use narrows_model::{ServerSpec, clipped_name};
use narrows_system::{ALWAYS_APART, without_place};
use rmcp::model::{ClientRequest, ServerPeerInfo};
use serde::Serialize;
use tokio::{task::AbortHandle, time::Instant};

use super::relisting::{ChangesPause, REFRESH_PAUSE};
use crate::{
    caller::Caller,
    catalog::{Catalog, DefinitionShare, Listing},
    connection::{Connection, ListedTools, UpstreamReply},
    error::UpstreamError,
    handshake::{ConnectionDeps, OpenError},
    logs::server_log::LogSource,
    protocol::ProtocolGeneration,
};

/// A server that dies sooner than this after its start counts as one that does not start.
const STABLE_AFTER: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(300);
/// The most that is kept of a server's instructions, which models read; more is cut off.
const MAX_INSTRUCTIONS_BYTES: usize = 64 << 10;
/// The most that is kept of its name and version, which people read.
const MAX_IMPLEMENTATION_BYTES: usize = 200;

type Opening = Shared<BoxFuture<'static, Result<Arc<Connection>, UpstreamError>>>;

/// A configured server.
pub(crate) struct Upstream {
    spec: ServerSpec,
    means: ConnectionDeps,
    catalog: Arc<Catalog>,
    state: Mutex<ServerState>,
    /// Locked while the tools are listed again.
    listing: tokio::sync::Mutex<()>,
    /// Set while a task waits to list them again.
    listing_is_due: AtomicBool,
    changes_pause: Mutex<ChangesPause>,
    /// When the tools were last read for a name that is not among them; locked meanwhile.
    refreshed: tokio::sync::Mutex<Option<Instant>>,
    /// For background tasks, which must not keep the server alive.
    this: Weak<Self>,
}

#[derive(Default)]
struct ServerState {
    era: ProtocolGeneration,
    connection: Option<Arc<Connection>>,
    opening: Option<Opening>,
    /// Aborts the attempt to start that is under way.
    opening_task: Option<AbortHandle>,
    /// Failed starts in a row.
    failures: u32,
    not_before: Option<Instant>,
    last_error: Option<String>,
    start_problem: Option<StartProblem>,
    login_needed: bool,
    starts: u32,
    since: Option<SystemTime>,
    shut_down: bool,
}

/// The state that a server is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// The server was not needed so far.
    Idle,
    Starting,
    Ready,
    LoginNeeded,
    /// The server did not start, or died. A child process that died is started again once; after that
    /// the next caller tries.
    Failed,
}

/// The state of a server, as the status shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    pub server: String,
    pub health: Health,
    /// How the server calls itself.
    pub implementation: Option<String>,
    pub protocol: Option<String>,
    pub tools: Option<usize>,
    pub process_id: Option<u32>,
    pub starts: u32,
    pub last_error: Option<String>,
    /// Why the last attempt to start it failed, for whoever knows what to do about it.
    #[serde(skip)]
    pub start_problem: Option<StartProblem>,
    /// Seconds until the next attempt to start it may be made.
    pub retry_in: Option<u64>,
}

/// The reason why a server does not start, told apart as far as the remedies differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartProblem {
    /// A setting names a variable that is not there.
    UnsetVariable,
    /// The server may lack an environment variable that the gateway has and does not pass on.
    WithheldVariable,
    /// The command of the server does not exist.
    NoCommand,
    /// The server did not answer in time.
    NoAnswer,
    Other,
}

impl From<&OpenError> for StartProblem {
    fn from(error: &OpenError) -> Self {
        match error {
            OpenError::UnsetVariable(_) => Self::UnsetVariable,
            OpenError::WithheldVariable(_) => Self::WithheldVariable,
            OpenError::NoCommand(_) => Self::NoCommand,
            OpenError::Silent { .. } => Self::NoAnswer,
            OpenError::Setting(_)
            | OpenError::Spawn(_)
            | OpenError::LoginNeeded
            | OpenError::ScopeNeeded(_)
            | OpenError::Handshake(_)
            | OpenError::Ended(_) => Self::Other,
        }
    }
}

impl Upstream {
    pub(crate) fn new(
        spec: ServerSpec,
        era: ProtocolGeneration,
        means: ConnectionDeps,
        catalog: Arc<Catalog>,
    ) -> Arc<Self> {
        let state = Mutex::new(ServerState { era, ..ServerState::default() });
        Arc::new_cyclic(|this| Self {
            spec,
            means,
            catalog,
            state,
            listing: tokio::sync::Mutex::default(),
            listing_is_due: AtomicBool::new(false),
            changes_pause: Mutex::default(),
            refreshed: tokio::sync::Mutex::default(),
            this: this.clone(),
        })
    }

    pub(crate) fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> Status {
        let state = self.state();
        let info = state.connection.as_ref().map(|connection| connection.info().clone());
        let listing = self.catalog.listing(&self.spec.name);
        let health = match () {
            () if state.opening.is_some() => Health::Starting,
            () if state.connection.is_some() => Health::Ready,
            () if state.login_needed => Health::LoginNeeded,
            () if state.failures > 0 => Health::Failed,
            () => Health::Idle,
        };
        let problem = state.connection.as_ref().and_then(|connection| connection.last_problem());
        let known = listing.as_ref().map(|listing| &listing.about);
        Status {
            server: self.spec.name.clone(),
            health,
            implementation: info
                .as_ref()
                .and_then(implementation)
                .or_else(|| known.and_then(|about| about.implementation.clone())),
            protocol: info
                .map(|info| info.protocol_version.to_string())
                .or_else(|| known.and_then(|about| about.protocol.clone())),
            tools: listing.map(|listing| listing.tools.len()),
            process_id: state.connection.as_ref().and_then(|connection| connection.process_id()),
            starts: state.starts,
            last_error: problem.or_else(|| state.last_error.clone()),
            start_problem: state.start_problem,
            retry_in: state
                .not_before
                .map(|at| at.saturating_duration_since(Instant::now()))
                .filter(|pause| !pause.is_zero())
                .map(|pause| pause.as_secs() + 1),
        }
    }

    /// Sends a request and returns the server's answer. Starts the server if it does not run.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        caller: Arc<dyn Caller>,
    ) -> Result<UpstreamReply, UpstreamError> {
        let connection = self.connection().await?;
        connection.request(request, caller).await
    }

    /// Shows a problem in the status, if the server runs.
    pub(crate) fn report_problem(&self, problem: String) {
        let connection = self.state().connection.clone();
        if let Some(connection) = connection {
            connection.report_problem(problem);
        }
    }

    /// Returns what the server said about itself. Starts the server if it does not run.
    pub(crate) async fn info(&self) -> Result<ServerPeerInfo, UpstreamError> {
        Ok(self.connection().await?.info().clone())
    }

    pub(crate) fn era(&self) -> ProtocolGeneration {
        let state = self.state();
        state.connection.as_ref().map_or(state.era, |connection| connection.era())
    }

    /// Returns the open connection, or opens a new one that all who ask meanwhile share.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, UpstreamError> {
        let opening = {
            let mut state = self.state();
            if let Some(connection) = state.connection.as_ref()
                && !connection.is_closed()
            {
                return Ok(Arc::clone(connection));
            }
            if state.shut_down {
                return Err(self.unavailable("the gateway is shutting down".into()));
            }
            match &state.opening {
                Some(opening) => opening.clone(),
                None => {
                    self.check_pause(&state)?;
                    let (opening, task) = self.open();
                    state.opening = Some(opening.clone());
                    state.opening_task = Some(task);
                    opening
                }
            }
        };
        opening.await
    }

    fn unavailable(&self, reason: String) -> UpstreamError {
        UpstreamError::Unavailable { server: self.spec.name.clone(), reason }
    }

    /// Fails with the last reason, at once, while the pause after a failure lasts.
    fn check_pause(&self, state: &ServerState) -> Result<(), UpstreamError> {
        // The person may have logged in meanwhile, and to ask costs nothing.
        if state.login_needed {
            return Ok(());
        }
        let pause = state.not_before.map(|at| at.saturating_duration_since(Instant::now()));
        let Some(pause) = pause.filter(|pause| !pause.is_zero()) else { return Ok(()) };
        let reason = state.last_error.as_deref().unwrap_or("it failed");
        let seconds = pause.as_secs() + 1;
        Err(self.unavailable(format!("{reason} (the next attempt is in {seconds} s)")))
    }

    /// Opens a connection in a task of its own, which goes on when the callers that asked for it no
    /// longer wait.
    fn open(&self) -> (Opening, AbortHandle) {
        let this = self.this.clone();
        let opened = tokio::spawn(async move {
            let Some(this) = this.upgrade() else {
                let reason = "the gateway is shutting down".into();
                return Err(UpstreamError::Unavailable { server: String::new(), reason });
            };
            let begun = Instant::now();
            let opened = this.open_and_list().await;
            this.settle(opened, begun.elapsed())
        });
        let (server, task) = (self.spec.name.clone(), opened.abort_handle());
        let opening = async move {
            opened.await.unwrap_or_else(|error| {
                let reason = match error.is_cancelled() {
                    true => "it was restarted meanwhile; try again".to_owned(),
                    false => error.to_string(),
                };
                Err(UpstreamError::Unavailable { server, reason })
            })
        };
        (opening.boxed().shared(), task)
    }

    async fn open_and_list(&self) -> Result<Arc<Connection>, OpenError> {
        let connection = self.open_in_some_era().await?;
        let listing = connection.list_tools(self.definition_share());
        let listed = tokio::time::timeout(self.spec.start_timeout, listing).await;
        let tools = match listed {
            Ok(Ok(tools)) => tools,
            Ok(Err(UpstreamError::LoginNeeded { .. })) => return Err(OpenError::LoginNeeded),
            Ok(Err(UpstreamError::ScopeNeeded { scope, .. })) => {
                return Err(OpenError::ScopeNeeded(scope));
            }
            Ok(Err(error)) => {
                connection.close().await;
                return Err(OpenError::Handshake(format!("it does not list its tools: {error}")));
            }
            Err(_) => {
                connection.close().await;
                let after = self.spec.start_timeout;
                return Err(OpenError::Silent { after, said: None });
            }
        };
        self.publish(&connection, tools);
        Ok(Arc::new(connection))
    }

    /// Opens a connection in the known generation of the protocol, and tries the others if the
    /// handshake fails: a server may be too slow for the probe, answer it with nonsense, or have
    /// changed since the last time.
    async fn open_in_some_era(&self) -> Result<Connection, OpenError> {
        let known = self.state().era;
        let mut refusal = match Connection::open(&self.spec, known, &self.means).await {
            Err(OpenError::Handshake(reason)) => reason,
            opened => return opened,
        };
        for era in [
            ProtocolGeneration::Unknown,
            ProtocolGeneration::Discover,
            ProtocolGeneration::Initialize,
        ] {
            if era == known {
                continue;
            }
            match Connection::open(&self.spec, era, &self.means).await {
                Err(OpenError::Handshake(reason)) if era == ProtocolGeneration::Unknown => {
                    refusal = reason
                }
                Err(OpenError::Handshake(_)) => {}
                opened => return opened,
            }
        }
        Err(OpenError::Handshake(refusal))
    }

    fn definition_share(&self) -> DefinitionShare {
        self.catalog.definition_share(&self.spec.name)
    }

    /// Publishes in the catalog what the server listed.
    fn publish(&self, connection: &Connection, listed: ListedTools) {
        let info = connection.info();
        let about = crate::catalog::UpstreamInfo {
            era: connection.era(),
            implementation: implementation(info),
            protocol: Some(info.protocol_version.to_string()),
            instructions: info
                .instructions
                .as_deref()
                .map(|text| text[..text.floor_char_boundary(MAX_INSTRUCTIONS_BYTES)].to_owned()),
            capabilities: info.capabilities.clone(),
        };
        let ListedTools { tools, share } = listed;
        let publish = || self.catalog.publish(&self.spec, Listing { about, tools }, share);
        without_place(ALWAYS_APART, publish);
    }

    /// Records the outcome of an attempt to open a connection.
    fn settle(
        self: &Arc<Self>,
        opened: Result<Arc<Connection>, OpenError>,
        time: Duration,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let mut state = self.state();
        state.opening = None;
        state.opening_task = None;
        match opened {
            Ok(connection) => {
                connection.note_start();
                state.era = connection.era();
                state.connection = Some(Arc::clone(&connection));
                state.starts += 1;
                state.since = Some(SystemTime::now());
                state.not_before = None;
                state.login_needed = false;
                state.start_problem = None;
                tracing::info!(
                    server = self.spec.name,
                    process_id = connection.process_id(),
                    protocol = clipped_name(connection.info().protocol_version.as_str()),
                    ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
                    "a server is connected"
                );
                tokio::spawn(Arc::clone(self).look_after(Arc::clone(&connection)));
                Ok(connection)
            }
            Err(error) => {
                state.login_needed =
                    matches!(error, OpenError::LoginNeeded | OpenError::ScopeNeeded(_));
                state.start_problem = Some(StartProblem::from(&error));
                let reason = error.at(&self.spec.connection.address());
                state.last_error = Some(reason.clone());
                state.fail();
                drop(state);
                let server = self.spec.name.clone();
                // The reason has no secrets any more.
                let line = format!("did not start: {reason}");
                self.means.logs.of(&server).write(LogSource::Narrows, &line);
                tracing::warn!(server, reason, "an upstream server did not start");
                Err(match error {
                    OpenError::LoginNeeded => UpstreamError::LoginNeeded { server },
                    OpenError::ScopeNeeded(scope) => UpstreamError::ScopeNeeded { server, scope },
                    _ => self.unavailable(reason),
                })
            }
        }
    }

    /// Waits for the end of a connection and records why it ended. Starts the server again if it is a
    /// child process.
    async fn look_after(self: Arc<Self>, connection: Arc<Connection>) {
        let opened = Instant::now();
        connection.closed().await;
        let exit = connection.exit_reason().await;
        let words = format!("{}: {}", self.spec.connection.address(), exit.words);
        let pause = {
            let mut state = self.state();
            let is_ours =
                state.connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, &connection));
            if !is_ours || state.shut_down {
                return;
            }
            state.connection = None;
            state.last_error = Some(words.clone());
            if opened.elapsed() < STABLE_AFTER {
                state.fail();
            } else {
                state.failures = 0;
            }
            state
                .not_before
                .map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
        };
        connection.note(&format!("is gone: {words}"));
        // What it printed last is left to its own log: it may contain anything that it was ever sent.
        tracing::warn!(server = self.spec.name, reason = exit.status, "an upstream server is gone");
        // An HTTP server has no process to restart; the next call connects again.
        if !matches!(self.spec.connection, narrows_model::Connection::Stdio(_)) {
            return;
        }
        let this = Arc::downgrade(&self);
        drop(self);
        tokio::time::sleep(pause).await;
        if let Some(this) = this.upgrade() {
            let _ = this.connection().await;
        }
    }

    /// Lists the tools again after the server announced a change. Changes that come while a reading is
    /// due are read together, and a server that announces them without end is read at ever longer
    /// intervals.
    pub(crate) async fn refresh_after_change(&self) {
        if self.listing_is_due.swap(true, Ordering::AcqRel) {
            return;
        }
        let _listing = self.listing.lock().await;
        let pause = {
            let mut pause = self.changes_pause.lock().unwrap_or_else(PoisonError::into_inner);
            pause.next(Instant::now())
        };
        tokio::time::sleep(pause).await;
        self.listing_is_due.store(false, Ordering::Release);
        self.refresh_tools().await;
    }

    /// Lists the tools again for a name that is not among them, if the server runs, may have others by
    /// now, and was not asked for this a moment ago. Callers that ask meanwhile wait for the same
    /// reading.
    pub(crate) async fn refresh(&self) {
        let asked = Instant::now();
        let mut refreshed = self.refreshed.lock().await;
        if refreshed.is_some_and(|begun| begun >= asked) {
            return;
        }
        // Wait for a reading that may be under way.
        drop(self.listing.lock().await);
        let Some(connection) = self.state().connection.clone() else { return };
        let begun = Instant::now();
        if connection.have_tools_changed() || self.listing_is_due.load(Ordering::Acquire) {
            // A change that the server announced is not a wrong name: it is read as often as changes
            // are, here or by the task that does it already.
            self.refresh_after_change().await;
            drop(self.listing.lock().await);
            *refreshed = Some(begun);
            return;
        }
        let is_pipe = matches!(self.spec.connection, narrows_model::Connection::Stdio(_));
        let was_just_read = refreshed.is_some_and(|begun| begun.elapsed() < REFRESH_PAUSE);
        if was_just_read || !connection.may_have_other_tools(is_pipe) {
            return;
        }
        *refreshed = Some(begun);
        self.refresh_tools().await;
    }

    /// Lists the tools again, if the server runs.
    async fn refresh_tools(&self) {
        let connection = self.state().connection.clone();
        let Some(connection) = connection else { return };
        let listing = connection.list_tools(self.definition_share());
        let listed = tokio::time::timeout(self.spec.start_timeout, listing).await;
        match listed {
            Ok(Ok(tools)) => self.publish(&connection, tools),
            Ok(Err(error)) => self.state().last_error = Some(error.to_string()),
            Err(_) => {
                let reason = "it said that its tools changed, and does not list them";
                self.state().last_error = Some(reason.to_owned());
            }
        }
    }

    /// Ends the server and starts it again, without the pauses that follow failures.
    pub(crate) async fn restart(&self) -> Result<(), UpstreamError> {
        let connection = {
            let mut state = self.state();
            state.opening = None;
            if let Some(task) = state.opening_task.take() {
                task.abort();
            }
            state.failures = 0;
            state.not_before = None;
            state.last_error = None;
            state.connection.take()
        };
        if let Some(connection) = connection {
            connection.note("is restarted");
            connection.close().await;
            tracing::info!(server = self.spec.name, "a server was ended to be started again");
        }
        self.connection().await.map(|_| ())
    }

    pub(crate) async fn shut_down(&self) {
        let (connection, opening) = {
            let mut state = self.state();
            state.shut_down = true;
            (state.connection.take(), state.opening.take())
        };
        if let Some(connection) = connection {
            connection.close().await;
            tracing::info!(server = self.spec.name, "a server was ended");
        }
        // A server that is just starting ends with the runtime; its child is killed when dropped.
        drop(opening);
    }
}

impl ServerState {
    fn fail(&mut self) {
        let pause = FIRST_PAUSE * 2u32.saturating_pow(self.failures.min(16));
        self.failures += 1;
        self.not_before = Some(Instant::now() + pause.min(MAX_PAUSE));
    }
}

fn implementation(info: &ServerPeerInfo) -> Option<String> {
    let server = info.server_info.as_ref()?;
    let mut text = format!("{} {}", server.name, server.version);
    text.truncate(text.floor_char_boundary(MAX_IMPLEMENTATION_BYTES));
    Some(text)
}

#[cfg(test)]
mod tests;
