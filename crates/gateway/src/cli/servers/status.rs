//! `narrows servers status`: starts servers, and reports each when it has answered.

use clap::Args;
use futures::{StreamExt, stream::FuturesUnordered};
use narrows_engine::broker::Broker;
use narrows_upstream::{Health, Status};
use serde_json::json;

use super::{NO_SERVERS, OutputArgs, find_enabled};
use crate::{
    app::{AppContext, Exit},
    cli::waiting::WaitingLine,
    printer::{Printer, Style},
    status::{self, GatewayStatus},
};

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Only this server
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(
    setting: AppContext,
    args: StatusArgs,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let name = args.name.as_deref();
    if let Some(name) = name {
        find_enabled(&setting, name)?;
    }
    let wanted = |other: &&str| name.is_none_or(|name| *other == name);
    let names = setting.config.servers.iter().map(|spec| spec.name.as_str());
    let names: Vec<String> = names.filter(wanted).map(str::to_owned).collect();
    let disabled = setting.config.disabled.iter().map(|spec| spec.name.as_str()).filter(wanted);
    let column = column(names.iter().map(String::as_str).chain(disabled.clone()));
    let told = (!args.output.json).then_some(column);
    let statuses = check(&setting, &names, told, printer).await?;
    let gateways = status::running(&setting.places);
    if args.output.json {
        printer.json(&json!({ "servers": statuses, "gateways": gateways }));
    } else {
        for gateway in &gateways {
            show_troubled(gateway, wanted, printer);
        }
        for name in disabled {
            let (begin, more) =
                (beginning(name, column, printer), format!(" (narrows servers enable {name})"));
            printer.spans(&[
                (Style::Name, &begin),
                (Style::Dim, "disabled"),
                (Style::Plain, &more),
            ]);
        }
        if statuses.is_empty() && setting.config.disabled.is_empty() {
            printer.note(NO_SERVERS);
        }
    }
    Ok(exit(&statuses))
}

pub(super) fn exit(statuses: &[Status]) -> Exit {
    let all_ready = statuses.iter().all(|status| status.health == Health::Ready);
    if all_ready { Exit::Success } else { Exit::Failure }
}

/// Starts servers and ends them again. If `column` is given, shows each when it has answered, with its
/// state in that column.
pub(super) async fn check(
    setting: &AppContext,
    names: &[String],
    column: Option<usize>,
    printer: Printer,
) -> anyhow::Result<Vec<Status>> {
    let broker = setting.broker()?;
    let mut statuses = probe_each(&broker, names, printer, |status| {
        if let Some(column) = column {
            show(status, column, printer);
        }
    })
    .await;
    broker.fleet().shut_down().await;
    statuses.sort_by(|one, other| one.server.cmp(&other.server));
    Ok(statuses)
}

/// Shows the servers that do not work in a running gateway, with their last errors.
fn show_troubled(gateway: &GatewayStatus, wanted: impl Fn(&&str) -> bool, printer: Printer) {
    for server in &gateway.servers {
        let name = server["server"].as_str().unwrap_or_default();
        let Some(error) = server["last_error"].as_str().filter(|_| wanted(&name)) else { continue };
        printer.line(format!(
            "in the gateway with process id {}: {name}: {error} ({})",
            gateway.process_id,
            server["health"].as_str().unwrap_or_default(),
        ));
    }
}

/// Starts servers at the same time, and calls `tell` for each when it has answered or failed. On a
/// terminal, a status line says which are still awaited.
pub(crate) async fn probe_each(
    broker: &Broker,
    names: &[String],
    printer: Printer,
    tell: impl Fn(&Status),
) -> Vec<Status> {
    let mut waiting = WaitingLine::new(names, printer);
    let starts = names.iter().map(|name| async move {
        let _ = broker.fleet().start(name).await;
        broker.fleet().status(name)
    });
    let mut starts: FuturesUnordered<_> = starts.collect();
    let mut statuses = Vec::with_capacity(names.len());
    while let Some(status) = waiting.during(starts.next()).await {
        let Some(status) = status else { continue };
        waiting.is_done(&status.server);
        tell(&status);
        statuses.push(status);
    }
    statuses
}

/// Prints the status of a server; on a terminal, its state begins in this column.
pub(super) fn show(status: &Status, column: usize, printer: Printer) {
    let (style, state) = match status.health {
        Health::Ready => (Style::Good, "ready"),
        Health::LoginNeeded => (Style::Bad, "needs a login"),
        Health::Failed | Health::Idle | Health::Starting => (Style::Bad, "failed"),
    };
    let mut more = String::new();
    if status.health == Health::Ready {
        if let Some(tools) = status.tools {
            more += &format!(", {tools} tools");
        }
        if let Some(implementation) = &status.implementation {
            more += &format!(", {implementation}");
        }
        if let Some(protocol) = &status.protocol {
            more += &format!(", MCP {protocol}");
        }
    }
    if status.health == Health::LoginNeeded {
        more = format!(": narrows servers login {}", status.server);
    }
    let name = beginning(&status.server, column, printer);
    printer.spans(&[(Style::Name, &name), (style, state), (Style::Plain, &more)]);
    if let Some(error) = &status.last_error
        && status.health != Health::LoginNeeded
    {
        for text in error.lines() {
            printer.line(format!("    {text}"));
        }
    }
}

/// Returns the column in which the states of these servers line up.
fn column<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names.map(|name| name.chars().count() + 2).max().unwrap_or_default()
}

fn beginning(name: &str, column: usize, printer: Printer) -> String {
    let column = if printer.is_terminal() { column } else { 0 };
    format!("{:column$}", format!("{name}: "))
}
