//! `sanitize_pii`: tokens in the place of personal data.

use narrows_engine::state::Agent;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};

use super::{
    OwnTool, Purpose, ToolRequest,
    result::{ClientResult, Exemption, failure},
    text_or_data::{self, TextOrData},
};

pub(super) const TOOL: OwnTool = OwnTool {
    name: "sanitize_pii",
    purpose: Purpose::Privacy,
    definition,
    handler: |request| Box::pin(call(request)),
};

fn definition() -> Value {
    text_or_data::definition(
        TOOL.name,
        "Hide personal data",
        "Put tokens in the place of personal data. \
         Example: {\"text\": \"Write to a@example.com\"}",
    )
}

async fn call(request: ToolRequest) -> ClientResult {
    let ToolRequest { agent, arguments, .. } = request;
    ClientResult::exempt(sanitize(&agent, arguments).await, Exemption::Sanitized)
}

async fn sanitize(agent: &Agent, arguments: Map<String, Value>) -> CallToolResult {
    match TextOrData::parse(arguments) {
        Ok(value) => {
            let sanitize = |value: &mut Value| agent.pii_filter().sanitize_json(value);
            TextOrData::result(agent, value, sanitize).await
        }
        Err(mistake) => failure(mistake),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, mpsc},
        time::Duration,
    };

    use narrows_engine::compute::ALWAYS_APART;
    use narrows_model::Principal;
    use serde_json::json;

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
