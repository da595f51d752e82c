//! `read_workspace_file`: a file of the workspace, or a part of it.

use narrows_engine::{
    compute::ALWAYS_APART,
    state::{Agent, Encoding, FileContent, ReadRequest},
};
use narrows_policy::WorkspaceAccess;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, check_workspace, meta, or_failed, parse},
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "read_workspace_file",
    purpose: Purpose::Lasting,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "read_workspace_file",
        "title": "Read a file",
        "description": "A file of the workspace, 32768 bytes unless limit says more. \
                        Example: {\"path\": \"notes.md\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer"},
                "limit": {"type": "integer"},
                "encoding": {"enum": ["text", "base64"]},
            },
            "required": ["path"],
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { agent, arguments, .. } = request;
    ClientResult::protect(read(&agent, arguments).await, &agent).await
}

async fn read(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let request: ReadRequest = or_failed!(parse(arguments));
    or_failed!(check_workspace(agent, WorkspaceAccess::Read));
    // It reads from a disk, up to megabytes, and looks at all of it.
    let reading = || agent.read_file(&request, Some(&agent.pii_filter()));
    let file = or_failed!(agent.compute(ALWAYS_APART, reading).await);
    let about = about(&file);
    let FileContent { content, encoding, media_type, .. } = file;
    let next = about.get("next_offset").cloned();
    let is_whole = next.is_none() && about["offset"] == 0;
    let block = match (encoding, media_type.split('/').next()) {
        (Encoding::Text, _) => ContentBlock::text(content),
        (Encoding::Base64, Some("image")) if is_whole => ContentBlock::image(content, media_type),
        (Encoding::Base64, Some("audio")) if is_whole => ContentBlock::audio(content, media_type),
        (Encoding::Base64, _) => ContentBlock::text(content),
    };
    // First, for a client may cut the end.
    let more = next.map(|next| {
        let bytes = &about["bytes"];
        ContentBlock::text(format!("[of {bytes} bytes; the rest is from offset {next} on]"))
    });
    let mut result = CallToolResult::success(more.into_iter().chain([block]).collect());
    result.meta = meta("narrows/file", about);
    result
}

/// Returns all about a file but its content.
fn about(file: &FileContent) -> Value {
    let mut about = json!(file);
    if let Some(about) = about.as_object_mut() {
        about.remove("content");
    }
    about
}
