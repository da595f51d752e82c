//! `sanitize_pii`: tokens in the place of personal data.

use narrows_engine::{compute::json_bytes, state::Agent};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, Exemption, failure},
    text_or_data::TextOrData,
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "sanitize_pii",
    purpose: Purpose::Privacy,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    json!({
        "name": TOOL.name,
        "title": "Hide personal data",
        "description": "Put tokens in the place of personal data. \
                        Example: {\"text\": \"Write to a@example.com\"}",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "data": {"description": "or any JSON"}},
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { agent, arguments, .. } = request;
    ClientResult::exempt(sanitize(&agent, arguments).await, Exemption::Sanitized)
}

async fn sanitize(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    let mut value = match TextOrData::parse(arguments) {
        Ok(value) => value,
        Err(mistake) => return failure(mistake),
    };
    let bytes = json_bytes(&value);
    let sanitizing = || {
        agent.pii_filter().sanitize_json(&mut value);
        TextOrData::result(value)
    };
    agent.compute(bytes, sanitizing).await
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, mpsc},
        time::Duration,
    };

    use narrows_engine::compute::ALWAYS_APART;
    use narrows_model::Principal;

    use super::*;
    use crate::{
        app,
        config::{AppDirs, Config},
    };

    const LONG: Duration = Duration::from_secs(300);

    /// What one agent has begun must not keep others waiting, nor its own small requests.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_large_text_waits_for_a_place_of_its_agent_and_a_small_one_does_not() {
        let home = tempfile::tempdir().unwrap();
        let state = app::state(&AppDirs::below(home.path()), &Config::default()).unwrap();
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
