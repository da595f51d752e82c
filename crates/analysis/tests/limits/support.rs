//! What the tests of limits share.

use std::{
    fs,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use datafusion::arrow::{
    array::{ArrayRef, AsArray, RecordBatch},
    compute::cast,
    datatypes::{DataType, Int64Type},
};
use narrows_analysis::{
    Analysis, AnalysisError, AnalysisType, Answer, Input, Output, Request, ResultTable, Settings,
    SpillTarget,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

pub(crate) const MB: usize = 1 << 20;

/// How long a test waits for what has to happen. Whatever takes longer hangs: nothing takes nearly
/// as long on the busiest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// No other test runs until this is dropped. Each has a runtime of its own, so it may wait.
pub(crate) struct Alone(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

pub(crate) fn alone() -> Alone {
    static ONE: Mutex<()> = Mutex::new(());
    Alone(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) fn settings(directory: &Path) -> Settings {
    Settings {
        memory_bytes: 64 * MB,
        disk_bytes: 512 * MB as u64,
        temporary: directory.to_owned(),
        time: Duration::from_secs(2),
        threads: 2,
    }
}

pub(crate) fn table(columns: Vec<(&str, ArrayRef)>) -> ResultTable {
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    ResultTable {
        schema: batch.schema(),
        total_rows: batch.num_rows(),
        batches: vec![batch],
        kept: None,
    }
}

pub(crate) fn sql(query: &str) -> Request {
    let parameters = json!({ "query": query });
    let parameters = parameters.as_object().cloned().unwrap_or_default();
    Request { kind: AnalysisType::Sql, parameters, output: Output::default(), refusal: None }
}

pub(crate) async fn run(
    analysis: &Analysis,
    query: &str,
    tables: Vec<(String, Input)>,
    keep: Option<SpillTarget>,
) -> Result<Answer, AnalysisError> {
    analysis.run(sql(query), tables, keep, CancellationToken::new()).await
}

/// The only value of an answer with one row and one column.
pub(crate) fn single(answer: &Answer) -> i64 {
    let table = answer.table.as_ref().expect("a table");
    assert_eq!(table.total_rows, 1, "{answer:?}");
    let value = cast(table.batches[0].column(0), &DataType::Int64).expect("a number");
    value.as_primitive::<Int64Type>().value(0)
}

/// The memory of this process that is in use, in bytes.
pub(crate) fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("statm");
    let pages: usize = statm.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("pages");
    pages * 4096
}

/// The most memory that this process ever had.
pub(crate) fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("a peak");
    let kilobytes: usize =
        line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).expect("a number");
    kilobytes << 10
}

/// The processor time of this process.
pub(crate) fn processor() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("stat");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split(' ').collect();
    let ticks = |index: usize| fields[index].parse::<u64>().expect("ticks");
    Duration::from_millis((ticks(12) + ticks(13)) * 10)
}

/// Waits until the process does nothing: what was stopped has stopped.
pub(crate) fn wait_until_idle() {
    let (step, start) = (Duration::from_millis(50), Instant::now());
    loop {
        let before = processor();
        // The processor time in a while is what is measured here.
        thread::sleep(step);
        if processor() - before < step / 2 {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "something still runs");
    }
}

/// Waits until nothing is left under a directory: some is put away in the background.
pub(crate) fn wait_until_tidy(directory: &Path) {
    let start = Instant::now();
    while !leftovers(directory).is_empty() {
        assert!(start.elapsed() < PATIENCE, "left: {:?}", leftovers(directory));
        thread::yield_now();
    }
}

/// Everything under a directory.
pub(crate) fn leftovers(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").path().display().to_string()).collect()
}
