//! `narrows stats`: what was saved so far.

use clap::Args;
use narrows_engine::{
    Background,
    token_stats::{RequestKind, RunStats},
};
use narrows_model::grouped;
use serde_json::json;

use crate::{
    app::{AppContext, Exit},
    printer::{Cell, Column, Printer, Style, Table},
    stats, times,
};

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// How many of the last requests are shown
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    runs: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: StatsArgs, setting: AppContext, printer: Printer) -> anyhow::Result<Exit> {
    let token_stats = setting.token_stats(&Background::default());
    let (totals, runs) = (token_stats.all(), token_stats.last_runs(args.runs));
    if args.json {
        let rules = stats::RULES;
        printer.json(&json!({
            "totals": stats::json(&totals),
            "runs": runs,
            "units": {
                "since": "seconds since 1970",
                "at": "seconds since 1970",
                "tokens": "o200k, estimated",
            },
            "rules": rules,
        }));
        return Ok(Exit::Success);
    }
    if totals.sessions == 0 && totals.runs == 0 {
        printer.line("nothing was counted yet; connect a client with `narrows serve`");
        return Ok(Exit::Success);
    }
    printer.line(stats::table("all sessions", &totals));
    if !runs.is_empty() {
        printer.line("\nthe last requests, newest first:");
        printer.report(&table(&runs));
    }
    printer.line(format!("\n{}", stats::RULES));
    Ok(Exit::Success)
}

fn table(runs: &[RunStats]) -> Table {
    let mut table = Table::new([
        Column::text("time").styled(Style::Dim),
        Column::text("request"),
        Column::text("outcome"),
        Column::number("tool calls"),
        Column::number("ms"),
        Column::number("tokens with Narrows"),
        Column::number("tokens directly"),
    ]);
    for run in runs {
        let at = i64::try_from(run.at).unwrap_or(i64::MAX).saturating_mul(1000);
        let outcome = run.outcome();
        table.row([
            times::format(at).into(),
            match run.kind {
                RequestKind::Run => "program",
                RequestKind::Lookup => "lookup",
            }
            .into(),
            Cell::styled(outcome.as_str(), outcome.into()),
            run.calls.into(),
            grouped(run.milliseconds).into(),
            grouped(run.seen.sum()).into(),
            grouped(run.direct.sum()).into(),
        ]);
    }
    table
}
