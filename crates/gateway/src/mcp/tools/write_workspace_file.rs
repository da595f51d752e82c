//! `write_workspace_file`: a file that programs see.

use base64::{Engine, prelude::BASE64_STANDARD};
use narrows_engine::{
    compute::json_bytes,
    state::{Agent, Encoding},
};
use narrows_policy::WorkspaceAccess;
use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, check_workspace, or_failed, parse, success_with_data},
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "write_workspace_file",
    purpose: Purpose::Lasting,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "write_workspace_file",
        "title": "Write a file",
        "description": "Write a file that code sees as /workspace/PATH. \
                        Example: {\"path\": \"notes.md\", \"content\": \"text\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "content": {"type": "string"},
                "encoding": {"enum": ["text", "base64"]},
            },
            "required": ["path", "content"],
        },
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteRequest {
    path: String,
    content: Value,
    encoding: Option<Encoding>,
    namespace: Option<String>,
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { agent, arguments, .. } = request;
    ClientResult::protect(write(&agent, arguments).await, &agent).await
}

async fn write(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let WriteRequest { path, content, encoding, namespace } = or_failed!(parse(arguments));
    or_failed!(check_workspace(agent, WorkspaceAccess::Write));
    let size = json_bytes(&content);
    let bytes = or_failed!(agent.compute(size, || bytes_of(content, encoding)).await);
    let written = or_failed!(agent.write_file(&path, &bytes, namespace.as_deref()).await);
    let text = format!("wrote {} bytes to /workspace/{}", written.bytes, written.path);
    success_with_data(text, json!(written))
}

/// Converts the content argument into the bytes of the file. JSON that is not a string is written as
/// text.
fn bytes_of(content: Value, encoding: Option<Encoding>) -> Result<Vec<u8>, String> {
    match (content, encoding) {
        (Value::String(text), Some(Encoding::Base64)) => BASE64_STANDARD
            .decode(text.trim())
            .map_err(|error| format!("\"content\" is not base64: {error}")),
        (Value::String(text), _) => Ok(text.into_bytes()),
        (_, Some(Encoding::Base64)) => Err("\"content\" is not a string of base64".into()),
        (data, _) => serde_json::to_vec_pretty(&data).map_err(|error| error.to_string()),
    }
}
