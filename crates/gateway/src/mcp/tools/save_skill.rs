//! `save_skill`: Python that an agent keeps, to import it later.

use narrows_engine::{skills::SkillDraft, state::Agent};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, or_failed, parse, success_with_data},
};
use crate::mcp::Gateway;

pub(super) const TOOL: OwnTool = OwnTool {
    name: "save_skill",
    purpose: Purpose::Lasting,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "save_skill",
        "title": "Save a skill",
        "description": "Save Python as a skill: `from skills import NAME` imports the function \
                        NAME that it defines. Example: {\"name\": \"double\", \"code\": \
                        \"def double(n: int) -> int:\\n    return n * 2\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "code": {"type": "string"},
                "description": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["name", "code"],
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false},
    })
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { gateway, agent, arguments, .. } = request;
    ClientResult::protect(save(&gateway, &agent, arguments).await, &agent).await
}

async fn save(gateway: &Gateway, agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let draft: SkillDraft = or_failed!(parse(arguments));
    let saved = or_failed!(agent.save_skill(&gateway.broker, draft).await);
    let mut text = format!(
        "{} version {} of {}: from skills import {}",
        if saved.is_new { "saved" } else { "unchanged," },
        saved.version,
        saved.signature,
        saved.name
    );
    for (label, names) in [("tools", &saved.tools), ("tests", &saved.tests)] {
        if !names.is_empty() {
            text += &format!("\n{label}: {}", names.join(", "));
        }
    }
    for note in &saved.notes {
        text += &format!("\nnote: {note}");
    }
    let mut data = json!(saved);
    data["import"] = format!("from skills import {}", saved.name).into();
    success_with_data(text, data)
}
