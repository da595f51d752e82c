//! `restore_pii`: what tokens stand for, where that is allowed.

use std::sync::Arc;

use narrows_engine::state::Agent;
use narrows_upstream::Caller;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, Exemption, failure},
    text_or_data::{self, TextOrData},
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "restore_pii",
    purpose: Purpose::Privacy,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    text_or_data::definition(
        TOOL.name,
        "Show personal data",
        "What tokens stand for, where that is allowed. \
         Example: {\"text\": \"Write to [EMAIL_abc]\"}",
    )
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { agent, arguments, client, .. } = request;
    ClientResult::exempt(restore(&agent, arguments, client).await, Exemption::Restored)
}

/// Restores values for agents that the configuration names. For all others a person is asked, because a
/// model reads the answer.
async fn restore(
    agent: &Agent,
    arguments: Map<String, Value>,
    caller: Arc<dyn Caller>,
) -> CallToolResult {
    let value = match TextOrData::parse(arguments.clone()) {
        Ok(value) => value,
        Err(mistake) => return failure(mistake),
    };
    if !agent.safety().may_restore(&agent.principal().name) {
        let level = match agent.level(None) {
            Ok(level) => level,
            Err(error) => return failure(error.to_string()),
        };
        if let Err(refusal) = agent.guard(level).confirm_restore(&arguments, &caller).await {
            return failure(refusal.to_string());
        }
    }
    match agent.restore(value).await {
        Ok(value) => TextOrData::result(agent, value, |_| {}).await,
        Err(error) => failure(error.to_string()),
    }
}
