//! Requests that go on to servers which a client sees as they are, under the same rules as what
//! programs do: policy for calls, tokens in the place of personal data in all that comes back.

use std::sync::Arc;

use narrows_engine::{
    broker::CallError,
    catalog::Tool,
    safety::{Shield, Watch},
    state::Agent,
    upstream::{Caller, Era, UpstreamError},
};
use rmcp::{
    ErrorData,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock,
        ServerResult,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use super::{
    answers,
    client::Client,
    gateway::Gateway,
    passthrough::{Item, of_upstream},
};

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
pub(super) async fn tool(
    gateway: &Gateway,
    watch: &Watch,
    tool: &Tool,
    params: CallToolRequestParams,
    asks_itself: bool,
    client: Arc<Client>,
) -> Result<ServerResult, ErrorData> {
    let called = call(gateway, watch, tool, params, asks_itself, client).await;
    // A tool that was not called is an answer that a model can read.
    let called = called.or_else(|error| match error {
        CallError::Upstream(error) => Err(watch.shield().error(of_upstream(error))),
        other => Ok(of_result(answers::failed(other.to_string()))),
    });
    protected(watch.agent(), watch.shield(), called).await
}

/// Asks whoever has a prompt or a resource.
pub(super) async fn item(
    gateway: &Gateway,
    agent: &Agent,
    item: &Item,
    request: ClientRequest,
    asks_itself: bool,
    client: Arc<Client>,
) -> Result<ServerResult, ErrorData> {
    let request = revealed(agent, request).await?;
    let mut refusal = ErrorData::invalid_params("no server has it", None);
    for server in gateway.passthrough.owners(item) {
        let client: Arc<dyn Caller> = Arc::clone(&client) as _;
        match send(gateway, &server, request.clone(), asks_itself, client).await {
            Ok(result) => return protected(agent, &agent.shield(), Ok(result)).await,
            Err(error) => refusal = agent.shield().error(of_upstream(error)),
        }
    }
    Err(refusal)
}

/// What servers list, as a client's model may read it.
pub(super) async fn listed<T: Clone + Serialize + DeserializeOwned>(
    agent: &Agent,
    items: &[T],
) -> Vec<T> {
    let shield = agent.shield();
    let told = |item: &T| {
        let told = shield.whole(item);
        told.inspect_err(|error| tracing::warn!("something is left out of a list: {error}")).ok()
    };
    let items = items.iter().filter_map(told).collect();
    keep(agent).await;
    items
}

async fn call(
    gateway: &Gateway,
    watch: &Watch,
    tool: &Tool,
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
    if let Err(error) = watch.shield().reveal(watch.agent(), &mut answers, &may).await {
        let refused = Err(CallError::Refused(error.to_string()));
        return watch.returned(admitted, tool, refused).await.map(of_result);
    }
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
    let passed = passed.and_then(|mut result| {
        match &mut result {
            ServerResult::CallToolResult(result) => shield.answer(result),
            ServerResult::ReadResourceResult(result) => {
                result.contents.iter_mut().for_each(|content| shield.resource(content));
            }
            ServerResult::CustomResult(result) => shield.json(&mut result.0),
            ServerResult::GetPromptResult(prompt) => *prompt = shield.whole(prompt)?,
            ServerResult::InputRequiredResult(asks) => {
                asks.input_requests = shield.whole(&asks.input_requests)?;
            }
            ServerResult::CompleteResult(result) => {
                result.completion.values.iter_mut().for_each(|value| shield.replace(value));
            }
            _ => {}
        }
        Ok(result)
    });
    keep(agent).await;
    passed
}

/// A request for a prompt, a resource or a completion, or an address, with values in the place of
/// tokens: lists have tokens in them.
pub(super) async fn revealed<T: Serialize + DeserializeOwned>(
    agent: &Agent,
    request: T,
) -> Result<T, ErrorData> {
    let Ok(mut value) = serde_json::to_value(&request) else { return Ok(request) };
    let kinds = agent.shield().reveal(agent, &mut value, &|_| true).await;
    match kinds.map_err(|error| invalid(&error))?.is_empty() {
        true => Ok(request),
        false => serde_json::from_value(value).map_err(|error| invalid(&error)),
    }
}

pub(super) fn invalid(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

/// Writes down what the tokens of an answer stand for.
async fn keep(agent: &Agent) {
    if let Err(error) = agent.keep_tokens().await {
        tracing::warn!("{error}");
    }
}

fn of_result(result: CallToolResult) -> ServerResult {
    ServerResult::CallToolResult(result)
}
