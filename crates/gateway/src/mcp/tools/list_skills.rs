//! `list_skills`: skills, all or those that fit a query.

use narrows_engine::{search::optional_query, skills::ListedSkill, state::Agent};
use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, or_failed, parse, success_with_data},
};
use crate::mcp::Gateway;

pub(super) const TOOL: OwnTool = OwnTool {
    name: "list_skills",
    purpose: Purpose::Lasting,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "list_skills",
        "title": "Find skills",
        "description": "Saved skills, all or by query. Example: {\"query\": \"high risk leads\"}",
        "inputSchema": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListRequest {
    #[serde(default, deserialize_with = "optional_query")]
    query: Option<String>,
    limit: Option<usize>,
    namespace: Option<String>,
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { gateway, agent, arguments, .. } = request;
    ClientResult::protect(list(&gateway, &agent, arguments).await, &agent).await
}

async fn list(gateway: &Gateway, agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let ListRequest { query, limit, namespace } = or_failed!(parse(arguments));
    let listed =
        agent.list_skills(&gateway.broker, query.as_deref(), namespace.as_deref(), limit).await;
    let listed = or_failed!(listed);
    let text = match (listed.is_empty(), &query) {
        (true, Some(query)) if !query.is_empty() => {
            format!("no skill fits {query:?}; without query all are listed")
        }
        (true, _) => "no skills are saved yet; save one with save_skill".to_owned(),
        _ => listed.iter().map(skill_line).collect::<Vec<_>>().join("\n"),
    };
    let note =
        if listed.is_empty() { text.as_str() } else { "from skills import NAME imports one" };
    let data = json!({ "notes": [note], "skills": listed });
    success_with_data(text, data)
}

/// Writes a skill as one line: `from skills import double # double(n: int) -> int: doubles a number`
fn skill_line(skill: &ListedSkill) -> String {
    let mut line = format!("from skills import {} # {}", skill.name, skill.signature);
    let description = skill.description.lines().next().unwrap_or_default();
    if !description.is_empty() {
        line += &format!(": {description}");
    }
    if !skill.changed.is_empty() {
        line += &format!(" (tools changed: {})", skill.changed.join("; "));
    }
    line
}
