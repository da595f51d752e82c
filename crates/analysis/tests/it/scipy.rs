//! Whole analyses give what SciPy and pandas give for the same tables; see `tests/analysis`.

use std::time::Duration;

use datafusion::arrow::{array::RecordBatch, json::ArrayWriter};
use narrows_analysis::{Analysis, AnalysisType, Answer, Input, Output, Request, Settings};
use narrows_testkit::Tools;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct Case {
    name: String,
    kind: AnalysisType,
    parameters: Value,
    rows: Value,
    expected: Vec<Value>,
    facts: Value,
}

/// What a script of `tests/analysis` says; the rows of a line are those of the one before if it
/// has none.
fn cases(script: &str, args: &[&str]) -> Option<Vec<Case>> {
    let lines = Tools::find()?.lines(&format!("analysis/{script}"), args);
    let mut rows = Value::Null;
    let case = |(at, mut line): (usize, Value)| {
        if let Some(new) = line.get_mut("rows") {
            rows = new.take();
        }
        let kind: AnalysisType = serde_json::from_value(line["analysis"].take()).unwrap();
        Case {
            name: format!("{script} {at}: {} of {}", kind.name(), line["parameters"]),
            kind,
            parameters: line["parameters"].take(),
            rows: rows.clone(),
            expected: line["expected"].as_array().unwrap().clone(),
            facts: line["facts"].take(),
        }
    };
    Some(lines.into_iter().enumerate().map(case).collect())
}

/// An engine with a number of threads, and where it has its files.
fn analysis(threads: usize) -> (Analysis, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings {
        memory_bytes: 1 << 30,
        disk_bytes: 1 << 30,
        temporary: directory.path().to_owned(),
        time: Duration::from_secs(600),
        threads,
    };
    (Analysis::new(settings).unwrap(), directory)
}

async fn check_all(script: &str, args: &[&str], least: usize) {
    let Some(cases) = cases(script, args) else { return };
    assert!(cases.len() >= least, "there are only {} cases", cases.len());
    let mut differences = Vec::new();
    for threads in [1, 4] {
        let (analysis, _directory) = analysis(threads);
        for case in &cases {
            if let Err(difference) = check(&analysis, case).await {
                differences.push(format!("{} with {threads} threads: {difference}", case.name));
            }
        }
    }
    let first: Vec<String> = differences.iter().take(20).cloned().collect();
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), first.join("\n"));
}

async fn check(analysis: &Analysis, case: &Case) -> Result<(), String> {
    let Value::Object(parameters) = case.parameters.clone() else { panic!("parameters") };
    let output = Output { rows: usize::MAX, bytes: usize::MAX, ..Output::default() };
    let request = Request { kind: case.kind, parameters, output, refusal: None };
    let tables = vec![("data".to_owned(), Input::Json(case.rows.clone()))];
    let answer = analysis.run(request, tables, None, CancellationToken::new());
    let answer = answer.await.map_err(|error| error.to_string())?;
    holds("facts", &Value::Object(answer.facts.clone()), &case.facts)?;
    let rows = rows(&answer);
    if rows.len() != case.expected.len() && !case.expected.is_empty() {
        return Err(format!("there are {} rows, not {}", rows.len(), case.expected.len()));
    }
    for (at, (row, expected)) in rows.iter().zip(&case.expected).enumerate() {
        holds(&format!("row {at}"), row, expected)?;
    }
    Ok(())
}

fn rows(answer: &Answer) -> Vec<Value> {
    let Some(table) = &answer.table else { return Vec::new() };
    let mut writer = ArrayWriter::new(Vec::new());
    writer.write_batches(&table.batches.iter().collect::<Vec<&RecordBatch>>()).unwrap();
    writer.finish().unwrap();
    let written = writer.into_inner();
    if written.is_empty() { Vec::new() } else { serde_json::from_slice(&written).unwrap() }
}

/// Whether everything that is expected is there; there may be more.
fn holds(what: &str, found: &Value, expected: &Value) -> Result<(), String> {
    let is_same = match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (name, expected) in expected {
                let found = found.get(name).unwrap_or(&Value::Null);
                holds(&format!("{what}: {name}"), found, expected)?;
            }
            true
        }
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
                holds(&format!("{what}[{at}]"), found, expected)?;
            }
            true
        }
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            (found - expected).abs() <= 1e-9 * found.abs().max(expected.abs()).max(1e-3)
        }
        _ => found == expected,
    };
    if is_same { Ok(()) } else { Err(format!("{what} is {found}, not {expected}")) }
}

#[tokio::test]
async fn tests_and_correlations_agree_with_scipy() {
    check_all("statistics.py", &["tables"], 60).await;
}

#[tokio::test]
async fn series_agree_with_pandas() {
    check_all("series.py", &[], 300).await;
}

#[tokio::test]
async fn validations_agree_with_pandas() {
    check_all("validations.py", &[], 90).await;
}
