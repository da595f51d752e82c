//! `narrows approvals`: calls that wait for a person.

use clap::{Args, Subcommand};
use narrows_engine::state::{Approval, ApprovalState, now};
use serde_json::json;

use super::Asking;
use crate::{
    app::{Exit, Setting},
    printer::Printer,
};

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: ApprovalsCommand,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// The calls that wait
    List {
        /// Those that were decided too
        #[arg(long)]
        all: bool,
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// One of them in full
    Show {
        id: String,
        /// With what the tokens in it stand for
        #[arg(long)]
        reveal: bool,
    },
    /// Let it be made, once
    Allow { id: String },
    /// Do not let it be made
    Deny { id: String },
}

pub(crate) async fn run(
    args: ApprovalsArgs,
    setting: Setting,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let Asking { agent, json } = args.asking;
    let agent = setting.agent(agent.as_deref())?;
    let approvals = agent.store().await?.approvals();
    let now = now();
    let by = &agent.principal().name;
    let mut exit = Exit::Success;
    match args.command {
        ApprovalsCommand::List { all, limit } => {
            let state = (!all).then_some(ApprovalState::Pending);
            let found = approvals.list(state, limit, now).await?;
            if json {
                printer.json(&json!({ "approvals": found }));
            } else if found.is_empty() {
                printer.line("nothing waits for approval");
            } else {
                found.iter().for_each(|approval| line(approval, printer));
            }
        }
        ApprovalsCommand::Show { id, reveal } => match approvals.get(&id).await? {
            Some(mut approval) => {
                if reveal {
                    let owner = agent.of_namespace(&approval.namespace);
                    let shown = owner.restore(approval.shown.into());
                    approval.shown = shown.await?.as_str().unwrap_or_default().to_owned();
                }
                if json {
                    printer.json(&approval);
                } else {
                    line(&approval, printer);
                    printer.line(format!("because: {}", approval.why));
                    printer.line(&approval.shown);
                }
            }
            None => {
                printer.error(format!("there is no approval {id:?}; see narrows approvals list"));
                exit = Exit::Failure;
            }
        },
        ApprovalsCommand::Allow { id } => {
            decided(&approvals.decide(&id, true, by, now).await?, json, printer);
        }
        ApprovalsCommand::Deny { id } => {
            decided(&approvals.decide(&id, false, by, now).await?, json, printer);
        }
    }
    agent.close().await;
    Ok(exit)
}

fn decided(approval: &Approval, json: bool, printer: Printer) {
    if json {
        return printer.json(approval);
    }
    printer.line(match approval.state {
        ApprovalState::Denied => format!("{} of {} is denied", approval.tool, approval.principal),
        _ => format!("{} may call {} once, as it asked", approval.principal, approval.tool),
    });
}

fn line(approval: &Approval, printer: Printer) {
    let state = json!(approval.state);
    let state = state.as_str().unwrap_or_default();
    printer.line(format!("{}  {state}  {}  {}", approval.id, approval.principal, approval.tool));
}
