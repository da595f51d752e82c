//! The methods of MCP that clients call, as the [`ServerHandler`] of a connection.

use std::collections::BTreeMap;

use narrows_engine::compute::json_bytes;
use narrows_upstream::UpstreamChange;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, ClientRequest, CompleteRequest,
        CompleteRequestParams, CompleteResult, GetPromptRequest, GetPromptRequestParams,
        GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequest,
        ReadResourceRequestParams, ReadResourceResponse, Reference, ResultType, ServerCapabilities,
        ServerConfig, ServerResult, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, Tool, ToolsCapability, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::{Map, json};

use super::ClientConnection;
use crate::mcp::{
    changes::Changes,
    connected_client::ClientTransport,
    http,
    instructions::instructions,
    proxy_forward,
    proxy_listing::Item,
    token_notice::AnswerOf,
    tools::{OwnTool, own_tools},
};

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

    /// Returns the definition of a tool. The transport asks for it with every request that has no
    /// session, to compare it with the headers of the call.
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
