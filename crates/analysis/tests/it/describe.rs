//! The analysis `describe`.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    UInt64Array,
};
use narrows_analysis::{AnalysisType, Input};
use serde_json::{Map, Value, json};

use crate::support::{refusal, rows, run, run_with, table};

fn of_columns(columns: Vec<(String, ArrayRef)>) -> Vec<(String, Input)> {
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let total_rows = batch.num_rows();
    let batches = (0..total_rows)
        .step_by(8_192)
        .map(|start| batch.slice(start, 8_192.min(total_rows - start)));
    let batches = batches.collect();
    vec![("data".to_owned(), Input::Batches { schema: batch.schema(), batches })]
}

#[tokio::test]
async fn what_is_in_each_column() {
    let data = json!([
        {"name": "Ö", "age": 3, "gone": null, "ok": true},
        {"name": "Anna", "age": null, "gone": null, "ok": true},
        {"name": "Ö", "age": 5, "gone": null, "ok": false},
        {"name": "Ö", "age": 3, "gone": null, "ok": true},
    ]);
    let answer = run(AnalysisType::Describe, data.clone(), json!({})).await.expect("an answer");
    let facts = json!({"row_count": 4, "column_count": 4, "duplicate_count": 1});
    assert_eq!(Value::Object(answer.facts), facts);
    let profiles = rows(AnalysisType::Describe, data.clone(), json!({})).await;
    let given = |profile: &Value| {
        let fields = profile.as_object().expect("an object").clone().into_iter();
        Value::Object(fields.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
    };
    let name = json!({
        "column": "name", "type": "text", "count": 4, "nulls": 0, "null_share": 0.0, "distinct": 2,
        "min_text": "Anna", "max_text": "Ö", "shortest": 1, "longest": 4, "top": "Ö", "top_count": 3,
        "samples": "[\"Ö\",\"Anna\"]",
    });
    assert_eq!(given(&profiles[0]), name);
    let age = json!({
        "column": "age", "type": "integer", "count": 3, "nulls": 1, "null_share": 0.25, "distinct": 2,
        "min": 3.0, "max": 5.0, "mean": 11.0 / 3.0, "std": (4.0f64 / 3.0).sqrt(), "p25": 3.0, "p50": 3.0, "p75": 4.0,
        "top": "3", "top_count": 2, "samples": "[\"3\",\"5\"]",
    });
    assert_eq!(given(&profiles[1]), age);
    assert_eq!(profiles[2]["nulls"], json!(4));
    assert_eq!(profiles[2]["distinct"], json!(0));
    assert_eq!([&profiles[3]["type"], &profiles[3]["top"]], ["boolean", "true"]);

    let chosen = rows(AnalysisType::Describe, data.clone(), json!({"columns": ["ok"]})).await;
    assert_eq!(chosen.as_array().map(Vec::len), Some(1));
    let refused = refusal(AnalysisType::Describe, data, json!({"columns": "nam"})).await;
    assert!(refused.starts_with("columns: no column \"nam\"; did you mean name?"), "{refused}");
}

#[tokio::test]
async fn the_smallest_and_the_largest_are_in_the_data() {
    let data = json!([{"id": 9007199254740993_i64}, {"id": -5}, {"id": 9007199254740991_i64}]);
    let profiles = rows(AnalysisType::Describe, data, json!({})).await;
    let figures = ["min", "min_text", "max", "max_text"].map(|figure| profiles[0][figure].clone());
    assert_eq!(figures, [json!(-5.0), Value::Null, Value::Null, json!("9007199254740993")]);
}

/// Numbers that are the same as floats are still different ones.
#[tokio::test]
async fn every_digit_counts() {
    let large = 1_u64 << 63;
    let numbers = UInt64Array::from(vec![large + 1, large + 2, large + 2, large + 3]);
    let digits = 1_234_567_890_123_456_789_001_i128;
    let decimals = Decimal128Array::from(vec![digits, digits + 1, digits + 1, digits + 2]);
    let decimals = decimals.with_precision_and_scale(30, 2).expect("decimals");
    let tables = of_columns(vec![
        ("n".to_owned(), Arc::new(numbers) as ArrayRef),
        ("d".to_owned(), Arc::new(decimals)),
    ]);
    let answer = run_with(2, AnalysisType::Describe, tables, &json!({})).await.expect("an answer");
    let (names, found) = table(&answer);
    let value = |row: usize, name: &str| {
        &found[row][names.iter().position(|known| known == name).expect("a column")]
    };
    for (row, top) in ["9223372036854775810", "12345678901234567890.02"].iter().enumerate() {
        assert_eq!(value(row, "top"), top);
        assert_eq!([value(row, "distinct"), value(row, "top_count")], [&json!(3), &json!(2)]);
        assert!(value(row, "p50").as_f64() > Some(9e18), "{:?}", value(row, "p50"));
    }
}

#[tokio::test]
async fn too_many_large_numbers_to_count() {
    let count = 300_000_u64;
    let numbers = UInt64Array::from_iter_values((0..count).map(|row| (1 << 63) + row));
    let tables = of_columns(vec![("n".to_owned(), Arc::new(numbers) as ArrayRef)]);
    let analysis = crate::support::analysis(2, 64 << 20);
    let answer =
        crate::support::run_within(analysis, AnalysisType::Describe, tables, &json!({})).await;
    let answer = answer.expect("an answer");
    let (names, found) = table(&answer);
    let value =
        |name: &str| &found[0][names.iter().position(|known| known == name).expect("a column")];
    let estimate = value("distinct").as_f64().expect("a number");
    assert!((estimate / count as f64 - 1.0).abs() < 0.05, "{estimate}");
    assert_eq!([value("top"), value("top_count")], [&Value::Null, &Value::Null]);
    assert!(answer.notes[0].ends_with("for n"), "{:?}", answer.notes);
}

#[tokio::test]
async fn a_thousand_columns() {
    let column = |index: usize| -> (String, ArrayRef) {
        let array: ArrayRef = match index % 2 {
            0 => {
                Arc::new(Int64Array::from_iter_values((0..100).map(|row| row % (index as i64 + 1))))
            }
            _ => Arc::new(StringArray::from_iter_values((0..100).map(|row| format!("{row}")))),
        };
        (format!("column {index}"), array)
    };
    let tables = of_columns((0..1_000).map(column).collect());
    let answer = run_with(2, AnalysisType::Describe, tables, &json!({})).await.expect("an answer");
    let (names, found) = table(&answer);
    assert_eq!(found.len(), 1_000);
    let distinct = names.iter().position(|name| name == "distinct").expect("a column");
    assert_eq!(found[4][distinct], json!(5));
    assert_eq!(found[999][0], json!("column 999"));
    assert_eq!(found[999][distinct], json!(100));
}

/// More different values than can be counted are estimated, and a note says so.
#[tokio::test]
async fn too_many_values_to_count() {
    let count = 1_000_000;
    let different = Float64Array::from_iter_values((0..count).map(|row| row as f64 + 0.5));
    let few = Int64Array::from_iter_values((0..count).map(|row| row % 3));
    let tables = of_columns(vec![
        ("different".to_owned(), Arc::new(different) as ArrayRef),
        ("few".to_owned(), Arc::new(few)),
    ]);
    let analysis = crate::support::analysis(2, 64 << 20);
    let answer =
        crate::support::run_within(analysis, AnalysisType::Describe, tables, &json!({})).await;
    let answer = answer.expect("an answer");
    let (names, found) = table(&answer);
    let value = |row: usize, name: &str| {
        &found[row][names.iter().position(|known| known == name).expect("a column")]
    };
    let estimate = value(0, "distinct").as_f64().expect("a number");
    assert!((estimate / count as f64 - 1.0).abs() < 0.05, "{estimate}");
    assert_eq!(value(0, "top"), &Value::Null);
    assert_eq!(value(1, "distinct"), &json!(3));
    assert_eq!(value(1, "top"), "0");
    let median = value(0, "p50").as_f64().expect("a number");
    assert!((median / (count as f64 / 2.0) - 1.0).abs() < 0.01, "{median}");
    assert_eq!(answer.notes.len(), 1, "{:?}", answer.notes);
    assert!(answer.notes[0].ends_with("for different"), "{:?}", answer.notes);
}

#[tokio::test]
async fn days_and_long_texts() {
    let days = Date32Array::from(vec![20_513, 20_514, 20_513]);
    let texts = StringArray::from(vec!["ä".repeat(300), "b".to_owned(), "b".to_owned()]);
    let tables = of_columns(vec![
        ("day".to_owned(), Arc::new(days) as ArrayRef),
        ("text".to_owned(), Arc::new(texts)),
    ]);
    let answer = run_with(2, AnalysisType::Describe, tables, &json!({})).await.expect("an answer");
    let (names, found) = table(&answer);
    let value = |row: usize, name: &str| {
        &found[row][names.iter().position(|known| known == name).expect("a column")]
    };
    assert_eq!([value(0, "min_text"), value(0, "top")], ["2026-03-01", "2026-03-01"]);
    assert_eq!(value(0, "type"), "date");
    assert_eq!(value(1, "longest"), &json!(300));
    assert_eq!(value(1, "max_text").as_str().map(|text| text.chars().count()), Some(101));
}
