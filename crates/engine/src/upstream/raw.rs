//! Keeps the tool definitions as the server wrote them. rmcp's models know the fields of the
//! specification and drop the rest, and what a server adds (annotations of its own, execution
//! hints) must reach those who can use it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::model::Tool;
use serde_json::Value;

/// Listens on a transport for answers to `tools/list`.
#[derive(Clone, Debug, Default)]
pub(super) struct RawTools(Arc<Mutex<HashMap<String, Value>>>);

impl RawTools {
    /// Looks at a message as it came.
    pub(super) fn see(&self, message: &[u8]) {
        // Most messages are no tool lists, and parsing them twice would cost.
        if !contains(message, b"\"inputSchema\"") {
            return;
        }
        let Ok(mut message) = serde_json::from_slice::<Value>(message) else { return };
        let Some(Value::Array(tools)) = message.pointer_mut("/result/tools").map(Value::take)
        else {
            return;
        };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            if let Some(name) = tool.get("name").and_then(Value::as_str) {
                seen.insert(name.to_owned(), tool);
            }
        }
    }

    /// The definition of a tool as its server wrote it.
    pub(super) fn of(&self, tool: &Tool) -> Value {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(tool.name.as_ref()) {
            Some(raw) => raw.clone(),
            None => serde_json::to_value(tool).unwrap_or_default(),
        }
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_that_the_models_do_not_know_are_kept() {
        let raw = json!({
            "name": "t", "inputSchema": {"type": "object", "z": 1, "a": 2},
            "annotations": {"x-own": true}, "execution": {"taskSupport": "optional"},
        });
        let tools = RawTools::default();
        tools.see(
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [raw]}}).to_string().as_bytes(),
        );
        let typed: Tool = serde_json::from_value(raw.clone()).unwrap();
        assert_ne!(serde_json::to_value(&typed).unwrap(), raw);
        assert_eq!(tools.of(&typed).to_string(), raw.to_string());
    }
}
