//! `narrows bench`: measures this machine against the budgets, as ratios where there is
//! something to compare with.

mod analysis;
mod arguments;
mod calls;
mod catalog;
mod check;
mod gateway;
mod http_gateway;
mod load;
mod pii;
mod python;
mod round_trip;
mod sandbox;
mod search;
mod statistics;
mod store;
mod tokens;

use std::path::Path;

use anyhow::Context;
use serde::de::DeserializeOwned;

pub(crate) use arguments::BenchArgs;
use arguments::{Benchmark, GatewayBenchArgs};

use crate::{
    app::Exit,
    printer::Printer,
};

/// What a file of measuring data says.
fn read_json<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} does not have the expected form", path.display()))
}

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
            let GatewayBenchArgs { options, python } = options;
            let python = python.or_else(python::of_test_tools);
            let report = gateway::measure(options.samples, python.as_deref()).await?;
            if options.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Load(args) => return load::run(args, printer).await,
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
        Benchmark::Analysis(args) => {
            let json = args.json;
            let report = analysis::measure(args, printer).await?;
            if json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
        Benchmark::Tokens(args) => {
            let report = tokens::measure(&args.catalog)?;
            if args.json { printer.json(&report) } else { printer.line(report.to_string()) }
        }
    }
    Ok(Exit::Success)
}
