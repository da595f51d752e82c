//! What the user can write on the command line.

pub(crate) mod run;

use clap::{Args, Parser, Subcommand};

/// One MCP server in front of many: agents write Python, a WebAssembly sandbox runs it.
#[derive(Debug, Parser)]
#[command(name = "narrows", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a Python program in the sandbox
    #[command(after_help = run::AFTER_HELP)]
    Run(run::RunArgs),
    /// Show what the sandbox does, on built-in data
    Demo(DemoArgs),
    /// Measure this machine against the budgets
    Bench(BenchArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Print one JSON document instead of the tour
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: Benchmark,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Benchmark {
    /// Fresh isolates: time to a result, runs per second, memory, against python3
    Sandbox(BenchOptions),
    /// Tool calls from Python and back
    Calls(BenchOptions),
}

#[derive(Debug, Args)]
pub(crate) struct BenchOptions {
    /// How many times each thing is measured
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) samples: u32,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
