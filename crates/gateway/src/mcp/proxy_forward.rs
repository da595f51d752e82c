//! Requests that go on to servers which a client sees as they are, under the same rules as what
//! programs do: policy for calls, tokens in the place of personal data in all that comes back.

use std::sync::Arc;

use narrows_engine::{
    broker::CallError,
    catalog::Tool,
    compute::json_bytes,
    safety::{CallTarget, PiiFilter, RunGuard},
    state::Agent,
    upstream::{Caller, NoCaller, ProtocolGeneration, UpstreamError, UpstreamReply},
};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock,
        ServerResult,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    client::ClientHandle,
    gateway::Gateway,
    proxy_listing::{Item, PROMPT, RESOURCE, of_upstream},
    tools,
};

/// Sends a request to a server. If both sides speak the newer protocol, questions and answers pass
/// as they are.
async fn send(
    gateway: &Gateway,
    server: &str,
    request: ClientRequest,
    asks_itself: bool,
    client: Arc<dyn Caller>,
) -> Result<UpstreamReply, UpstreamError> {
    if asks_itself && gateway.broker.fleet().era(server) == ProtocolGeneration::Discover {
        gateway.broker.fleet().request(server, request, client).await
    } else {
        gateway.broker.pass(server, request, client).await
    }
}

/// Calls a tool that the client sees as it is, under the same rules as a program's calls.
pub(super) async fn tool(
    gateway: &Arc<Gateway>,
    guard: &Arc<RunGuard>,
    tool: Arc<Tool>,
    params: CallToolRequestParams,
    asks_itself: bool,
    client: Arc<ClientHandle>,
) -> Result<ServerResult, ErrorData> {
    let called = call(gateway, guard, tool, params, asks_itself, client).await;
    // A tool that was not called is an answer that a model can read.
    let called = called.or_else(|error| match error {
        CallError::Upstream(error) => Err(guard.pii_filter().error(of_upstream(error))),
        other => Ok(of_result(tools::failure(other.to_string()))),
    });
    protected(guard.agent(), guard.pii_filter(), called).await
}

/// Asks whoever has a prompt or a resource, under the same rules as calls of tools: each server is
/// given what it may have.
pub(super) async fn item(
    gateway: &Gateway,
    agent: &Agent,
    item: &Item,
    request: ClientRequest,
    asks_itself: bool,
    client: Arc<ClientHandle>,
) -> Result<ServerResult, ErrorData> {
    let name = match (&request, item) {
        (ClientRequest::CompleteRequest(_), _) => "completion",
        (_, Item::Prompt(_)) => PROMPT,
        (_, Item::Resource(_)) => RESOURCE,
    };
    let (guard, pii_filter) = (guard(agent)?, agent.pii_filter());
    let mut refusal = ErrorData::invalid_params("no server has it", None);
    for server in owners(gateway, agent, item, name).await? {
        let (request, client) = (request.clone(), Arc::clone(&client));
        match ask(gateway, &guard, (&server, name), request, asks_itself, client).await {
            Ok(result) => return protected(agent, &pii_filter, Ok(result)).await,
            Err(error) => refusal = pii_filter.error(of_call(error)),
        }
    }
    Err(refusal)
}

/// Asks to be told when a resource changes, and gives its address as the server knows it.
pub(super) async fn subscribe(
    gateway: &Gateway,
    agent: &Agent,
    uri: &str,
) -> Result<String, ErrorData> {
    let (guard, pii_filter) = (guard(agent)?, agent.pii_filter());
    let message = format!("there is no resource {uri:?}");
    let mut refusal = ErrorData::resource_not_found(message, Some(json!({ "uri": uri })));
    for server in owners(gateway, agent, &Item::Resource(uri.to_owned()), RESOURCE).await? {
        match subscribe_at(gateway, &guard, &server, uri).await {
            Ok(uri) => return Ok(uri),
            Err(error) => refusal = pii_filter.error(of_call(error)),
        }
    }
    Err(refusal)
}

/// The servers that may have an item, but for those that rules hide.
async fn owners(
    gateway: &Gateway,
    agent: &Agent,
    item: &Item,
    name: &str,
) -> Result<Vec<String>, ErrorData> {
    let mut owners = gateway.passthrough.owners(&listed_as(agent, item).await?);
    owners.retain(|server| !agent.hides(CallTarget::read(server, name)));
    Ok(owners)
}

/// Asks one server for something that it has beside tools.
async fn ask(
    gateway: &Gateway,
    guard: &Arc<RunGuard>,
    (server, name): (&str, &str),
    request: ClientRequest,
    asks_itself: bool,
    client: Arc<ClientHandle>,
) -> Result<ServerResult, CallError> {
    let target = CallTarget::read(server, name);
    let mut whole = serde_json::to_value(&request).unwrap_or_default();
    let params = whole["params"].as_object().cloned().unwrap_or_default();
    let client: Arc<dyn Caller> = client;
    let mut admitted = guard.authorize(target, params, &client).await?;
    let given = Value::Object(std::mem::take(&mut admitted.arguments));
    let request = if whole["params"] == given {
        Ok(request)
    } else {
        whole["params"] = given;
        serde_json::from_value(whole)
    };
    let mut _held = None;
    let sent = match request {
        Ok(request) => match send(gateway, server, request, asks_itself, client).await {
            Ok(reply) => {
                _held = Some(reply.held);
                Ok(reply.result)
            }
            Err(error) => Err(CallError::from(error)),
        },
        Err(error) => Err(CallError::Refused(error.to_string())),
    };
    let told = sent.as_ref().map(as_text).map_err(Clone::clone);
    guard.complete(admitted, target, told).await?;
    sent
}

async fn subscribe_at(
    gateway: &Gateway,
    guard: &Arc<RunGuard>,
    server: &str,
    uri: &str,
) -> Result<String, CallError> {
    let target = CallTarget::read(server, RESOURCE);
    let params = Map::from_iter([("uri".to_owned(), uri.into())]);
    let nobody: Arc<dyn Caller> = Arc::new(NoCaller);
    let admitted = guard.authorize(target, params, &nobody).await?;
    let uri = admitted.arguments.get("uri").and_then(Value::as_str).unwrap_or(uri).to_owned();
    let subscribed = gateway.broker.fleet().subscribe(server, &uri).await;
    let told = subscribed.map(|()| CallToolResult::success(Vec::new())).map_err(CallError::from);
    guard.complete(admitted, target, told).await?;
    Ok(uri)
}

/// What servers list, as a client's model may read it.
pub(super) async fn listed<T: Clone + Serialize + DeserializeOwned>(
    agent: &Agent,
    items: &[T],
) -> Vec<T> {
    let pii_filter = agent.pii_filter();
    let told = |item: &T| {
        let told = pii_filter.whole(item);
        told.inspect_err(|error| tracing::warn!("something is left out of a list: {error}")).ok()
    };
    let bytes = json_bytes(&items);
    let items = agent.compute(bytes, || items.iter().filter_map(told).collect()).await;
    agent.keep_tokens_or_warn().await;
    items
}

async fn call(
    gateway: &Arc<Gateway>,
    guard: &Arc<RunGuard>,
    tool: Arc<Tool>,
    mut params: CallToolRequestParams,
    asks_itself: bool,
    client: Arc<ClientHandle>,
) -> Result<ServerResult, CallError> {
    let caller: Arc<dyn Caller> = client;
    let target = CallTarget::from(&*tool);
    let arguments = params.arguments.take().unwrap_or_default();
    let mut admitted = guard.authorize(target, arguments, &caller).await?;
    params.arguments = Some(std::mem::take(&mut admitted.arguments));
    // Answers to what the server asked before.
    let mut answers = json!(params.input_responses);
    let (server, name) = (&tool.id.server, &tool.id.tool);
    if let Err(error) = guard.agent().reveal_answer(server, name, &mut answers).await {
        let refused = Err(CallError::Refused(error.to_string()));
        return guard.complete(admitted, target, refused).await.map(of_result);
    }
    params.input_responses = serde_json::from_value(answers).unwrap_or_default();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let (gateway, guard) = (Arc::clone(gateway), Arc::clone(guard));
    let (called, called_for) = (Arc::clone(&tool), Arc::clone(&caller));
    let broker = gateway.broker.clone();
    let call = async move {
        let target = CallTarget::from(&*called);
        let sent = send(&gateway, &called.id.server, request, asks_itself, called_for).await;
        // What it takes of the memory for answers is given back when it was looked at.
        let (sent, _held) = match sent {
            Ok(UpstreamReply { result, held }) => (Ok(result), Some(held)),
            Err(error) => (Err(error), None),
        };
        match sent {
            Ok(ServerResult::CallToolResult(result)) => {
                guard.complete(admitted, target, Ok(result)).await.map(of_result)
            }
            // It asks something first, or gives something that nobody knows.
            Ok(other) => {
                guard.complete(admitted, target, Ok(as_text(&other))).await?;
                Ok(other)
            }
            Err(error) => guard.complete(admitted, target, Err(error.into())).await.map(of_result),
        }
    };
    broker.complete(target, &caller, call).await
}

/// What a server says, as a client's model may read it.
async fn protected(
    agent: &Agent,
    pii_filter: &PiiFilter,
    passed: Result<ServerResult, ErrorData>,
) -> Result<ServerResult, ErrorData> {
    let bytes = passed.as_ref().map_or(0, json_bytes);
    let protecting = || passed.and_then(|result| Ok(pii_filter.server_result(result)?));
    let passed = agent.compute(bytes, protecting).await;
    agent.keep_tokens_or_warn().await;
    passed
}

/// An item as its server lists it, for us to look up: what a client was shown has tokens in it.
async fn listed_as(agent: &Agent, item: &Item) -> Result<Item, ErrorData> {
    let (Item::Prompt(name) | Item::Resource(name)) = item;
    let mut name = Value::from(name.as_str());
    agent
        .pii_filter()
        .reveal(agent, &mut name, &|_| true)
        .await
        .map_err(|error| invalid(&error))?;
    let name = name.as_str().unwrap_or_default().to_owned();
    Ok(match item {
        Item::Prompt(_) => Item::Prompt(name),
        Item::Resource(_) => Item::Resource(name),
    })
}

/// Watches over one request of a client.
fn guard(agent: &Agent) -> Result<Arc<RunGuard>, ErrorData> {
    agent.level(None).map(|level| agent.guard(level)).map_err(|error| invalid(&error))
}

pub(super) fn invalid(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

/// A server's own refusal is passed on as it is, ours is told.
fn of_call(error: CallError) -> ErrorData {
    match error {
        CallError::Upstream(error) => of_upstream(error),
        other => invalid(&other),
    }
}

/// Any result, as the audit takes it.
fn as_text(result: &ServerResult) -> CallToolResult {
    let text = serde_json::to_string(result).unwrap_or_default();
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn of_result(result: CallToolResult) -> ServerResult {
    ServerResult::CallToolResult(result)
}
