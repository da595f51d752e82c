//! Runs the benchmark that the user asks for, prints its report and checks the budgets.

use std::fmt::Display;

use serde::Serialize;

use super::{
    analysis,
    arguments::{BenchArgs, Benchmark, GatewayBenchArgs},
    budget::{self, Budget, Budgeted},
    calls, check, gateway, load, pii, python, sandbox, search, store, tokens,
};
use crate::{app::Exit, printer::Printer};

pub(crate) async fn run(args: BenchArgs, printer: Printer) -> anyhow::Result<Exit> {
    let budgets = match args.what {
        Benchmark::Sandbox(options) => {
            shown(&sandbox::measure(options.samples).await?, options.json, printer)
        }
        Benchmark::Calls(options) => {
            shown(&calls::measure(options.samples).await?, options.json, printer)
        }
        Benchmark::Gateway(options) => {
            let GatewayBenchArgs { options, python } = options;
            let python = python.or_else(python::of_test_tools);
            let report = gateway::measure(options.samples, python.as_deref()).await?;
            shown(&report, options.json, printer)
        }
        // Fails by itself.
        Benchmark::Load(args) => return load::run(args, printer).await,
        Benchmark::Search(args) => {
            shown(&search::measure(&args.tools, args.queries.as_deref())?, args.json, printer)
        }
        Benchmark::Store(args) => {
            let json = args.json;
            shown(&store::measure(args, printer).await?, json, printer)
        }
        Benchmark::Check(args) => shown(&check::measure(&args.catalog)?, args.json, printer),
        Benchmark::Pii(args) => {
            shown(&pii::measure(&args.data, args.clean.as_deref())?, args.json, printer)
        }
        Benchmark::Analysis(args) => {
            let json = args.json;
            shown(&analysis::measure(args, printer).await?, json, printer)
        }
        Benchmark::Tokens(args) => shown(&tokens::measure(&args.catalog)?, args.json, printer),
    };
    Ok(if args.check { budget::check(&budgets, printer) } else { Exit::Success })
}

/// Prints a report, and returns its budgets.
fn shown<R: Budgeted + Display + Serialize>(
    report: &R,
    as_json: bool,
    printer: Printer,
) -> Vec<Budget> {
    if as_json {
        printer.json(report)
    } else {
        printer.line(report.to_string())
    }
    report.budgets()
}
