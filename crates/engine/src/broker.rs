//! The one way to a tool.

mod in_flight;

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequest,
        InputRequests, InputResponses, ListRootsResult, ServerResult,
    },
};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::time::Instant;

use crate::{
    catalog::{Catalog, Missing, Tool, Unresolved},
    compute::ALWAYS_APART,
    safety::{CallTarget, RunGuard},
    state::Agent,
    upstream::{Caller, Fleet, Held, MAX_QUESTIONS, UpstreamError, UpstreamReply},
};

use in_flight::Writes;

pub use in_flight::MAX_WRITE_TIME;

/// How long after its start the gateway waits for servers before it says what it knows.
const LEARNING_TIME: Duration = Duration::from_secs(5);

/// Why a call failed before the tool itself could.
#[derive(Clone, Debug, Error)]
pub enum CallError {
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error("{tool}: {mistakes}")]
    Arguments { tool: String, mistakes: String },
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
}

impl CallError {
    /// Whether the message has words of a server in it: its own, or those of its definitions.
    pub(crate) fn quotes_server(&self) -> bool {
        match self {
            Self::Arguments { .. } => true,
            Self::Upstream(error) => error.quotes().is_some(),
            Self::Unresolved(_) | Self::Refused(_) => false,
        }
    }
}

/// Finds tools, checks what they are given, and calls them.
#[derive(Clone, Debug)]
pub struct Broker {
    catalog: Arc<Catalog>,
    fleet: Arc<Fleet>,
    born: Instant,
    writes: Writes,
}

/// What a tool gave.
#[derive(Debug)]
pub struct Called {
    pub result: CallToolResult,
    /// Its memory, until it was used.
    pub held: Held,
}

impl Broker {
    pub fn new(catalog: Arc<Catalog>, fleet: Arc<Fleet>) -> Self {
        Self { catalog, fleet, born: Instant::now(), writes: Writes::default() }
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    pub fn fleet(&self) -> &Arc<Fleet> {
        &self.fleet
    }

    /// The tool that a name means, or what may have been meant. Starts its server if the server's tools
    /// are not known.
    pub async fn find(&self, name: &str, server: Option<&str>) -> Result<Arc<Tool>, CallError> {
        let found = self.find_exactly(name, server).await?;
        found.map_err(|missing| self.catalog.advise(missing).into())
    }

    /// As [`Self::find`], for an agent: what it may have meant is found without holding up others.
    pub(crate) async fn find_for(
        &self,
        name: &str,
        server: Option<&str>,
        agent: &Agent,
    ) -> Result<Arc<Tool>, CallError> {
        let missing = match self.find_exactly(name, server).await? {
            Ok(tool) => return Ok(tool),
            Err(missing) => missing,
        };
        // A program can ask for one wrong name after the other, of thousands of tools.
        let unresolved = agent.compute(ALWAYS_APART, || self.catalog.advise(missing)).await;
        Err(unresolved.into())
    }

    /// As [`Self::find`], without what may have been meant.
    pub(crate) async fn find_exactly(
        &self,
        name: &str,
        server: Option<&str>,
    ) -> Result<Result<Arc<Tool>, Missing>, UpstreamError> {
        let missing = match self.catalog.find(name, server) {
            Ok(tool) => return Ok(Ok(tool)),
            Err(missing) => missing,
        };
        Ok(match missing {
            Missing::NotListed(server) => {
                self.fleet.start(&server).await?;
                self.catalog.find(name, Some(&server))
            }
            // It may be newer than what is known.
            Missing::Tool { server, .. } => {
                self.fleet.refresh(&server.server).await;
                self.catalog.find(name, Some(&server.server))
            }
            // Its server may not have said yet what it has.
            Missing::ToolAnywhere(_) => {
                self.learn().await;
                self.catalog.find(name, server)
            }
            other => Err(other),
        })
    }

    /// Calls a tool for a run, and waits for its result.
    pub async fn call(
        &self,
        guard: &Arc<RunGuard>,
        tool: &Arc<Tool>,
        arguments: Map<String, Value>,
        caller: Arc<dyn Caller>,
    ) -> Result<Called, CallError> {
        let target = CallTarget::from(&**tool);
        let mut admitted = guard.authorize(target, arguments, &caller).await?;
        let arguments = std::mem::take(&mut admitted.arguments);
        // Before it counts as a write under way, which a client that leaves does not break off.
        let arguments = checked(guard.agent(), tool, arguments).await;
        let (broker, guard, tool) = (self.clone(), Arc::clone(guard), Arc::clone(tool));
        let called_for = Arc::clone(&caller);
        self.complete(target, &caller, async move {
            let called = match arguments {
                Ok(arguments) => {
                    broker.send(&tool, arguments, called_for).await.map_err(CallError::from)
                }
                Err(wrong) => Err(wrong),
            };
            let (result, held) = match called {
                Ok(Called { result, held }) => (Ok(result), held),
                Err(error) => (Err(error), Held::default()),
            };
            let result = guard.complete(admitted, CallTarget::from(&*tool), result).await?;
            Ok(Called { result, held })
        })
        .await
    }

    /// Makes a call that was admitted, together with what is written down of it. If the client leaves
    /// meanwhile, one that reads is given up, and one that may change something goes on to its end, for
    /// at most [`MAX_WRITE_TIME`].
    pub async fn complete<T: Send + 'static>(
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

    /// How many calls are under way that may change something.
    pub fn writes_in_flight(&self) -> usize {
        self.writes.count()
    }

    /// Waits for calls that may change something, but no longer than they may go on without a client.
    /// For those who end: they have to do so before the servers end.
    pub async fn finish_writes(&self) {
        let _ = tokio::time::timeout(MAX_WRITE_TIME, self.writes.ended()).await;
    }

    /// Sends a request for a client that sees the server as it is, and puts to the client what
    /// the server asks before it answers.
    pub async fn pass(
        &self,
        server: &str,
        mut request: ClientRequest,
        caller: Arc<dyn Caller>,
    ) -> Result<UpstreamReply, UpstreamError> {
        for _ in 0..MAX_QUESTIONS {
            let asked = self.fleet.request(server, request.clone(), Arc::clone(&caller)).await?;
            let UpstreamReply { result, held } = asked;
            let ServerResult::InputRequiredResult(question) = result else {
                return Ok(UpstreamReply { result, held });
            };
            let questions = question.input_requests.unwrap_or_default();
            let answers = Some(answers(server, questions, caller.as_ref()).await?);
            let state = question.request_state;
            let (responses, request_state) = match &mut request {
                ClientRequest::CallToolRequest(call) => {
                    (&mut call.params.input_responses, &mut call.params.request_state)
                }
                ClientRequest::GetPromptRequest(get) => {
                    (&mut get.params.input_responses, &mut get.params.request_state)
                }
                ClientRequest::ReadResourceRequest(read) => {
                    (&mut read.params.input_responses, &mut read.params.request_state)
                }
                _ => break,
            };
            (*responses, *request_state) = (answers, state);
        }
        let method = request.method().to_owned();
        Err(UpstreamError::Unexpected { server: server.to_owned(), method })
    }

    async fn send(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        caller: Arc<dyn Caller>,
    ) -> Result<Called, UpstreamError> {
        let server = &tool.id.server;
        let params = CallToolRequestParams::new(tool.id.tool.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let UpstreamReply { result, held } = self.pass(server, request, caller).await?;
        let result = match result {
            ServerResult::CallToolResult(result) => result,
            // A result with a kind of content that the protocol layer does not know.
            ServerResult::CustomResult(result) => of_unknown(result.0),
            ServerResult::EmptyResult(_) => CallToolResult::success(Vec::new()),
            _ => {
                let method = format!("tools/call {}", tool.id.tool);
                return Err(UpstreamError::Unexpected { server: server.clone(), method });
            }
        };
        Ok(Called { result, held })
    }

    /// Waits for servers whose tools are not known yet, but no longer than a moment after the
    /// start of the gateway: a server that hangs must not make every search wait.
    pub async fn learn(&self) {
        let unknown = self.catalog.modules().keys();
        let unknown = unknown.filter(|server| self.catalog.listing(server).is_none());
        let starting = futures::future::join_all(unknown.map(|server| self.fleet.start(server)));
        let _ = tokio::time::timeout_at(self.born + LEARNING_TIME, starting).await;
    }
}

/// Checks the arguments of a call. A server's schema and the call itself decide how long that takes, and
/// how long it takes to say what is wrong: it counts for the agent who calls, and others do not wait for
/// it.
async fn checked(
    agent: &Agent,
    tool: &Tool,
    mut arguments: Map<String, Value>,
) -> Result<Map<String, Value>, CallError> {
    if tool.fits_at_once(&mut arguments) {
        return Ok(arguments);
    }
    let checked = agent.compute(ALWAYS_APART, || tool.check(&mut arguments)).await;
    let wrong = |mistakes| {
        let tool = format!("{}.{}", tool.module, tool.name.python);
        CallError::Arguments { tool, mistakes }
    };
    checked.map(|()| arguments).map_err(wrong)
}

/// Puts the questions of a server to the caller.
pub(crate) async fn answers(
    server: &str,
    questions: InputRequests,
    caller: &dyn Caller,
) -> Result<InputResponses, UpstreamError> {
    if questions.len() > MAX_QUESTIONS {
        let asked = questions.len();
        let message = format!("it asks {asked} questions at once, and {MAX_QUESTIONS} is the most");
        let error = Box::new(ErrorData::invalid_request(message, None));
        return Err(UpstreamError::Refused { server: server.to_owned(), error });
    }
    let mut answers = InputResponses::new();
    for (key, question) in questions {
        let answer = match question {
            InputRequest::Elicitation(request) => {
                caller.elicit(server, request.params).await.map(|answer| to_value(&answer))
            }
            InputRequest::CreateMessage(request) => {
                caller.sample(server, request.params).await.map(|answer| to_value(&answer))
            }
            _ => Ok(to_value(&ListRootsResult::default())),
        };
        let refused =
            |error| UpstreamError::Refused { server: server.to_owned(), error: Box::new(error) };
        answers.insert(key, answer.map_err(refused)?);
    }
    Ok(answers)
}

fn to_value(answer: &impl serde::Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}

/// Content blocks that are known stay as they are; the others become text.
fn of_unknown(result: Value) -> CallToolResult {
    let blocks = result.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let blocks = blocks.into_iter().map(|block| {
        serde_json::from_value(block.clone())
            .unwrap_or_else(|_| rmcp::model::ContentBlock::text(block.to_string()))
    });
    let mut known = CallToolResult::success(blocks.collect());
    known.structured_content = result.get("structuredContent").cloned();
    known.is_error = result.get("isError").and_then(Value::as_bool);
    if known.content.is_empty() && known.structured_content.is_none() {
        known.structured_content = Some(result);
    }
    known
}

#[cfg(test)]
pub(crate) mod tests;
