//! `get_execution_stats`: what runs cost, and what direct calls would have.

use narrows_engine::{compute::ALWAYS_APART, state::Agent};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, success_with_data},
};
use crate::{mcp::Gateway, stats};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "get_execution_stats",
    purpose: Purpose::Lookup,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": "get_execution_stats",
        "title": "Show token savings",
        "description": "Runs, tool calls, and tokens seen compared with direct calls. Example: {}",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { gateway, agent, .. } = request;
    ClientResult::protect(count(&gateway, &agent).await, &agent).await
}

async fn count(gateway: &Gateway, agent: &Agent) -> CallToolResult {
    // What was answered just now is counted first.
    let counting = || (gateway.token_stats.here(), gateway.token_stats.all());
    let (here, all) = agent.compute(ALWAYS_APART, counting).await;
    let text = format!("{}\n\n{}", stats::table("this gateway", &here), stats::table("all", &all));
    success_with_data(text, json!({"here": stats::json(&here), "all": stats::json(&all)}))
}
