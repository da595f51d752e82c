//! `narrows audit`: who did what.

use clap::{Args, Subcommand};
use narrows_engine::state::{AuditFilter, Verification};
use serde_json::json;

use crate::{
    app::{Exit, Setting},
    printer::Printer,
};

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// What was done, newest first
    Search {
        /// By this agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// In this namespace
        #[arg(long, value_name = "NAME")]
        namespace: Option<String>,
        /// Of this kind, such as run, skill. or board.post
        #[arg(long, value_name = "PREFIX")]
        action: Option<String>,
        /// To this: a skill, a board, the hash of a program
        #[arg(long)]
        target: Option<String>,
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// One entry in full
    Show { seq: i64 },
    /// Check that no entry was changed, removed or added
    Verify,
}

pub(crate) async fn run(
    args: AuditArgs,
    setting: Setting,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let state = setting.state()?;
    let audit = state.store().await?.audit();
    let mut exit = Exit::Success;
    match args.command {
        AuditCommand::Search { agent, namespace, action, target, limit } => {
            let filter =
                AuditFilter { principal: agent, namespace, action, target, ..Default::default() };
            let entries = audit.search(&filter, None, limit).await?;
            if args.json {
                printer.json(&json!({ "entries": entries }));
            }
            for entry in entries.iter().filter(|_| !args.json) {
                printer.line(format!(
                    "{:>8}  {}  {}  {} {}  {}",
                    entry.seq,
                    entry.principal,
                    entry.namespace,
                    entry.action,
                    entry.target,
                    entry.outcome
                ));
            }
        }
        AuditCommand::Show { seq } => match audit.get(seq).await? {
            Some(entry) => printer.json(&entry),
            None => {
                printer.error(format!("there is no entry {seq}; see narrows audit search"));
                exit = Exit::Failure;
            }
        },
        AuditCommand::Verify => {
            let found = audit.verify().await?;
            if !matches!(found, Verification::Intact { .. }) {
                exit = Exit::Failure;
            }
            match (args.json, &found) {
                (true, found) => printer.json(found),
                (false, Verification::Intact { entries }) => {
                    printer.line(format!("{entries} entries, all as they were written"));
                }
                (false, Verification::Broken { seq, what }) => {
                    printer.error(format!("entry {seq}: {what}"));
                }
            }
        }
    }
    state.close().await;
    Ok(exit)
}
