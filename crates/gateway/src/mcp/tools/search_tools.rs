//! `search_tools`: finds tools to call.

use narrows_engine::{search::SearchRequest, state::Agent};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, failure, parse, success},
};
use crate::mcp::Gateway;

pub(super) const TOOL: OwnTool = OwnTool {
    name: "search_tools",
    purpose: Purpose::Lookup,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "search_tools",
        "title": "Find tools",
        "description": "Find tools to call from execute_code; without query, list servers. \
                        Example: {\"query\": \"create issue\"}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "detail_level": {"enum": ["name_only", "with_description", "full"]},
                "limit": {"type": "integer"},
                "server": {"type": "string"},
                "category": {"type": "string"},
            },
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { gateway, agent, arguments, .. } = request;
    ClientResult::definitions(search(&gateway, &agent, arguments).await, &agent).await
}

async fn search(gateway: &Gateway, agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    match parse::<SearchRequest>(arguments) {
        Ok(request) => success(gateway.discovery().search(&request, agent).await.text()),
        Err(mistake) => failure(mistake),
    }
}
