//! `narrows bench load`: many users at once for some time, over HTTP, with keys of several agents; what
//! the gateway takes meanwhile, and whether that is flat.
//!
//! | file | subject |
//! |---|---|
//! | `users` | those who ask, and those who watch |
//! | `requests` | what they ask for |
//! | `tally` | what happened |
//! | `trend` | whether a figure stays as it is |
//! | `report` | what is printed |

mod report;
mod requests;
mod tally;
mod trend;
mod users;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use rmcp::service::ClientLifecycleMode;
use tokio::task::JoinSet;

use super::{
    arguments::LoadBenchArgs,
    gateway::{Bench, HttpGateway},
    process::Usage,
};
use crate::{
    app::{self, Exit},
    printer::Printer,
};
use report::{LoadInterval, LoadReport, Sample};
use requests::Mix;
use tally::Tally;

pub(crate) use requests::RequestKind;

/// How often a line is printed, and the process looked at; less in a short run.
const LINE_TIME: Duration = Duration::from_secs(10);
const SAMPLE_TIME: Duration = Duration::from_secs(1);
/// How many lines a short run prints.
const MIN_LINES: u32 = 6;
/// How often the process is measured for each line.
const SAMPLES_PER_LINE: u32 = 10;

pub(super) async fn run(args: LoadBenchArgs, printer: Printer) -> anyhow::Result<Exit> {
    let mix = Mix::new(&args.only);
    // Before anything is started, so that no signal leaves it behind.
    let interrupted = app::interruption();
    let bench = Bench::new()?;
    let config = config(&bench)?;
    let bench = match &args.program {
        Some(program) => bench.with_program(program)?,
        None => bench,
    };
    let gateway = HttpGateway::start(&bench, "load", &config).await?;
    let mut gateway = Arc::new(gateway);
    let tally = Arc::new(Tally::default());
    let mut load = JoinSet::new();
    let measured = tokio::select! {
        measured = measure(&args, mix, &gateway, &tally, &mut load, printer) => Some(measured),
        () = interrupted.cancelled() => None,
    };
    // The users' tasks hold the gateway.
    load.shutdown().await;
    let ended = match Arc::get_mut(&mut gateway) {
        Some(gateway) => gateway.exit_reason(),
        None => None,
    };
    if let Some(gateway) = Arc::into_inner(gateway) {
        gateway.end().await.context("the gateway could not be ended")?;
    }
    let Some(measured) = measured else { return Ok(Exit::Interrupted) };
    if let Some(reason) = ended {
        bail!("the gateway ended by itself: {reason}");
    }
    let report = measured?;
    let is_good = report.is_good();
    if args.json {
        printer.json(&report)
    } else {
        printer.line(report.to_string())
    }
    Ok(if is_good { Exit::Success } else { Exit::Failure })
}

/// Returns the default configuration, with agents and servers.
fn config(bench: &Bench) -> anyhow::Result<String> {
    let program = bench.quoted_program()?;
    let mut config = String::new();
    let mut add_server = |name: &str, args: &str| {
        config += &format!("[servers.{name}]\ncommand = {program}\nargs = {args}\n");
    };
    add_server("company", r#"["demo-server"]"#);
    add_server("branch", r#"["demo-server"]"#);
    add_server("hanging", r#"["demo-server", "--fault", "hang"]"#);
    add_server("crashing", r#"["demo-server", "--fault", "crash"]"#);
    let agents = (0..users::AGENTS).map(users::agent_of);
    for agent in agents.chain([users::BYSTANDER.to_owned()]) {
        config += &format!("[agents.{agent}]\nkey = \"{}\"\n", users::key(&agent));
    }
    Ok(config)
}

async fn measure(
    args: &LoadBenchArgs,
    mix: Mix,
    gateway: &Arc<HttpGateway>,
    tally: &Arc<Tally>,
    load: &mut JoinSet<()>,
    printer: Printer,
) -> anyhow::Result<LoadReport> {
    let duration = Duration::from_secs_f64(args.minutes * 60.0);
    let line_time = LINE_TIME.min(duration / MIN_LINES);
    let sample_time = SAMPLE_TIME.min(line_time / SAMPLES_PER_LINE);
    let process = gateway.process_id().context("the gateway has ended")?;
    let key = users::key(users::BYSTANDER);
    let bystander = gateway.connect_as(&key, ClientLifecycleMode::Initialize).await?;
    load.spawn(users::be_bystander(bystander, Arc::clone(tally)));
    load.spawn(users::watch_health(Arc::clone(gateway), Arc::clone(tally)));
    for user in 0..u64::from(args.users) {
        let (gateway, tally) = (Arc::clone(gateway), Arc::clone(tally));
        load.spawn(users::be_user(gateway, tally, mix.clone(), user));
    }
    let start = Instant::now();
    let (mut lines, mut samples) = (Vec::new(), Vec::new());
    let mut line_start = start;
    if !args.json {
        printer.line(LoadInterval::HEADER);
    }
    while start.elapsed() < duration {
        tokio::time::sleep(sample_time).await;
        let usage = Usage::of(process);
        let seconds = start.elapsed().as_secs_f64();
        samples.extend(usage.map(|usage| Sample { seconds, usage }));
        if line_start.elapsed() < line_time && start.elapsed() < duration {
            continue;
        }
        let line = LoadInterval::new(seconds, tally.take(), line_start.elapsed(), usage);
        line_start = Instant::now();
        if !args.json {
            printer.line(line.to_string());
        }
        lines.push(line);
    }
    ensure!(lines.iter().any(|line| line.requests > 0), "nothing was answered: {}", {
        let failures = tally.failures();
        failures.values().next().map_or("no errors".to_owned(), |failure| failure.first.clone())
    });
    Ok(LoadReport::new(args, lines, &samples, tally.failures()))
}
