//! One connection to a server, from its opening to its end.

#[cfg(any(test, feature = "fakes"))]
pub(crate) mod in_process;
mod tool_list;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use narrows_model::ServerSpec;
use narrows_system::{json_bytes, without_place};
use rmcp::{
    RoleClient,
    model::{
        CancelledNotificationParam, ClientRequest, ListToolsRequest, PaginatedRequestParams,
        RequestId, RequestMetaObject, ServerNotification, ServerPeerInfo, ServerResult,
        SubscribeRequestParams, SubscriptionFilter,
    },
    service::{
        ClientInitializeError, ClientServiceExt, Peer, PeerRequestOptions, ServiceError,
        Subscription,
    },
};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use self::tool_list::{NextPage, ToolList};
use crate::{
    caller::Caller,
    catalog::DefinitionShare,
    error::{UpstreamError, chain},
    handler::{Deadline, Handler, MAX_URI_BYTES, ServerChange, UpstreamChange},
    handshake::{ConnectionDeps, OpenError, Service, lifecycle, refused},
    http::connector::HttpConnector,
    logs::{redact::Redactor, server_history::ServerHistory},
    messages::{budget::Held, inbox::Inbox, raw::RawPage},
    protocol::ProtocolGeneration,
    settings::{ResolvedTarget, Settings},
    stdio::{
        child::{Child, CommandLine, ExitReason, OutputEnd, SpawnError},
        transport::StdioTransport,
    },
};

/// How often a child is checked for having exited.
const CHILD_CHECK: Duration = Duration::from_millis(500);
/// How long a connection may take to send what it has begun.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// How long a server that may be of the older protocol is given to answer the newer one's probe.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

/// A server's answer, with the memory that it holds in the budget of all servers. Keep it until the
/// answer was used.
#[derive(Debug)]
pub struct UpstreamReply {
    pub result: ServerResult,
    pub held: Held,
}

/// An open connection.
pub(crate) struct Connection {
    server: Arc<str>,
    service: Service,
    child: Mutex<Option<Child>>,
    process_id: Option<u32>,
    printed: Option<OutputEnd>,
    inbox: Inbox,
    /// Locked while tools are listed, so that a raw page belongs to the caller that asked for it.
    listing: tokio::sync::Mutex<()>,
    history: ServerHistory,
    info: Arc<ServerPeerInfo>,
    call_timeout: Duration,
    /// Cancelled when the transport is gone.
    closed: CancellationToken,
}

impl Connection {
    /// Opens a connection within the server's start timeout.
    pub(crate) async fn open(
        spec: &ServerSpec,
        era: ProtocolGeneration,
        means: &ConnectionDeps,
    ) -> Result<Self, OpenError> {
        let settings = Settings::expand(spec)?;
        let mut redactor = Redactor::new(settings.secrets.clone());
        if let ResolvedTarget::Http { url, .. } = &settings.target {
            redactor = redactor.showing(url.as_str(), &spec.connection.address());
        }
        let history = ServerHistory::new(redactor, means.logs.of(&spec.name));
        let opening = Self::open_now(spec, &settings, era, means, history.clone());
        match tokio::time::timeout(spec.start_timeout, opening).await {
            Ok(opened) => {
                opened.map_err(|error| settings.hinting(&spec.name, error.clean(&history)))
            }
            Err(_) => {
                let said = history.last_stderr();
                Err(OpenError::Silent { after: spec.start_timeout, said })
            }
        }
    }

    async fn open_now(
        spec: &ServerSpec,
        settings: &Settings<'_>,
        era: ProtocolGeneration,
        means: &ConnectionDeps,
        history: ServerHistory,
    ) -> Result<Self, OpenError> {
        let handler = Handler::new(&spec.name, means.changes.clone());
        let inbox = Inbox::new(means.budget.clone());
        let closed = CancellationToken::new();
        // The transport holds the last clone; the connection ends when it is dropped.
        let alive = Arc::new(closed.clone().drop_guard());
        let (service, child) = match &settings.target {
            ResolvedTarget::Stdio { program, args, env, inherited, spec: stdio } => {
                let line = CommandLine {
                    program,
                    args,
                    inherited: &inherited.variables,
                    env,
                    cwd: stdio.cwd.as_deref(),
                };
                let spawned = Child::spawn(&line, &means.guard, &history);
                let (mut child, pipes) = spawned.map_err(|error| match error {
                    SpawnError::NotFound(_) => OpenError::NoCommand(chain(&error)),
                    _ => OpenError::Spawn(chain(&error)),
                })?;
                let transport = StdioTransport::new(
                    pipes,
                    inbox.clone(),
                    history.clone(),
                    Arc::clone(handler.notices()),
                    probe_patience(era, spec.start_timeout),
                    alive,
                );
                match handler.serve_with_lifecycle(transport, lifecycle(era)).await {
                    Ok(service) => (service, Some(child)),
                    Err(
                        ClientInitializeError::ConnectionClosed(_)
                        | ClientInitializeError::TransportError { .. },
                    ) => {
                        return Err(OpenError::Ended(child.wait_for_exit().await.words));
                    }
                    Err(error) => return Err(refused(&error, Some(&history))),
                }
            }
            ResolvedTarget::Http { url, headers, spec: http } => {
                let way = HttpConnector {
                    spec,
                    http,
                    url,
                    headers,
                    inbox: &inbox,
                    history: &history,
                    alive,
                };
                (way.connect(handler, era, means).await?, None)
            }
        };
        let info = service
            .peer_info()
            .ok_or_else(|| OpenError::Handshake("it did not say who it is".into()))?;
        let connection = Self {
            server: spec.name.as_str().into(),
            process_id: child.as_ref().and_then(Child::id),
            printed: child.as_ref().map(Child::printed),
            service,
            child: Mutex::new(child),
            inbox,
            listing: tokio::sync::Mutex::default(),
            history,
            info,
            call_timeout: spec.call_timeout,
            closed,
        };
        connection.follow_changes(&means.changes);
        Ok(connection)
    }

    pub(crate) fn era(&self) -> ProtocolGeneration {
        if self.info.protocol_version.has_initialize() {
            ProtocolGeneration::Initialize
        } else {
            ProtocolGeneration::Discover
        }
    }

    pub(crate) fn info(&self) -> &ServerPeerInfo {
        &self.info
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        self.process_id
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    pub(crate) fn last_problem(&self) -> Option<String> {
        self.history.last_problem()
    }

    /// Writes an event of the server's life into its log.
    pub(crate) fn note(&self, text: &str) {
        self.history.event(text);
    }

    /// Writes into the server's log that it runs.
    pub(crate) fn note_start(&self) {
        let process = self.process_id.map(|id| format!(", process id {id}")).unwrap_or_default();
        self.note(&format!("started, MCP {}{process}", self.info.protocol_version));
    }

    /// Waits until the server is gone. A child may leave its standard output to a process that it
    /// started; then only the exit of the child itself shows it.
    pub(crate) async fn closed(&self) {
        loop {
            tokio::select! {
                () = self.closed.cancelled() => return,
                () = tokio::time::sleep(CHILD_CHECK) => {}
            }
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            if child.as_mut().is_some_and(Child::has_exited) {
                self.service.cancellation_token().cancel();
                return;
            }
        }
    }

    /// Records a problem, which the server's status shows.
    pub(crate) fn report_problem(&self, problem: String) {
        self.history.problem(problem);
    }

    /// Reads all tools as the server wrote them, and counts them against `share`, the server's part of
    /// the memory for the definitions of all servers.
    pub(crate) async fn list_tools(
        &self,
        share: DefinitionShare,
    ) -> Result<ListedTools, UpstreamError> {
        if self.info.capabilities.tools.is_none() {
            return Ok(ListedTools { tools: Vec::new(), share });
        }
        let _turn = self.listing.lock().await;
        self.service.service().notices().read_tools();
        let mut list = ToolList::new(share);
        let mut cursor: Option<String> = None;
        loop {
            let page = self.list_page(cursor.clone()).await?;
            let room = without_place(json_bytes(&page.tools), || list.add(page.tools));
            if page.next_cursor.is_none() || page.next_cursor == cursor || room == NextPage::Full {
                break;
            }
            cursor = page.next_cursor;
        }
        let share = list.take_share();
        let (tools, problem) = list.finish();
        if let Some(problem) = problem {
            self.history.problem(problem);
        }
        Ok(ListedTools { tools, share })
    }

    async fn list_page(&self, cursor: Option<String>) -> Result<RawPage, UpstreamError> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ListToolsRequest::with_param(params);
        self.inbox.raw.expect();
        let asked = self.service.peer().send_request(ClientRequest::ListToolsRequest(request));
        let answer = asked.await;
        let page = self.inbox.raw.take();
        match (answer.map_err(|error| self.failed("tools/list", error))?, page) {
            // The raw page counts, whatever rmcp takes it for if one of its tools lacks a field.
            (_, Some(page)) => Ok(page),
            (ServerResult::ListToolsResult(page), None) => Ok(RawPage {
                tools: page
                    .tools
                    .iter()
                    .map(|tool| serde_json::to_value(tool).unwrap_or_default())
                    .collect(),
                next_cursor: page.next_cursor,
            }),
            _ => Err(UpstreamError::Unexpected {
                server: self.server.to_string(),
                method: "tools/list".to_owned(),
            }),
        }
    }

    /// Tells whether the tools may differ from those that were last read. Over a pipe, a server of the
    /// older protocol that announces changes has announced this one; any other may have changed its
    /// tools silently.
    pub(crate) fn may_have_other_tools(&self, is_pipe: bool) -> bool {
        let tools = self.info.capabilities.tools.as_ref();
        let tells = is_pipe
            && self.era() == ProtocolGeneration::Initialize
            && tools.is_none_or(|tools| tools.list_changed == Some(true));
        !tells || self.have_tools_changed()
    }

    /// Tells whether the server announced a change of its tools since they were last read.
    pub(crate) fn have_tools_changed(&self) -> bool {
        self.service.service().notices().have_tools_changed()
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        caller: Arc<dyn Caller>,
    ) -> Result<UpstreamReply, UpstreamError> {
        let method = request.method().to_owned();
        let deadline = Deadline::new(self.call_timeout);
        let mut options = PeerRequestOptions::no_options();
        if self.era() == ProtocolGeneration::Discover {
            let mut meta = RequestMetaObject::default();
            meta.set_client_capabilities(caller.capabilities());
            meta.set_log_level(rmcp::model::LoggingLevel::Info);
            options = options.with_meta(meta);
        }
        let call = self.service.service().begin(caller, deadline.clone());
        let peer = self.service.peer();
        let sent = peer.send_request_with_option(request, options).await;
        let mut handle = sent.map_err(|error| self.failed(&method, error))?;
        let awaited = self.inbox.expect(handle.id.clone());
        call.has_token(&handle.progress_token, self.call_timeout);
        let mut abandoned = CancelOnDrop { peer: peer.clone(), id: Some(handle.id.clone()) };
        let answer = tokio::select! {
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            () = deadline.passed(self.call_timeout) => {
                return Err(UpstreamError::Timeout {
                    server: self.server.to_string(),
                    after: self.call_timeout,
                });
            }
        };
        abandoned.id = None;
        self.service.service().notices().all_heard().await;
        match answer {
            Ok(result) => Ok(UpstreamReply { result, held: awaited.held() }),
            Err(error) => Err(self.explain(&method, error).await),
        }
    }

    fn failed(&self, method: &str, error: ServiceError) -> UpstreamError {
        UpstreamError::from_service(&self.server, method, error, &self.history)
    }

    /// Adds the server's last problem, or else what it printed last, to the reason for a lost
    /// connection.
    async fn explain(&self, method: &str, error: ServiceError) -> UpstreamError {
        match self.failed(method, error) {
            UpstreamError::Lost { server, reason } => {
                if let Some(printed) = &self.printed {
                    printed.ended().await;
                }
                let said = self.history.last_problem().or_else(|| self.history.last_stderr());
                let reason = said.map_or(reason.clone(), |said| format!("{reason}; {said}"));
                UpstreamError::Lost { server, reason: self.history.clean(&reason) }
            }
            other => other,
        }
    }

    /// Subscribes to the lists that the server says may change: servers of the newer protocol tell
    /// changes only to those who listen.
    fn follow_changes(&self, changes: &broadcast::Sender<ServerChange>) {
        let capabilities = &self.info.capabilities;
        let mut filter = SubscriptionFilter::new();
        if capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true)) {
            filter.tools_list_changed = Some(true);
        }
        if capabilities.prompts.as_ref().is_some_and(|prompts| prompts.list_changed == Some(true)) {
            filter.prompts_list_changed = Some(true);
        }
        if capabilities.resources.as_ref().is_some_and(|some| some.list_changed == Some(true)) {
            filter.resources_list_changed = Some(true);
        }
        if self.era() != ProtocolGeneration::Discover || filter == SubscriptionFilter::new() {
            return;
        }
        let listening = listen(self.service.peer().clone(), filter);
        let (server, changes) = (Arc::clone(&self.server), changes.clone());
        tokio::spawn(async move {
            if let Ok(subscription) = listening.await {
                pass_on(subscription, server, changes).await;
            }
        });
    }

    /// Asks the server to tell when a resource changes.
    pub(crate) async fn subscribe(
        &self,
        uri: &str,
        changes: &broadcast::Sender<ServerChange>,
    ) -> Result<(), UpstreamError> {
        let peer = self.service.peer();
        let failed = |error| self.failed("resources/subscribe", error);
        if self.era() == ProtocolGeneration::Initialize {
            return peer.subscribe(SubscribeRequestParams::new(uri)).await.map_err(failed);
        }
        let filter = SubscriptionFilter::builder().resource_subscription(uri).build();
        let subscription = listen(peer.clone(), filter).await.map_err(failed)?;
        tokio::spawn(pass_on(subscription, Arc::clone(&self.server), changes.clone()));
        Ok(())
    }

    fn take_child(&self) -> Option<Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes the child and returns why the connection ended by itself.
    pub(crate) async fn exit_reason(&self) -> ExitReason {
        match self.take_child() {
            Some(mut child) => {
                let exit = child.wait_for_exit().await;
                ExitReason { words: self.history.clean(&exit.words), ..exit }
            }
            None => {
                let status = "the server closed the connection".to_owned();
                ExitReason { words: status.clone(), status }
            }
        }
    }

    /// Closes the connection and waits until the child is gone.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        let _ = tokio::time::timeout(CLOSING_TIME, self.closed()).await;
        if let Some(child) = self.take_child() {
            child.end().await;
        }
    }
}

/// The tools of a server, and the memory that they take.
pub(crate) struct ListedTools {
    pub(crate) tools: Vec<Value>,
    pub(crate) share: DefinitionShare,
}

async fn listen(
    peer: Peer<RoleClient>,
    filter: SubscriptionFilter,
) -> Result<Subscription, ServiceError> {
    peer.listen(filter).await
}

/// Forwards the notifications of a subscription until it ends.
async fn pass_on(
    mut subscription: Subscription,
    server: Arc<str>,
    changes: broadcast::Sender<ServerChange>,
) {
    while let Ok(Some(notification)) = subscription.next().await {
        let change = match notification {
            ServerNotification::ToolListChangedNotification(_) => UpstreamChange::Tools,
            ServerNotification::PromptListChangedNotification(_) => UpstreamChange::Prompts,
            ServerNotification::ResourceListChangedNotification(_) => UpstreamChange::Resources,
            ServerNotification::ResourceUpdatedNotification(update)
                if update.params.uri.len() <= MAX_URI_BYTES =>
            {
                UpstreamChange::Resource(update.params.uri)
            }
            _ => continue,
        };
        let _ = changes.send(ServerChange { server: Arc::clone(&server), change });
    }
}

/// A guard that cancels the request at the server when it is dropped before the answer came.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let reason = Some("nobody waits for the answer any more".to_owned());
                let _ =
                    peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await;
            });
        }
    }
}

/// Returns how long the probe for the newer protocol may take. A server that is known to speak it may
/// be slow to start; one that has changed since must still leave time for the older.
fn probe_patience(era: ProtocolGeneration, start_timeout: Duration) -> Duration {
    match era {
        ProtocolGeneration::Discover => PROBE_PATIENCE.max(start_timeout * 2 / 3),
        ProtocolGeneration::Unknown | ProtocolGeneration::Initialize => PROBE_PATIENCE,
    }
}

#[cfg(test)]
mod tests;
