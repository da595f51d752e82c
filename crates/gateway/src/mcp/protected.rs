//! What may be sent to a client: a type that is made of what was protected, and of nothing else.

use narrows_engine::{Analyzed, Finished, Refusal, compute::json_bytes, state::Agent};
use rmcp::model::CallToolResult;
use serde_json::json;

use super::{
    answers::{failed, told},
    outcome,
    own_tools::OwnTool,
};

/// The result of one of our own tools.
#[derive(Debug)]
pub(super) struct ClientResult(CallToolResult);

/// Why a result is sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exemption {
    /// Definitions of tools are public, and the guide has protected what it says of skills.
    Definitions,
    /// It was just protected, whatever the mode is.
    Sanitized,
    /// Somebody with the right to know asked what tokens stand for.
    Restored,
}

impl ClientResult {
    /// What came of a program.
    pub(super) fn finished(finished: Finished, tool: OwnTool) -> Self {
        let (outcome, shown) = finished.into_parts();
        Self(outcome::answer(outcome, shown, tool))
    }

    pub(super) fn analyzed(analyzed: Analyzed) -> Self {
        let (text, structured, notes) = analyzed.into_parts();
        let mut data = json!({"success": true, "result": structured});
        if !notes.is_empty() {
            data["notes"] = json!(notes);
        }
        Self(told(text, data))
    }

    /// Puts tokens in the place of personal data.
    pub(super) async fn protect(mut result: CallToolResult, agent: &Agent) -> Self {
        let bytes = json_bytes(&result);
        agent.compute(bytes, || agent.shield().result(&mut result)).await;
        Self(result)
    }

    pub(super) fn exempt(result: CallToolResult, _because: Exemption) -> Self {
        Self(result)
    }

    pub(super) fn into_inner(self) -> CallToolResult {
        self.0
    }
}

impl From<Refusal> for ClientResult {
    fn from(refusal: Refusal) -> Self {
        Self(failed(refusal.to_string()))
    }
}
