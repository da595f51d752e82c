//! `narrows servers`: the servers behind the gateway.

mod add;
mod login;
mod logs;
mod restart;
mod status;

use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use narrows_model::{Connection, ServerSpec, nearest};
use serde_json::json;

use crate::{
    app::{AppContext, Exit, GlobalArgs},
    config::{ConfigEdit, Enabled},
    printer::{Cell, Column, Printer, Style, Table},
    status as gateway_status,
};

pub(crate) use status::probe_each;

#[derive(Debug, Args)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    what: ServersCommand,
}

#[derive(Debug, Subcommand)]
enum ServersCommand {
    /// The configured servers
    #[command(visible_alias = "ls")]
    List(OutputArgs),
    /// Start every server and show whether it works
    Status(status::StatusArgs),
    /// Add a server: its address, or the command that starts it
    #[command(after_help = add::AFTER_HELP)]
    Add(add::AddArgs),
    /// Remove a server from the configuration
    #[command(visible_alias = "rm", alias = "delete")]
    Remove(NameArgs),
    /// Use a server again that was disabled
    Enable(NameArgs),
    /// Keep a server in the configuration, and do not use it
    Disable(NameArgs),
    /// End a server in the gateways that run now, and start it again
    #[command(after_help = restart::AFTER_HELP)]
    Restart(restart::RestartArgs),
    /// Show what a server printed, and what went wrong with it lately
    #[command(alias = "log", after_help = logs::AFTER_HELP)]
    Logs(logs::LogsArgs),
    /// Log in to a server over HTTP, in the browser
    Login(login::LoginArgs),
}

#[derive(Debug, Args)]
struct OutputArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct NameArgs {
    /// The server's name
    name: String,
}

pub(crate) async fn run(
    args: ServersArgs,
    at: &GlobalArgs,
    printer: Printer,
) -> anyhow::Result<Exit> {
    match args.what {
        ServersCommand::List(output) => Ok(list(&AppContext::load(at)?, &output, printer)),
        ServersCommand::Status(args) => status::run(AppContext::load(at)?, args, printer).await,
        ServersCommand::Add(args) => add::run(args, at, printer),
        ServersCommand::Remove(args) => remove(&args.name, at, printer),
        ServersCommand::Enable(args) => switch(&args.name, Enabled::Yes, at, printer),
        ServersCommand::Disable(args) => switch(&args.name, Enabled::No, at, printer),
        ServersCommand::Restart(args) => restart::run(AppContext::load(at)?, args, printer).await,
        ServersCommand::Logs(args) => logs::run(&AppContext::load(at)?, args, printer).await,
        ServersCommand::Login(args) => {
            let setting = AppContext::load(at)?;
            let spec = find(&setting, &args.name)?.clone();
            login::run(args, spec, &setting, printer).await
        }
    }
}

pub(crate) fn find<'a>(setting: &'a AppContext, name: &str) -> anyhow::Result<&'a ServerSpec> {
    let all = || setting.config.servers.iter().chain(&setting.config.disabled);
    all().find(|spec| spec.name == name).with_context(|| {
        let hint = nearest(name, all().map(|spec| spec.name.as_str()));
        format!("there is no server {name:?} in the configuration{hint}")
    })
}

/// Finds a configured server, and fails if it is disabled.
fn find_enabled<'a>(setting: &'a AppContext, name: &str) -> anyhow::Result<&'a ServerSpec> {
    let spec = find(setting, name)?;
    let is_disabled = setting.config.disabled.iter().any(|other| other.name == name);
    anyhow::ensure!(!is_disabled, "the server {name:?} is disabled; narrows servers enable {name}");
    Ok(spec)
}

fn list(setting: &AppContext, output: &OutputArgs, printer: Printer) -> Exit {
    let enabled = setting.config.servers.iter().map(|spec| (spec, true));
    let all: Vec<_> =
        enabled.chain(setting.config.disabled.iter().map(|spec| (spec, false))).collect();
    if output.json {
        let servers: Vec<_> = all
            .iter()
            .map(|(spec, enabled)| {
                json!({
                    "name": spec.name,
                    "enabled": enabled,
                    "expose": spec.expose,
                    "kind": kind(spec),
                    "target": spec.connection.address(),
                })
            })
            .collect();
        printer.json(&json!({ "config": setting.config.path, "servers": servers }));
        return Exit::Success;
    }
    if all.is_empty() {
        printer.note(NO_SERVERS);
    }
    let mut table = Table::new([
        Column::name("name"),
        Column::text("kind"),
        Column::text("address").wrapped(),
        Column::text("state"),
    ]);
    for (spec, enabled) in all {
        let state = match enabled {
            true => Cell::from("enabled"),
            false => Cell::styled("disabled", Style::Dim),
        };
        table.row([
            (&spec.name).into(),
            kind(spec).into(),
            spec.connection.address().into(),
            state,
        ]);
    }
    printer.table(&table);
    Exit::Success
}

fn kind(spec: &ServerSpec) -> &'static str {
    match spec.connection {
        Connection::Stdio(_) => "stdio",
        Connection::Http(_) => "http",
    }
}

fn remove(name: &str, at: &GlobalArgs, printer: Printer) -> anyhow::Result<Exit> {
    let (_, source) = AppContext::find(at)?;
    let mut edit = ConfigEdit::open(source.path())?;
    edit.remove(name)?;
    edit.save()?;
    printer.note(format!("{name:?} is no longer in {}", source.path().display()));
    Ok(Exit::Success)
}

fn switch(name: &str, enabled: Enabled, at: &GlobalArgs, printer: Printer) -> anyhow::Result<Exit> {
    let (places, source) = AppContext::find(at)?;
    let mut edit = ConfigEdit::open(source.path())?;
    let has_changed = edit.set_enabled(name, enabled)?;
    let state = match enabled {
        Enabled::Yes => "enabled",
        Enabled::No => "disabled",
    };
    if !has_changed {
        printer.note(format!("{name:?} is {state} already"));
        return Ok(Exit::Success);
    }
    edit.save()?;
    printer.note(format!("{name:?} is {state} in {}", source.path().display()));
    if !gateway_status::running(&places).is_empty() {
        printer.note("gateways that run now go on as before, until they are started again");
    }
    Ok(Exit::Success)
}

const NO_SERVERS: &str = "no servers yet: narrows import, or narrows servers add --help";

/// How long a person accepts to wait without being told what for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
