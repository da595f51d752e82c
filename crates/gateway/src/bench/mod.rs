//! `narrows bench`: measures this machine against the budgets, as ratios where there is
//! something to compare with.

mod calls;
mod catalog;
mod check;
mod gateway;
mod pii;
mod python;
mod sandbox;
mod search;
mod statistics;
mod store;
mod tokens;

use crate::{
    app::Exit,
    cli::{BenchArgs, Benchmark},
    printer::Printer,
};

pub(crate) async fn run(args: BenchArgs, printer: Printer) -> anyhow::Result<Exit> {
    match args.what {
        Benchmark::Sandbox(options) => {
            let report = sandbox::measure(options.samples).await?;
            if options.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Calls(options) => {
            let report = calls::measure(options.samples).await?;
            if options.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Gateway(options) => {
            let report = gateway::measure(options.samples).await?;
            if options.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Search(args) => {
            let report = search::measure(&args.tools, args.queries.as_deref())?;
            if args.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Store(args) => {
            let json = args.json;
            let report = store::measure(args, printer).await?;
            if json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Check(args) => {
            let report = check::measure(&args.catalog)?;
            if args.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Pii(args) => {
            let report = pii::measure(&args.data, args.clean.as_deref())?;
            if args.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Tokens(args) => {
            let report = tokens::measure(&args.catalog)?;
            if args.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
    }
    Ok(Exit::Success)
}
