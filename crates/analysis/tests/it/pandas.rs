//! Analyses of random tables give what pandas gives: `tests/analysis/oracle.py` makes both.

use std::process::Command;

use narrows_analysis::{AnalysisType, Input, Understood, understand};
use narrows_testkit::Tools;
use serde::Deserialize;
use serde_json::{Map, Value};

const CASES: usize = 300;
const SEED: usize = 1;

#[derive(Deserialize)]
struct Case {
    name: String,
    analysis: String,
    parameters: Map<String, Value>,
    tables: Map<String, Value>,
    facts: Option<Map<String, Value>>,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// More of them, or others: `NARROWS_ORACLE="5000 7"`.
fn cases() -> Option<Vec<Case>> {
    let python = Tools::find()?.python();
    let wanted = std::env::var("NARROWS_ORACLE").unwrap_or(format!("{CASES} {SEED}"));
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/analysis/oracle.py"))
        .args(wanted.split(' '))
        .output()
        .expect("python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("lines are text");
    Some(lines.lines().map(|line| serde_json::from_str(line).expect("a case")).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn analyses_agree_with_pandas() {
    let Some(cases) = cases() else { return };
    assert!(cases.len() >= CASES);
    let mut failures = Vec::new();
    for case in &cases {
        for threads in [1, 4] {
            if let Err(difference) = check(case, threads).await {
                failures.push(format!(
                    "{} with {threads} threads: {difference}\n  parameters {}",
                    case.name,
                    Value::Object(case.parameters.clone())
                ));
            }
        }
    }
    let first = failures.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {} differ:\n{first}", failures.len(), 2 * cases.len());
}

async fn check(case: &Case, threads: usize) -> Result<(), String> {
    let understood = understand(&case.analysis, case.parameters.clone());
    let Understood { kind, parameters, .. } = understood.map_err(|error| error.to_string())?;
    let tables = case.tables.iter().map(|(name, rows)| (name.clone(), Input::Json(rows.clone())));
    let answer =
        crate::support::run_with(threads, kind, tables.collect(), &Value::Object(parameters))
            .await
            .map_err(|error| error.to_string())?;
    for (name, expected) in case.facts.iter().flatten() {
        let found = answer.facts.get(name).unwrap_or(&Value::Null);
        if !is_same(found, expected) {
            return Err(format!("{name} is {found}, not {expected}"));
        }
    }
    let (names, rows) = crate::support::table(&answer);
    // A profile tells more than pandas is asked for.
    let is_part = kind == AnalysisType::Describe;
    if !is_part && names != case.columns {
        return Err(format!("the columns are {names:?}, not {:?}", case.columns));
    }
    if rows.len() != case.rows.len() {
        return Err(format!("there are {} rows, not {}", rows.len(), case.rows.len()));
    }
    for (number, (row, expected)) in rows.iter().zip(&case.rows).enumerate() {
        for (name, expected) in case.columns.iter().zip(expected) {
            let index = names.iter().position(|known| known == name);
            let found = index.map_or(&Value::Null, |index| &row[index]);
            if !is_same(found, expected) {
                return Err(format!("{name} of row {number} is {found}, not {expected}"));
            }
        }
    }
    Ok(())
}

fn is_same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => {
                let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
                (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
            }
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        _ => found == expected,
    }
}
