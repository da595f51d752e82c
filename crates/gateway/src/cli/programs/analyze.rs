//! `narrows analyze`: figures from files and tools, at native speed.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, bail};
use clap::Args;
use narrows_analysis::{AnalysisType, FileFormat, FileSink, Format, Input, SpillTarget};
use narrows_engine::{
    AnalyzeOptions, Audience, Background, RunWorkspace,
    analysis::{AnalysisRequest, TableSource},
};
use serde_json::{Map, Value, json};

use super::{ending, run::TerminalCaller};
use crate::{
    app::{self, AppContext, Exit},
    cli::waiting::WaitingLine,
    output_file::OutputFile,
    printer::Printer,
};

/// The most that is read from standard input.
const MAX_INPUT_BYTES: u64 = 256 << 20;

pub(crate) const AFTER_HELP: &str = "\
Types: filter, aggregate, transform, validate, describe, histogram, percentiles, time_series,
correlation, covariance, test, sql; docs/ANALYSIS.md has their parameters. What pandas and SQL call
them is understood too: value_counts, top_n, pivot, join, sort, head, …

Exit codes: 0 success, 1 it failed, 2 wrong use, 3 a limit ended it, 130 interrupted.

Examples:
  narrows analyze describe sales.csv
  narrows analyze aggregate sales.csv -p '{\"group_by\": \"region\", \"aggregations\": {\"amount\": \"sum\"}}'
  narrows analyze sql stocks.parquet s=sectors.csv -q 'select * from stocks join s using (sector)'
  narrows analyze filter --tool github.list_issues --arguments '{\"owner\": \"o\"}' -p '{\"conditions\": []}'
  curl … | narrows analyze describe -";

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// What to do: describe, filter, aggregate, sql, …
    #[arg(value_name = "TYPE")]
    kind: String,
    /// JSON, JSON lines, CSV, TSV or Parquet; NAME=FILE names the table, `-` is JSON from standard
    /// input. The first is the one that it is about
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// What the type takes, as a JSON object
    #[arg(short, long, value_name = "JSON", value_parser = parse_object)]
    parameters: Option<Map<String, Value>>,
    /// The query of sql
    #[arg(short, long, value_name = "SQL", allow_hyphen_values = true)]
    query: Option<String>,
    /// Analyse what a tool gives, instead of a file
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The tool's arguments, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = parse_object, requires = "tool")]
    arguments: Option<Map<String, Value>>,
    /// Where the rows are in the tool's answer, as in result.items
    #[arg(long, requires = "tool")]
    path: Option<String>,
    /// How many rows are shown at most
    #[arg(long, default_value_t = 100)]
    rows: usize,
    /// How rows are shown: json, csv or markdown; by default what has the fewest tokens
    #[arg(long, value_parser = parse_format)]
    format: Option<Format>,
    /// Write all rows to this file, as Parquet or CSV
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show tokens instead of personal data, as an agent is shown them
    #[arg(long)]
    protect: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(
    args: AnalyzeArgs,
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let (json, protect) = (args.json, args.protect);
    let request = match request(args) {
        Ok(request) => request,
        Err(error) => {
            printer.error(format!("{error:#}"));
            return Ok(Exit::WrongUse);
        }
    };
    let broker = setting.broker()?;
    let engine = setting.engine(broker.clone(), &Background::default())?;
    let agent = engine.agent(Arc::new(setting.principal(None)?));
    let interrupted = app::interruption();
    let options = AnalyzeOptions {
        workspace: RunWorkspace::None,
        audience: Audience::Person { protect },
        cancel: interrupted.clone(),
        ..AnalyzeOptions::default()
    };
    let person = Arc::new(TerminalCaller::new(printer, false, interrupted.clone()));
    let analyzing = engine.analyze(&agent, request, options, person);
    let answered = WaitingLine::for_servers(&broker, printer).during(analyzing).await;
    let lost_audit = ending::finish(&engine, &agent, printer).await;
    lost_audit.iter().for_each(|why| printer.note(why));
    if interrupted.is_cancelled() {
        return Ok(Exit::Interrupted);
    }
    Ok(match answered {
        Ok(analyzed) => {
            let (text, structured, _) = analyzed.into_parts();
            match json {
                true => printer.json(&structured),
                false => printer.line(text),
            }
            Exit::Success
        }
        Err(refusal) => {
            match json {
                true => printer.json(&json!({ "success": false, "error": refusal.to_string() })),
                false => printer.error(refusal.to_string()),
            }
            match refusal {
                refusal if refusal.is_limit() => Exit::Limit,
                refusal if refusal.is_wrong_use() => Exit::WrongUse,
                _ => Exit::Failure,
            }
        }
    })
}

fn request(args: AnalyzeArgs) -> anyhow::Result<AnalysisRequest> {
    let mut parameters = args.parameters.unwrap_or_default();
    if let Some(query) = args.query {
        parameters.insert("query".to_owned(), query.into());
    }
    let mut request =
        AnalysisRequest::understood(&args.kind, parameters).map_err(anyhow::Error::msg)?;
    if let Some(tool) = args.tool {
        let arguments = args.arguments.unwrap_or_default();
        request.add("data", TableSource::Tool { tool, arguments, path: args.path });
    }
    for named in &args.files {
        let (name, path) = match named.split_once('=') {
            Some((name, path)) if !Path::new(named).exists() => (Some(name), path),
            _ => (None, named.as_str()),
        };
        let input = input(path)?;
        let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy());
        let name = name.map(str::to_owned).or(stem.map(String::from)).filter(|name| name != "-");
        request.add(name.as_deref().unwrap_or("data"), TableSource::Given(input));
    }
    if request.tables.is_empty() && request.kind != AnalysisType::Sql {
        bail!("there is nothing to analyse: name a file, or --tool, or pipe JSON into `-`");
    }
    request.output.rows = args.rows;
    request.output.bytes = usize::MAX;
    request.output.format = args.format;
    request.keep = args.output.as_deref().map(keep).transpose()?;
    Ok(request)
}

fn input(path: &str) -> anyhow::Result<Input> {
    if path == "-" {
        let mut text = String::new();
        let read = io::stdin().take(MAX_INPUT_BYTES + 1).read_to_string(&mut text);
        if read.context("cannot read standard input")? as u64 > MAX_INPUT_BYTES {
            bail!("standard input has more than {} MB; name a file", MAX_INPUT_BYTES >> 20);
        }
        return Ok(Input::Text(text));
    }
    let Some(format) = FileFormat::of(path) else {
        bail!("{path}: its name does not end with json, jsonl, csv, tsv or parquet");
    };
    let file = File::open(path).with_context(|| format!("cannot read {path}"))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        bail!("{path} is no file");
    }
    Ok(Input::File { file, format })
}

/// Makes the target of `--output`: a file with all rows, which appears when it is complete.
fn keep(path: &Path) -> anyhow::Result<SpillTarget> {
    let shown = path.display().to_string();
    let format = match FileFormat::of(&shown) {
        Some(format @ (FileFormat::Parquet | FileFormat::Csv)) => format,
        _ => bail!("{shown}: its name must end with .parquet or .csv"),
    };
    let path = path.to_owned();
    Ok(SpillTarget {
        format,
        always: true,
        make: Box::new(move || {
            let file = OutputFile::create(&path)?;
            Ok((shown, Box::new(file) as _))
        }),
    })
}

impl FileSink for OutputFile {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.persist()
    }
}

fn parse_format(name: &str) -> Result<Format, String> {
    serde_json::from_value(name.into()).map_err(|_| "it is json, csv or markdown".to_owned())
}

fn parse_object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(format!("it must be a JSON object, not {other}")),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}
