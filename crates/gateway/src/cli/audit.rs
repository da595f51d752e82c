//! `narrows audit`: who did what.

use clap::{Args, Subcommand};
use narrows_engine::state::{AuditFilter, Verification, now};
use serde_json::json;

use crate::{
    app::{Exit, Setting},
    printer::Printer,
};

/// How many entries are read at once.
const PAGE: usize = 1_000;
const DAY: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
}

/// Which entries.
#[derive(Debug, Args)]
struct Of {
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
}

impl From<Of> for AuditFilter {
    fn from(of: Of) -> Self {
        let Of { agent, namespace, action, target } = of;
        Self { principal: agent, namespace, action, target, ..Self::default() }
    }
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// What was done, newest first
    Search {
        #[command(flatten)]
        of: Of,
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// One entry in full
    Show { seq: i64 },
    /// Check that no entry was changed, removed or added
    Verify,
    /// All entries, oldest first, one JSON document on each line
    Export {
        #[command(flatten)]
        of: Of,
        /// Only those after this one
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        after: i64,
    },
    /// Remove old entries now, by [audit] keep_days and keep_mb or by these
    Prune {
        /// Those that are older
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
        /// The oldest, until all have no more than so many megabytes
        #[arg(long, value_name = "MB")]
        larger_than: Option<u32>,
    },
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
        AuditCommand::Search { of, limit } => {
            let entries = audit.search(&of.into(), None, limit).await?;
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
        AuditCommand::Export { of, mut after } => {
            let filter = of.into();
            loop {
                let entries = audit.export(&filter, after, PAGE).await?;
                let Some(last) = entries.last() else { break };
                after = last.seq;
                for entry in &entries {
                    printer.line(serde_json::to_string(entry)?);
                }
            }
        }
        AuditCommand::Prune { older_than, larger_than } => {
            let settings = setting.config.safety.settings.audit;
            let age = older_than.map(|days| u64::from(days) * DAY);
            let age = age.or(settings.age.map(|age| age.as_millis() as u64));
            let bytes = larger_than.map(|megabytes| u64::from(megabytes) << 20).or(settings.bytes);
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let before = age.map(|age| now() - number(age));
            let pruned = audit.prune(before, bytes.map(number)).await?;
            match args.json {
                true => printer.json(&pruned),
                false => printer.line(format!("{} entries were removed", pruned.entries)),
            }
        }
        AuditCommand::Verify => {
            let found = audit.verify().await?;
            if !matches!(found, Verification::Intact { .. }) {
                exit = Exit::Failure;
            }
            match (args.json, &found) {
                (true, found) => printer.json(found),
                (false, Verification::Intact { entries, first }) => {
                    let from = match first {
                        1 => String::new(),
                        first => format!(" (from {first} on; older ones were removed)"),
                    };
                    printer.line(format!("{entries} entries, all as they were written{from}"));
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
