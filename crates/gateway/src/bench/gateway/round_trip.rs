//! Measures the round trip of `execute_code`: from a client's request to its answer, with the default
//! configuration, over both transports and with many clients at once.

use std::{
    fmt,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use futures::future::try_join_all;
use rmcp::{Peer, RoleClient};
use serde::Serialize;
use serde_json::json;

use super::{Bench, BenchClient, HttpGateway, connect, timed};
use crate::bench::{
    budget::{Budget, Budgeted},
    python,
    statistics::LatencySummary,
};

const PROGRAM: &str = "result = 1 + 1";
const FASTMCP: &str = include_str!("fastmcp.py");
const CLIENTS: [usize; 3] = [1, 8, 32];
/// How many runs of one kind are measured before the next kind.
const ROUND: u32 = 10;
/// How many runs are made before any is counted: they open the store and make isolates.
const WARM_UP: u32 = 20;
/// The budgets, as ratios of medians.
const MIN_TO_PYTHON: f64 = 40.0;
const MIN_TO_FASTMCP: f64 = 5.0;

#[derive(Debug, Serialize)]
pub(super) struct RoundTripReport {
    /// One client over stdio, in turns with what it is compared with.
    execute: LatencySummary,
    python: Option<LatencySummary>,
    /// How many times longer python3 takes.
    python_to_execute: Option<f64>,
    fastmcp: Option<LatencySummary>,
    fastmcp_version: Option<String>,
    fastmcp_to_execute: Option<f64>,
    loads: Vec<Load>,
}

/// The throughput of clients that ask at the same time, each one request after the other.
#[derive(Debug, Serialize)]
struct Load {
    transport: &'static str,
    clients: usize,
    times: LatencySummary,
    per_second: f64,
}

pub(super) async fn measure(
    bench: &Bench,
    samples: u32,
    python_with_fastmcp: Option<&Path>,
) -> anyhow::Result<RoundTripReport> {
    let (_gateway, stdio) = connect(bench.serve("round-trip", "")?).await?;
    warm_up(&stdio).await?;
    let interpreter = python::executable();
    let mut fastmcp = python_with_fastmcp.and_then(FastMcp::start);
    let (mut execute, mut pythons, mut others) = (Vec::new(), Vec::new(), Vec::new());
    // In rounds, so that whatever else the machine does touches all three alike.
    for _ in 0..samples.div_ceil(ROUND) {
        for _ in 0..ROUND {
            execute.push(run_once(&stdio).await?);
        }
        for _ in 0..ROUND {
            if let Some(interpreter) = &interpreter {
                pythons.push(python::start_once(interpreter)?);
            }
        }
        if let Some(fastmcp) = &mut fastmcp {
            others.extend(fastmcp.times(ROUND)?);
        }
    }
    let mut loads = Vec::new();
    for clients in CLIENTS {
        let peers: Vec<Peer<RoleClient>> = (0..clients).map(|_| stdio.peer().clone()).collect();
        loads.push(load("stdio", &peers, samples).await?);
    }
    stdio.cancel().await?;
    let http = HttpGateway::start(bench, "round-trip-http", "").await?;
    for clients in CLIENTS {
        let connected = try_join_all((0..clients).map(|_| warm_client(&http))).await?;
        let peers: Vec<_> = connected.iter().map(|client| client.peer().clone()).collect();
        loads.push(load("http", &peers, samples).await?);
        for client in connected {
            client.cancel().await?;
        }
    }
    let summary = |times: Vec<Duration>| (!times.is_empty()).then(|| LatencySummary::of(times));
    let (execute, python, others) =
        (LatencySummary::of(execute), summary(pythons), summary(others));
    let ratio = |other: Option<LatencySummary>| other.map(|other| other.p50_ms / execute.p50_ms);
    Ok(RoundTripReport {
        execute,
        python,
        python_to_execute: ratio(python),
        fastmcp: others,
        fastmcp_version: fastmcp.map(|fastmcp| fastmcp.version.clone()),
        fastmcp_to_execute: ratio(others),
        loads,
    })
}

async fn warm_client(gateway: &HttpGateway) -> anyhow::Result<BenchClient> {
    let client = gateway.connect().await?;
    warm_up(&client).await?;
    Ok(client)
}

async fn warm_up(client: &BenchClient) -> anyhow::Result<()> {
    for _ in 0..WARM_UP {
        run_once(client).await?;
    }
    Ok(())
}

pub(super) async fn run_once(client: &Peer<RoleClient>) -> anyhow::Result<Duration> {
    timed(client, "execute_code", json!({ "code": PROGRAM })).await
}

async fn load(
    transport: &'static str,
    peers: &[Peer<RoleClient>],
    samples: u32,
) -> anyhow::Result<Load> {
    let each = samples.div_ceil(peers.len() as u32).max(ROUND);
    let started = std::time::Instant::now();
    let callers = peers.iter().map(|peer| async move {
        let mut times = Vec::new();
        for _ in 0..each {
            times.push(run_once(peer).await?);
        }
        anyhow::Ok(times)
    });
    let times = try_join_all(callers).await?.concat();
    let per_second = times.len() as f64 / started.elapsed().as_secs_f64();
    Ok(Load { transport, clients: peers.len(), times: LatencySummary::of(times), per_second })
}

/// A Python process with FastMCP, which ends when its standard input closes.
struct FastMcp {
    version: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl FastMcp {
    /// Returns None if this Python has no FastMCP with code mode.
    fn start(python: &Path) -> Option<Self> {
        let mut child = Command::new(python)
            .args(["-c", FASTMCP])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take()?));
        let mut started = Self { version: String::new(), child, stdin, stdout };
        started.version = started.answer().ok()?;
        Some(started)
    }

    fn answer<T: serde::de::DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        serde_json::from_str(&line).context("FastMCP did not answer")
    }

    fn times(&mut self, count: u32) -> anyhow::Result<Vec<Duration>> {
        let stdin = self.stdin.as_mut().context("FastMCP has ended")?;
        writeln!(stdin, "{count}")?;
        let seconds: Vec<f64> = self.answer()?;
        ensure!(seconds.len() == count as usize, "FastMCP measured {} times", seconds.len());
        Ok(seconds.into_iter().map(Duration::from_secs_f64).collect())
    }
}

impl Drop for FastMcp {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

impl Budgeted for RoundTripReport {
    fn budgets(&self) -> Vec<Budget> {
        let ratios = [
            ("python3 / execute_code", self.python_to_execute, MIN_TO_PYTHON),
            ("FastMCP / execute_code", self.fastmcp_to_execute, MIN_TO_FASTMCP),
        ];
        let measured = ratios
            .into_iter()
            .filter_map(|(what, ratio, min)| Some(Budget::at_least(what, ratio?, min)));
        measured.collect()
    }
}

impl fmt::Display for RoundTripReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "execute_code, stdio       {}", self.execute)?;
        if let (Some(python), Some(ratio)) = (&self.python, self.python_to_execute) {
            writeln!(f, "python3 started beside    {python}")?;
            writeln!(f, "execute_code / python3    1/{ratio:.0} (budget 1/{MIN_TO_PYTHON:.0})")?;
        }
        match (&self.fastmcp, &self.fastmcp_version, self.fastmcp_to_execute) {
            (Some(fastmcp), Some(version), Some(ratio)) => {
                writeln!(f, "FastMCP {version} CodeMode    {fastmcp}, in process")?;
                writeln!(
                    f,
                    "execute_code / FastMCP    1/{ratio:.1} (budget 1/{MIN_TO_FASTMCP:.0})"
                )?;
            }
            _ => writeln!(
                f,
                "FastMCP                   not found; name a Python with fastmcp[code-mode] by --python"
            )?,
        }
        for load in &self.loads {
            let Load { transport, clients, times, per_second } = load;
            let who = format!("{transport}, {clients} at once");
            writeln!(f, "{who:25} {times}, {per_second:.0} a second")?;
        }
        Ok(())
    }
}
