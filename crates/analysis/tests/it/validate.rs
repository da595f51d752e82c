//! The analysis `validate`.

use std::{fs::File, sync::Arc};

use datafusion::{
    arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch},
    parquet::arrow::ArrowWriter,
};
use narrows_analysis::{AnalysisType, Answer, FileFormat, Input};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{of_columns, rows, run_with, table};

fn parquet(path: &std::path::Path, columns: Vec<(&str, ArrayRef)>) -> Input {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    Input::File { file: File::open(path).unwrap(), format: FileFormat::Parquet }
}

#[tokio::test]
async fn violations_in_a_file_are_counted_and_listed() {
    let directory = TempDir::new().unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![Some(1), Some(2), Some(2), None]))),
        ("price", Arc::new(Float64Array::from(vec![1.0, -5.0, 3.0, 4.0]))),
    ];
    let input = parquet(&directory.path().join("data"), columns);
    let validations = json!({"validations": [
        {"field": "id", "required": true, "unique": true}, {"field": "price", "min": 0},
    ]});
    let tables = vec![("data".to_owned(), input)];
    let answer = run_with(4, AnalysisType::Validate, tables, &validations).await.unwrap();
    assert_eq!(answer.facts["violation_count"], 4);
    let listed: Vec<[Value; 3]> = table(&answer)
        .1
        .into_iter()
        .map(|row| [row[0].clone(), row[1].clone(), row[2].clone()])
        .collect();
    let expected = [
        [json!(1), json!("id"), json!("unique")],
        [json!(1), json!("price"), json!("min")],
        [json!(2), json!("id"), json!("unique")],
        [json!(3), json!("id"), json!("required")],
    ];
    assert_eq!(listed, expected);
}

/// The values that break a rule, with what is said of them.
fn said(answer: &Answer) -> Vec<[Value; 2]> {
    table(answer).1.into_iter().map(|row| [row[3].clone(), row[4].clone()]).collect()
}

#[tokio::test]
async fn one_bad_value_does_not_make_the_others_bad() {
    let rule = json!({"validations": [{"field": "age", "type": "integer", "min": 0, "max": 120}]});
    let bad = json!([{
        "row": 2, "field": "age", "rule": "type", "value": "abc", "message": "is not an integer",
    }]);
    let mixed = json!([{"age": 30}, {"age": 45.0}, {"age": "abc"}]);
    assert_eq!(rows(AnalysisType::Validate, mixed, rule.clone()).await, bad);
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ages");
    std::fs::write(&path, "age\n30\n45\nabc\n200\n").unwrap();
    let input = Input::File { file: File::open(&path).unwrap(), format: FileFormat::Csv };
    let tables = vec![("data".to_owned(), input)];
    let answer = run_with(4, AnalysisType::Validate, tables, &rule).await.unwrap();
    let expected =
        [[json!("abc"), json!("is not an integer")], [json!("200"), json!("is above 120")]];
    assert_eq!(said(&answer), expected);
    let flags = json!([{"on": true}, {"on": "maybe"}, {"on": false}]);
    let rule = json!({"validations": [{"field": "on", "type": "boolean"}]});
    let found = rows(AnalysisType::Validate, flags, rule).await;
    assert_eq!((found.as_array().unwrap().len(), &found[0]["value"]), (1, &json!("maybe")));
}

#[tokio::test]
async fn one_bad_value_does_not_hide_the_order_of_the_others() {
    let mixed = json!([{"at": 9}, {"at": 10}, {"at": "abc"}, {"at": 11}, {"at": 2}]);
    let rule = json!({"validations": [{"field": "at", "increasing": true}]});
    let found = rows(AnalysisType::Validate, mixed, rule).await;
    assert_eq!((found.as_array().unwrap().len(), &found[0]["row"]), (1, &json!(4)));
}

#[tokio::test]
async fn infinity_is_no_whole_number() {
    let numbers = vec![1.0, f64::INFINITY, f64::NEG_INFINITY, -2.0, f64::NAN, 0.5];
    let columns: Vec<(&str, ArrayRef)> = vec![("x", Arc::new(Float64Array::from(numbers)))];
    let rule = json!({"validations": [{"field": "x", "type": "integer"}]});
    let tables = vec![("data".to_owned(), of_columns(columns))];
    let answer = run_with(4, AnalysisType::Validate, tables, &rule).await.unwrap();
    let broken: Vec<Value> = table(&answer).1.into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(broken, [json!(1), json!(2), json!(5)]);
}
