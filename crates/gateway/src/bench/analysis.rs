//! Analyses of a million rows, against pandas and Polars, and of a few thousand inline.

mod crossing;
mod data;
mod libraries;

use std::{
    fmt,
    fs::File,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use narrows_analysis::{
    Analysis, AnalysisType, Answer, FileFormat, Input, Output, Request, Settings,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::libraries::{Compared, Library};
use super::{
    arguments::AnalysisBenchArgs,
    budget::{Budget, Budgeted},
    statistics::LatencySummary,
};
use crate::printer::Printer;

/// How many rows come with an inline request, and how often it is measured.
const INLINE_ROWS: usize = 10_000;
const INLINE_SAMPLES: usize = 50;
/// The budgets: so many times as fast as pandas from JSON lines, so many times the seconds of
/// Polars from Parquet, and milliseconds for the inline rows.
const PANDAS_AT_LEAST: f64 = 2.0;
const POLARS_AT_MOST: f64 = 1.5;
const INLINE_MS: f64 = 20.0;
/// The budget in milliseconds for rows of a program in the sandbox.
const CROSSING_MS: f64 = 150.0;

#[derive(Debug, Serialize)]
pub(super) struct AnalysisReport {
    rows: usize,
    /// The libraries to compare with and their versions, without those that are not installed.
    libraries: Vec<String>,
    operations: Vec<MeasuredOperation>,
    inline: LatencySummary,
    /// The time from rows of a program in the sandbox to the answer of a query over them.
    crossing: LatencySummary,
    budgets: Vec<Budget>,
}

/// One operation on one kind of file, from opening it to the result.
#[derive(Debug, Serialize)]
struct MeasuredOperation {
    source: Source,
    operation: TableOperation,
    ours: Seconds,
    pandas: Option<Seconds>,
    polars: Option<Seconds>,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Seconds {
    best: f64,
    median: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Jsonl,
    Parquet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum TableOperation {
    Group,
    Filter,
    Join,
    Percentile,
}

pub(super) async fn measure(
    args: AnalysisBenchArgs,
    printer: Printer,
) -> anyhow::Result<AnalysisReport> {
    let AnalysisBenchArgs { rows, dir, repetitions, python, .. } = args;
    let temporary = tempfile::tempdir()?;
    let dir = dir.unwrap_or_else(|| temporary.path().join("data")).join(format!("{rows}-rows"));
    let analysis = Analysis::new(settings(&temporary.path().join("analysis")))?;
    printer.note(format!("writing {rows} rows to {}", dir.display()));
    data::write(&analysis, &dir, rows).await?;

    let python = python.or_else(super::python::of_test_tools);
    let mut compared: Vec<Compared> = Vec::new();
    for library in [Library::Pandas, Library::Polars] {
        match libraries::start(python.as_deref(), library, &dir)? {
            Some(ready) => compared.push(ready),
            None => printer.note(format!("{} is not installed", library.name())),
        }
    }
    let mut operations = Vec::new();
    for source in [Source::Jsonl, Source::Parquet] {
        for operation in TableOperation::ALL {
            printer.note(format!("measuring {operation} from {source}"));
            let case = Case { analysis: &analysis, dir: &dir, source, operation };
            operations.push(case.measure(&mut compared, repetitions).await?);
        }
    }
    let libraries = compared.iter().map(Compared::to_string).collect();
    drop(compared);
    let inline = inline(&analysis).await?;
    let crossing = crossing::measure(settings(&temporary.path().join("crossing"))).await?;
    Ok(AnalysisReport {
        rows,
        libraries,
        budgets: budgets(&operations, &inline, &crossing),
        operations,
        inline,
        crossing,
    })
}

fn settings(temporary: &Path) -> Settings {
    Settings {
        memory_bytes: 4 << 30,
        disk_bytes: 16 << 30,
        temporary: temporary.to_owned(),
        time: Duration::from_secs(600),
        threads: std::thread::available_parallelism().map_or(2, usize::from),
    }
}

/// An operation on a file, and the analysis that runs it.
struct Case<'a> {
    analysis: &'a Analysis,
    dir: &'a Path,
    source: Source,
    operation: TableOperation,
}

impl Case<'_> {
    /// Measures Narrows and the libraries in turns, because the machine may be slower in some moments.
    async fn measure(
        &self,
        compared: &mut [Compared],
        repetitions: u32,
    ) -> anyhow::Result<MeasuredOperation> {
        let Self { source, operation, .. } = *self;
        let mut ours = Vec::new();
        let mut theirs = vec![Vec::new(); compared.len()];
        for _ in 0..repetitions {
            let (seconds, result) = self.once().await?;
            ours.push(seconds);
            for (other, seconds) in compared.iter_mut().zip(&mut theirs) {
                let found = other.ask(source, operation)?;
                other.ensure_same(source, operation, &result, &found)?;
                seconds.push(found.seconds);
            }
        }
        let seconds_of = |library| {
            let place = compared.iter().position(|other| other.library == library)?;
            Some(Seconds::of(theirs[place].clone()))
        };
        Ok(MeasuredOperation {
            source,
            operation,
            ours: Seconds::of(ours),
            pandas: seconds_of(Library::Pandas),
            polars: seconds_of(Library::Polars),
        })
    }

    async fn once(&self) -> anyhow::Result<(f64, Vec<Vec<Value>>)> {
        let start = Instant::now();
        let tables = self.operation.tables(self.dir, self.source)?;
        let request = self.operation.request();
        let answer = self.analysis.run(request, tables, None, CancellationToken::new()).await?;
        let result = self.operation.result(&answer)?;
        Ok((start.elapsed().as_secs_f64(), result))
    }
}

/// Measures how long grouping takes for rows that come with the request.
async fn inline(analysis: &Analysis) -> anyhow::Result<LatencySummary> {
    let rows: Vec<Value> = (0..INLINE_ROWS).map(data::row).collect();
    let rows = Value::from(rows);
    let mut times = Vec::new();
    for _ in 0..INLINE_SAMPLES {
        let tables = vec![("rows".to_owned(), Input::Json(rows.clone()))];
        let request = TableOperation::Group.request();
        let start = Instant::now();
        let answer = analysis.run(request, tables, None, CancellationToken::new()).await?;
        let text = answer.plain().text(None);
        times.push(start.elapsed());
        ensure!(!text.is_empty(), "nothing came back");
    }
    Ok(LatencySummary::of(times))
}

fn budgets(
    operations: &[MeasuredOperation],
    inline: &LatencySummary,
    crossing: &LatencySummary,
) -> Vec<Budget> {
    let mut budgets = Vec::new();
    for MeasuredOperation { source, operation, ours, pandas, polars } in operations {
        let budget = match (source, pandas, polars) {
            (Source::Jsonl, Some(pandas), _) => {
                let what = format!("{operation} from {source}, pandas / ours");
                Budget::at_least(what, pandas.median / ours.median, PANDAS_AT_LEAST)
            }
            (Source::Parquet, _, Some(polars)) => {
                let what = format!("{operation} from {source}, ours / Polars");
                Budget::at_most(what, ours.median / polars.median, POLARS_AT_MOST)
            }
            _ => continue,
        };
        budgets.push(budget);
    }
    let what = format!("group of {INLINE_ROWS} inline rows, ms at p50");
    budgets.push(Budget::at_most(what, inline.p50_ms, INLINE_MS));
    let what = format!("{} rows of a program and a query over them, ms at p50", crossing::ROWS);
    budgets.push(Budget::at_most(what, crossing.p50_ms, CROSSING_MS));
    budgets
}

impl Source {
    fn extension(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }

    fn open(self, dir: &Path, name: &str) -> anyhow::Result<(String, Input)> {
        let path = dir.join(name).with_extension(self.extension());
        let file = File::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        let format = match self {
            Self::Jsonl => FileFormat::JsonLines,
            Self::Parquet => FileFormat::Parquet,
        };
        Ok((name.to_owned(), Input::File { file, format }))
    }
}

impl TableOperation {
    const ALL: [Self; 4] = [Self::Group, Self::Filter, Self::Join, Self::Percentile];

    fn tables(self, dir: &Path, source: Source) -> anyhow::Result<Vec<(String, Input)>> {
        let mut tables = vec![source.open(dir, "rows")?];
        if self == Self::Join {
            tables.push(source.open(dir, "customers")?);
        }
        Ok(tables)
    }

    fn request(self) -> Request {
        let (kind, parameters) = match self {
            Self::Group => (
                AnalysisType::Aggregate,
                json!({
                    "group_by": ["region", "product"],
                    "aggregations": [
                        {"field": "price", "function": "sum", "as": "total"},
                        {"field": "weight", "function": "mean", "as": "mean"},
                        {"function": "count", "as": "count"},
                    ],
                }),
            ),
            Self::Filter => (
                AnalysisType::Filter,
                json!({
                    "conditions": [
                        {"field": "region", "operator": "==", "value": "north"},
                        {"field": "customer", "operator": ">=", "value": 5_000},
                        {"field": "price", "operator": "<", "value": 500},
                    ],
                    "sort": ["-price", "id"],
                    "limit": 100,
                    "select": ["id", "price"],
                }),
            ),
            Self::Join => (
                AnalysisType::Sql,
                json!({
                    "query": "SELECT segment, sum(price) AS total, count(*) AS count FROM rows \
                              JOIN customers ON rows.customer = customers.customer \
                              GROUP BY segment ORDER BY segment",
                }),
            ),
            Self::Percentile => (
                AnalysisType::Percentiles,
                json!({"field": "price", "group_by": "product", "percentiles": [50, 95, 99]}),
            ),
        };
        let parameters = parameters.as_object().cloned().unwrap_or_default();
        let output = Output { rows: 10_000, bytes: 16 << 20, ..Output::default() };
        Request { kind, parameters, output, refusal: None }
    }

    /// Converts the answer into the form of the libraries' results: rows of plain values.
    fn result(self, answer: &Answer) -> anyhow::Result<Vec<Vec<Value>>> {
        let table = answer.table.as_ref().context("there is no table")?;
        let rows = table.rows();
        let rows = rows.into_iter().filter_map(|row| match row {
            Value::Object(row) => Some(row.into_iter().map(|(_, value)| value).collect()),
            _ => None,
        });
        let mut rows: Vec<Vec<Value>> = rows.collect();
        for row in &mut rows {
            match self {
                Self::Filter => row.push(answer.facts["filtered_count"].clone()),
                // The name of the field and how many values it has.
                Self::Percentile => drop(row.drain(1..3)),
                Self::Group | Self::Join => {}
            }
        }
        Ok(rows)
    }
}

impl Seconds {
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let at = |index: usize| seconds.get(index).copied().unwrap_or(f64::NAN);
        Self { best: at(0), median: at(seconds.len() / 2) }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jsonl => "JSON lines",
            Self::Parquet => "Parquet",
        })
    }
}

impl fmt::Display for TableOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Group => "group",
            Self::Filter => "filter",
            Self::Join => "join",
            Self::Percentile => "percentile",
        })
    }
}

impl fmt::Display for AnalysisReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let libraries = match self.libraries.is_empty() {
            true => "nothing to compare with".to_owned(),
            false => self.libraries.join(" and "),
        };
        writeln!(f, "{} rows, {libraries}; seconds (median)", self.rows)?;
        writeln!(f, "{:24} {:>8} {:>8} {:>8}", "", "ours", "pandas", "Polars")?;
        let shown = |other: &Option<Seconds>| {
            other.map_or("-".to_owned(), |other| format!("{:.3}", other.median))
        };
        for MeasuredOperation { source, operation, ours, pandas, polars } in &self.operations {
            let what = format!("{operation} from {source}");
            let (pandas, polars) = (shown(pandas), shown(polars));
            writeln!(f, "{what:24} {:8.3} {pandas:>8} {polars:>8}", ours.median)?;
        }
        writeln!(f, "{INLINE_ROWS} inline rows: {}", self.inline)?;
        write!(f, "{} rows of a program: {}", crossing::ROWS, self.crossing)?;
        for budget in &self.budgets {
            write!(f, "\n{budget}")?;
        }
        Ok(())
    }
}

impl Budgeted for AnalysisReport {
    fn budgets(&self) -> Vec<Budget> {
        self.budgets.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_kept_from_its_own_side() {
        let of = |source, ours, pandas, polars| {
            let seconds = |median| Seconds { best: median, median };
            let (pandas, polars) = (Some(seconds(pandas)), Some(seconds(polars)));
            MeasuredOperation {
                source,
                operation: TableOperation::Group,
                ours: seconds(ours),
                pandas,
                polars,
            }
        };
        let inline = LatencySummary::of(vec![Duration::from_millis(19)]);
        let crossing = LatencySummary::of(vec![Duration::from_millis(151)]);
        let holds = |operations: &[MeasuredOperation]| -> Vec<bool> {
            let budgets = budgets(operations, &inline, &crossing);
            budgets.iter().map(|budget| budget.holds).collect()
        };
        // Of JSON lines pandas counts, of Parquet Polars.
        assert_eq!(holds(&[of(Source::Jsonl, 1.0, 2.5, 0.1)]), [true, true, false]);
        assert_eq!(holds(&[of(Source::Jsonl, 1.0, 1.9, 9.0)]), [false, true, false]);
        assert_eq!(holds(&[of(Source::Parquet, 1.4, 0.1, 1.0)]), [true, true, false]);
        assert_eq!(holds(&[of(Source::Parquet, 1.6, 9.0, 1.0)]), [false, true, false]);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let seconds = Seconds::of(vec![3.0, 1.0, 2.0]);
        assert_eq!((seconds.best, seconds.median), (1.0, 2.0));
    }
}
