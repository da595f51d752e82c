//! Runs the demo: compares workflows with and without Narrows, and shows a tour of the sandbox.

use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use narrows_engine::{Background, Discovery, DiscoverySettings, Engine, token_stats::TokenStats};
use narrows_model::{Connection, Principal, ServerSpec, StdioSpec, Template};
use narrows_sandbox::SandboxConfig;
use rmcp::ServiceExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    server, tour,
    workflow::{Comparison, DemoClient, WORKFLOWS},
};
use crate::{
    app::{self, Exit},
    config::{AppDirs, Config},
    mcp::{ClientConnection, Gateway, Surface},
    printer::Printer,
};

/// The size of pipes between parts of the demo, in bytes.
const PIPE: usize = 1 << 20;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Print one JSON document instead of the tour
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) async fn run(args: DemoArgs, printer: Printer) -> anyhow::Result<Exit> {
    // The demo leaves nothing behind: its cache and data are in a temporary directory.
    let home = tempfile::tempdir().context("there is no place for temporary files")?;
    let places = AppDirs::below(home.path());
    let broker = app::broker(&places, vec![company()?])?;
    let background = Background::default();
    let discovery =
        Discovery::new(broker.clone(), DiscoverySettings::default(), background.clone());
    let state = app::state(&places, &Config::default())?;
    let engine = Engine::new(Arc::new(discovery), state, SandboxConfig::default());
    let token_stats = TokenStats::new(None, background);
    let gateway = Gateway::new(Arc::clone(&engine), token_stats, Principal::local(), Surface::Core);
    if !args.json {
        printer.line("A server with 10,000 expenses, trips, parks and issues is started over MCP.");
    }
    broker.fleet().start("company").await?;
    let narrows = client_of(Arc::clone(&gateway)).await?;
    let direct = direct_client().await?;

    let mut comparisons = Vec::new();
    for (number, workflow) in WORKFLOWS.iter().enumerate() {
        let comparison = workflow.compare(&direct, &narrows).await?;
        if !args.json {
            show(number + 1, &comparison, printer);
        }
        comparisons.push(comparison);
    }
    let stops = tour::run(&engine, WORKFLOWS.len() + 1, args.json, printer).await?;
    if args.json {
        printer.json(&json!({ "workflows": comparisons, "stops": stops }));
    } else {
        printer.line("\nNow your own servers:  narrows import   (or narrows servers add --help)");
        printer.line("and your client:       claude mcp add narrows -- narrows serve");
    }
    direct.cancel().await?;
    narrows.cancel().await?;
    gateway.shut_down().await;
    Ok(Exit::Success)
}

/// Returns the specification of the demo's server, which is this program in another mode.
fn company() -> anyhow::Result<ServerSpec> {
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let command = program.to_str().context("the path of this program is not UTF-8")?;
    let stdio = StdioSpec {
        command: Template::new(command.replace("${", "$${")),
        args: vec!["demo-server".into()],
        ..StdioSpec::default()
    };
    Ok(ServerSpec::new("company", Connection::Stdio(stdio)))
}

/// Connects a client to the gateway, as the application of a model does.
async fn client_of(gateway: Arc<Gateway>) -> anyhow::Result<DemoClient> {
    let (near, far) = tokio::io::duplex(PIPE);
    let session = ClientConnection::new(gateway);
    tokio::spawn(async move {
        if let Ok(running) = session.serve_with_ct(far, CancellationToken::new()).await {
            let _ = running.waiting().await;
        }
    });
    Ok(().serve(near).await?)
}

/// Connects a client to the server itself, without the gateway.
async fn direct_client() -> anyhow::Result<DemoClient> {
    let (near, far) = tokio::io::duplex(PIPE);
    tokio::spawn(async move {
        if let Ok(running) = server::company().serve(far).await {
            let _ = running.waiting().await;
        }
    });
    Ok(().serve(near).await?)
}

fn show(number: usize, comparison: &Comparison, printer: Printer) {
    printer.line(format!("\n{number}. {}\n", comparison.title));
    printer.line(tour::indented(comparison.program, "   | "));
    printer.line(tour::indented(&comparison.answer, "   > "));
    let ratio = comparison.tokens_direct as f64 / comparison.tokens_narrows.max(1) as f64;
    printer.line(format!(
        "   through the model: {} tokens in {} tool calls, or {} with Narrows: {ratio:.0} times less ({:.0} ms; o200k, an estimate)",
        comparison.tokens_direct, comparison.tool_calls, comparison.tokens_narrows, comparison.milliseconds,
    ));
}
