//! Measures fresh isolates: time to a result, runs per second, memory.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use futures::future::try_join_all;
use narrows_model::{Ending, OutputStream, Program};
use narrows_sandbox::{NoTools, RunOptions, Sandbox, SandboxConfig, ToolHost};
use serde::Serialize;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    budget::{Budget, Budgeted},
    python,
    statistics::LatencySummary,
};

const PROGRAM: &str = "result = 1 + 1";
/// How many runs of one kind are measured before the next kind.
const ROUND: u32 = 10;
/// A cancellation takes as long as a tick, so that few samples suffice.
const MAX_CANCELS: u32 = 50;
/// How many isolates are made to see how much memory one adds.
const IDLE_ISOLATES: usize = 32;

/// The budgets: python3 takes so many times as long, milliseconds out of the warm pool, runs a second
/// on two cores, what an isolate adds.
const MIN_TO_PYTHON: f64 = 20.0;
const MAX_WARM_MS: f64 = 0.4;
const MIN_RUNS_PER_SECOND: f64 = 1_000.0;
const MAX_ISOLATE_MB: f64 = 10.0;

#[derive(Debug, Serialize)]
pub(super) struct SandboxReport {
    /// The time from request to outcome with an isolate of the warm pool.
    warm: LatencySummary,
    /// The same if the isolate has to be made first.
    cold: LatencySummary,
    /// `python3 -I -c 'print(2)'`, started in between.
    python: Option<LatencySummary>,
    warm_to_python: Option<f64>,
    cold_to_python: Option<f64>,
    /// The time from cancelling `while True: pass` to its outcome.
    cancel: LatencySummary,
    runs_per_second: f64,
    concurrent_runs: usize,
    idle_isolate_bytes: u64,
    load_ms: f64,
}

pub(super) async fn measure(samples: u32) -> anyhow::Result<SandboxReport> {
    let started = Instant::now();
    let warm_sandbox = Sandbox::new(SandboxConfig::default())?;
    let load = started.elapsed();
    let cold_sandbox =
        Arc::new(Sandbox::new(SandboxConfig { warm_isolates: 0, ..SandboxConfig::default() })?);
    let interpreter = python::executable();

    let (mut warm, mut cold, mut python) = (Vec::new(), Vec::new(), Vec::new());
    // In rounds, so that whatever else the machine does touches all three alike.
    for _ in 0..samples.div_ceil(ROUND) {
        for _ in 0..ROUND {
            // The next warm isolate is made meanwhile; nothing is measured beside that.
            warm_sandbox.warmed().await;
            warm.push(run_once(&warm_sandbox).await?);
        }
        warm_sandbox.warmed().await;
        for _ in 0..ROUND {
            cold.push(run_once(&cold_sandbox).await?);
        }
        if let Some(interpreter) = &interpreter {
            for _ in 0..ROUND {
                python.push(python::start_once(interpreter).context("python3 cannot be started")?);
            }
        }
    }
    let mut cancel = Vec::new();
    for _ in 0..samples.min(MAX_CANCELS) {
        cancel.push(cancel_once(&cold_sandbox).await?);
    }
    let (runs_per_second, concurrent_runs) = throughput(&cold_sandbox, samples).await?;
    drop((warm_sandbox, cold_sandbox));

    let (warm, cold) = (LatencySummary::of(warm), LatencySummary::of(cold));
    let python = (!python.is_empty()).then(|| LatencySummary::of(python));
    Ok(SandboxReport {
        warm_to_python: python.map(|python| warm.p50_ms / python.p50_ms),
        cold_to_python: python.map(|python| cold.p50_ms / python.p50_ms),
        warm,
        cold,
        python,
        cancel: LatencySummary::of(cancel),
        runs_per_second,
        concurrent_runs,
        idle_isolate_bytes: idle_isolate_bytes().await?,
        load_ms: load.as_secs_f64() * 1e3,
    })
}

async fn run_once(sandbox: &Sandbox) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let program = Program::new(PROGRAM);
    let outcome =
        sandbox.run(program, &NoTools, RunOptions::default(), CancellationToken::new()).await?;
    let taken = started.elapsed();
    ensure!(outcome.result == 2, "the sandbox computed {}: {:?}", outcome.result, outcome.ending);
    Ok(taken)
}

/// Measures how long a program in an endless loop runs on after it was cancelled.
async fn cancel_once(sandbox: &Sandbox) -> anyhow::Result<Duration> {
    let host = Starter::default();
    let cancel = CancellationToken::new();
    let program = Program::new("print('started')\nwhile True: pass");
    let run = sandbox.run(program, &host, RunOptions::default(), cancel.clone());
    let stop = async {
        host.started.notified().await;
        cancel.cancel();
        Instant::now()
    };
    let (outcome, cancelled) = tokio::join!(run, stop);
    let taken = cancelled.elapsed();
    ensure!(matches!(outcome?.ending, Ending::Cancelled(_)), "the program was not cancelled");
    Ok(taken)
}

/// A host that reports when the program has begun.
#[derive(Default)]
struct Starter {
    started: Notify,
}

impl ToolHost for Starter {
    fn output(&self, _stream: OutputStream, _text: &str) {
        self.started.notify_one();
    }
}

/// Measures how many programs a second run if as many callers as the machine has cores run one after
/// another.
async fn throughput(sandbox: &Arc<Sandbox>, samples: u32) -> anyhow::Result<(f64, usize)> {
    let lanes = std::thread::available_parallelism().map_or(2, usize::from);
    let each = samples.max(200);
    let started = Instant::now();
    let callers = (0..lanes).map(|_| {
        let sandbox = sandbox.clone();
        tokio::spawn(async move {
            for _ in 0..each {
                run_once(&sandbox).await?;
            }
            anyhow::Ok(())
        })
    });
    for ended in try_join_all(callers).await? {
        ended?;
    }
    let runs = f64::from(each) * lanes as f64;
    Ok((runs / started.elapsed().as_secs_f64(), lanes))
}

/// Measures how much memory a warm isolate adds to the process.
async fn idle_isolate_bytes() -> anyhow::Result<u64> {
    let config = |warm_isolates| SandboxConfig {
        warm_isolates,
        live_sessions: 0,
        ..SandboxConfig::single()
    };
    let few = Sandbox::new(config(1))?;
    few.warmed().await;
    let before = resident_bytes()?;
    let many = Sandbox::new(config(1 + IDLE_ISOLATES))?;
    many.warmed().await;
    let after = resident_bytes()?;
    // The second sandbox also has the code in memory once more; the first shows how much.
    drop(few);
    let without_few = resident_bytes()?;
    let one_sandbox = after.saturating_sub(without_few);
    Ok(after.saturating_sub(before).saturating_sub(one_sandbox) / IDLE_ISOLATES as u64)
}

/// Returns the private memory of this process: all isolates share the pages of the snapshot.
fn resident_bytes() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("memory cannot be read")?;
    let kilobytes = status
        .lines()
        .filter(|line| line.starts_with("RssAnon:"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum::<u64>();
    Ok(kilobytes * 1024)
}

impl SandboxReport {
    fn isolate_mb(&self) -> f64 {
        self.idle_isolate_bytes as f64 / 1_048_576.0
    }
}

impl Budgeted for SandboxReport {
    fn budgets(&self) -> Vec<Budget> {
        let ratios = [("warm", self.warm_to_python), ("cold", self.cold_to_python)];
        let to_python = ratios.into_iter().filter_map(|(isolate, ratio)| {
            let what = format!("python3 / {isolate} isolate");
            Some(Budget::at_least(what, 1.0 / ratio?, MIN_TO_PYTHON))
        });
        let on_two_cores = self.runs_per_second * 2.0 / self.concurrent_runs as f64;
        let others = [
            Budget::at_most("warm isolate, ms at p50", self.warm.p50_ms, MAX_WARM_MS),
            Budget::at_least("runs a second on two cores", on_two_cores, MIN_RUNS_PER_SECOND),
            Budget::at_most("idle isolate, MB", self.isolate_mb(), MAX_ISOLATE_MB),
        ];
        to_python.chain(others).collect()
    }
}

impl fmt::Display for SandboxReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "warm isolate     {} (budget {MAX_WARM_MS} ms at p50)", self.warm)?;
        writeln!(f, "cold isolate     {}", self.cold)?;
        match (&self.python, self.warm_to_python, self.cold_to_python) {
            (Some(python), Some(warm), Some(cold)) => {
                writeln!(f, "python3          {python}")?;
                let budget = format!("(budget 1/{MIN_TO_PYTHON})");
                writeln!(f, "warm / python3   1/{:.0} {budget}", 1.0 / warm)?;
                writeln!(f, "cold / python3   1/{:.0} {budget}", 1.0 / cold)?;
            }
            _ => writeln!(f, "python3          not found, so there is nothing to compare with")?,
        }
        writeln!(f, "cancelling       {}", self.cancel)?;
        writeln!(
            f,
            "throughput       {:.0} runs per second, {} at once (budget {MIN_RUNS_PER_SECOND} for two)",
            self.runs_per_second, self.concurrent_runs
        )?;
        let megabytes = self.isolate_mb();
        writeln!(f, "idle isolate     {megabytes:.1} MB (budget {MAX_ISOLATE_MB} MB)")?;
        write!(f, "loading          {:.0} ms", self.load_ms)
    }
}
