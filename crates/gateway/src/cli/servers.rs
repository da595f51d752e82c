//! `narrows servers`: the servers behind the gateway.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use narrows_engine::{
    broker::Broker,
    upstream::{Health, Status},
};
use narrows_model::{
    Connection, Expose, HttpSpec, HttpTransport, ServerSpec, StdioSpec, Template, nearest,
};
use serde_json::json;

use super::login::{self, LoginArgs};
use crate::{
    app::{At, Exit, Setting},
    config::{ConfigEdit, Existing, ServerEntry, valid_name},
    printer::Printer,
    status,
};

#[derive(Debug, Args)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    what: ServersCommand,
}

#[derive(Debug, Subcommand)]
enum ServersCommand {
    /// The configured servers
    List(OutputArgs),
    /// Start every server and show whether it works
    Status(StatusArgs),
    /// Add a server: a command after `--`, or --url
    #[command(after_help = ADD_HELP)]
    Add(AddArgs),
    /// Remove a server from the configuration
    Remove(RemoveArgs),
    /// Log in to a server over HTTP, in the browser
    Login(LoginArgs),
}

const ADD_HELP: &str = "\
Examples:
  narrows servers add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  narrows servers add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- github-mcp-server stdio
  narrows servers add linear --url https://mcp.linear.app/mcp";

#[derive(Debug, Args)]
struct OutputArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct StatusArgs {
    /// Only this server
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
struct AddArgs {
    name: String,
    /// The address of a server over HTTP
    #[arg(long, conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,
    /// A header for every request, as NAME=VALUE
    #[arg(long = "header", value_name = "NAME=VALUE", requires = "url", value_parser = pair)]
    headers: Vec<(String, String)>,
    /// The transport: auto, http or sse
    #[arg(long, requires = "url", value_parser = transport)]
    transport: Option<HttpTransport>,
    /// A variable of the server's environment, as NAME=VALUE; '${NAME}' is filled in at the start
    #[arg(long = "env", value_name = "NAME=VALUE", requires = "command", value_parser = pair)]
    env: Vec<(String, String)>,
    /// How agents reach its tools: code, direct, both or auto
    #[arg(long, value_parser = expose)]
    expose: Option<Expose>,
    /// Replace a server of the same name
    #[arg(long)]
    force: bool,
    /// The command that starts the server, after `--`
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct RemoveArgs {
    name: String,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

fn transport(text: &str) -> Result<HttpTransport, String> {
    serde_json::from_value(json!(text)).map_err(|_| "it must be auto, http or sse".to_owned())
}

fn expose(text: &str) -> Result<Expose, String> {
    serde_json::from_value(json!(text))
        .map_err(|_| "it must be code, direct, both or auto".to_owned())
}

pub(crate) async fn run(args: ServersArgs, at: &At, printer: Printer) -> anyhow::Result<Exit> {
    match args.what {
        ServersCommand::List(output) => Ok(list(&Setting::load(at)?, &output, printer)),
        ServersCommand::Status(args) => show_status(Setting::load(at)?, args, printer).await,
        ServersCommand::Add(args) => add(args, at, printer),
        ServersCommand::Remove(args) => {
            let (_, source) = Setting::find(at)?;
            let mut edit = ConfigEdit::open(source.path())?;
            edit.remove(&args.name)?;
            edit.save()?;
            let path = source.path();
            printer.note(format!("{:?} is no longer in {}", args.name, path.display()));
            Ok(Exit::Success)
        }
        ServersCommand::Login(args) => {
            let setting = Setting::load(at)?;
            let spec = find(&setting, &args.name)?.clone();
            login::run(args, spec, &setting, printer).await
        }
    }
}

pub(crate) fn find<'a>(setting: &'a Setting, name: &str) -> anyhow::Result<&'a ServerSpec> {
    let all = || setting.config.servers.iter().chain(&setting.config.disabled);
    all().find(|spec| spec.name == name).with_context(|| {
        let hint = nearest(name, all().map(|spec| spec.name.as_str()));
        format!("there is no server {name:?} in the configuration{hint}")
    })
}

fn list(setting: &Setting, output: &OutputArgs, printer: Printer) -> Exit {
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
                    "target": target(spec),
                })
            })
            .collect();
        printer.json(&json!({ "config": setting.config.path, "servers": servers }));
        return Exit::Success;
    }
    if all.is_empty() {
        printer.note("no servers yet: narrows import, or narrows servers add --help");
    }
    let width = all.iter().map(|(spec, _)| spec.name.len()).max().unwrap_or_default();
    for (spec, enabled) in all {
        let off = if enabled { "" } else { "  (disabled)" };
        printer.line(format!("{:width$}  {:5}  {}{off}", spec.name, kind(spec), target(spec)));
    }
    Exit::Success
}

fn kind(spec: &ServerSpec) -> &'static str {
    match spec.connection {
        Connection::Stdio(_) => "stdio",
        Connection::Http(_) => "http",
    }
}

/// What starts the server, or where it is. Arguments may hold secrets: they are not shown.
fn target(spec: &ServerSpec) -> String {
    match &spec.connection {
        Connection::Stdio(stdio) => match stdio.args.len() {
            0 => stdio.command.as_written().to_owned(),
            count => format!("{} ({count} arguments)", stdio.command.as_written()),
        },
        Connection::Http(http) => {
            let url = http.url.as_written();
            url.split(['?', '#']).next().unwrap_or(url).to_owned()
        }
    }
}

fn add(args: AddArgs, at: &At, printer: Printer) -> anyhow::Result<Exit> {
    let name = args.name;
    if valid_name(&name) != name {
        bail!("{name:?} is not a name for a server; use {:?}", valid_name(&name));
    }
    let templates = |pairs: Vec<(String, String)>| -> BTreeMap<String, Template> {
        pairs.into_iter().map(|(name, value)| (name, Template::new(value))).collect()
    };
    let connection = match (args.url, args.command.split_first()) {
        (Some(url), _) => Connection::Http(HttpSpec {
            url: Template::new(url),
            headers: templates(args.headers),
            transport: args.transport.unwrap_or_default(),
            ..HttpSpec::default()
        }),
        (None, Some((command, rest))) => Connection::Stdio(StdioSpec {
            command: Template::new(command),
            args: rest.iter().map(Template::new).collect(),
            env: templates(args.env),
            cwd: None,
        }),
        (None, None) => bail!("give the command after `--`, or --url"),
    };
    let entry = ServerEntry { expose: args.expose, ..ServerEntry::new(name.clone(), connection) };
    let existing = if args.force { Existing::Replace } else { Existing::Refuse };
    let (_, source) = Setting::find(at)?;
    let mut edit = ConfigEdit::open(source.path())?;
    edit.add(&entry, existing)?;
    edit.save()?;
    let path = source.path();
    printer
        .note(format!("{name:?} is in {}; try it: narrows servers status {name}", path.display()));
    Ok(Exit::Success)
}

async fn show_status(setting: Setting, args: StatusArgs, printer: Printer) -> anyhow::Result<Exit> {
    if let Some(name) = &args.name {
        find(&setting, name)?;
    }
    let wanted = |spec: &&ServerSpec| args.name.as_ref().is_none_or(|name| spec.name == *name);
    let names: Vec<String> =
        setting.config.servers.iter().filter(wanted).map(|spec| spec.name.clone()).collect();
    let broker = setting.broker()?;
    let statuses = probe(&broker, &names).await;
    broker.fleet().shut_down().await;
    let gateways = status::running(&setting.places);
    if args.output.json {
        printer.json(&json!({ "servers": statuses, "gateways": gateways }));
    } else {
        for status in &statuses {
            show(status, printer);
        }
        for gateway in gateways {
            let troubled: Vec<_> = gateway
                .servers
                .iter()
                .filter(|server| server["last_error"].is_string())
                .filter(|server| {
                    args.name.as_ref().is_none_or(|name| server["server"] == name.as_str())
                })
                .collect();
            for server in troubled {
                printer.line(format!(
                    "in the gateway with process id {}: {}: {} ({})",
                    gateway.process_id,
                    server["server"].as_str().unwrap_or_default(),
                    server["last_error"].as_str().unwrap_or_default(),
                    server["health"].as_str().unwrap_or_default(),
                ));
            }
        }
        if statuses.is_empty() {
            printer.note("no servers yet: narrows import, or narrows servers add --help");
        }
    }
    let all_ready = statuses.iter().all(|status| status.health == Health::Ready);
    Ok(if all_ready { Exit::Success } else { Exit::Failure })
}

/// Starts servers beside each other, and tells how they are.
pub(crate) async fn probe(broker: &Broker, names: &[String]) -> Vec<Status> {
    futures::future::join_all(names.iter().map(|name| broker.fleet().start(name))).await;
    let statuses = broker.fleet().statuses().into_iter();
    statuses.filter(|status| names.contains(&status.server)).collect()
}

fn show(status: &Status, printer: Printer) {
    let state = match status.health {
        Health::Ready => "ready".to_owned(),
        Health::LoginNeeded => format!("needs a login: narrows servers login {}", status.server),
        Health::Failed | Health::Idle | Health::Starting => "failed".to_owned(),
    };
    let mut line = format!("{}: {state}", status.server);
    if status.health == Health::Ready {
        if let Some(tools) = status.tools {
            line += &format!(", {tools} tools");
        }
        if let Some(implementation) = &status.implementation {
            line += &format!(", {implementation}");
        }
        if let Some(protocol) = &status.protocol {
            line += &format!(", MCP {protocol}");
        }
    }
    printer.line(line);
    if let Some(error) = &status.last_error
        && status.health != Health::LoginNeeded
    {
        for text in error.lines() {
            printer.line(format!("    {text}"));
        }
    }
}

/// A wait that a person accepts without being told what for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
