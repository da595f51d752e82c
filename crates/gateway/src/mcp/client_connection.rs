//! One client's conversation with the gateway.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use narrows_engine::{
    catalog::Tool as CatalogTool,
    compute::{ALWAYS_APART, json_bytes},
    state::Agent,
    token_stats::definition_text,
    upstream::{ProtocolGeneration, UpstreamChange},
};
use narrows_model::{clipped_name, nearest};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, ClientRequest, CompleteRequest,
        CompleteRequestParams, CompleteResult, Extensions, GetPromptRequest,
        GetPromptRequestParams, GetPromptResponse, Implementation, InputRequiredResult,
        InputResponses, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, LoggingLevel, PaginatedRequestParams, ReadResourceRequest,
        ReadResourceRequestParams, ReadResourceResponse, Reference,
        ResourceUpdatedNotificationParam, ResultType, ServerCapabilities, ServerConfig,
        ServerResult, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        ToolsCapability, UnsubscribeRequestParams,
    },
    service::{NotificationContext, Peer, RequestContext, SubscriptionContext},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    changes::Changes,
    client::{ClientHandle, ClientId},
    connected_client::{ClientTransport, ConnectedClient},
    conversation::{ClientTask, Step},
    gateway::Gateway,
    http,
    instructions::instructions,
    passed_tools::PassedTools,
    pending_input::{self, Asked, ClientWork, Pending},
    proxy_forward,
    proxy_listing::Item,
    token_notice::AnswerOf,
    tools::{OwnTool, own_tools},
};

/// Returns a short name for what a client says of itself. Thousands of such names are remembered, and a
/// client can say megabytes.
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
    /// Cancelled when the client can no longer ask; over stdio, it is soon no longer told either.
    left: CancellationToken,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What the client asked for with `logging/setLevel`.
    level: Option<LoggingLevel>,
    /// Addresses of resources, and as what the client knows them.
    subscribed: BTreeMap<String, String>,
    /// Ends the task that tells of changes, together with the session.
    follows: Option<DropGuard>,
    /// Says in the log that the client has gone, together with the session.
    connected: Option<ConnectedClient>,
}

impl ClientConnection {
    pub(crate) fn new(gateway: Arc<Gateway>) -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let name = crate::secret::random_hex().ok().map(|random| format!("mcp-{random}"));
        Self { gateway, number, name, left: CancellationToken::new(), state: Arc::default() }
    }

    /// Which client a request is of. Requests of the newer protocol over HTTP have no session.
    fn client(&self, context: &RequestContext<RoleServer>) -> ClientId {
        let has_session = !(is_modern(context) && http::is_http(context));
        ClientId { number: self.number, session: self.name.clone().filter(|_| has_session) }
    }

    /// Says in the log that the client of this connection is there.
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

    /// The least that a client wants to know of logs. Clients of the newer protocol say it with
    /// each request, and hear nothing otherwise.
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

    /// Starts the work that a call asks for.
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

    /// Starts a call of a server that the client sees as it is.
    async fn begin_passed(
        &self,
        mut params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ClientWork, ErrorData> {
        let agent = self.gateway.agent(context);
        let tool = self.passed_tool(&params.name, &agent).await?;
        let asks_itself = is_modern(context);
        // A server that asks by itself may do without a state, and knows what is answered.
        let era = self.gateway.broker.fleet().era(&tool.id.server);
        if answers_without_state(&params) && !(asks_itself && era == ProtocolGeneration::Discover) {
            return Err(pending_input::missing_state());
        }
        params.meta = None;
        params.name = tool.id.tool.clone().into();
        let level = agent.level(None).map_err(|error| proxy_forward::invalid(&error))?;
        let guard = agent.guard(level);
        let gateway = Arc::clone(&self.gateway);
        Ok(self.start(context, agent, move |client| async move {
            proxy_forward::tool(&gateway, &guard, tool, params, asks_itself, client).await
        }))
    }

    /// What servers list, as a client's model may read it.
    async fn listed<T: Clone + Serialize + DeserializeOwned>(
        &self,
        items: Vec<T>,
        context: &RequestContext<RoleServer>,
    ) -> Vec<T> {
        proxy_forward::listed(&self.gateway.agent(context), &items).await
    }

    /// Returns whose session this is, for the ledger. Requests of the newer protocol have no session,
    /// so all of one client count as one.
    fn ledger_key(&self, context: &RequestContext<RoleServer>) -> String {
        let client = context.meta.get("io.modelcontextprotocol/clientInfo");
        match client.filter(|_| is_modern(context)) {
            Some(client) => client_key(client),
            None => format!("session {}", self.number),
        }
    }

    /// What this client's model reads of all tools that it is shown.
    fn definitions(&self) -> String {
        let passed = self.gateway.passthrough.tools_now();
        let definitions = self.tools(&passed, &|_| true).into_iter().filter_map(|tool| {
            let raw = serde_json::to_value(&tool).ok()?;
            Some(definition_text(&tool.name, &raw))
        });
        definitions.collect::<Vec<_>>().join("\n")
    }

    /// The tool of a server that the client sees by this name.
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

    /// Passes a request on, to whoever has an item.
    fn pass(
        &self,
        item: Item,
        request: ClientRequest,
        context: &RequestContext<RoleServer>,
    ) -> ClientWork {
        let gateway = Arc::clone(&self.gateway);
        let asks_itself = is_modern(context);
        let agent = gateway.agent(context);
        let caller = agent.clone();
        self.start(context, caller, move |client| async move {
            proxy_forward::item(&gateway, &agent, &item, request, asks_itself, client).await
        })
    }

    /// Talks with the client until the work is done, or until the client has to answer.
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

    /// The work that a client came back to with its answers. None if it is to be begun: by a request
    /// that answers nothing, or by one whose answers go on to the server that asked, with its state.
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

    /// What is asked for, and by whom.
    fn asked(&self, context: &RequestContext<RoleServer>, request: Value) -> Asked {
        let (caller, _large_body) = (http::caller_id(context), http::large_body(context));
        Asked { caller, request, _large_body }
    }

    /// Tells a client of the older protocol what changes, as long as it is there.
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

/// Returns whether a call answers a question and does not say which: each of ours comes with a state.
fn answers_without_state(params: &CallToolRequestParams) -> bool {
    let answers = params.input_responses.as_ref();
    params.request_state.is_none() && answers.is_some_and(|answers| !answers.is_empty())
}

impl ServerHandler for ClientConnection {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities: ServerCapabilities = self.gateway.passthrough.capabilities();
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        capabilities.tools = Some(tools);
        capabilities.logging = Some(Map::new());
        let implementation = Implementation::new("narrows", env!("CARGO_PKG_VERSION"));
        let mut info = ServerConfig::new(capabilities).with_server_info(implementation);
        let modules = self.gateway.broker.catalog().modules();
        info.instructions = Some(instructions(modules.values().map(String::as_str)));
        info
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Over stdio this is said at the start: newer clients do not tell that they are ready.
        if http::came_over_http(&context.extensions) {
            self.log_client(ClientTransport::Http, Some(&context.extensions), &context.peer);
        }
        self.follow_changes(context.peer);
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state().level = Some(request.level);
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.gateway.passthrough.ready().await;
        let agent = self.gateway.agent(&context);
        let passed = self.gateway.passthrough.tools(&agent).await;
        // Definitions of tools are public, and shown as they are.
        let listing = || self.tools(&passed, &|tool| !agent.hides(tool));
        let tools = agent.compute(passed.bytes(), listing).await;
        Ok(ListToolsResult::with_all_items(tools))
    }

    /// Finds a tool whose definition the transport compares with the headers of a call: it asks for it
    /// with every request that has no session.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        if OwnTool::named(name).is_some() {
            let ours = own_tools(self.gateway.surface);
            return ours.into_iter().find(|tool| tool.name == name);
        }
        let passed = self.gateway.passthrough.tools_now();
        passed.get(name)?.definition.clone()
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let own = OwnTool::named(&request.name);
        let is_about_tokens = own.as_ref().is_some_and(OwnTool::is_about_tokens);
        let agent = self.gateway.agent(&context);
        let bytes = json_bytes(&request.arguments);
        let noting = || json!({"tools/call": request.name, "arguments": request.arguments});
        let asked = agent.compute(bytes, noting).await;
        let asked = self.asked(&context, asked);
        let (state, answers) = (&mut request.request_state, &mut request.input_responses);
        let work = match self.resume(&asked, state, answers)? {
            Some(work) => work,
            None => self.begin(request, &context).await?,
        };
        match self.converse(work, asked, &context).await? {
            ServerResult::CallToolResult(mut result) => {
                // Servers of the older protocol do not say it; clients of the newer must be told.
                result.result_type.get_or_insert(ResultType::COMPLETE);
                if !is_about_tokens {
                    let mode = self.gateway.agent(&context).safety().mode();
                    let client = self.ledger_key(&context);
                    let of = own.map_or(AnswerOf::Server, |_| AnswerOf::OwnTool);
                    self.gateway.token_notice.add(client, mode, of, &mut result);
                }
                Ok(result.into())
            }
            ServerResult::InputRequiredResult(result) => Ok(result.into()),
            _ => Err(unexpected()),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let agent = self.gateway.agent(&context);
        let prompts = self.gateway.passthrough.prompts(&agent).await;
        Ok(ListPromptsResult::with_all_items(self.listed(prompts, &context).await))
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        request.meta = None;
        let asked = json!({"prompts/get": request.name, "arguments": request.arguments});
        let asked = self.asked(&context, asked);
        let (state, answers) = (&mut request.request_state, &mut request.input_responses);
        let work = match self.resume(&asked, state, answers)? {
            Some(work) => work,
            None => {
                let item = Item::Prompt(request.name.clone());
                let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(request));
                self.pass(item, request, &context)
            }
        };
        match self.converse(work, asked, &context).await? {
            ServerResult::GetPromptResult(mut result) => {
                result.result_type.get_or_insert(ResultType::COMPLETE);
                Ok(result.into())
            }
            ServerResult::InputRequiredResult(result) => {
                Ok(GetPromptResponse::InputRequired(result))
            }
            _ => Err(unexpected()),
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let agent = self.gateway.agent(&context);
        let resources = self.gateway.passthrough.resources(&agent).await;
        Ok(ListResourcesResult::with_all_items(self.listed(resources, &context).await))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let agent = self.gateway.agent(&context);
        let templates = self.gateway.passthrough.resource_templates(&agent).await;
        let templates = self.listed(templates, &context).await;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        mut request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        request.meta = None;
        let asked = self.asked(&context, json!({"resources/read": request.uri}));
        let (state, answers) = (&mut request.request_state, &mut request.input_responses);
        let work = match self.resume(&asked, state, answers)? {
            Some(work) => work,
            None => {
                let item = Item::Resource(request.uri.clone());
                let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(request));
                self.pass(item, request, &context)
            }
        };
        match self.converse(work, asked, &context).await? {
            ServerResult::ReadResourceResult(mut result) => {
                result.result_type.get_or_insert(ResultType::COMPLETE);
                Ok(result.into())
            }
            ServerResult::InputRequiredResult(result) => {
                Ok(ReadResourceResponse::InputRequired(result))
            }
            _ => Err(unexpected()),
        }
    }

    async fn complete(
        &self,
        mut request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        request.meta = None;
        let item = match &request.r#ref {
            Reference::Prompt(prompt) => Item::Prompt(prompt.name.clone()),
            Reference::Resource(resource) => Item::Resource(resource.uri.clone()),
            _ => return Ok(CompleteResult::default()),
        };
        let request = ClientRequest::CompleteRequest(CompleteRequest::new(request));
        let asked = self.asked(&context, json!("completion/complete"));
        let work = self.pass(item, request, &context);
        match self.converse(work, asked, &context).await? {
            ServerResult::CompleteResult(result) => Ok(result),
            _ => Err(unexpected()),
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let agent = self.gateway.agent(&context);
        let uri = proxy_forward::subscribe(&self.gateway, &agent, &request.uri).await?;
        self.state().subscribed.insert(uri, request.uri);
        self.follow_changes(context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state().subscribed.retain(|_, known| *known != request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = Changes::from_now(&self.gateway.broker);
        let agent = self.gateway.agent(context.request_context());
        let mut subscribed = BTreeMap::new();
        for known in context.accepted().resource_subscriptions.iter().flatten() {
            let uri = proxy_forward::subscribe(&self.gateway, &agent, known).await;
            subscribed.insert(uri.unwrap_or_else(|_| known.clone()), known.clone());
        }
        let sink = context.sink();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.left.cancelled() => return Ok(()),
                change = changes.next() => change,
            };
            // What the client did not ask for is refused by the sink, and no harm.
            let _ = match change {
                Some(UpstreamChange::Tools) => sink.notify_tool_list_changed().await,
                Some(UpstreamChange::Prompts) => sink.notify_prompt_list_changed().await,
                Some(UpstreamChange::Resources) => sink.notify_resource_list_changed().await,
                Some(UpstreamChange::Resource(uri)) => match subscribed.get(&uri) {
                    Some(known) => sink.notify_resource_updated(known.clone()).await,
                    None => continue,
                },
                None => return Ok(()),
            };
        }
    }
}

fn unexpected() -> ErrorData {
    ErrorData::internal_error("the server answered something else than was asked", None)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rmcp::{ServiceExt, service::ServiceError};

    use super::*;
    use crate::mcp::gateway::tests::gateway;

    #[test]
    fn a_client_that_says_megabytes_of_itself_is_remembered_by_a_short_name() {
        let name = |text: &str| client_key(&json!({"name": text}));
        assert!(name(&"x".repeat(1 << 20)).len() < 32);
        assert_ne!(name("one"), name("other"));
        assert_eq!(name("one"), name("one"));
    }

    /// Neither is asked again, be it us or a server.
    #[tokio::test]
    async fn what_answers_no_question_of_ours_begins_nothing() {
        let (_home, gateway) = gateway();
        let (near, far) = tokio::io::duplex(1 << 16);
        let session = ClientConnection::new(gateway);
        let (client, served) = tokio::join!(().serve(near), session.serve(far));
        let (client, _served) = (client.unwrap(), served.unwrap());
        let refused = |error: ServiceError, why: &str| {
            assert!(error.to_string().contains(why), "{error} without {why}");
        };
        let (state, unknown) = (Some("anything".to_owned()), "nothing waits for this requestState");
        for name in ["execute_code", "pay"] {
            let mut call = CallToolRequestParams::new(name);
            call.request_state.clone_from(&state);
            refused(client.call_tool_once(call).await.unwrap_err(), unknown);
        }
        let mut call = CallToolRequestParams::new("execute_code");
        call.input_responses = Some([("question-1".to_owned(), json!({}))].into());
        let missing = "without the requestState of the question";
        refused(client.call_tool_once(call).await.unwrap_err(), missing);
        let mut get = GetPromptRequestParams::new("a");
        get.request_state.clone_from(&state);
        refused(client.get_prompt_once(get).await.unwrap_err(), unknown);
        let mut read = ReadResourceRequestParams::new("a://b");
        read.request_state = state;
        refused(client.read_resource_once(read).await.unwrap_err(), unknown);
    }

    /// Some clients ask for them with every call.
    #[tokio::test]
    async fn the_tools_that_are_passed_through_are_made_once() {
        let (_home, gateway) = gateway();
        let agent = gateway.agent_with(None, None);
        let passed = gateway.passthrough.tools(&agent).await;
        assert!(Arc::ptr_eq(&passed, &gateway.passthrough.tools(&agent).await));
        assert!(Arc::ptr_eq(&passed, &gateway.passthrough.tools_now()));
        let session = ClientConnection::new(gateway);
        assert_eq!(session.get_tool("execute_code").unwrap().name, "execute_code");
        assert!(session.get_tool("nothing").is_none());
        assert_eq!(session.tools(&passed, &|_| true).len(), 3);
    }

    /// Nothing has to change for it to end.
    #[tokio::test]
    async fn no_task_outlives_a_client_that_left() {
        let (_home, gateway) = gateway();
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let (near, far) = tokio::io::duplex(1 << 16);
        let (client, served) =
            tokio::join!(().serve(near), ClientConnection::new(gateway).serve(far));
        let (client, served) = (client.unwrap(), served.unwrap());
        served.service().follow_changes(served.peer().clone());
        assert!(tasks() > before);
        client.cancel().await.unwrap();
        served.waiting().await.unwrap();
        let ended = async {
            while tasks() > before {
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(300), ended).await;
        ended.expect("a task is left");
    }
}
