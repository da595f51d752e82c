//! Arguments and results of the tools for personal data: a text, or any JSON.

use narrows_engine::{compute::json_bytes, state::Agent};
use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::result::{parse, success_with_data};

/// Writes the definition of a tool that takes a text or JSON and returns it transformed.
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

    /// Transforms a value within the agent's share of processors, and returns the result in the form of
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
