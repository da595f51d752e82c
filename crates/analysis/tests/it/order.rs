//! Rows stay in the order of the data, however many threads read them and wherever they are.

use std::{fs::File, io::Write, path::Path, sync::Arc};

use datafusion::{
    arrow::array::{ArrayRef, Int64Array, RecordBatch},
    parquet::{arrow::ArrowWriter, file::properties::WriterProperties},
};
use narrows_analysis::{AnalysisType, FileFormat, Input, Output, Request};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::{analysis, run_within, table};

const ROWS: i64 = 200_000;

/// `n` counts, `group` is one of seven.
fn batch() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|n| n % 7)));
    RecordBatch::try_from_iter([("n", numbers), ("group", groups)]).unwrap()
}

fn write(directory: &Path, format: FileFormat) -> File {
    let path = directory.join("data");
    let mut file = File::create(&path).unwrap();
    match format {
        FileFormat::Parquet => {
            let groups =
                WriterProperties::builder().set_max_row_group_row_count(Some(10_000)).build();
            let mut writer = ArrowWriter::try_new(file, batch().schema(), Some(groups)).unwrap();
            writer.write(&batch()).unwrap();
            writer.close().unwrap();
        }
        FileFormat::Csv => {
            let lines: Vec<String> = (0..ROWS).map(|n| format!("{n},{}\n", n % 7)).collect();
            write!(file, "n,group\n{}", lines.concat()).unwrap();
        }
        _ => {
            let lines: Vec<String> =
                (0..ROWS).map(|n| format!("{{\"n\":{n},\"group\":{}}}\n", n % 7)).collect();
            file.write_all(lines.concat().as_bytes()).unwrap();
        }
    }
    File::open(path).unwrap()
}

async fn rows(
    input: Input,
    memory: usize,
    kind: AnalysisType,
    parameters: Value,
) -> Vec<Vec<Value>> {
    let tables = vec![("data".to_owned(), input)];
    let answer = run_within(analysis(4, memory), kind, tables, &parameters).await.unwrap();
    table(&answer).1
}

async fn check(what: &str, memory: usize, input: impl Fn() -> Input) {
    let conditions = json!({"conditions": [{"field": "n", "operator": ">=", "value": 5}]});
    let filtered = rows(input(), memory, AnalysisType::Filter, conditions).await;
    assert_eq!(filtered.len() as i64, ROWS - 5, "{what}");
    for (row, n) in filtered.iter().zip(5..) {
        assert_eq!(row[0], n, "{what}");
    }
    let computed = json!({"computed": {"twice": "n * 2"}});
    for (row, n) in rows(input(), memory, AnalysisType::Transform, computed).await.iter().zip(0..) {
        assert_eq!((&row[0], &row[2]), (&json!(n), &json!(n * 2)), "{what}");
    }
    let ends = json!({
        "group_by": ["group"],
        "aggregations": [{"field": "n", "function": "first"}, {"field": "n", "function": "last"}],
    });
    let ends = rows(input(), memory, AnalysisType::Aggregate, ends).await;
    assert_eq!(ends.len(), 7, "{what}");
    for (row, group) in ends.iter().zip(0..) {
        let last = (ROWS - 1) - (ROWS - 1 - group) % 7;
        assert_eq!(*row, [group, group, last], "{what}");
    }
    let distinct =
        rows(input(), memory, AnalysisType::Transform, json!({"deduplicate": ["group"]})).await;
    assert_eq!(distinct, (0..7).map(|n| vec![json!(n), json!(n)]).collect::<Vec<_>>(), "{what}");
    let query = json!({"query": "select n from data where \"group\" = 3 limit 1000"});
    for (row, n) in rows(input(), memory, AnalysisType::Sql, query).await.iter().zip(0..) {
        assert_eq!(row[0], 3 + 7 * n, "{what}");
    }
}

/// An answer with few rows, which says how many there are.
async fn few(input: Input, memory: usize, parameters: Value) -> (Value, Vec<i64>) {
    let request = Request {
        kind: AnalysisType::Filter,
        parameters: parameters.as_object().cloned().unwrap(),
        output: Output { rows: 150, ..Output::default() },
        refusal: None,
    };
    let tables = vec![("data".to_owned(), input)];
    let answer = analysis(4, memory).run(request, tables, None, CancellationToken::new()).await;
    let answer = answer.unwrap();
    let rows = answer.table.as_ref().unwrap().rows();
    let numbers = rows.iter().map(|row| row["n"].as_i64().unwrap()).collect();
    (answer.plain().structured(), numbers)
}

async fn check_few(what: &str, memory: usize, input: impl Fn() -> Input) {
    // Of seven rows two, so that there are more than an answer has room for in every part.
    let conditions = json!([{"field": "group", "operator": "in", "value": [3, 5]}]);
    let chosen: Vec<i64> = (0..ROWS).filter(|n| [3, 5].contains(&(n % 7))).collect();
    let expect = |sorted: Vec<i64>, offset: usize, limit: usize| {
        sorted.into_iter().skip(offset).take(limit).collect::<Vec<_>>()
    };
    let mut by_group = chosen.clone();
    by_group.sort_by_key(|n| -(n % 7));
    for (given, total, shown) in [
        (json!({}), chosen.len(), expect(chosen.clone(), 0, 150)),
        (json!({"limit": 20}), 20, expect(chosen.clone(), 0, 20)),
        (json!({"limit": 20, "offset": 30_000}), 20, expect(chosen.clone(), 30_000, 20)),
        (json!({"offset": 40_000}), chosen.len() - 40_000, expect(chosen.clone(), 40_000, 150)),
        (json!({"limit": 70_000}), chosen.len(), expect(chosen.clone(), 0, 150)),
        (json!({"limit": 0}), 0, Vec::new()),
        (json!({"sort": "-group"}), chosen.len(), expect(by_group.clone(), 0, 150)),
        (json!({"sort": "-group", "limit": 9}), 9, expect(by_group.clone(), 0, 9)),
        (json!({"sort": "-group", "limit": 0}), 0, Vec::new()),
        (json!({"select": ["n"]}), chosen.len(), expect(chosen.clone(), 0, 150)),
    ] {
        let mut parameters = given.clone();
        parameters["conditions"] = conditions.clone();
        let (answer, numbers) = few(input(), memory, parameters).await;
        assert_eq!(numbers, shown, "{what}: {given}");
        assert_eq!(answer["total_rows"], total, "{what}: {given}");
        assert_eq!(answer["filtered_count"], chosen.len(), "{what}: {given}");
        assert_eq!(answer["total_count"], ROWS, "{what}: {given}");
    }
    let nothing = json!({"conditions": [{"field": "n", "operator": "<", "value": -1}]});
    let (answer, numbers) = few(input(), memory, nothing).await;
    assert_eq!((numbers.len(), &answer["filtered_count"]), (0, &json!(0)), "{what}");
    assert_eq!(answer["total_count"], ROWS, "{what}");
}

#[tokio::test]
async fn of_files() {
    let directory = TempDir::new().unwrap();
    for format in [FileFormat::JsonLines, FileFormat::Csv, FileFormat::Parquet] {
        let file = write(directory.path(), format);
        // They fit into memory, or they are read again and again.
        for memory in [1 << 30, 24 << 20] {
            let what = format!("{format:?} within {memory}");
            let input = || Input::File { file: file.try_clone().unwrap(), format };
            check(&what, memory, input).await;
            check_few(&what, memory, input).await;
        }
    }
}

#[tokio::test]
async fn of_tables() {
    let batches = vec![batch()];
    let input = || Input::Batches { schema: batch().schema(), batches: batches.clone() };
    check("a table", 1 << 30, input).await;
    check_few("a table", 1 << 30, input).await;
}
