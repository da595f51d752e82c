//! The one way to a tool.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequest,
    InputRequests, InputResponses, ListRootsResult, ServerResult,
};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{
    catalog::{Catalog, Tool, Unresolved},
    upstream::{Caller, Fleet, UpstreamError},
};

/// How often a server may ask something before it has to answer.
const MOST_QUESTIONS: usize = 16;

/// Why a call failed before the tool itself could.
#[derive(Clone, Debug, Error)]
pub enum CallError {
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error("{tool}: {mistakes}")]
    Arguments { tool: String, mistakes: String },
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
}

/// Finds tools, checks what they are given, and calls them.
#[derive(Clone, Debug)]
pub struct Broker {
    catalog: Arc<Catalog>,
    fleet: Arc<Fleet>,
}

impl Broker {
    pub fn new(catalog: Arc<Catalog>, fleet: Arc<Fleet>) -> Self {
        Self { catalog, fleet }
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    pub fn fleet(&self) -> &Arc<Fleet> {
        &self.fleet
    }

    /// The tool that a name means. Starts its server if the server's tools are not known.
    pub async fn find(&self, name: &str, server: Option<&str>) -> Result<Arc<Tool>, CallError> {
        match self.catalog.resolve(name, server) {
            Ok(tool) => Ok(tool),
            Err(Unresolved::NotListed(server)) => {
                self.fleet.start(&server).await?;
                Ok(self.catalog.resolve(name, Some(&server))?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Calls a tool and waits for its result.
    pub async fn call(
        &self,
        tool: &Tool,
        mut arguments: Map<String, Value>,
        caller: Arc<dyn Caller>,
    ) -> Result<CallToolResult, CallError> {
        self.check(tool, &mut arguments)?;
        Ok(self.send(tool, arguments, caller).await?)
    }

    /// Calls a tool for a client that sees it as it is: its server checks the arguments.
    pub async fn pass(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        caller: Arc<dyn Caller>,
    ) -> Result<CallToolResult, UpstreamError> {
        self.send(tool, arguments, caller).await
    }

    fn check(&self, tool: &Tool, arguments: &mut Map<String, Value>) -> Result<(), CallError> {
        tool.check(arguments).map_err(|mistakes| CallError::Arguments {
            tool: format!("{}.{}", tool.module, tool.name.python),
            mistakes,
        })
    }

    async fn send(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        caller: Arc<dyn Caller>,
    ) -> Result<CallToolResult, UpstreamError> {
        let server = &tool.id.server;
        let mut params = CallToolRequestParams::new(tool.id.tool.clone()).with_arguments(arguments);
        for _ in 0..MOST_QUESTIONS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            match self.fleet.request(server, request, Arc::clone(&caller)).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(question) => {
                    let asked = question.input_requests.unwrap_or_default();
                    params.input_responses = Some(answers(server, asked, caller.as_ref()).await?);
                    params.request_state = question.request_state;
                }
                // A result with a kind of content that the protocol layer does not know.
                ServerResult::CustomResult(result) => return Ok(of_unknown(result.0)),
                ServerResult::EmptyResult(_) => return Ok(CallToolResult::success(Vec::new())),
                _ => break,
            }
        }
        let method = format!("tools/call {}", tool.id.tool);
        Err(UpstreamError::Unexpected { server: server.clone(), method })
    }
}

/// Puts the questions of a server to the caller.
pub(crate) async fn answers(
    server: &str,
    questions: InputRequests,
    caller: &dyn Caller,
) -> Result<InputResponses, UpstreamError> {
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
        let refused = |error| UpstreamError::Refused { server: server.to_owned(), error };
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
