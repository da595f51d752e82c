//! `narrows servers status`: starts servers, and tells of each when it has answered.

use clap::Args;
use futures::{StreamExt, stream::FuturesUnordered};
use narrows_engine::{
    broker::Broker,
    upstream::{Health, Status},
};
use serde_json::json;

use super::{NO_SERVERS, OutputArgs, find_enabled};
use crate::{
    app::{Exit, Setting},
    cli::waiting::Waiting,
    printer::Printer,
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
    setting: Setting,
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
    let statuses = check(&setting, &names, args.output.json, printer).await?;
    let gateways = status::running(&setting.places);
    if args.output.json {
        printer.json(&json!({ "servers": statuses, "gateways": gateways }));
    } else {
        for gateway in &gateways {
            show_troubled(gateway, wanted, printer);
        }
        let disabled = setting.config.disabled.iter().map(|spec| spec.name.as_str());
        for name in disabled.filter(wanted) {
            printer.line(format!("{name}: disabled (narrows servers enable {name})"));
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

/// Starts servers, shows each when it has answered, and ends them again.
pub(super) async fn check(
    setting: &Setting,
    names: &[String],
    quietly: bool,
    printer: Printer,
) -> anyhow::Result<Vec<Status>> {
    let broker = setting.broker()?;
    let mut statuses = probe_each(&broker, names, printer, |status| {
        if !quietly {
            show(status, printer);
        }
    })
    .await;
    broker.fleet().shut_down().await;
    statuses.sort_by(|one, other| one.server.cmp(&other.server));
    Ok(statuses)
}

/// What a running gateway knows of servers that do not work there.
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

/// Starts servers beside each other. `tell` is told of each when it has answered or failed, and whoever
/// sits before the terminal sees what is waited for meanwhile.
pub(crate) async fn probe_each(
    broker: &Broker,
    names: &[String],
    printer: Printer,
    tell: impl Fn(&Status),
) -> Vec<Status> {
    let mut waiting = Waiting::new(names, printer);
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

pub(super) fn show(status: &Status, printer: Printer) {
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
