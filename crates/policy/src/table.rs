//! The levels as a table for the configuration reference.

use std::fmt::Write as _;

use super::{
    amounts::{bytes, seconds},
    builtin,
    level::{Level, ReviewMode, ToolAccess, WorkspaceAccess},
    levels::Levels,
    modules::Modules,
};

impl Levels {
    /// The three levels that are always there, as a table in Markdown.
    pub fn table() -> String {
        let levels = builtin::builtin();
        let mut table = String::from("| |");
        levels.iter().for_each(|level| _ = write!(table, " `{}` |", level.name));
        table.push_str("\n|---|---|---|---|\n");
        for (what, cell) in ROWS {
            let cells = levels.each_ref().map(cell);
            _ = writeln!(table, "| {what} | {} |", cells.join(" | "));
        }
        table
    }
}

type Cell = fn(&Level) -> String;

const ROWS: [(&str, Cell); 15] = [
    ("wall time", |level| seconds(level.limits.wall_time)),
    ("CPU time", |level| seconds(level.limits.cpu_time)),
    ("most time that a caller may ask for", |level| seconds(level.longest)),
    ("memory", |level| bytes(level.limits.memory_bytes)),
    ("kept of stdout and of stderr", |level| bytes(level.limits.output_bytes)),
    ("shown to the model", |level| bytes(level.shown_bytes as u64)),
    ("result", |level| bytes(level.limits.result_bytes)),
    ("tool calls", |level| level.limits.tool_calls.to_string()),
    ("calls in flight", |level| level.limits.calls_in_flight.to_string()),
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
    ("`/tmp`", |level| bytes(level.limits.tmp_bytes)),
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
