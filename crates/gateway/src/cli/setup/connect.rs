//! `narrows connect`: puts Narrows into a client.

use anyhow::bail;
use clap::Args;
use serde_json::json;

use super::import::{Clients, launch, parse_clients};
use crate::{
    app::{AppContext, Exit, GlobalArgs},
    config::{Config, ConfigSource, Environment, Os},
    import::{self, ClientApp, ConnectOutcome, ConnectReport, Home, Mode},
    printer::Printer,
};

pub(crate) const AFTER_HELP: &str = "\
Narrows is put into the client's file for the user, beside the servers that are there; a copy of the
file as it was stays beside it. narrows import --apply takes over the client's servers as well.

Clients: claude-desktop, claude-code, cursor, vscode, windsurf, zed, codex, gemini, opencode, goose;
`all` are those that are on this machine.

Examples:
  narrows connect cursor
  narrows connect claude-code,codex --dry-run
  narrows connect cursor --undo";

#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// The clients, separated by commas, or `all`
    #[arg(value_name = "CLIENT", value_parser = parse_clients)]
    clients: Clients,
    /// Only show what would be changed
    #[arg(long)]
    dry_run: bool,
    /// Take Narrows out of the client again
    #[arg(long)]
    undo: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: ConnectArgs, at: &GlobalArgs, printer: Printer) -> anyhow::Result<Exit> {
    let home = Home::find(Os::current(), &Environment::Process)?;
    let mut clients = args.clients.0.clone();
    if clients.len() == ClientApp::ALL.len() {
        clients.retain(|client| client.is_installed(&home));
    }
    if clients.is_empty() {
        let ids: Vec<_> = ClientApp::ALL.iter().map(|client| client.id()).collect();
        bail!("none of the clients is on this machine; name one of {}", ids.join(", "));
    }
    let launch = launch(at)?;
    let mode = if args.dry_run { Mode::DryRun } else { Mode::Write };
    let reports = clients.iter().map(|client| match args.undo {
        true => import::disconnect(*client, &home, mode),
        false => import::connect(*client, &home, &launch, mode),
    });
    let reports: Vec<ConnectReport> = reports.collect();
    if args.json {
        printer.json(&json!({ "dry_run": args.dry_run, "clients": reports }));
    } else {
        reports.iter().for_each(|report| show(report, &args, printer));
        advise(&args, &reports, at, printer)?;
    }
    let failed = reports.iter().any(|report| report.outcome == ConnectOutcome::Failed);
    Ok(if failed { Exit::Failure } else { Exit::Success })
}

fn show(report: &ConnectReport, args: &ConnectArgs, printer: Printer) {
    let (client, path) = (report.client, report.path.display());
    if let Some(error) = &report.error {
        return printer.error(format!("{client}: {path}: {error}"));
    }
    let backup = report.backup.as_ref().and_then(|backup| backup.file_name());
    let backup = backup.map(|name| format!(" (backup: {})", name.to_string_lossy()));
    let backup = backup.unwrap_or_default();
    let text = match (report.outcome, args.dry_run) {
        (ConnectOutcome::Connected, false) => format!("Narrows is in {path}{backup}"),
        (ConnectOutcome::Connected, true) => format!("Narrows would be put into {path}"),
        (ConnectOutcome::AlreadyConnected, _) => format!("Narrows is in {path} already"),
        (ConnectOutcome::Disconnected, false) => {
            format!("Narrows is no longer in {path}{backup}")
        }
        (ConnectOutcome::Disconnected, true) => format!("Narrows would be taken out of {path}"),
        (ConnectOutcome::NotConnected | ConnectOutcome::Failed, _) => {
            format!("Narrows is not in {path}")
        }
    };
    printer.line(format!("{client}: {text}"));
}

/// Tells the user what to do next.
fn advise(
    args: &ConnectArgs,
    reports: &[ConnectReport],
    at: &GlobalArgs,
    printer: Printer,
) -> anyhow::Result<()> {
    if args.dry_run {
        printer.note("nothing was written");
        return Ok(());
    }
    let of = |outcome| {
        let found = reports.iter().filter(move |report| report.outcome == outcome);
        found.map(|report| report.client).collect::<Vec<_>>()
    };
    let changed = [of(ConnectOutcome::Connected), of(ConnectOutcome::Disconnected)].concat();
    if !changed.is_empty() {
        printer.note(format!("restart {}", changed.join(", ")));
    }
    if args.undo {
        return Ok(());
    }
    for report in reports.iter().filter(|report| report.other_servers > 0) {
        let (client, count) = (report.client, report.other_servers);
        let servers = if count == 1 { "server" } else { "servers" };
        printer.note(format!(
            "{client} has {count} {servers} of its own; narrows import --from {client} --apply \
             takes them over"
        ));
    }
    let (places, _) = AppContext::find(at)?;
    let path = at.config.clone().unwrap_or_else(|| places.config_file());
    if Config::load(&ConfigSource::User(path)).is_ok_and(|config| config.servers.is_empty()) {
        printer.note("Narrows has no servers yet: narrows import, or narrows servers add --help");
    }
    Ok(())
}
