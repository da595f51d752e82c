//! One client's conversation with the gateway.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use narrows_engine::{
    broker::CallError,
    catalog::Tool as CatalogTool,
    ledger::definition_text,
    nearest,
    safety::{Shield, Watch},
    state::Agent,
    upstream::{Caller, Change, Era, UpstreamError},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest,
        CompleteRequest, CompleteRequestParams, CompleteResult, ContentBlock, GetPromptRequest,
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
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use super::{
    answers,
    changes::Changes,
    client::Client,
    conversation::{Turn, Work},
    gateway::Gateway,
    http,
    own_tools::{self, OwnTool},
    parked::ClientWork,
    passthrough::{Item, of_upstream},
};

const INSTRUCTIONS: &str = "Write Python with execute_code to use the tools of all connected \
    servers: search_tools finds them, `from servers.NAME import tool` imports them, every tool call is \
    awaited. Filter data in the code, and return only what is needed.";

/// The server side of one client's session.
#[derive(Clone)]
pub(crate) struct Session {
    gateway: Arc<Gateway>,
    /// Tells the clients of a gateway apart.
    number: u64,
    /// Cancelled when the client can no longer ask, nor be told.
    left: CancellationToken,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What the client asked for with `logging/setLevel`.
    level: Option<LoggingLevel>,
    subscribed: BTreeSet<String>,
    follows: bool,
}

impl Session {
    pub(crate) fn new(gateway: Arc<Gateway>) -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        Self { gateway, number, left: CancellationToken::new(), state: Arc::default() }
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

    /// Our own tools, and those of servers that are passed through.
    fn tools(&self, is_visible: &dyn Fn(&CatalogTool) -> bool) -> Vec<Tool> {
        let mut tools = own_tools::tools(self.gateway.surface);
        let passed = self.gateway.passthrough.tools(&tools).into_iter();
        for (name, tool) in passed.filter(|(_, tool)| is_visible(tool)) {
            // The definition as its server wrote it, as far as the protocol's types go.
            if let Ok(mut definition) = serde_json::from_value::<Tool>(tool.raw.clone()) {
                definition.name = name.into();
                tools.push(definition);
            }
        }
        tools
    }

    /// Starts the work that a call asks for.
    async fn begin(
        &self,
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ClientWork, ErrorData> {
        let Some(own) = OwnTool::called(&params.name) else {
            return self.begin_passed(params, context).await;
        };
        let session = self.clone();
        let key = self.ledger_key(context);
        let agent = self.gateway.agent(http::principal(context));
        let arguments = params.arguments.unwrap_or_default();
        let work = Work::start(context, self.number, agent.clone(), move |client| async move {
            let gateway = &session.gateway;
            let result = answers::answer(gateway, agent, own, arguments, client).await?;
            gateway.ledger.session(key, gateway.broker.catalog(), || session.definitions());
            Ok(of_result(result))
        });
        Ok(if own.runs_code() { work.counting_progress() } else { work })
    }

    /// Starts a call of a server that the client sees as it is.
    async fn begin_passed(
        &self,
        mut params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ClientWork, ErrorData> {
        let tool = self.passed_tool(&params.name).await?;
        params.meta = None;
        params.name = tool.id.tool.clone().into();
        let agent = self.gateway.agent(http::principal(context));
        let level = agent.level(None).map_err(|error| invalid(&error))?;
        let watch = agent.watch(level);
        let gateway = Arc::clone(&self.gateway);
        let asks_itself = is_modern(context);
        Ok(Work::start(context, self.number, agent, move |client| async move {
            let passed = pass_tool(&gateway, &watch, &tool, params, asks_itself, client).await;
            // A tool that was not called is an answer that a model can read.
            let passed = passed.or_else(|error| match error {
                CallError::Upstream(error) => Err(watch.shield().error(of_upstream(error))),
                other => Ok(of_result(answers::failed(other.to_string()))),
            });
            protected(watch.agent(), watch.shield(), passed).await
        }))
    }

    /// What servers list, as a client's model may read it.
    async fn listed<T: Serialize + DeserializeOwned>(
        &self,
        mut items: Vec<T>,
        context: &RequestContext<RoleServer>,
    ) -> Vec<T> {
        let agent = self.gateway.agent(http::principal(context));
        let shield = agent.shield();
        items.iter_mut().for_each(|item| shield.whole(item));
        if let Err(error) = agent.keep_tokens().await {
            tracing::warn!("{error}");
        }
        items
    }

    /// Whose session this is, for the ledger. Requests of the newer protocol have no session, so
    /// all of one client count as one.
    fn ledger_key(&self, context: &RequestContext<RoleServer>) -> String {
        let client = context.meta.get("io.modelcontextprotocol/clientInfo");
        match client.filter(|_| is_modern(context)) {
            Some(client) => client.to_string(),
            None => format!("session {}", self.number),
        }
    }

    /// What this client's model reads of all tools that it is shown.
    fn definitions(&self) -> String {
        let definitions = self.tools(&|_| true).into_iter().filter_map(|tool| {
            let raw = serde_json::to_value(&tool).ok()?;
            Some(definition_text(&tool.name, &raw))
        });
        definitions.collect::<Vec<_>>().join("\n")
    }

    /// The tool of a server that the client sees by this name.
    async fn passed_tool(&self, name: &str) -> Result<Arc<CatalogTool>, ErrorData> {
        let ours = own_tools::tools(self.gateway.surface);
        let mut passed = self.gateway.passthrough.tools(&ours);
        if !passed.iter().any(|(known, _)| known == name) {
            self.gateway.passthrough.ready().await;
            passed = self.gateway.passthrough.tools(&ours);
        }
        if let Some((_, tool)) = passed.iter().find(|(known, _)| known == name) {
            return Ok(Arc::clone(tool));
        }
        let known = ours.iter().map(|tool| tool.name.as_ref());
        let hint = nearest(name, known.chain(passed.iter().map(|(name, _)| name.as_str())));
        let hint = match hint.0.is_empty() {
            true => "; call it from execute_code, or find it with search_tools".to_owned(),
            false => hint.to_string(),
        };
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
        // If both sides speak the newer protocol, questions and answers pass as they are.
        let asks_itself = is_modern(context);
        let agent = gateway.agent(http::principal(context));
        let caller = agent.clone();
        Work::start(context, self.number, caller, move |client| async move {
            let request = match revealed(&agent, request).await {
                Ok(request) => request,
                Err(error) => return Err(error),
            };
            let mut refusal = ErrorData::invalid_params("no server has it", None);
            for server in gateway.passthrough.owners(&item) {
                let client: Arc<dyn Caller> = Arc::clone(&client) as _;
                let sent = send(&gateway, &server, request.clone(), asks_itself, client).await;
                match sent {
                    Ok(result) => return protected(&agent, &agent.shield(), Ok(result)).await,
                    Err(error) => refusal = agent.shield().error(of_upstream(error)),
                }
            }
            Err(refusal)
        })
    }

    /// Talks with the client until the work is done, or until the client has to answer.
    async fn converse(
        &self,
        mut work: ClientWork,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        match work.go_on(context, self.level(context)).await? {
            Turn::Done(result) => result,
            Turn::Asks(questions) => {
                let secret = self.gateway.parked.park(work)?;
                let asks = InputRequiredResult::new(Some(questions), Some(secret));
                Ok(ServerResult::InputRequiredResult(asks))
            }
        }
    }

    /// Work that waits for what a client came back with.
    fn resume(
        &self,
        state: Option<&str>,
        answers: &mut Option<InputResponses>,
    ) -> Option<ClientWork> {
        let mut work = self.gateway.parked.resume(state?)?;
        work.answer(answers.take().unwrap_or_default());
        Some(work)
    }

    /// Tells a client of the older protocol what changes, as long as it is there.
    fn follow_changes(&self, peer: Peer<RoleServer>) {
        if std::mem::replace(&mut self.state().follows, true) {
            return;
        }
        let mut changes = Changes::from_now(&self.gateway.broker);
        let state = Arc::clone(&self.state);
        tokio::spawn(async move {
            while let Some(change) = changes.next().await {
                let told = match change {
                    Change::Tools => peer.notify_tool_list_changed().await,
                    Change::Prompts => peer.notify_prompt_list_changed().await,
                    Change::Resources => peer.notify_resource_list_changed().await,
                    Change::Resource(uri) => {
                        let wanted = state
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .subscribed
                            .contains(&uri);
                        if !wanted {
                            continue;
                        }
                        let param = ResourceUpdatedNotificationParam::new(uri);
                        peer.notify_resource_updated(param).await
                    }
                };
                if told.is_err() {
                    return;
                }
            }
        });
    }
}

/// Sends a request to a server. If both sides speak the newer protocol, questions and answers pass
/// as they are.
async fn send(
    gateway: &Gateway,
    server: &str,
    request: ClientRequest,
    asks_itself: bool,
    client: Arc<dyn Caller>,
) -> Result<ServerResult, UpstreamError> {
    if asks_itself && gateway.broker.fleet().era(server) == Era::Discover {
        gateway.broker.fleet().request(server, request, client).await
    } else {
        gateway.broker.pass(server, request, client).await
    }
}

/// Calls a tool that the client sees as it is, under the same rules as a program's calls.
async fn pass_tool(
    gateway: &Gateway,
    watch: &Watch,
    tool: &CatalogTool,
    mut params: CallToolRequestParams,
    asks_itself: bool,
    client: Arc<Client>,
) -> Result<ServerResult, CallError> {
    let arguments = params.arguments.take().unwrap_or_default();
    let mut admitted = watch.admit(tool, arguments, client.as_ref()).await?;
    params.arguments = Some(std::mem::take(&mut admitted.arguments));
    // Answers to what the server asked before; what was shown as a token goes back as it is.
    let mut answers = json!(params.input_responses);
    let policy = watch.agent().safety().policy();
    let may = |kind: &str| policy.may_have(&tool.id.server, &tool.id.tool, kind);
    let turned_back = watch.shield().reveal(watch.agent(), &mut answers, &may).await;
    turned_back.map_err(|error| CallError::Refused(error.to_string()))?;
    params.input_responses = serde_json::from_value(answers).unwrap_or_default();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = send(gateway, &tool.id.server, request, asks_itself, client).await;
    match sent {
        Ok(ServerResult::CallToolResult(result)) => {
            watch.returned(admitted, tool, Ok(result)).await.map(of_result)
        }
        // It asks something first, or gives something that nobody knows.
        Ok(other) => {
            let text = serde_json::to_string(&other).unwrap_or_default();
            let told = CallToolResult::success(vec![ContentBlock::text(text)]);
            watch.returned(admitted, tool, Ok(told)).await?;
            Ok(other)
        }
        Err(error) => watch.returned(admitted, tool, Err(error.into())).await.map(of_result),
    }
}

/// What a server says, as a client's model may read it.
async fn protected(
    agent: &Agent,
    shield: &Shield,
    passed: Result<ServerResult, ErrorData>,
) -> Result<ServerResult, ErrorData> {
    let passed = passed.map(|mut result| {
        match &mut result {
            ServerResult::CallToolResult(result) => shield.answer(result),
            ServerResult::ReadResourceResult(result) => {
                result.contents.iter_mut().for_each(|content| shield.resource(content));
            }
            ServerResult::CustomResult(result) => shield.json(&mut result.0),
            ServerResult::GetPromptResult(prompt) => shield.whole(prompt),
            ServerResult::InputRequiredResult(asks) => shield.whole(&mut asks.input_requests),
            ServerResult::CompleteResult(result) => {
                result.completion.values.iter_mut().for_each(|value| shield.replace(value));
            }
            _ => {}
        }
        result
    });
    if let Err(error) = agent.keep_tokens().await {
        tracing::warn!("{error}");
    }
    passed
}

/// A request for a prompt, a resource or a completion, with values in the place of tokens: lists
/// have tokens in names and addresses.
async fn revealed(agent: &Agent, request: ClientRequest) -> Result<ClientRequest, ErrorData> {
    let Ok(mut value) = serde_json::to_value(&request) else { return Ok(request) };
    let kinds = agent.shield().reveal(agent, &mut value, &|_| true).await;
    match kinds.map_err(|error| invalid(&error))?.is_empty() {
        true => Ok(request),
        false => serde_json::from_value(value).map_err(|error| invalid(&error)),
    }
}

fn invalid(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities: ServerCapabilities = self.gateway.passthrough.capabilities();
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        capabilities.tools = Some(tools);
        capabilities.logging = Some(Map::new());
        let implementation = Implementation::new("narrows", env!("CARGO_PKG_VERSION"));
        let mut info = ServerConfig::new(capabilities).with_server_info(implementation);
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
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
        let agent = self.gateway.agent(http::principal(&context));
        let level = agent.level(None).map_err(|error| invalid(&error))?;
        let watch = agent.watch(level);
        let tools = self.tools(&|tool| !watch.hides(tool));
        Ok(ListToolsResult::with_all_items(self.listed(tools, &context).await))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools(&|_| true).into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let state = request.request_state.clone();
        let work = match self.resume(state.as_deref(), &mut request.input_responses) {
            Some(work) => work,
            None => self.begin(request, &context).await?,
        };
        match self.converse(work, &context).await? {
            ServerResult::CallToolResult(mut result) => {
                // Servers of the older protocol do not say it; clients of the newer must be told.
                result.result_type.get_or_insert(ResultType::COMPLETE);
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
        let prompts = self.gateway.passthrough.prompts().await;
        Ok(ListPromptsResult::with_all_items(self.listed(prompts, &context).await))
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        request.meta = None;
        let state = request.request_state.clone();
        let work = match self.resume(state.as_deref(), &mut request.input_responses) {
            Some(work) => work,
            None => {
                let item = Item::Prompt(request.name.clone());
                let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(request));
                self.pass(item, request, &context)
            }
        };
        match self.converse(work, &context).await? {
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
        let resources = self.gateway.passthrough.resources().await;
        Ok(ListResourcesResult::with_all_items(self.listed(resources, &context).await))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.gateway.passthrough.resource_templates().await;
        let templates = self.listed(templates, &context).await;
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        mut request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        request.meta = None;
        let state = request.request_state.clone();
        let work = match self.resume(state.as_deref(), &mut request.input_responses) {
            Some(work) => work,
            None => {
                let item = Item::Resource(request.uri.clone());
                let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(request));
                self.pass(item, request, &context)
            }
        };
        match self.converse(work, &context).await? {
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
        let work = self.pass(item, request, &context);
        match self.converse(work, &context).await? {
            ServerResult::CompleteResult(result) => Ok(result),
            _ => Err(unexpected()),
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let agent = self.gateway.agent(http::principal(&context));
        let mut uri = json!(request.uri);
        let turned_back = agent.shield().reveal(&agent, &mut uri, &|_| true).await;
        turned_back.map_err(|error| invalid(&error))?;
        let uri = uri.as_str().unwrap_or_default();
        self.gateway.passthrough.subscribe(uri).await?;
        self.state().subscribed.insert(request.uri);
        self.follow_changes(context.peer);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state().subscribed.remove(&request.uri);
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
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let _ = self.gateway.passthrough.subscribe(uri).await;
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
                Some(Change::Tools) => sink.notify_tool_list_changed().await,
                Some(Change::Prompts) => sink.notify_prompt_list_changed().await,
                Some(Change::Resources) => sink.notify_resource_list_changed().await,
                Some(Change::Resource(uri)) => sink.notify_resource_updated(uri).await,
                None => return Ok(()),
            };
        }
    }
}

fn of_result(result: CallToolResult) -> ServerResult {
    ServerResult::CallToolResult(result)
}

fn unexpected() -> ErrorData {
    ErrorData::internal_error("the server answered something else than was asked", None)
}
