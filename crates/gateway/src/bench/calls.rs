//! Tool calls from Python and back, with a tool that answers at once.

use std::{
    fmt,
    time::{Duration, Instant},
};

use anyhow::ensure;
use futures::future::BoxFuture;
use narrows_model::Program;
use narrows_sandbox::{
    ModuleSource, RunOptions, Sandbox, SandboxConfig, ToolAnswer, ToolCall, ToolFailure, ToolHost,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{
    budget::{Budget, Budgeted},
    statistics::LatencySummary,
};

const AT_ONCE: u32 = 1_000;
const IN_A_ROW: u32 = 200;
/// The most that each of many concurrent calls may take, in microseconds.
const BUDGET: f64 = 50.0;

/// Writes a program that measures itself, so that only the calls count.
fn program(calls: &str, count: u32) -> String {
    format!(
        "import asyncio, time\n\
         from client import call_mcp_tool\n\
         started = time.perf_counter()\n\
         {calls}\n\
         result = (time.perf_counter() - started) / {count} * 1e6\n"
    )
}

#[derive(Debug, Serialize)]
pub(super) struct CallsReport {
    /// 1,000 calls through `asyncio.gather`, for each call.
    at_once: LatencySummary,
    at_once_us_per_call: f64,
    /// One call after another, each waiting for its answer.
    in_a_row: LatencySummary,
    in_a_row_us_per_call: f64,
}

pub(super) async fn measure(samples: u32) -> anyhow::Result<CallsReport> {
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let gather = format!(
        "answers = await asyncio.gather(*[call_mcp_tool('echo', {{'n': n}}) for n in range({AT_ONCE})])"
    );
    let gather = program(&gather, AT_ONCE);
    let row = format!("for n in range({IN_A_ROW}): await call_mcp_tool('echo', {{'n': n}})");
    let row = program(&row, IN_A_ROW);
    let samples = (samples / 5).max(10);
    let (mut at_once, mut in_a_row) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        at_once.push(run_once(&sandbox, &gather).await?);
        in_a_row.push(run_once(&sandbox, &row).await?);
    }
    let (at_once, in_a_row) = (LatencySummary::of(at_once), LatencySummary::of(in_a_row));
    Ok(CallsReport {
        at_once_us_per_call: at_once.p50_ms * 1e3,
        in_a_row_us_per_call: in_a_row.p50_ms * 1e3,
        at_once,
        in_a_row,
    })
}

/// Runs the program once, and returns the time for one call.
async fn run_once(sandbox: &Sandbox, source: &str) -> anyhow::Result<Duration> {
    sandbox.warmed().await;
    let started = Instant::now();
    let outcome = sandbox
        .run(Program::new(source), &Echo, RunOptions::default(), CancellationToken::new())
        .await?;
    let outside = started.elapsed();
    let microseconds = outcome.result.as_f64();
    ensure!(microseconds.is_some(), "the program failed: {:?}", outcome.ending);
    let each = Duration::from_secs_f64(microseconds.unwrap_or_default() / 1e6);
    ensure!(each * IN_A_ROW < outside, "the program's clock is wrong");
    Ok(each)
}

/// A host that answers every call at once with its own arguments.
struct Echo;

impl ToolHost for Echo {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        Box::pin(std::future::ready(Ok(call.arguments.into())))
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        let source = (name == "client").then(|| ModuleSource {
            source: "from _narrows.calls import call as call_mcp_tool".into(),
            is_package: false,
        });
        Box::pin(std::future::ready(source))
    }
}

impl Budgeted for CallsReport {
    fn budgets(&self) -> Vec<Budget> {
        let what = format!("one of {AT_ONCE} calls at once, µs at p50");
        vec![Budget::at_most(what, self.at_once_us_per_call, BUDGET)]
    }
}

impl fmt::Display for CallsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{AT_ONCE} calls at once    {:.1} µs each at p50, {:.1} µs at p95 (budget {BUDGET} µs at p50)",
            self.at_once_us_per_call,
            self.at_once.p95_ms * 1e3
        )?;
        write!(
            f,
            "{IN_A_ROW} calls in a row    {:.1} µs each at p50, {:.1} µs at p95",
            self.in_a_row_us_per_call,
            self.in_a_row.p95_ms * 1e3
        )
    }
}
