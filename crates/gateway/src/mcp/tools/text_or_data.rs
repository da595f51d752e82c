//! What the tools for personal data take and give: a text, or any JSON.

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::result::{parse, success_with_data};

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

    /// Returns the result that has the same form as the request.
    pub(super) fn result(value: Value) -> CallToolResult {
        match value {
            Value::String(text) => success_with_data(text.clone(), json!({ "text": text })),
            data => success_with_data(data.to_string(), json!({ "data": data })),
        }
    }
}
