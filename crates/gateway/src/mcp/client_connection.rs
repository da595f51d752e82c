//! One client's connection to the gateway: its requests become work, which may ask the client questions.
//! `handler` implements the methods of the protocol.

mod handler;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use narrows_engine::{
    broker::{ForwardRequest, RequestOrigin},
    compute::ALWAYS_APART,
    state::Agent,
    token_stats::definition_text,
};
use narrows_model::{clipped_name, nearest};
use narrows_upstream::catalog::Tool as CatalogTool;
use narrows_upstream::{ProtocolGeneration, UpstreamChange};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, ClientRequest, Extensions, InputRequiredResult, InputResponses,
        LoggingLevel, ResourceUpdatedNotificationParam, ServerResult, Tool,
    },
    service::{Peer, RequestContext},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    changes::Changes,
    client::{ClientHandle, ClientId},
    connected_client::{ClientTransport, ConnectedClient},
    conversation::{ClientTask, Step},
    gateway::Gateway,
    http,
    passed_tools::PassedTools,
    pending_input::{self, Asked, ClientWork, Pending},
    proxy_forward,
    proxy_listing::Item,
    tools::{OwnTool, own_tools},
};

/// Returns a hash of what a client says of itself, as a short name: thousands of such names are
/// remembered, and a client can send megabytes.
fn client_key(client: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    client.to_string().hash(&mut hasher);
    format!("client {:016x}", hasher.finish())
}

/// The server side of one client's session.
#[derive(Clone)]
pub(crate) struct ClientConnection {
    gateway: Arc<Gateway>,
    /// Tells the clients of a gateway apart.
    number: u64,
    /// The same among the clients of all gateways; none if there is no randomness.
    name: Option<String>,
    /// Cancelled when the client can send no more requests. Over stdio, answers cannot reach it for much
    /// longer either.
    left: CancellationToken,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The level that the client has set with `logging/setLevel`.
    level: Option<LoggingLevel>,
    /// The subscribed resources: from the address that the server uses to the one that the client knows.
    subscribed: BTreeMap<String, String>,
    /// Ends the task of [`ClientConnection::follow_changes`] when the session ends.
    follows: Option<DropGuard>,
    /// Logs the client's disconnection when the session ends.
    connected: Option<ConnectedClient>,
}

impl ClientConnection {
    pub(crate) fn new(gateway: Arc<Gateway>) -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let name = crate::secret::random_hex().ok().map(|random| format!("mcp-{random}"));
        Self { gateway, number, name, left: CancellationToken::new(), state: Arc::default() }
    }

    /// Returns the id of the client that sent a request. Requests of the newer protocol over HTTP have
    /// no session.
    fn client(&self, context: &RequestContext<RoleServer>) -> ClientId {
        let has_session = !(is_modern(context) && http::is_http(context));
        ClientId { number: self.number, session: self.name.clone().filter(|_| has_session) }
    }

    /// Logs, once for each connection, that its client has connected.
    pub(super) fn log_client(
        &self,
        transport: ClientTransport,
        message: Option<&Extensions>,
        peer: &Peer<RoleServer>,
    ) {
        let principal = message.and_then(http::principal_of);
        let agent = self.gateway.agent_with(principal, None);
        let info = peer.peer_info();
        let mut state = self.state();
        if state.connected.is_none() {
            let name = &agent.principal().name;
            state.connected =
                Some(ConnectedClient::new(self.number, name, transport, info.as_deref()));
        }
    }

    pub(crate) fn left(&self) -> CancellationToken {
        self.left.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the lowest level of log messages that a client wants. Clients of the newer protocol name
    /// it with each request, and get no messages otherwise.
    fn level(&self, context: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        if is_modern(context) {
            context.meta.log_level()
        } else {
            Some(self.state().level.unwrap_or(LoggingLevel::Info))
        }
    }

    /// Returns our own tools, and those of servers that are passed through.
    fn tools(&self, passed: &PassedTools, is_visible: &dyn Fn(&CatalogTool) -> bool) -> Vec<Tool> {
        let mut tools = own_tools(self.gateway.surface);
        tools.extend(passed.definitions(is_visible).cloned());
        tools
    }

    /// Starts work for the client of a request.
    fn start<F>(
        &self,
        context: &RequestContext<RoleServer>,
        agent: Agent,
        work: impl FnOnce(Arc<ClientHandle>) -> F,
    ) -> ClientWork
    where
        F: Future<Output = Result<ServerResult, ErrorData>> + Send + 'static,
    {
        let left = http::session_end(context).unwrap_or_else(|| self.left.clone());
        ClientTask::start(
            &self.gateway.under_way,
            context,
            self.client(context),
            agent,
            &left,
            work,
        )
    }

    /// Starts a call of a tool: one of our own, or one that is passed through.
    async fn begin(
        &self,
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ClientWork, ErrorData> {
        let Some(own) = OwnTool::named(&params.name) else {
            return self.begin_passed(params, context).await;
        };
        if answers_without_state(&params) {
            return Err(pending_input::missing_state());
        }
        let session = self.clone();
        let key = self.ledger_key(context);
        let agent = self.gateway.agent(context);
        let arguments = params.arguments.unwrap_or_default();
        let runs_code = own.runs_code();
        let work = self.start(context, agent.clone(), move |client| async move {
            let gateway = &session.gateway;
            let result = own.call(gateway, agent.clone(), arguments, client).await;
            if !gateway.token_stats.has_session(&key) {
                let (token_stats, catalog) = (&gateway.token_stats, gateway.broker.catalog());
                let counting = || token_stats.session(key, catalog, || session.definitions());
                agent.compute(ALWAYS_APART, counting).await;
            }
            Ok(ServerResult::CallToolResult(result))
        });
        Ok(if runs_code { work.counting_progress() } else { work })
    }

    /// Starts a call of a tool that is passed through to its server.
    async fn begin_passed(
        &self,
        mut params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ClientWork, ErrorData> {
        let agent = self.gateway.agent(context);
        let tool = self.passed_tool(&params.name, &agent).await?;
        // A server that asks by itself may do without a state, and knows what is answered.
        let era = self.gateway.broker.fleet().era(&tool.id.server);
        let asks_itself = is_modern(context) && era == ProtocolGeneration::Discover;
        if answers_without_state(&params) && !asks_itself {
            return Err(pending_input::missing_state());
        }
        params.meta = None;
        let call = ForwardRequest::call(tool, params, origin(context));
        let level = agent.level(None).map_err(|error| proxy_forward::invalid(&error))?;
        let guard = agent.guard(level);
        let gateway = Arc::clone(&self.gateway);
        Ok(self.start(context, agent, move |client| async move {
            proxy_forward::tool(&gateway, &guard, call, client).await
        }))
    }

    /// Returns the items that servers list, with tokens in the place of personal data.
    async fn listed<T: Clone + Serialize + DeserializeOwned>(
        &self,
        items: Vec<T>,
        context: &RequestContext<RoleServer>,
    ) -> Vec<T> {
        proxy_forward::listed(&self.gateway.agent(context), &items).await
    }

    /// Returns the key of this client's session in the token stats. Requests of the newer protocol have
    /// no session, so all requests of a client that gives itself the same name share one key.
    fn ledger_key(&self, context: &RequestContext<RoleServer>) -> String {
        let client = context.meta.get("io.modelcontextprotocol/clientInfo");
        match client.filter(|_| is_modern(context)) {
            Some(client) => client_key(client),
            None => format!("session {}", self.number),
        }
    }

    /// Returns the text of all tool definitions that this client's model reads, for the token stats.
    fn definitions(&self) -> String {
        let passed = self.gateway.passthrough.tools_now();
        let definitions = self.tools(&passed, &|_| true).into_iter().filter_map(|tool| {
            let raw = serde_json::to_value(&tool).ok()?;
            Some(definition_text(&tool.name, &raw))
        });
        definitions.collect::<Vec<_>>().join("\n")
    }

    /// Returns the passed-through tool that the client knows by this name. Waits for servers that are
    /// not ready before it says that there is none.
    async fn passed_tool(&self, name: &str, agent: &Agent) -> Result<Arc<CatalogTool>, ErrorData> {
        let passthrough = &self.gateway.passthrough;
        let mut passed = passthrough.tools(agent).await;
        if passed.get(name).is_none() {
            passthrough.ready().await;
            passed = passthrough.tools(agent).await;
        }
        if let Some(passed) = passed.get(name) {
            return Ok(Arc::clone(&passed.tool));
        }
        let looking = || {
            let ours = own_tools(self.gateway.surface);
            nearest(name, ours.iter().map(|tool| tool.name.as_ref()).chain(passed.names()))
        };
        let hint = agent.compute(ALWAYS_APART, looking).await;
        let hint = match hint.0.is_empty() {
            true => "; call it from execute_code, or find it with search_tools".to_owned(),
            false => hint.to_string(),
        };
        let name = clipped_name(name);
        Err(ErrorData::invalid_params(format!("there is no tool {name:?}{hint}"), None))
    }

    /// Starts to forward a request to the server that has an item.
    fn pass(
        &self,
        item: Item,
        request: ClientRequest,
        context: &RequestContext<RoleServer>,
    ) -> ClientWork {
        let gateway = Arc::clone(&self.gateway);
        let origin = origin(context);
        let agent = gateway.agent(context);
        let caller = agent.clone();
        self.start(context, caller, move |client| async move {
            proxy_forward::item(&gateway, &agent, &item, request, origin, client).await
        })
    }

    /// Runs the work until it is done or the client has to answer questions. In the latter case the work
    /// is parked, and the result names the secret to come back with.
    async fn converse(
        &self,
        mut work: ClientWork,
        asked: Asked,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        match work.go_on(context, self.level(context)).await? {
            // A server asks by itself.
            Step::Done(Ok(ServerResult::InputRequiredResult(mut asks))) => {
                if let Some(state) = asks.request_state.take() {
                    let secret = self.gateway.parked.park(Pending::Server(state), asked)?;
                    asks.request_state = Some(secret);
                }
                Ok(ServerResult::InputRequiredResult(asks))
            }
            Step::Done(result) => result,
            Step::Asks(questions) => {
                let pending = Pending::Work(Box::new(work));
                let secret = self.gateway.parked.park(pending, asked)?;
                let asks = InputRequiredResult::new(Some(questions), Some(secret));
                Ok(ServerResult::InputRequiredResult(asks))
            }
        }
    }

    /// Returns the parked work that a request continues, with the client's answers handed to it. Returns
    /// none if the work is to be begun: for a request that answers nothing, or whose answers go on to
    /// the server that asked, together with the server's own state.
    fn resume(
        &self,
        asked: &Asked,
        state: &mut Option<String>,
        answers: &mut Option<InputResponses>,
    ) -> Result<Option<ClientWork>, ErrorData> {
        let Some(secret) = state.take() else { return Ok(None) };
        match self.gateway.parked.resume(&secret, asked)? {
            Pending::Work(mut work) => {
                work.answer(answers.take().unwrap_or_default());
                Ok(Some(*work))
            }
            Pending::Server(given) => {
                *state = Some(given);
                Ok(None)
            }
        }
    }

    /// Returns a request together with its caller, as [`pending_input`] compares it when the client
    /// comes back.
    fn asked(&self, context: &RequestContext<RoleServer>, request: Value) -> Asked {
        let (caller, _large_body) = (http::caller_id(context), http::large_body(context));
        Asked { caller, request, _large_body }
    }

    /// Starts a task, once for each connection, that notifies a client of the older protocol of changes
    /// at the servers.
    fn follow_changes(&self, peer: Peer<RoleServer>) {
        let ended = CancellationToken::new();
        match &mut self.state().follows {
            Some(_) => return,
            follows => *follows = Some(ended.clone().drop_guard()),
        }
        let mut changes = Changes::from_now(&self.gateway.broker);
        let state = Arc::downgrade(&self.state);
        tokio::spawn(ended.run_until_cancelled_owned(async move {
            while let Some(change) = changes.next().await {
                let told = match change {
                    UpstreamChange::Tools => peer.notify_tool_list_changed().await,
                    UpstreamChange::Prompts => peer.notify_prompt_list_changed().await,
                    UpstreamChange::Resources => peer.notify_resource_list_changed().await,
                    UpstreamChange::Resource(uri) => {
                        let known = state.upgrade().and_then(|state| {
                            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
                            state.subscribed.get(&uri).cloned()
                        });
                        let Some(known) = known else { continue };
                        let param = ResourceUpdatedNotificationParam::new(known);
                        peer.notify_resource_updated(param).await
                    }
                };
                if told.is_err() {
                    return;
                }
            }
        }));
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// Returns the origin of a request: a client, and which generation of the protocol it speaks.
fn origin(context: &RequestContext<RoleServer>) -> RequestOrigin {
    RequestOrigin::Client(if is_modern(context) {
        ProtocolGeneration::Discover
    } else {
        ProtocolGeneration::Initialize
    })
}

/// Tells whether a call has answers but not the `requestState` of their question, which every question
/// of ours comes with.
fn answers_without_state(params: &CallToolRequestParams) -> bool {
    let answers = params.input_responses.as_ref();
    params.request_state.is_none() && answers.is_some_and(|answers| !answers.is_empty())
}

#[cfg(test)]
mod tests;
