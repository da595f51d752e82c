//! `get_tool_definition`: how a tool is called.

use narrows_engine::{search::DefinitionRequest, state::Agent};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, failure, parse, success},
};
use crate::mcp::Gateway;

pub(super) const TOOL: OwnTool = OwnTool {
    name: "get_tool_definition",
    purpose: Purpose::Lookup,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "get_tool_definition",
        "title": "Show a tool",
        "description":
            "A tool's signature and types. Example: {\"name\": \"github.create_issue\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "server": {"type": "string"},
                "raw": {"type": "boolean", "description": "the JSON schema instead"},
            },
            "required": ["name"],
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { gateway, agent, arguments, .. } = request;
    ClientResult::definitions(define(&gateway, &agent, arguments).await, &agent).await
}

async fn define(gateway: &Gateway, agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    if !arguments.contains_key("name") {
        return failure("\"name\" is missing; say which tool, as in github.create_issue");
    }
    let request = match parse::<DefinitionRequest>(arguments) {
        Ok(request) => request,
        Err(mistake) => return failure(mistake),
    };
    match gateway.discovery().define(&request, agent).await {
        Ok(Value::String(definition)) => success(definition),
        Ok(raw) => success(raw.to_string()),
        Err(error) => failure(error.to_string()),
    }
}
