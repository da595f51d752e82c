//! The ledger's figures as people, models and programs read them.

use narrows_engine::ledger::{Side, Totals};
use narrows_model::grouped;
use serde_json::{Value, json};

/// What the figures mean, in short; the long form is docs/TOKENS.md.
pub(crate) const RULES: &str = "\
Tokens are o200k estimates. Narrows: its own tool definitions once per session, plus what the \
model wrote and read. Direct: the definitions of all servers' tools once per session, plus the \
arguments and full results of every tool call that programs made.";

/// Both ways side by side.
pub(crate) fn table(title: &str, totals: &Totals) -> String {
    let mut text = format!(
        "{title}: {} sessions, {} runs ({} failed), {} lookups, {} tool calls\n",
        totals.sessions, totals.runs, totals.failed_runs, totals.lookups, totals.calls
    );
    let heads = ["definitions", "requests", "results", "total"];
    text += &format!("{:10}", "tokens");
    text += &heads.iter().map(|head| format!("{head:>14}")).collect::<String>();
    for (name, side) in [("Narrows", &totals.seen), ("direct", &totals.direct)] {
        let figures = [side.definitions, side.requests, side.results, side.sum()];
        text += &format!("\n{name:10}");
        text +=
            &figures.iter().map(|figure| format!("{:>14}", grouped(*figure))).collect::<String>();
    }
    if let Some(percent) = totals.saved_percent() {
        text += &format!("\nsaved {percent:.1} %");
    }
    text
}

pub(crate) fn json(totals: &Totals) -> Value {
    let side = |side: &Side| {
        json!({
            "definitions": side.definitions,
            "requests": side.requests,
            "results": side.results,
            "total": side.sum(),
        })
    };
    json!({
        "since": totals.since,
        "sessions": totals.sessions,
        "runs": totals.runs,
        "failed_runs": totals.failed_runs,
        "lookups": totals.lookups,
        "tool_calls": totals.calls,
        "tokens_seen": side(&totals.seen),
        "tokens_direct": side(&totals.direct),
        "saved_percent": totals.saved_percent(),
    })
}
