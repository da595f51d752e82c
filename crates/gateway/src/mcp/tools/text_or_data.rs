//! What the tools for personal data take and give: a text, or any JSON.

use narrows_engine::{compute::json_bytes, state::Agent};
use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::result::{parse, success_with_data};

/// Defines a tool that takes one and gives it back with something done to it.
pub(super) fn definition(name: &str, title: &str, description: &str) -> Value {
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "data": {"description": "or any JSON"}},
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextOrData {
    text: Option<String>,
    data: Option<Value>,
}

impl TextOrData {
    pub(super) fn parse(arguments: Map<String, Value>) -> Result<Value, String> {
        let Self { text, data } = parse(arguments)?;
        match (text, data) {
            (Some(text), None) => Ok(Value::String(text)),
            (None, Some(data)) => Ok(data),
            _ => Err("give either \"text\" or \"data\"".to_owned()),
        }
    }

    /// Changes a value within the share of an agent, and returns the result that has the same form as
    /// the request.
    pub(super) async fn result(
        agent: &Agent,
        mut value: Value,
        change: impl FnOnce(&mut Value) + Send,
    ) -> CallToolResult {
        let bytes = json_bytes(&value);
        let changing = || {
            change(&mut value);
            match value {
                Value::String(text) => success_with_data(text.clone(), json!({ "text": text })),
                data => success_with_data(data.to_string(), json!({ "data": data })),
            }
        };
        agent.compute(bytes, changing).await
    }
}
