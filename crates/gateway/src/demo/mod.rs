//! `narrows demo`: the main job on built-in data, for those who see it for the first time.

mod sample;
pub(crate) mod server;

use anyhow::Context;
use narrows_engine::{ExecuteRequest, Executor};
use narrows_model::{Limits, Outcome, Program};
use narrows_sandbox::SandboxConfig;
use serde_json::json;
use std::{sync::atomic::Ordering, time::Duration};
use tokio_util::sync::CancellationToken;

use crate::{app::Exit, cli::DemoArgs, printer::Printer};
use sample::SampleHost;

/// One stop of the tour.
struct Stop {
    title: &'static str,
    /// What to look at.
    lesson: &'static str,
    name: &'static str,
    source: &'static str,
    succeeds: bool,
}

const TOUR: [Stop; 4] = [
    Stop {
        title: "An agent's program calls tools and keeps the data to itself",
        lesson: "Only what it printed and its result would reach the model.",
        name: "overdue.py",
        source: include_str!("programs/overdue.py"),
        succeeds: true,
    },
    Stop {
        title: "It is real Python, with the standard library",
        lesson: "Classes, generators, sqlite3, statistics and time zones work as everywhere.",
        name: "report.py",
        source: include_str!("programs/report.py"),
        succeeds: true,
    },
    Stop {
        title: "A mistake reads like Python's own",
        lesson: "The line, the source and the reason, and nothing of the sandbox.",
        name: "mistake.py",
        source: include_str!("programs/mistake.py"),
        succeeds: false,
    },
    Stop {
        title: "What runs away is stopped, and what it printed is kept",
        lesson: "There is no file, no network and no process to reach, and every resource has a limit.",
        name: "runaway.py",
        source: include_str!("programs/runaway.py"),
        succeeds: false,
    },
];

pub(crate) async fn run(args: DemoArgs, printer: Printer) -> anyhow::Result<Exit> {
    let executor = Executor::new(SandboxConfig::default())?;
    let mut outcomes = Vec::new();
    for (number, stop) in TOUR.iter().enumerate() {
        let host = SampleHost::default();
        if !args.json {
            printer.line(format!("\n{}. {}\n", number + 1, stop.title));
            printer.line(indented(stop.source, "   | "));
        }
        let request = ExecuteRequest {
            program: Program { name: stop.name.into(), ..Program::new(stop.source) },
            limits: Limits { wall_time: Duration::from_secs(1), ..Limits::default() },
            ..ExecuteRequest::default()
        };
        let outcome = executor.execute(request, &host, CancellationToken::new()).await?;
        anyhow::ensure!(
            outcome.is_success() == stop.succeeds,
            "the demo's {} did not end as it should: {:?}",
            stop.name,
            outcome.ending
        );
        let bytes = host.answered_bytes.load(Ordering::Relaxed);
        if args.json {
            outcomes.push(json!({ "name": stop.name, "tool_bytes": bytes, "outcome": outcome }));
        } else {
            show(&outcome, bytes, printer)?;
            printer.line(format!("   {}", stop.lesson));
        }
    }
    if args.json {
        printer.json(&outcomes);
    } else {
        printer.line(
            "\nNow your own: narrows run -c 'result = sum(range(10))'   (narrows run --help)",
        );
    }
    Ok(Exit::Success)
}

fn show(outcome: &Outcome, tool_bytes: usize, printer: Printer) -> anyhow::Result<()> {
    if !outcome.stdout.is_empty() {
        printer.line(indented(&outcome.stdout, "   > "));
    }
    if !outcome.result.is_null() {
        let result = serde_json::to_string(&outcome.result).context("the result is not JSON")?;
        printer.line(format!("   result: {result}"));
    }
    if let Some(failure) = outcome.failure() {
        let text = if failure.traceback.is_empty() { &failure.message } else { &failure.traceback };
        printer.line(indented(text, "   ! "));
    }
    let mut figures = format!("   ({:.1} ms", outcome.wall_time.as_secs_f64() * 1e3);
    if outcome.tool_calls > 0 {
        let shown = outcome.stdout.len() + outcome.result.to_string().len();
        figures += &format!(
            ", {} tool calls answered {} KB in the sandbox, {shown} bytes came out",
            outcome.tool_calls,
            tool_bytes / 1024
        );
    }
    printer.line(figures + ")");
    Ok(())
}

fn indented(text: &str, margin: &str) -> String {
    let lines: Vec<String> =
        text.trim_end().lines().map(|line| format!("{margin}{line}")).collect();
    lines.join("\n")
}
