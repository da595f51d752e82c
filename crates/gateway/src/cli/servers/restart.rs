//! `narrows servers restart`: asks the gateways that run now.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{OutputArgs, find_enabled, status};
use crate::{
    app::{AppContext, Exit},
    cli::waiting::WaitingLine,
    control::{self, ControlReply, ControlRequest},
    error_chain::error_chain,
    printer::Printer,
    status as gateway_status,
};

pub(super) const AFTER_HELP: &str = "\
A gateway starts the server as it was configured when the gateway itself was started. If no gateway
runs, the server is started once to see whether it works, as narrows servers status does.";

/// Time beside the server's own time to start: until the gateway sees the request, and until the old
/// process has ended.
const SLACK: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
pub(super) struct RestartArgs {
    /// The server's name
    name: String,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(
    setting: AppContext,
    args: RestartArgs,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let name = &args.name;
    let max_wait = find_enabled(&setting, name)?.start_timeout + SLACK;
    let gateways = gateway_status::running(&setting.places);
    if gateways.is_empty() {
        printer.note(format!("no gateway is running; {name} is only tried here"));
        let names = [name.clone()];
        let statuses =
            status::check(&setting, &names, (!args.output.json).then_some(0), printer).await?;
        if args.output.json {
            printer.json(&json!({ "gateways": [], "servers": statuses }));
        }
        return Ok(status::exit(&statuses));
    }
    let request = ControlRequest::Restart { server: name.clone() };
    let mut waiting = WaitingLine::new(std::slice::from_ref(name), printer);
    let asked = gateways
        .iter()
        .map(|gateway| control::ask(&setting.places, gateway.process_id, &request, max_wait));
    let answers = waiting.during(futures::future::join_all(asked)).await;
    let mut reports = Vec::new();
    let mut exit = Exit::Success;
    for (gateway, answer) in gateways.iter().zip(answers) {
        let (error, server) = match answer {
            Ok(ControlReply { error, status }) => (error, status),
            Err(error) => (Some(error_chain(&error)), None),
        };
        let id = gateway.process_id;
        match &error {
            Some(error) => {
                exit = Exit::Failure;
                if !args.output.json {
                    printer.error(format!("in the gateway with process id {id}: {error}"));
                }
            }
            None if args.output.json => {}
            None => {
                let tools = server.as_ref().and_then(|server| server["tools"].as_u64());
                let tools = tools.map(|tools| format!(", {tools} tools")).unwrap_or_default();
                printer
                    .line(format!("{name}: restarted in the gateway with process id {id}{tools}"));
            }
        }
        reports.push(json!({ "process_id": id, "error": error, "server": server }));
    }
    if args.output.json {
        printer.json(&json!({ "gateways": reports }));
    }
    Ok(exit)
}
