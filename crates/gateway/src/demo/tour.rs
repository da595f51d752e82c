//! The tour of the sandbox: real Python, clear mistakes, firm limits.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use narrows_engine::{Engine, RunRequest, RunWorkspace};
use narrows_model::{Outcome, Principal, Program};
use narrows_upstream::NoCaller;
use serde_json::{Value, json};

use crate::printer::Printer;

/// A stop of the tour: a program and what it shows.
struct Stop {
    title: &'static str,
    /// The explanation of what to look at.
    lesson: &'static str,
    name: &'static str,
    source: &'static str,
    succeeds: bool,
}

const TOUR: [Stop; 3] = [
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

/// Runs the tour, counting its stops from `first`, and returns the outcome of each.
pub(super) async fn run(
    engine: &Engine,
    first: usize,
    quiet: bool,
    printer: Printer,
) -> anyhow::Result<Vec<Value>> {
    let agent = engine.agent(Arc::new(Principal::local()));
    let mut outcomes = Vec::new();
    for (number, stop) in (first..).zip(&TOUR) {
        let request = RunRequest {
            program: Program { name: stop.name.into(), ..Program::new(stop.source) },
            timeout: Some(Duration::from_secs(1)),
            workspace: RunWorkspace::None,
            ..RunRequest::default()
        };
        let (outcome, _) = engine.execute(&agent, request, Arc::new(NoCaller)).await?.into_parts();
        anyhow::ensure!(
            outcome.is_success() == stop.succeeds,
            "the demo's {} did not end as it should: {:?}",
            stop.name,
            outcome.ending
        );
        if !quiet {
            printer.line(format!("\n{number}. {}\n", stop.title));
            printer.line(indented(stop.source, "   | "));
            show(&outcome, printer)?;
            printer.line(format!("   {}", stop.lesson));
        }
        outcomes.push(json!({ "name": stop.name, "outcome": outcome }));
    }
    Ok(outcomes)
}

fn show(outcome: &Outcome, printer: Printer) -> anyhow::Result<()> {
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
    printer.line(format!("   ({:.1} ms)", outcome.wall_time.as_secs_f64() * 1e3));
    Ok(())
}

pub(super) fn indented(text: &str, margin: &str) -> String {
    let lines: Vec<String> =
        text.trim_end().lines().map(|line| format!("{margin}{line}")).collect();
    lines.join("\n")
}
