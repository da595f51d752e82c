//! `narrows audit`: who did what.

use clap::{Args, Subcommand};
use narrows_engine::state::{AuditEntry, AuditFilter, Verification, now};
use narrows_model::EventOutcome;
use serde_json::json;

use crate::{
    app::{AppContext, Exit},
    printer::{Cell, Column, Printer, Style, Table},
    times,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  narrows audit search --since 2h --action call
  narrows audit search --since 2026-11-17 --until 2026-11-18 --agent planner
  narrows audit search --since 1h --outcome failed
  narrows audit export --since yesterday > audit.jsonl";

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
struct EntryFilter {
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
    /// With this outcome: ok, failed, limit, refused, cancelled, busy, or begun. Entries of earlier
    /// versions that say success or error are ok or failed
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<EventOutcome>,
    /// From this time on: 2h (ago), 2026-11-18, yesterday or 2026-11-18T14:30Z; in UTC
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<i64>,
    /// Before this time; a day is where it begins
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<i64>,
}

fn parse_time(text: &str) -> Result<i64, String> {
    times::parse(text, now())
}

impl From<EntryFilter> for AuditFilter {
    fn from(of: EntryFilter) -> Self {
        let EntryFilter { agent, namespace, action, target, outcome, since, until } = of;
        Self { principal: agent, namespace, action, target, outcome, since, until }
    }
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// What was done and when, newest first
    #[command(visible_aliases = ["list", "ls"])]
    Search {
        #[command(flatten)]
        of: EntryFilter,
        /// How many at most
        #[arg(long, value_name = "NUMBER", default_value_t = 50)]
        limit: usize,
    },
    /// One entry in full
    Show { seq: i64 },
    /// Check that no entry was changed, removed or added
    Verify,
    /// All entries, oldest first, one JSON document on each line
    Export {
        #[command(flatten)]
        of: EntryFilter,
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
    setting: AppContext,
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
            } else {
                printer.table(&table(&entries));
                match entries.len() {
                    0 => printer.note("no entries fit"),
                    shown if shown == limit => {
                        printer.note(format!("the newest {limit} are shown; --limit shows more"));
                    }
                    _ => {}
                }
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
            while !printer.is_closed() {
                let entries = audit.export(&filter, after, PAGE).await?;
                let Some(last) = entries.last() else { break };
                after = last.seq;
                for entry in &entries {
                    printer.line(serde_json::to_string(entry)?);
                }
            }
        }
        AuditCommand::Prune { older_than, larger_than } => {
            let settings = setting.config.safety.audit;
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

fn table(entries: &[AuditEntry]) -> Table {
    let mut table = Table::new([
        Column::number("seq").styled(Style::Name),
        Column::text("time").styled(Style::Dim),
        Column::text("agent"),
        Column::text("namespace"),
        Column::text("action"),
        Column::text("target").cut(),
        Column::text("outcome"),
    ]);
    for entry in entries {
        let style = entry.outcome.parse::<EventOutcome>().map_or(Style::Plain, Style::from);
        table.row([
            entry.seq.into(),
            times::format(entry.at).into(),
            (&entry.principal).into(),
            (&entry.namespace).into(),
            (&entry.action).into(),
            (&entry.target).into(),
            Cell::styled(&entry.outcome, style),
        ]);
    }
    table
}
