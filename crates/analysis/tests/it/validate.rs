//! The analysis `validate`.

use std::{fs::File, sync::Arc};

use datafusion::{
    arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch},
    parquet::arrow::ArrowWriter,
};
use narrows_analysis::{FileFormat, Input, Kind};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{run_with, table};

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
    let answer = run_with(4, Kind::Validate, tables, &validations).await.unwrap();
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
