//! The three classic workflows, done both ways: by a model that calls tools one by one, and by a
//! model that writes a program.

use anyhow::{Context, ensure};
use narrows_engine::{
    result_text,
    token_stats::{definition_text, tokens},
};
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult},
    service::RunningService,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) type DemoClient = RunningService<RoleClient, ()>;

/// A task, and how it is done either way.
pub(super) struct Workflow {
    pub(super) title: &'static str,
    pub(super) program: &'static str,
    /// The calls that a model without code makes, with the tool and its arguments.
    pub(super) calls: fn() -> Vec<(&'static str, Value)>,
}

pub(super) const WORKFLOWS: [Workflow; 3] = [
    Workflow {
        title: "Filter 10,000 rows to a summary",
        program: include_str!("programs/expenses.py"),
        calls: || vec![("get_expenses", json!({}))],
    },
    Workflow {
        title: "Several steps in one program",
        program: include_str!("programs/steps.py"),
        calls: || {
            let pages = (1..=5).map(|page| ("list_issues", json!({ "page": page })));
            pages
                .chain([("get_trips", json!({})), ("list_parks", json!({"state": "CA"}))])
                .collect()
        },
    },
    Workflow {
        title: "Wait for something in a loop",
        program: include_str!("programs/polling.py"),
        calls: || vec![("get_build", json!({"id": "b-7"})); 4],
    },
];

/// The result of a workflow, done both ways.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) title: &'static str,
    pub(super) program: &'static str,
    /// The answer that the model reads at the end.
    pub(super) answer: String,
    pub(super) tool_calls: usize,
    /// Tokens that pass through the model, as an estimate (o200k).
    pub(super) tokens_direct: u64,
    pub(super) tokens_narrows: u64,
    pub(super) milliseconds: f64,
}

impl Workflow {
    /// Runs the workflow both ways. `direct` is the server itself, `narrows` the gateway.
    pub(super) async fn compare(
        &self,
        direct: &DemoClient,
        narrows: &DemoClient,
    ) -> anyhow::Result<Comparison> {
        let mut tokens_direct = definition_tokens(direct).await?;
        let calls = (self.calls)();
        for (tool, arguments) in &calls {
            let result = call(direct, tool, arguments.clone()).await?;
            tokens_direct +=
                tokens(tool) + tokens(&arguments.to_string()) + tokens(&result_text(&result));
        }
        let start = std::time::Instant::now();
        let result = call(narrows, "execute_code", json!({ "code": self.program })).await?;
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        let answer = result_text(&result).into_owned();
        ensure!(result.is_error != Some(true), "the demo's program failed: {answer}");
        let tokens_narrows =
            definition_tokens(narrows).await? + tokens(self.program) + tokens(&answer);
        Ok(Comparison {
            title: self.title,
            program: self.program,
            answer,
            tool_calls: calls.len(),
            tokens_direct,
            tokens_narrows,
            milliseconds,
        })
    }
}

async fn call(client: &DemoClient, tool: &str, arguments: Value) -> anyhow::Result<CallToolResult> {
    let arguments: Map<String, Value> =
        serde_json::from_value(arguments).context("arguments are an object")?;
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    Ok(client.call_tool(params).await?)
}

/// Counts the tokens of the definitions of a server's tools, which a model reads with every request.
async fn definition_tokens(client: &DemoClient) -> anyhow::Result<u64> {
    let tools = client.list_all_tools().await?;
    let mut sum = 0;
    for tool in tools {
        let raw = serde_json::to_value(&tool)?;
        sum += tokens(&definition_text(&tool.name, &raw));
    }
    Ok(sum)
}
