use std::{sync::Arc, time::Instant};

use datafusion::arrow::{
    array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray},
    datatypes::{DataType, Field, Schema},
};
use serde_json::{Map, Value, json};

use super::*;
use crate::kind::AnalysisType;

fn sales() -> RecordBatch {
    let regions: ArrayRef = Arc::new(StringArray::from(vec![Some("North"), Some("South"), None]));
    let rows: ArrayRef = Arc::new(Int64Array::from(vec![12, 7, 1]));
    let means: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0 / 3.0), None, Some(250.0)]));
    RecordBatch::try_from_iter([("region", regions), ("rows", rows), ("mean", means)])
        .expect("a batch")
}

fn table(batches: Vec<RecordBatch>, total_rows: usize, kept: Option<SpillFile>) -> ResultTable {
    ResultTable { schema: sales().schema(), batches, total_rows, kept }
}

fn answer(table: Option<ResultTable>) -> Answer {
    let facts = json!({"total_count": 20, "share": 2.0 / 3.0, "range": {"from": 0.1, "to": [1.0]}});
    let Value::Object(facts) = facts else { panic!("facts are an object") };
    Answer {
        kind: AnalysisType::Aggregate,
        facts,
        table,
        notes: vec!["a was read as text".into()],
        cost: None,
    }
}

#[test]
fn an_answer_for_a_model() {
    let all = answer(Some(table(vec![sales()], 3, None)));
    assert_eq!(
        all.plain().text(None),
        "total_count: 20\nshare: 0.666667\nrange: {\"from\":0.1,\"to\":[1]}\n\
         region,rows,mean\nNorth,12,0.333333\nSouth,7,\n,1,250\n\
         note: a was read as text"
    );
    assert_eq!(
        all.plain().text(Some(Format::Markdown)),
        "total_count: 20\nshare: 0.666667\nrange: {\"from\":0.1,\"to\":[1]}\n\
         |region|rows|mean|\n|-|-|-|\n|North|12|0.333333|\n|South|7||\n||1|250|\n\
         note: a was read as text"
    );
    assert!(
        all.plain()
            .text(Some(Format::Json))
            .contains(r#"[{"region":"North","rows":12,"mean":0.333333},"#)
    );
    let facts_only = Answer { notes: Vec::new(), ..answer(None) };
    assert!(facts_only.plain().text(None).ends_with("\"to\":[1]}"));
}

#[test]
fn what_is_not_shown_is_said() {
    let last_lines = |table| {
        let text = Answer { facts: Map::new(), notes: Vec::new(), ..answer(Some(table)) }
            .plain()
            .text(None);
        text.lines().skip(4).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        last_lines(table(vec![sales()], 12_345, None)),
        "shown are 3 of 12,345 rows; ask for fewer with a filter or a limit"
    );
    let kept = SpillFile { path: "/workspace/results/1.parquet".into(), bytes: 45_678 };
    assert_eq!(
        last_lines(table(vec![sales()], 12_345, Some(kept))),
        "shown are 3 of 12,345 rows; all of them are in /workspace/results/1.parquet \
         (Parquet, 45,678 bytes)"
    );
    let kept = SpillFile { path: "sales.csv".into(), bytes: 45 };
    assert_eq!(
        last_lines(table(vec![sales()], 3, Some(kept))),
        "all of them are in sales.csv (CSV, 45 bytes)"
    );
}

#[test]
fn a_table_without_rows_says_so() {
    let text = |table| {
        Answer { facts: Map::new(), notes: Vec::new(), ..answer(Some(table)) }.plain().text(None)
    };
    assert_eq!(text(table(Vec::new(), 0, None)), "no rows");
    assert_eq!(text(table(vec![sales().slice(0, 0)], 0, None)), "no rows");
    assert!(text(table(Vec::new(), 4, None)).starts_with("shown are 0 of 4 rows"));
}

#[test]
fn an_answer_for_a_program() {
    let kept = SpillFile { path: "results/1.parquet".into(), bytes: 9 };
    let mut answer =
        answer(Some(table(vec![sales().slice(0, 1), sales().slice(2, 1)], 3, Some(kept))));
    answer.cost = Some(Cost { rows: 20, data_tokens: 400 });
    let expected = json!({
        "analysis_type": "aggregate",
        "total_count": 20,
        "share": 2.0 / 3.0,
        "range": {"from": 0.1, "to": [1.0]},
        "data": [
            {"region": "North", "rows": 12, "mean": 1.0 / 3.0},
            {"region": null, "rows": 1, "mean": 250.0},
        ],
        "total_rows": 3,
        "path": "results/1.parquet",
        "notes": ["a was read as text"],
        "tokens": {"rows": 20, "data": 400},
    });
    // As text, so that the order counts.
    assert_eq!(answer.plain().structured().to_string(), expected.to_string());
    let bare = Answer { facts: Map::new(), notes: Vec::new(), ..self::answer(None) };
    assert_eq!(bare.plain().structured(), json!({"analysis_type": "aggregate"}));
}

/// A number beside others in a line of CSV is not seen as what it is.
#[test]
fn values_are_replaced_before_they_stand_in_a_text() {
    let mut answer = answer(Some(table(vec![sales()], 3, None)));
    answer.facts = Map::from_iter([("mean".to_owned(), json!(250.0))]);
    let hide = |value: &mut Value| {
        fn hidden(value: &mut Value) {
            match value {
                Value::Array(items) => items.iter_mut().for_each(hidden),
                Value::Object(fields) => fields.values_mut().for_each(hidden),
                Value::Number(number) if number.as_f64() == Some(250.0) => *value = json!("[N]"),
                Value::String(text) if ["region", "North"].contains(&text.as_str()) => {
                    *value = json!("[T]");
                }
                _ => {}
            }
        }
        hidden(value);
    };
    let shown = answer.shown(hide);
    assert_eq!(
        shown.text(Some(Format::Csv)),
        "mean: [N]\n[T],rows,mean\n[T],12,0.333333\nSouth,7,\n,1,[N]\nnote: a was read as text"
    );
    let json = shown.text(Some(Format::Json));
    assert!(json.contains(r#"{"region":null,"rows":1,"mean":"[N]"}"#), "{json}");
    let structured = shown.structured();
    assert_eq!(
        (&structured["mean"], &structured["data"][2]["mean"]),
        (&json!("[N]"), &json!("[N]"))
    );
}

#[test]
fn the_cost_is_that_of_the_text() {
    let mut answer = answer(None);
    assert_eq!(answer.plain().cost_line("hello world"), None);
    answer.cost = Some(Cost { rows: 10, data_tokens: 200 });
    let line = "tokens: 2 instead of about 200 for the 10 rows (99.0 % fewer)";
    assert_eq!(answer.plain().cost_line("hello world").as_deref(), Some(line));
}

#[test]
fn rows_without_columns_are_still_rows() {
    let schema = Arc::new(Schema::empty());
    let options = RecordBatchOptions::new().with_row_count(Some(2));
    let batch =
        RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options).expect("a batch");
    let table = ResultTable { schema, batches: vec![batch], total_rows: 2, kept: None };
    assert_eq!(table.rows(), [json!({}), json!({})]);
    let answer = Answer { facts: Map::new(), notes: Vec::new(), ..answer(Some(table)) };
    assert_eq!(answer.plain().text(Some(Format::Json)), "[{},{}]");
}

#[test]
fn nulls_at_the_end_of_one_column_are_still_rows() {
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
    let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, None]));
    let batch = RecordBatch::try_new(schema.clone(), vec![column]).expect("a batch");
    let table = ResultTable { schema, batches: vec![batch], total_rows: 3, kept: None };
    let answer = Answer { facts: Map::new(), notes: Vec::new(), ..answer(Some(table)) };
    assert_eq!(answer.plain().text(Some(Format::Csv)), "a\n1\n\n");
}

#[test]
fn huge_and_strange_texts_take_no_time() {
    let letters = "x".repeat(4 << 20);
    let spaces = " ".repeat(1 << 20);
    let signs = "\u{1F468}\u{200D}\u{1F469}\"|,\n".repeat(100_000);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![letters, spaces, signs]));
    let batch = RecordBatch::try_from_iter([("text", texts)]).expect("a batch");
    let table =
        ResultTable { schema: batch.schema(), batches: vec![batch], total_rows: 3, kept: None };
    let answer = answer(Some(table));
    let start = Instant::now();
    let text = answer.plain().text(None);
    assert!(text.len() > 5 << 20);
    // What is not linear takes hours; a busy machine takes no more than a part of this.
    assert!(start.elapsed().as_secs() < 300, "it took {:?}", start.elapsed());
}

#[test]
fn infinite_numbers_are_not_missing() {
    let numbers = vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.5];
    let numbers: ArrayRef = Arc::new(Float64Array::from(numbers));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).expect("a batch");
    let table =
        ResultTable { schema: batch.schema(), batches: vec![batch], total_rows: 4, kept: None };
    let shown = Answer { facts: Map::new(), notes: Vec::new(), ..answer(Some(table)) }.plain();
    let note = "infinite numbers are written as inf and -inf";
    assert_eq!(shown.text(Some(Format::Csv)), format!("n\ninf\n-inf\n\n1.5\nnote: {note}"));
    let markdown = format!("|n|\n|-|\n|inf|\n|-inf|\n||\n|1.5|\nnote: {note}");
    assert_eq!(shown.text(Some(Format::Markdown)), markdown);
    let structured = shown.structured();
    assert_eq!(structured["data"], json!([{"n": "inf"}, {"n": "-inf"}, {"n": null}, {"n": 1.5}]));
    assert_eq!(structured["notes"], json!([note]));
}
