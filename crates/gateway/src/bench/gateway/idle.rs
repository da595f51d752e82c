//! Measures how much memory an idle gateway holds.

use std::{fmt, time::Duration};

use anyhow::Context;
use serde::Serialize;

use super::{Bench, connect, round_trip::run_once};
use crate::bench::{
    budget::{Budget, Budgeted},
    process::Usage,
};

const MAX_MB: f64 = 120.0;
/// How long the gateway is idle before its memory is measured: after the start, when isolates are made,
/// and after requests, when memory is given back.
const START_TIME: Duration = Duration::from_secs(3);
const IDLE_TIME: Duration = Duration::from_secs(10);
/// How many small programs run in between.
const RUNS: u32 = 100;

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Report {
    started_mb: f64,
    after_runs_mb: f64,
}

/// Measures a gateway with the default configuration. Returns None where the system does not tell what
/// a process holds.
pub(super) async fn measure(bench: &Bench) -> anyhow::Result<Option<Report>> {
    let (process, client) = connect(bench.serve("idle", "")?).await?;
    let id = process.id().context("the gateway has ended")?;
    let megabytes = || Usage::of(id).map(|usage| usage.resident_bytes as f64 / 1_048_576.0);
    tokio::time::sleep(START_TIME).await;
    let started = megabytes();
    for _ in 0..RUNS {
        run_once(&client).await?;
    }
    tokio::time::sleep(IDLE_TIME).await;
    let after_runs = megabytes();
    client.cancel().await?;
    Ok(started
        .zip(after_runs)
        .map(|(started_mb, after_runs_mb)| Report { started_mb, after_runs_mb }))
}

impl Budgeted for Report {
    fn budgets(&self) -> Vec<Budget> {
        vec![
            Budget::at_most("an idle gateway after its start, MB", self.started_mb, MAX_MB),
            Budget::at_most(
                format!("an idle gateway after {RUNS} programs, MB"),
                self.after_runs_mb,
                MAX_MB,
            ),
        ]
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "idle                      {:.0} MB, after {RUNS} programs {:.0} MB (budget {MAX_MB} MB)",
            self.started_mb, self.after_runs_mb
        )
    }
}
