//! The levels as a table for the configuration reference.

use std::{fmt::Write as _, time::Duration};

use narrows_model::{LimitSpec, LimitUnit, Limits};

use super::{
    amounts::{bytes, seconds},
    builtin,
    level::{Level, ReviewMode, ToolAccess, WorkspaceAccess},
    levels::Levels,
    modules::Modules,
};

impl Levels {
    /// Returns a Markdown table of the three builtin levels: their limits, and the rest.
    pub fn table() -> String {
        let levels = builtin::builtin();
        let mut table = String::from("| |");
        levels.iter().for_each(|level| _ = write!(table, " `{}` |", level.name));
        table.push_str("\n|---|---|---|---|\n");
        let mut row = |what: &str, cells: [String; 3]| {
            _ = writeln!(table, "| {what} | {} |", cells.join(" | "));
        };
        for limit in Limits::ALL.iter().filter(|limit| limit.is_in_levels()) {
            row(limit.title, levels.each_ref().map(|level| limit_cell(limit, level)));
        }
        for (what, cell) in ROWS {
            row(what, levels.each_ref().map(cell));
        }
        table
    }
}

fn limit_cell(limit: &LimitSpec, level: &Level) -> String {
    let amount = limit.amount_of(&level.limits);
    match limit.unit {
        LimitUnit::Seconds => seconds(Duration::from_nanos(amount)),
        LimitUnit::Kilobytes | LimitUnit::Megabytes => bytes(amount),
        LimitUnit::Pieces => amount.to_string(),
    }
}

type Cell = fn(&Level) -> String;

/// The rows of the table for everything but limits.
const ROWS: [(&str, Cell); 7] = [
    ("most time that a caller may ask for", |level| seconds(level.longest)),
    ("shown to the model", |level| bytes(level.shown_bytes as u64)),
    ("tools", |level| match level.tools {
        ToolAccess::None => "none".to_owned(),
        ToolAccess::ReadOnly => {
            "with `readOnlyHint: true`, or named by a rule that allows".to_owned()
        }
        ToolAccess::All => "all that policy allows".to_owned(),
    }),
    ("workspace", |level| match level.workspace {
        WorkspaceAccess::None => "none".to_owned(),
        WorkspaceAccess::Read => "read".to_owned(),
        WorkspaceAccess::Write => "read and write".to_owned(),
    }),
    ("modules", |level| match &level.modules {
        Modules::Any => "all".to_owned(),
        Modules::Only(only) => {
            let own = Modules::OWN.into_iter().chain(only.iter().map(String::as_str));
            own.map(|module| format!("`{module}`")).collect::<Vec<_>>().join(", ")
        }
    }),
    ("review", |level| match level.review {
        ReviewMode::Off => "off".to_owned(),
        ReviewMode::Warn => "warns".to_owned(),
        ReviewMode::Block => "refuses what is dangerous, warns of the rest".to_owned(),
    }),
    ("audit record that cannot be written", |level| match level.audit_must_hold {
        true => "the run fails".to_owned(),
        false => "a warning".to_owned(),
    }),
];
