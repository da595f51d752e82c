//! `narrows stats`: what was saved so far.

use clap::Args;
use narrows_engine::Background;
use serde_json::json;

use crate::{
    app::{Exit, Setting},
    printer::Printer,
    stats,
};

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// How many of the last requests are shown
    #[arg(long, default_value_t = 10)]
    runs: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: StatsArgs, setting: Setting, printer: Printer) -> anyhow::Result<Exit> {
    let ledger = setting.ledger(&Background::default());
    let (totals, runs) = (ledger.all(), ledger.last_runs(args.runs));
    if args.json {
        let rules = stats::RULES;
        printer.json(&json!({"totals": stats::json(&totals), "runs": runs, "rules": rules}));
        return Ok(Exit::Success);
    }
    if totals.sessions == 0 && totals.runs == 0 {
        printer.line("nothing was counted yet; connect a client with `narrows serve`");
        return Ok(Exit::Success);
    }
    printer.line(stats::table("all sessions", &totals));
    if !runs.is_empty() {
        printer.line("\nlast requests, newest first:");
    }
    for run in runs {
        printer.line(format!(
            "  {:?}{}: {} tool calls in {} ms, {} tokens instead of {}",
            run.kind,
            if run.succeeded { "" } else { " (failed)" },
            run.calls,
            run.milliseconds,
            run.seen.sum(),
            run.direct.sum(),
        ));
    }
    printer.line(format!("\n{}", stats::RULES));
    Ok(Exit::Success)
}
