//! The tools for personal data: tokens in its place, and back.

use std::sync::Arc;

use narrows_engine::{state::Agent, upstream::Caller};
use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answers::{failed, read, told};

/// A text, or any JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    text: Option<String>,
    data: Option<Value>,
}

/// What is to be changed, and whether it was a text.
fn given(arguments: Map<String, Value>) -> Result<Value, String> {
    let Request { text, data } = read(arguments)?;
    match (text, data) {
        (Some(text), None) => Ok(Value::String(text)),
        (None, Some(data)) => Ok(data),
        _ => Err("give either \"text\" or \"data\"".to_owned()),
    }
}

fn answer(value: Value) -> CallToolResult {
    match value {
        Value::String(text) => told(text.clone(), json!({ "text": text })),
        data => told(data.to_string(), json!({ "data": data })),
    }
}

pub(super) fn sanitize(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    match given(arguments) {
        Ok(mut value) => {
            agent.shield().sanitize_json(&mut value);
            answer(value)
        }
        Err(mistake) => failed(mistake),
    }
}

/// For those who are named in the configuration; for others, a person is asked: the answer is read by
/// a model.
pub(super) async fn restore(
    agent: &Agent,
    arguments: Map<String, Value>,
    caller: Arc<dyn Caller>,
) -> CallToolResult {
    let value = match given(arguments.clone()) {
        Ok(value) => value,
        Err(mistake) => return failed(mistake),
    };
    if !agent.safety().may_restore(&agent.principal().name) {
        let level = match agent.level(None) {
            Ok(level) => level,
            Err(error) => return failed(error.to_string()),
        };
        if let Err(refusal) = agent.watch(level).confirm_restore(&arguments, &caller).await {
            return failed(refusal.to_string());
        }
    }
    match agent.restore(value).await {
        Ok(value) => answer(value),
        Err(error) => failed(error.to_string()),
    }
}
