//! The arguments of `narrows bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::load::RequestKind;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: Benchmark,
    /// Exit with 1 if a budget was missed, and name it
    #[arg(long, global = true)]
    pub(crate) check: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Benchmark {
    /// Fresh isolates: time to a result, runs per second, memory, against python3
    Sandbox(BenchOptions),
    /// Tool calls from Python and back
    Calls(BenchOptions),
    /// The whole way of execute_code, what the gateway adds to a call of a real server, and how soon
    /// it answers a client, against python3 and FastMCP
    Gateway(GatewayBenchArgs),
    /// Many users at once for some time: do memory, descriptors and threads stay flat, and is everybody
    /// answered?
    Load(LoadBenchArgs),
    /// How well and how fast tools are found, on labelled queries
    Search(SearchBenchArgs),
    /// What tool definitions and answers cost in tokens, on a catalog of real tools
    Tokens(CatalogBenchArgs),
    /// Listing, search and insertion in a store that holds much
    Store(StoreBenchArgs),
    /// How long a program is looked at before it runs, with a catalog of real tools
    Check(CatalogBenchArgs),
    /// How well and how fast personal data is found, on labelled texts
    Pii(PiiBenchArgs),
    /// Analyses of a million rows, against pandas and Polars
    Analysis(AnalysisBenchArgs),
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

#[derive(Debug, Args)]
pub(crate) struct GatewayBenchArgs {
    #[command(flatten)]
    pub(crate) options: BenchOptions,
    /// A Python with fastmcp[code-mode]; that of the test tools or python3 if none is named
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) python: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LoadBenchArgs {
    /// How long it takes; over two minutes, it says whether memory is flat
    #[arg(long, default_value_t = 5.0, value_parser = minutes)]
    pub(crate) minutes: f64,
    /// How many users ask at the same time
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) users: u32,
    /// Ask only for these, to see which of them makes a figure grow
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    pub(crate) only: Vec<RequestKind>,
    /// The narrows whose gateway is measured, to compare builds; without it, this one
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses a number of minutes.
fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|_| "not a number of minutes, such as 5".to_owned())?;
    if (0.01..=1440.0).contains(&minutes) {
        Ok(minutes)
    } else {
        Err("not between 0.01 and 1440 minutes".to_owned())
    }
}

#[derive(Debug, Args)]
pub(crate) struct StoreBenchArgs {
    /// How many skills it holds
    #[arg(long, default_value_t = 100_000)]
    pub(crate) skills: usize,
    /// An empty database, such as postgres://…; a file that goes away again if none is named
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// How many audit entries it holds
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) audit: usize,
    /// How many times each thing is measured
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub(crate) samples: u32,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchBenchArgs {
    /// JSON with "tools": [{id, server, name, desc, params: [[name, description]]}]
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: PathBuf,
    /// JSON with "queries": [{set, query, rel}]; the same file as the tools if it is not named
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PiiBenchArgs {
    /// JSON: [{full_text, spans: [{entity_type, start_position, end_position}]}]
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,
    /// JSON in which there is nothing personal, to count false alarms: a file, or a directory; ids,
    /// times, hashes and versions of our own if it is not named
    #[arg(long, value_name = "PATH")]
    pub(crate) clean: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnalysisBenchArgs {
    /// How many rows the files have
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) rows: usize,
    /// Where the files are or are written to; a place that goes away again if none is named
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// How many times each thing is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) repetitions: u32,
    /// A Python with pandas, pyarrow and Polars; that of the test tools or python3 if none is named
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) python: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CatalogBenchArgs {
    /// A directory of tools/list results, one JSON file for each server
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
