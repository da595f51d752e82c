//! Puts to the caller what a server asks before it answers.

use std::sync::Arc;

use narrows_upstream::{Caller, MAX_QUESTIONS, UpstreamError, UpstreamReply};
use rmcp::{
    ErrorData,
    model::{
        ClientRequest, InputRequest, InputRequests, InputResponses, ListRootsResult, ServerResult,
    },
};
use serde_json::Value;

use super::Broker;

impl Broker {
    /// Sends a request. If the server asks something before it answers, puts that to the caller and
    /// sends the request again with the answers.
    pub(super) async fn request_answering(
        &self,
        server: &str,
        mut request: ClientRequest,
        caller: Arc<dyn Caller>,
    ) -> Result<UpstreamReply, UpstreamError> {
        for _ in 0..MAX_QUESTIONS {
            let asked = self.fleet().request(server, request.clone(), Arc::clone(&caller)).await?;
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
}

/// Puts the questions of a server to the caller, and collects the answers.
async fn answers(
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
