//! The tools for personal data: tokens in its place, and back.

use std::sync::Arc;

use narrows_engine::{compute::json_bytes, state::Agent, upstream::Caller};
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

pub(super) async fn sanitize(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let mut value = match given(arguments) {
        Ok(value) => value,
        Err(mistake) => return failed(mistake),
    };
    let bytes = json_bytes(&value);
    let sanitizing = || {
        agent.shield().sanitize_json(&mut value);
        answer(value)
    };
    agent.compute(bytes, sanitizing).await
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
        Ok(value) => agent.compute(json_bytes(&value), || answer(value)).await,
        Err(error) => failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use narrows_engine::compute::ALWAYS_APART;
    use narrows_model::Principal;

    use super::*;
    use crate::{
        app,
        config::{Config, Places},
    };

    const LONG: Duration = Duration::from_secs(300);

    /// What one agent has begun must not keep others waiting, nor its own small requests.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_large_text_waits_for_a_place_of_its_agent_and_a_small_one_does_not() {
        let home = tempfile::tempdir().unwrap();
        let state = app::state(&Places::below(home.path()), &Config::default()).unwrap();
        let agent = |name: &str| state.agent(Arc::new(Principal::new(name.to_owned(), name)));
        let (ada, eve) = (agent("ada"), agent("eve"));
        // As many as one agent may do at once.
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let mut ends = Vec::new();
        for _ in 0..(cores.max(2) / 2) {
            let (end, ended) = mpsc::channel::<()>();
            let (begin, begun) = tokio::sync::oneshot::channel();
            let ada = ada.clone();
            let working = async move {
                let work = move || {
                    let _ = begin.send(());
                    ended.recv_timeout(LONG)
                };
                _ = ada.compute(ALWAYS_APART, work).await;
            };
            ends.push((end, tokio::spawn(working)));
            begun.await.unwrap();
        }
        let text = |times: usize| json!({"text": "mail ada@example.com ".repeat(times)});
        let arguments = |times: usize| text(times).as_object().unwrap().clone();
        let mut large = Box::pin(sanitize(&ada, arguments(1_000)));
        assert!(futures::poll!(&mut large).is_pending());
        let small = sanitize(&ada, arguments(1)).await;
        assert!(small.structured_content.unwrap().to_string().contains("[EMAIL_"));
        sanitize(&eve, arguments(1_000)).await;
        for (end, working) in ends {
            drop(end);
            working.await.unwrap();
        }
        let large = large.await;
        assert!(!large.structured_content.unwrap().to_string().contains("ada@example.com"));
    }
}
