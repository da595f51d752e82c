//! `list_workspace_files`: files of the workspace, all or by a pattern.

use narrows_engine::state::{Agent, StateError};
use narrows_policy::WorkspaceAccess;
use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, check_workspace, or_failed, parse, success_with_data},
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "list_workspace_files",
    purpose: Purpose::Lasting,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "list_workspace_files",
        "title": "List files",
        "description": "Files of the workspace. Example: {\"pattern\": \"*.csv\"}",
        "inputSchema": {"type": "object", "properties": {"pattern": {"type": "string"}}},
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesRequest {
    #[serde(alias = "glob", alias = "path")]
    pattern: Option<String>,
    limit: Option<usize>,
    namespace: Option<String>,
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { agent, arguments, .. } = request;
    ClientResult::protect(list(&agent, arguments).await, &agent).await
}

async fn list(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let FilesRequest { pattern, limit, namespace } = or_failed!(parse(arguments));
    or_failed!(check_workspace(agent, WorkspaceAccess::Read));
    let listed: Result<_, StateError> =
        agent.list_files(pattern.as_deref(), namespace.as_deref(), limit).await;
    let (files, total) = or_failed!(listed);
    let mut lines: Vec<String> = files
        .iter()
        .map(|file| {
            let place = file.elsewhere.as_ref().map_or(String::new(), |at| format!(" (on {at})"));
            format!("{}  {} bytes{place}", file.path, file.bytes)
        })
        .collect();
    let note = match (files.is_empty(), total - files.len()) {
        (true, _) => Some("no files".to_owned()),
        (false, 0) => None,
        (false, more) => Some(format!("and {more} more; name a pattern")),
    };
    let mut data = json!({ "files": files, "total": total });
    if let Some(note) = note {
        data["notes"] = json!([note]);
        lines.push(note);
    }
    success_with_data(lines.join("\n"), data)
}
