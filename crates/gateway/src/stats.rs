//! The figures of the token stats as text and as JSON.

use narrows_engine::token_stats::{TokenCounts, Totals};
use narrows_model::grouped;
use serde_json::{Value, json};

use crate::times;

/// The meaning of the figures in short; docs/TOKENS.md explains them.
pub(crate) const RULES: &str = "\
Tokens are o200k estimates. With Narrows: its own tool definitions once per session, plus what the \
model wrote and read. Direct: the definitions of all servers' tools once per session, plus the \
arguments and full results of every tool call that programs made. Counted is what clients of \
`narrows serve` with this data directory ask for; `narrows run` is not.";

/// Writes the tokens with Narrows and those of direct calls side by side.
pub(crate) fn table(title: &str, totals: &Totals) -> String {
    let mut text = format!(
        "{title}: {} of clients, {} run ({} failed), {}, {} of servers' tools",
        counted(totals.sessions, "session", "sessions"),
        counted(totals.runs, "program", "programs"),
        grouped(totals.failed_runs),
        counted(totals.lookups, "search or other request", "searches and other requests"),
        counted(totals.calls, "call", "calls")
    );
    if let Some(since) = i64::try_from(totals.since).ok().filter(|since| *since > 0) {
        text += &format!(", since {}", times::format(since.saturating_mul(1000)));
    }
    let heads = ["definitions", "requests", "results", "total"];
    text += &format!("\n{:20}", "tokens (estimates)");
    text += &heads.iter().map(|head| format!("{head:>14}")).collect::<String>();
    for (name, side) in [("with Narrows", &totals.seen), ("calling directly", &totals.direct)] {
        let figures = [side.definitions, side.requests, side.results, side.sum()];
        text += &format!("\n{name:20}");
        text +=
            &figures.iter().map(|figure| format!("{:>14}", grouped(*figure))).collect::<String>();
    }
    if let Some(percent) = totals.saved_percent() {
        text += &format!("\nsaved {percent:.1} % of the tokens");
    }
    text
}

fn counted(number: u64, one: &str, many: &str) -> String {
    let name = if number == 1 { one } else { many };
    format!("{} {name}", grouped(number))
}

pub(crate) fn json(totals: &Totals) -> Value {
    let side = |side: &TokenCounts| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_say_what_they_count_since_when_and_in_what() {
        let totals = Totals {
            since: 1_795_012_205,
            sessions: 1,
            runs: 1_234,
            seen: TokenCounts { results: 10, ..TokenCounts::default() },
            direct: TokenCounts { results: 1_000, ..TokenCounts::default() },
            ..Totals::default()
        };
        let text = table("all", &totals);
        for part in [
            "all: 1 session of clients, 1,234 programs run (0 failed), 0 searches",
            "calls of servers' tools, since 2026-11-18 14:30:05Z",
            "tokens (estimates)",
            "saved 99.0 % of the tokens",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let nothing = table("all", &Totals::default());
        assert!(!nothing.contains("since"), "{nothing}");
    }
}
