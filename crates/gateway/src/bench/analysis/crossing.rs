//! Measures how long rows of a program in the sandbox take to reach its host and to become a table
//! there.

use std::time::Duration;

use anyhow::Context;
use futures::future::BoxFuture;
use narrows_analysis::{Analysis, AnalysisType, Input, Output, Request, Settings};
use narrows_model::{Limits, Program};
use narrows_sandbox::{
    RunOptions, Sandbox, SandboxConfig, ToolAnswer, ToolCall, ToolFailure, ToolHost,
};
use serde_json::{json, value::RawValue};
use tokio_util::sync::CancellationToken;

use crate::bench::statistics::LatencySummary;

pub(super) const ROWS: usize = 100_000;
const SAMPLES: usize = 7;

/// A program that measures itself, from the rows that it has to the answer.
const PROGRAM: &str = r#"
import time
sectors = ["Tech", "Energy", "Health", "Finance"]
rows = [
    {"id": i, "symbol": f"S{i % 5000}", "sector": sectors[i % 4], "day": "2026-01-%02d" % (i % 28 + 1),
     "shares": i % 100, "price": i * 0.25, "roi": (i % 400) / 10, "active": i % 3 == 0}
    for i in range(100_000)
]
times = []
for _ in range(7):
    started = time.perf_counter()
    counted = await sql("select count(*) as n, sum(shares) as shares from t", t=rows)
    times.append(time.perf_counter() - started)
    assert counted == [{"n": 100_000, "shares": sum(row["shares"] for row in rows)}], counted
result = times
"#;

pub(super) async fn measure(settings: Settings) -> anyhow::Result<LatencySummary> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let host = Host(Analysis::new(settings)?);
    let minute = Duration::from_secs(60);
    let limits = Limits { wall_time: minute, cpu_time: minute, ..Limits::default() };
    let options = RunOptions { limits, ..RunOptions::default() };
    let ran = sandbox.run(Program::new(PROGRAM), &host, options, CancellationToken::new()).await?;
    let times = ran.result.as_array().with_context(|| format!("it failed: {:?}", ran.ending))?;
    let times = times.iter().filter_map(|seconds| seconds.as_f64());
    let times: Vec<Duration> = times.map(Duration::from_secs_f64).collect();
    anyhow::ensure!(times.len() == SAMPLES, "it failed: {:?}", ran.ending);
    Ok(LatencySummary::of(times))
}

/// A host that answers the queries of the program.
struct Host(Analysis);

impl ToolHost for Host {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move {
            let failed = |why: String| ToolFailure::new(why);
            let request: serde_json::Value = serde_json::from_str(call.arguments.get())
                .map_err(|error| failed(error.to_string()))?;
            let parameters = request["parameters"].as_object().cloned().unwrap_or_default();
            let tables = vec![("t".to_owned(), Input::Marshal(call.data))];
            let request = Request {
                kind: AnalysisType::Sql,
                parameters,
                output: Output::default(),
                refusal: None,
            };
            let answer = self.0.run(request, tables, None, CancellationToken::new()).await;
            let table = answer.map_err(|error| failed(error.to_string()))?.table;
            let rows = table.as_ref().map_or(0, |table| table.total_rows);
            let told = json!({ "notes": [], "table": { "total_rows": rows } }).to_string();
            let value = RawValue::from_string(told).map_err(|error| failed(error.to_string()))?;
            Ok(ToolAnswer { value, data: table.map(|table| table.marshal().into()) })
        })
    }
}
