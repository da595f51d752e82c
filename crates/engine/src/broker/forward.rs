//! Forwards a request to its server: it is authorized, its arguments are checked, it is sent, and the
//! audit records it. The calls of programs and the requests of clients that see a server directly take
//! the same way.

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
    safety::{Admitted, CallTarget, Mode, RunGuard},
    state::Agent,
};

/// A request that is sent to a server if the rules allow it.
#[derive(Debug)]
pub struct ForwardRequest {
    recipient: Recipient,
    request: ClientRequest,
    origin: RequestOrigin,
}

/// The sender of a request. It decides who is asked what a server wants to know before it answers, and
/// which name of a tool stands in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrigin {
    /// A program. The broker puts the server's questions to the caller.
    Program,
    /// A client that sees the server directly, and the generation of the protocol that it speaks. If
    /// both sides speak the newer one, a question is passed on as the answer, and the client repeats
    /// the request with its response.
    Client(ProtocolGeneration),
}

/// The part of a server that a request is for.
#[derive(Clone, Debug)]
enum Recipient {
    Tool(Arc<Tool>),
    /// A resource, a prompt or the like, by the name that rules and the audit have for its kind.
    Item {
        server: String,
        name: &'static str,
    },
}

/// The result of a forwarded request.
#[derive(Debug)]
pub struct Forwarded {
    pub result: ServerResult,
    /// Its part of the memory for answers, given back on drop.
    pub held: Held,
    /// The URI of the resource that was subscribed to, as its server knows it: with values instead of
    /// tokens.
    pub subscribed: Option<String>,
}

/// The result of a tool.
#[derive(Debug)]
pub struct Called {
    pub result: CallToolResult,
    /// Its part of the memory for answers, given back on drop.
    pub held: Held,
}

impl ForwardRequest {
    /// Creates a request that calls a tool. The name in the parameters is replaced by the server's own.
    pub fn call(tool: Arc<Tool>, mut params: CallToolRequestParams, origin: RequestOrigin) -> Self {
        params.name = tool.id.tool.clone().into();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        Self { recipient: Recipient::Tool(tool), request, origin }
    }

    /// Creates a request for something other than a tool. `name` is what rules and the audit call its
    /// kind.
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
    /// Calls a tool for a program and waits for its result.
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

    /// Forwards a request to its server under the rules of a run: authorizes it, checks its arguments
    /// against the tool's schema, sends it, and records the result in the audit.
    pub async fn forward(
        &self,
        guard: &Arc<RunGuard>,
        request: ForwardRequest,
        caller: Arc<dyn Caller>,
    ) -> Result<Forwarded, CallError> {
        let ForwardRequest { recipient, mut request, origin } = request;
        let target = recipient.target();
        let arguments = take_arguments(&mut request);
        // Mistakes are described by what the caller wrote, so that no description has a value in it.
        let sees_tokens =
            origin != RequestOrigin::Program || guard.pii_filter().mode() == Mode::Strict;
        let written = sees_tokens.then(|| arguments.clone());
        let mut admitted = guard.authorize(target, arguments, &caller).await?;
        let arguments = std::mem::take(&mut admitted.arguments);
        // Checked before it counts as a write in flight, which goes on when its client leaves.
        let arguments = CheckArguments { arguments, written, origin };
        let request = checked(guard.agent(), &recipient, request, arguments).await;
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

    /// Runs an authorized call and its audit entry to the end. If the client leaves meanwhile, a call
    /// that only reads is cancelled, and one that may change something goes on, for at most
    /// [`MAX_WRITE_TIME`](super::MAX_WRITE_TIME).
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

    /// Sends an authorized request. Unless client and server both speak the newer protocol, what the
    /// server asks is put to the caller here.
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

/// Takes out of a request what rules look at and what tokens are replaced in: the arguments of a tool,
/// or the `params` of another request.
fn take_arguments(request: &mut ClientRequest) -> Map<String, Value> {
    match request {
        ClientRequest::CallToolRequest(call) => call.params.arguments.take().unwrap_or_default(),
        other => params_of(other),
    }
}

/// Puts the arguments back into a request after they were authorized.
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

/// Returns the request to send, with its arguments checked against the schema, or what is wrong with
/// them.
async fn checked(
    agent: &Agent,
    recipient: &Recipient,
    request: ClientRequest,
    arguments: CheckArguments,
) -> Result<ClientRequest, CallError> {
    let arguments = match recipient {
        Recipient::Tool(tool) => arguments.check(agent, tool).await?,
        Recipient::Item { .. } => arguments.arguments,
    };
    let mut request = put_arguments(request, arguments)?;
    if let ClientRequest::CallToolRequest(call) = &mut request
        && let Recipient::Tool(tool) = recipient
    {
        reveal_answers(agent, tool, &mut call.params).await?;
    }
    Ok(request)
}

/// The arguments of a call, before they are checked against the schema of its tool.
struct CheckArguments {
    arguments: Map<String, Value>,
    /// The same with the tokens that their author knows, if they must not learn the values.
    written: Option<Map<String, Value>>,
    origin: RequestOrigin,
}

impl CheckArguments {
    /// Returns the arguments if they fit. A server's schema and the call itself decide how long that
    /// takes, and how long it takes to describe the mistakes; so the work counts for the calling agent,
    /// and does not delay others.
    async fn check(self, agent: &Agent, tool: &Tool) -> Result<Map<String, Value>, CallError> {
        let Self { mut arguments, written, origin } = self;
        if tool.fits_at_once(&mut arguments) {
            return Ok(arguments);
        }
        let written = written.filter(|written| *written != arguments);
        let checking = || {
            let mistakes = tool.check(&mut arguments).err()?;
            Some(match written.map(|mut written| tool.check(&mut written)) {
                None => mistakes,
                Some(Err(mistakes)) => mistakes,
                Some(Ok(())) => VALUE_DOES_NOT_FIT.to_owned(),
            })
        };
        let mistakes = agent.compute(ALWAYS_APART, checking).await;
        let tool = match origin {
            RequestOrigin::Program => format!("{}.{}", tool.module, tool.name.python),
            RequestOrigin::Client(_) => CallTarget::from(tool).to_string(),
        };
        mistakes.map_or(Ok(arguments), |mistakes| Err(CallError::Arguments { tool, mistakes }))
    }
}

/// A mistake that cannot be described, because its author knows only the token.
const VALUE_DOES_NOT_FIT: &str =
    "the value that one of the tokens stands for does not fit the tool's schema";

/// Replaces tokens by their values in a client's answers to questions that the server asked before.
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

/// Reports the result of a request to the guard, which records and protects it.
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
        // The result of another kind of request, or a question that the server asks first.
        Ok(other) => {
            guard.complete(admitted, target, Ok(as_text(&other.result))).await?;
            Ok(other)
        }
        Err(error) => guard.complete(admitted, target, Err(error)).await.map(Forwarded::from),
    }
}

/// Returns any result as the result of a tool, which is the form that the guard records.
fn as_text(result: &ServerResult) -> CallToolResult {
    if let ServerResult::EmptyResult(_) = result {
        return CallToolResult::success(Vec::new());
    }
    let text = serde_json::to_string(result).unwrap_or_default();
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// Converts a server's answer to a call into the result of a tool, unless the server asks something
/// first.
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

/// Reads a result that has unknown kinds of content: known blocks stay as they are, others become text.
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
