//! `load_skill`: the code of a skill.

use narrows_engine::state::Agent;
use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, meta, or_failed, parse, success},
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "load_skill",
    purpose: Purpose::Lasting,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "load_skill",
        "title": "Show a skill",
        "description": "The code of a skill. Example: {\"name\": \"double\"}",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "version": {"type": "integer"}},
            "required": ["name"],
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadRequest {
    name: String,
    version: Option<i64>,
    namespace: Option<String>,
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { agent, arguments, .. } = request;
    ClientResult::protect(load(&agent, arguments).await, &agent).await
}

async fn load(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let LoadRequest { name, version, namespace } = or_failed!(parse(arguments));
    let skill = or_failed!(agent.load_skill(&name, version, namespace.as_deref()).await);
    let about = json!({
        "name": skill.head.name,
        "version": skill.head.version,
        "signature": skill.head.signature,
        "description": skill.head.description,
        "tags": skill.head.tags,
    });
    let mut result = success(skill.code);
    result.meta = meta("narrows/skill", about);
    result
}
