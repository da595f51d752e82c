//! The one way of a request to a server: admitted, checked, sent and written down. It is the same for
//! the calls of programs and for all that clients send to servers which they see as they are.

use std::sync::Arc;

use narrows_upstream::{
    Caller, Held, ProtocolGeneration, UpstreamError, UpstreamReply, catalog::Tool,
};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock,
    EmptyResult, ServerResult,
};
use serde_json::{Map, Value, json};

use super::{Broker, CallError};
use crate::{
    compute::ALWAYS_APART,
    safety::{Admitted, CallTarget, RunGuard},
    state::Agent,
};

/// A request that goes to a server if rules allow it.
#[derive(Debug)]
pub struct ForwardRequest {
    recipient: Recipient,
    request: ClientRequest,
    origin: RequestOrigin,
}

/// Who has sent a request. It decides who hears what a server asks before it answers, and by which
/// name a tool is called in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrigin {
    /// A program. The broker puts the questions to the caller.
    Program,
    /// A client that sees the server as it is, and speaks this protocol. If both sides speak the newer
    /// one, questions are an answer like any other, and the client comes back by itself.
    Client(ProtocolGeneration),
}

/// What of a server a request is for.
#[derive(Clone, Debug)]
enum Recipient {
    Tool(Arc<Tool>),
    /// Something that it has beside tools, by the name that rules and the audit have for it.
    Item {
        server: String,
        name: &'static str,
    },
}

/// What came of a request that was forwarded.
#[derive(Debug)]
pub struct Forwarded {
    pub result: ServerResult,
    /// Its memory, until it was used.
    pub held: Held,
    /// The address of the resource that was subscribed to, as its server has it: with values in the
    /// place of tokens.
    pub subscribed: Option<String>,
}

/// What a tool gave.
#[derive(Debug)]
pub struct Called {
    pub result: CallToolResult,
    /// Its memory, until it was used.
    pub held: Held,
}

impl ForwardRequest {
    /// Calls a tool, by whatever name the parameters have for it.
    pub fn call(tool: Arc<Tool>, mut params: CallToolRequestParams, origin: RequestOrigin) -> Self {
        params.name = tool.id.tool.clone().into();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        Self { recipient: Recipient::Tool(tool), request, origin }
    }

    /// Asks a server for something that it has beside tools. `name` is what rules and the audit call
    /// all of that kind.
    pub fn item(
        server: String,
        name: &'static str,
        request: ClientRequest,
        origin: RequestOrigin,
    ) -> Self {
        Self { recipient: Recipient::Item { server, name }, request, origin }
    }
}

impl Recipient {
    fn server(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.id.server,
            Self::Item { server, .. } => server,
        }
    }

    fn target(&self) -> CallTarget<'_> {
        match self {
            Self::Tool(tool) => CallTarget::from(&**tool),
            Self::Item { server, name } => CallTarget::read(server, name),
        }
    }
}

impl From<CallToolResult> for Forwarded {
    fn from(result: CallToolResult) -> Self {
        let result = ServerResult::CallToolResult(result);
        Self { result, held: Held::default(), subscribed: None }
    }
}

impl Broker {
    /// Calls a tool for a program, and waits for its result.
    pub async fn call(
        &self,
        guard: &Arc<RunGuard>,
        tool: &Arc<Tool>,
        arguments: Map<String, Value>,
        caller: Arc<dyn Caller>,
    ) -> Result<Called, CallError> {
        let params = CallToolRequestParams::new(tool.id.tool.clone()).with_arguments(arguments);
        let request = ForwardRequest::call(Arc::clone(tool), params, RequestOrigin::Program);
        let Forwarded { result, held, .. } = self.forward(guard, request, caller).await?;
        match result {
            ServerResult::CallToolResult(result) => Ok(Called { result, held }),
            _ => Err(no_result(tool).into()),
        }
    }

    /// Takes a request to its server under the rules of a run: it is admitted, its arguments are
    /// checked against the tool's schema, the server is asked, and what came of it is written down.
    pub async fn forward(
        &self,
        guard: &Arc<RunGuard>,
        request: ForwardRequest,
        caller: Arc<dyn Caller>,
    ) -> Result<Forwarded, CallError> {
        let ForwardRequest { recipient, mut request, origin } = request;
        let target = recipient.target();
        let arguments = take_arguments(&mut request);
        let mut admitted = guard.authorize(target, arguments, &caller).await?;
        let arguments = std::mem::take(&mut admitted.arguments);
        // Before it counts as a write under way, which a client that leaves does not break off.
        let request = checked(guard.agent(), &recipient, request, arguments, origin).await;
        let (broker, guard) = (self.clone(), Arc::clone(guard));
        let (asked, asked_for) = (recipient.clone(), Arc::clone(&caller));
        self.finish(target, &caller, async move {
            let sent = match request {
                Ok(request) => {
                    broker.send(&asked, request, origin, asked_for).await.map_err(CallError::from)
                }
                Err(refused) => Err(refused),
            };
            completed(&guard, admitted, asked.target(), sent).await
        })
        .await
    }

    /// Makes a call that was admitted, together with what is written down of it. If the client leaves
    /// meanwhile, one that reads is given up, and one that may change something goes on to its end, for
    /// at most [`MAX_WRITE_TIME`](super::MAX_WRITE_TIME).
    async fn finish<T: Send + 'static>(
        &self,
        target: CallTarget<'_>,
        caller: &Arc<dyn Caller>,
        call: impl Future<Output = Result<T, CallError>> + Send + 'static,
    ) -> Result<T, CallError> {
        if caller.is_gone() {
            return Err(CallError::Refused(format!(
                "{target} was not called: the client has left"
            )));
        }
        if target.writes() { self.writes.run(caller, call).await } else { call.await }
    }

    /// Sends what may be sent.
    async fn send(
        &self,
        recipient: &Recipient,
        request: ClientRequest,
        origin: RequestOrigin,
        caller: Arc<dyn Caller>,
    ) -> Result<Forwarded, UpstreamError> {
        let server = recipient.server();
        if let ClientRequest::SubscribeRequest(request) = request {
            let uri = request.params.uri;
            self.fleet().subscribe(server, &uri).await?;
            let result = ServerResult::EmptyResult(EmptyResult {});
            return Ok(Forwarded { result, held: Held::default(), subscribed: Some(uri) });
        }
        let newer = ProtocolGeneration::Discover;
        let is_newer = origin == RequestOrigin::Client(newer) && self.fleet().era(server) == newer;
        let UpstreamReply { result, held } = if is_newer {
            self.fleet().request(server, request, caller).await?
        } else {
            self.request_answering(server, request, caller).await?
        };
        let result = match recipient {
            Recipient::Tool(tool) => call_result(tool, result)?,
            Recipient::Item { .. } => result,
        };
        Ok(Forwarded { result, held, subscribed: None })
    }
}

/// Takes out of a request what rules look at, and in which tokens are turned back: the arguments of a
/// tool, or all that another request says.
fn take_arguments(request: &mut ClientRequest) -> Map<String, Value> {
    match request {
        ClientRequest::CallToolRequest(call) => call.params.arguments.take().unwrap_or_default(),
        other => params_of(other),
    }
}

/// Puts back what was taken out, as it was changed.
fn put_arguments(
    request: ClientRequest,
    arguments: Map<String, Value>,
) -> Result<ClientRequest, CallError> {
    match request {
        ClientRequest::CallToolRequest(mut call) => {
            call.params.arguments = Some(arguments);
            Ok(ClientRequest::CallToolRequest(call))
        }
        other if params_of(&other) == arguments => Ok(other),
        other => {
            let mut message = serde_json::to_value(&other).unwrap_or_default();
            message["params"] = Value::Object(arguments);
            let request = serde_json::from_value(message);
            request.map_err(|error| CallError::Refused(error.to_string()))
        }
    }
}

fn params_of(request: &ClientRequest) -> Map<String, Value> {
    let mut message = serde_json::to_value(request).unwrap_or_default();
    match message.get_mut("params").map(Value::take) {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    }
}

/// Makes the request that is sent of one that was admitted, and says what is wrong with it.
async fn checked(
    agent: &Agent,
    recipient: &Recipient,
    request: ClientRequest,
    arguments: Map<String, Value>,
    origin: RequestOrigin,
) -> Result<ClientRequest, CallError> {
    let arguments = match recipient {
        Recipient::Tool(tool) => checked_arguments(agent, tool, arguments, origin).await?,
        Recipient::Item { .. } => arguments,
    };
    let mut request = put_arguments(request, arguments)?;
    if let ClientRequest::CallToolRequest(call) = &mut request
        && let Recipient::Tool(tool) = recipient
    {
        reveal_answers(agent, tool, &mut call.params).await?;
    }
    Ok(request)
}

/// Checks the arguments of a call. A server's schema and the call itself decide how long that takes, and
/// how long it takes to say what is wrong: it counts for the agent who calls, and others do not wait for
/// it.
async fn checked_arguments(
    agent: &Agent,
    tool: &Tool,
    mut arguments: Map<String, Value>,
    origin: RequestOrigin,
) -> Result<Map<String, Value>, CallError> {
    if tool.fits_at_once(&mut arguments) {
        return Ok(arguments);
    }
    let checked = agent.compute(ALWAYS_APART, || tool.check(&mut arguments)).await;
    let wrong = |mistakes| {
        let tool = match origin {
            RequestOrigin::Program => format!("{}.{}", tool.module, tool.name.python),
            RequestOrigin::Client(_) => CallTarget::from(tool).to_string(),
        };
        CallError::Arguments { tool, mistakes }
    };
    checked.map(|()| arguments).map_err(wrong)
}

/// Puts values in the place of tokens in what a client answers to what the server asked before.
async fn reveal_answers(
    agent: &Agent,
    tool: &Tool,
    params: &mut CallToolRequestParams,
) -> Result<(), CallError> {
    if params.input_responses.is_none() {
        return Ok(());
    }
    let mut answers = json!(params.input_responses);
    let revealed = agent.reveal_answer(&tool.id.server, &tool.id.tool, &mut answers).await;
    revealed.map_err(|error| CallError::Refused(error.to_string()))?;
    params.input_responses = serde_json::from_value(answers).unwrap_or_default();
    Ok(())
}

/// Says to the guard what came of a request.
async fn completed(
    guard: &RunGuard,
    admitted: Admitted,
    target: CallTarget<'_>,
    sent: Result<Forwarded, CallError>,
) -> Result<Forwarded, CallError> {
    match sent {
        Ok(Forwarded { result: ServerResult::CallToolResult(result), held, subscribed }) => {
            let result = guard.complete(admitted, target, Ok(result)).await?;
            Ok(Forwarded { held, subscribed, ..Forwarded::from(result) })
        }
        // Something beside tools; or the server asks something first.
        Ok(other) => {
            guard.complete(admitted, target, Ok(as_text(&other.result))).await?;
            Ok(other)
        }
        Err(error) => guard.complete(admitted, target, Err(error)).await.map(Forwarded::from),
    }
}

/// Writes any result as the audit takes it.
fn as_text(result: &ServerResult) -> CallToolResult {
    if let ServerResult::EmptyResult(_) = result {
        return CallToolResult::success(Vec::new());
    }
    let text = serde_json::to_string(result).unwrap_or_default();
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// Makes of what a server answers to a call the result of a tool, unless it asks something first.
fn call_result(tool: &Tool, result: ServerResult) -> Result<ServerResult, UpstreamError> {
    Ok(ServerResult::CallToolResult(match result {
        ServerResult::CallToolResult(result) => result,
        ServerResult::InputRequiredResult(asks) => {
            return Ok(ServerResult::InputRequiredResult(asks));
        }
        // A result with a kind of content that the protocol layer does not know.
        ServerResult::CustomResult(result) => unknown_result(result.0),
        ServerResult::EmptyResult(_) => CallToolResult::success(Vec::new()),
        _ => return Err(no_result(tool)),
    }))
}

fn no_result(tool: &Tool) -> UpstreamError {
    let method = format!("tools/call {}", tool.id.tool);
    UpstreamError::Unexpected { server: tool.id.server.clone(), method }
}

/// Content blocks that are known stay as they are; the others become text.
fn unknown_result(result: Value) -> CallToolResult {
    let blocks = result.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let blocks = blocks.into_iter().map(|block| {
        serde_json::from_value(block.clone())
            .unwrap_or_else(|_| ContentBlock::text(block.to_string()))
    });
    let mut known = CallToolResult::success(blocks.collect());
    known.structured_content = result.get("structuredContent").cloned();
    known.is_error = result.get("isError").and_then(Value::as_bool);
    if known.content.is_empty() && known.structured_content.is_none() {
        known.structured_content = Some(result);
    }
    known
}
