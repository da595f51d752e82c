//! Keeps tool definitions as the server wrote them. rmcp's models know the fields of the
//! specification and drop the rest, and what a server adds (annotations of its own, execution
//! hints) must reach those who can use it. They also refuse a whole list for one tool in it that
//! lacks a field.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// A tap on the transport that keeps the answer to `tools/list` while one is awaited: what a server
/// sends unasked is not kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawTools(Arc<Mutex<PageState>>);

#[derive(Debug, Default)]
struct PageState {
    is_awaited: bool,
    page: Option<RawPage>,
}

/// One page of a list, as it came.
#[derive(Debug, Default)]
pub(crate) struct RawPage {
    pub(crate) tools: Vec<Value>,
    pub(crate) next_cursor: Option<String>,
}

impl RawTools {
    fn state(&self) -> std::sync::MutexGuard<'_, PageState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to wait for a page.
    pub(crate) fn expect(&self) {
        *self.state() = PageState { is_awaited: true, page: None };
    }

    /// Looks at a message as it came, and keeps its tools if a page is awaited.
    pub(crate) fn see(&self, message: &[u8]) {
        // Most messages are no tool lists, and parsing them twice would cost.
        if !self.state().is_awaited || !contains(message, b"\"tools\"") {
            return;
        }
        let Ok(mut message) = serde_json::from_slice::<Value>(message) else { return };
        let Some(result) = message.get_mut("result") else { return };
        let Some(Value::Array(tools)) = result.get_mut("tools").map(Value::take) else { return };
        let next_cursor = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        self.state().page = Some(RawPage { tools, next_cursor });
    }

    /// Takes the page that came, after which none is awaited.
    pub(crate) fn take(&self) -> Option<RawPage> {
        std::mem::take(&mut *self.state()).page
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(tool: &Value) -> Vec<u8> {
        let result = json!({"tools": [tool], "nextCursor": "2"});
        json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string().into_bytes()
    }

    #[test]
    fn fields_that_the_models_do_not_know_are_kept() {
        let tool = json!({
            "name": "t", "inputSchema": {"type": "object", "z": 1, "a": 2},
            "annotations": {"x-own": true}, "execution": {"taskSupport": "optional"},
        });
        let typed: rmcp::model::Tool = serde_json::from_value(tool.clone()).unwrap();
        assert_ne!(serde_json::to_value(&typed).unwrap(), tool);
        let raw = RawTools::default();
        raw.expect();
        raw.see(&answer(&tool));
        let page = raw.take().unwrap();
        assert_eq!(page.tools[0].to_string(), tool.to_string());
        assert_eq!(page.next_cursor.as_deref(), Some("2"));
    }

    #[test]
    fn lists_that_nobody_asked_for_are_not_kept() {
        let raw = RawTools::default();
        raw.see(&answer(&json!({"name": "unasked"})));
        assert!(raw.take().is_none());
        // Nor do several answers to one question add up.
        raw.expect();
        for name in ["first", "second"] {
            raw.see(&answer(&json!({"name": name})));
        }
        assert_eq!(raw.take().unwrap().tools, [json!({"name": "second"})]);
        raw.see(&answer(&json!({"name": "late"})));
        assert!(raw.take().is_none());
    }
}
