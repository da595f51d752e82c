//! How long a program's answer takes, what the gateway adds to a call of a real server, and how soon
//! it answers a client, with real processes on both sides.

mod http_gateway;
mod idle;
mod round_trip;

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use rmcp::{
    Peer, RoleClient, ServiceExt,
    model::{CallToolRequestParams, CallToolResult},
    service::RunningService,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
};

use super::{
    budget::{Budget, Budgeted},
    python,
    statistics::LatencySummary,
};

pub(super) use http_gateway::HttpGateway;

/// Servers for the start, and how many of them never answer.
const SERVERS: usize = 20;
const SILENT: usize = 5;
/// Calls that one program makes.
const IN_A_ROW: u32 = 200;
/// The budgets, in milliseconds.
const MAX_ADDED_MS: f64 = 1.0;
const MAX_INITIALIZE_MS: f64 = 50.0;

#[derive(Debug, Serialize)]
pub(super) struct GatewayReport {
    round_trip: round_trip::RoundTripReport,
    /// A client calls the server itself.
    direct: LatencySummary,
    /// The same client calls the same tool through the gateway.
    through: LatencySummary,
    added_ms: f64,
    /// One call from Python in the gateway's sandbox, in a row of many.
    from_code_ms: f64,
    /// From the start of the process to the answer to `initialize`.
    initialize: LatencySummary,
    python_start: Option<LatencySummary>,
    ratio_to_python: Option<f64>,
    idle: Option<idle::Report>,
}

pub(super) async fn measure(
    samples: u32,
    python_with_fastmcp: Option<&Path>,
) -> anyhow::Result<GatewayReport> {
    let bench = Bench::new()?;
    let round_trip = round_trip::measure(&bench, samples, python_with_fastmcp).await?;
    let (direct, through, from_code_ms) = bench.calls(samples).await?;
    let starts = (samples / 10).clamp(10, 50);
    let python = python::executable();
    let (mut initialize, mut pythons) = (Vec::new(), Vec::new());
    for _ in 0..starts {
        initialize.push(bench.initialize().await?);
        if let Some(python) = &python {
            pythons.push(python::start_once(python)?);
        }
    }
    let initialize = LatencySummary::of(initialize);
    let idle = idle::measure(&bench).await?;
    let python_start = (!pythons.is_empty()).then(|| LatencySummary::of(pythons));
    Ok(GatewayReport {
        round_trip,
        added_ms: through.p50_ms - direct.p50_ms,
        direct,
        through,
        from_code_ms,
        ratio_to_python: python_start.map(|python| initialize.p50_ms / python.p50_ms),
        initialize,
        python_start,
        idle,
    })
}

/// Starts gateways of this very program, in temporary directories.
pub(super) struct Bench {
    program: PathBuf,
    home: tempfile::TempDir,
}

impl Bench {
    pub(super) fn new() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("the path of this program is not known")?;
        Ok(Self { program, home: tempfile::tempdir()? })
    }

    /// Writes a configuration, and returns the command that serves it.
    pub(super) fn serve(&self, name: &str, config: &str) -> anyhow::Result<Command> {
        let path = self.home.path().join(format!("{name}.toml"));
        std::fs::write(&path, config)?;
        let mut command = self.command();
        command.arg("--config").arg(path).arg("serve");
        Ok(command)
    }

    /// Uses the program of another build for the gateways.
    pub(super) fn with_program(self, program: &Path) -> anyhow::Result<Self> {
        let program = program
            .canonicalize()
            .with_context(|| format!("`{}` is not a program", program.display()))?;
        Ok(Self { program, ..self })
    }

    /// Returns the path of this program, quoted for TOML.
    pub(super) fn quoted_program(&self) -> anyhow::Result<String> {
        quoted(&self.program)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        let below = |name: &str| self.home.path().join(name);
        command
            .env("NARROWS_CONFIG_DIR", below("config"))
            .env("NARROWS_DATA_DIR", below("data"))
            .env("NARROWS_CACHE_DIR", below("cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }

    async fn calls(&self, samples: u32) -> anyhow::Result<(LatencySummary, LatencySummary, f64)> {
        let mut alone = self.command();
        alone.arg("demo-server");
        let config = format!(
            "[servers.company]\ncommand = {}\nargs = [\"demo-server\"]\nexpose = \"both\"\n",
            self.quoted_program()?
        );
        let (_server, direct) = connect(alone).await?;
        let (_gateway, through) = connect(self.serve("calls", &config)?).await?;
        let arguments = json!({"state": "none"});
        let (mut directly, mut passing) = (Vec::new(), Vec::new());
        for warm in [true, false] {
            directly.clear();
            passing.clear();
            for _ in 0..(if warm { 20 } else { samples }) {
                directly.push(timed(&direct, "list_parks", arguments.clone()).await?);
                passing.push(timed(&through, "list_parks", arguments.clone()).await?);
            }
        }
        let code = format!(
            "import time\nfrom servers.company import list_parks\nawait list_parks(state='none')\n\
             started = time.perf_counter()\n\
             for _ in range({IN_A_ROW}): await list_parks(state='none')\n\
             result = (time.perf_counter() - started) / {IN_A_ROW} * 1e3"
        );
        let result = call(&through, "execute_code", json!({ "code": code })).await?;
        let structured = result.structured_content.unwrap_or_default();
        let from_code = structured["result"].as_f64();
        let from_code = from_code.with_context(|| format!("the program failed: {structured}"))?;
        direct.cancel().await?;
        through.cancel().await?;
        Ok((LatencySummary::of(directly), LatencySummary::of(passing), from_code))
    }

    /// Measures the time from the start of the process to its answer to `initialize`.
    async fn initialize(&self) -> anyhow::Result<Duration> {
        let program = self.quoted_program()?;
        let mut config = String::new();
        for number in 0..SERVERS {
            let (command, args) = match number < SILENT {
                true => ("\"sleep\"", "\"1000\""),
                false => (program.as_str(), "\"demo-server\""),
            };
            config += &format!("[servers.s{number}]\ncommand = {command}\nargs = [{args}]\n");
        }
        let mut command = self.serve("start", &config)?;
        let start = Instant::now();
        let mut process = command.spawn()?;
        let (mut stdin, stdout) = pipes(&mut process)?;
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        });
        stdin.write_all(format!("{request}\n").as_bytes()).await?;
        stdin.flush().await?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let time = start.elapsed();
        ensure!(line.contains("serverInfo"), "the gateway did not answer: {line}");
        drop(stdin);
        process.wait().await?;
        Ok(time)
    }
}

pub(super) type BenchClient = RunningService<RoleClient, ()>;

/// Returns a path as a text of a configuration, in which nothing is filled in.
fn quoted(path: &Path) -> anyhow::Result<String> {
    let path = path.to_str().context("the path of this program is not UTF-8")?;
    Ok(Value::from(path.replace("${", "$${")).to_string())
}

fn pipes(
    process: &mut Child,
) -> anyhow::Result<(tokio::process::ChildStdin, tokio::process::ChildStdout)> {
    let stdin = process.stdin.take().context("the process has no standard input")?;
    Ok((stdin, process.stdout.take().context("the process has no standard output")?))
}

pub(super) async fn connect(mut command: Command) -> anyhow::Result<(Child, BenchClient)> {
    let mut process = command.spawn()?;
    let (stdin, stdout) = pipes(&mut process)?;
    Ok((process, ().serve((stdout, stdin)).await?))
}

pub(super) async fn call(
    client: &Peer<RoleClient>,
    tool: &str,
    arguments: Value,
) -> anyhow::Result<CallToolResult> {
    let arguments: Map<String, Value> = serde_json::from_value(arguments)?;
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    Ok(client.call_tool(params).await?)
}

pub(super) async fn timed(
    client: &Peer<RoleClient>,
    tool: &str,
    arguments: Value,
) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let result = call(client, tool, arguments).await?;
    let time = start.elapsed();
    ensure!(result.is_error != Some(true), "the call failed: {result:?}");
    Ok(time)
}

impl Budgeted for GatewayReport {
    fn budgets(&self) -> Vec<Budget> {
        let mut budgets = self.round_trip.budgets();
        budgets.push(Budget::at_most("added to a call, ms at p50", self.added_ms, MAX_ADDED_MS));
        let initialize = self.initialize.p95_ms;
        let what = "start to initialize, ms at p95";
        budgets.push(Budget::at_most(what, initialize, MAX_INITIALIZE_MS));
        budgets.extend(self.idle.iter().flat_map(Budgeted::budgets));
        budgets
    }
}

impl fmt::Display for GatewayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.round_trip)?;
        writeln!(f, "a call, directly          {}", self.direct)?;
        writeln!(f, "the same, through         {}", self.through)?;
        writeln!(
            f,
            "added by the gateway      {:.3} ms at p50 (budget {MAX_ADDED_MS} ms)",
            self.added_ms
        )?;
        writeln!(f, "a call from code          {:.3} ms", self.from_code_ms)?;
        write!(
            f,
            "start to initialize       {}, {SERVERS} servers of which {SILENT} are silent (budget {MAX_INITIALIZE_MS} ms)",
            self.initialize
        )?;
        if let (Some(python), Some(ratio)) = (&self.python_start, self.ratio_to_python) {
            write!(f, "\npython3 started beside    {python}; initialize takes {ratio:.2} of it")?;
        }
        if let Some(idle) = &self.idle {
            write!(f, "\n{idle}")?;
        }
        Ok(())
    }
}
