//! Measures how long the check of a program takes before it runs.

use std::{fmt, fmt::Write, path::Path, time::Instant};

use anyhow::ensure;
use narrows_python::{ParsedProgram, SourceTree, check, codegen};
use serde::Serialize;

use super::{
    budget::{Budget, Budgeted},
    catalog::{self, Loaded},
    statistics::LatencySummary,
};

const LINES: usize = 200;
const SAMPLES: usize = 200;
/// The budget, in milliseconds.
const BUDGET: f64 = 5.0;

#[derive(Debug, Serialize)]
pub(super) struct CheckReport {
    lines: usize,
    time: LatencySummary,
    budget_ms: f64,
}

pub(super) fn measure(dir: &Path) -> anyhow::Result<CheckReport> {
    let Loaded { discovery, home: _home } = catalog::load(dir)?;
    let program = program(&discovery);
    let mut times = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let start = Instant::now();
        let tree = SourceTree::new(&program);
        let parsed = ParsedProgram::new(&tree);
        let findings = check::check(&parsed, check::GivenVariables::Unknown, &discovery).findings;
        times.push(start.elapsed());
        ensure!(findings.is_empty(), "a right program has a finding: {:?}", findings.first());
    }
    Ok(CheckReport {
        lines: program.lines().count(),
        time: LatencySummary::of(times),
        budget_ms: BUDGET,
    })
}

/// Writes a program that uses one tool of each of many servers, as agents would write it.
fn program(discovery: &narrows_engine::Discovery) -> String {
    let mut program = String::new();
    let snapshot = discovery.broker().catalog().snapshot();
    let tools = snapshot.servers().filter_map(|server| server.tools.first());
    for (number, tool) in tools.take(LINES / 4).enumerate() {
        let name = &tool.name.python;
        let call = codegen::example(&tool.name, &tool.raw);
        let _ = write!(
            program,
            "from servers.{} import {name}\nr{number} = {call}\nif r{number}:\n    print('{name}', r{number})\n",
            tool.module,
        );
    }
    program
}

impl Budgeted for CheckReport {
    fn budgets(&self) -> Vec<Budget> {
        let what = format!("looking at {} lines, ms at p95", self.lines);
        vec![Budget::at_most(what, self.time.p95_ms, BUDGET)]
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a program of {} lines: {} (budget {} ms)", self.lines, self.time, self.budget_ms)
    }
}
