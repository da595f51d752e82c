//! Forwards requests to servers that are passed through to a client, under the same rules as programs:
//! policy for calls, and tokens in the place of personal data in all that comes back.

use std::sync::Arc;

use narrows_engine::{
    broker::{CallError, ForwardRequest, Forwarded, RequestOrigin},
    compute::json_bytes,
    safety::{CallTarget, PiiFilter, RunGuard},
    state::Agent,
};
use narrows_upstream::{NoCaller, ProtocolGeneration};
use rmcp::{
    ErrorData,
    model::{ClientRequest, ServerResult, SubscribeRequest, SubscribeRequestParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    client::ClientHandle,
    gateway::Gateway,
    proxy_listing::{Item, PROMPT, RESOURCE, of_upstream},
    tools,
};

/// Calls a passed-through tool, under the same rules as a program's calls.
pub(super) async fn tool(
    gateway: &Arc<Gateway>,
    guard: &Arc<RunGuard>,
    call: ForwardRequest,
    client: Arc<ClientHandle>,
) -> Result<ServerResult, ErrorData> {
    let mut _held = None;
    let called = match gateway.broker.forward(guard, call, client).await {
        Ok(Forwarded { result, held, .. }) => {
            _held = Some(held);
            Ok(result)
        }
        Err(CallError::Upstream(error)) => Err(guard.pii_filter().error(of_upstream(error))),
        // A tool that was not called is an answer that a model can read, and mend the call by.
        Err(other) => Ok(ServerResult::CallToolResult(tools::failure(other.to_string()))),
    };
    protected(guard.agent(), guard.pii_filter(), called).await
}

/// Sends a request to the servers that may have a prompt or a resource until one answers it, under the
/// same rules as calls of tools: each server is given only what it may have.
pub(super) async fn item(
    gateway: &Gateway,
    agent: &Agent,
    item: &Item,
    request: ClientRequest,
    origin: RequestOrigin,
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
        let request = ForwardRequest::item(server, name, request.clone(), origin);
        match gateway.broker.forward(&guard, request, client.clone()).await {
            Ok(Forwarded { result, held: _held, .. }) => {
                return protected(agent, &pii_filter, Ok(result)).await;
            }
            Err(error) => refusal = pii_filter.error(of_call(error)),
        }
    }
    Err(refusal)
}

/// Subscribes to a resource, and returns its address as the server knows it.
pub(super) async fn subscribe(
    gateway: &Gateway,
    agent: &Agent,
    uri: &str,
) -> Result<String, ErrorData> {
    let (guard, pii_filter) = (guard(agent)?, agent.pii_filter());
    let message = format!("there is no resource {uri:?}");
    let mut refusal = ErrorData::resource_not_found(message, Some(json!({ "uri": uri })));
    let request = SubscribeRequest::new(SubscribeRequestParams::new(uri));
    let request = ClientRequest::SubscribeRequest(request);
    // Whoever subscribes is asked nothing.
    let origin = RequestOrigin::Client(ProtocolGeneration::Unknown);
    for server in owners(gateway, agent, &Item::Resource(uri.to_owned()), RESOURCE).await? {
        let request = ForwardRequest::item(server, RESOURCE, request.clone(), origin);
        match gateway.broker.forward(&guard, request, Arc::new(NoCaller)).await {
            Ok(Forwarded { subscribed, .. }) => {
                return Ok(subscribed.unwrap_or_else(|| uri.to_owned()));
            }
            Err(error) => refusal = pii_filter.error(of_call(error)),
        }
    }
    Err(refusal)
}

/// Returns the servers that may have an item, except those that rules hide.
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

/// Returns what servers list, with tokens in the place of personal data.
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

/// Replaces personal data in a server's answer by tokens.
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

/// Returns an item under the name that its server uses: the name that a client was shown may have tokens
/// in it.
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

/// Returns a guard for one request of a client, at the agent's default level.
fn guard(agent: &Agent) -> Result<Arc<RunGuard>, ErrorData> {
    agent.level(None).map(|level| agent.guard(level)).map_err(|error| invalid(&error))
}

pub(super) fn invalid(error: &dyn std::error::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

/// Converts an error of a call. A server's own refusal is passed on unchanged.
fn of_call(error: CallError) -> ErrorData {
    match error {
        CallError::Upstream(error) => of_upstream(error),
        other => invalid(&other),
    }
}
