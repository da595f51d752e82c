//! Runs analyses and gives their tables as JSON.

use std::time::Duration;

use datafusion::arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch},
    compute::cast,
    datatypes::{DataType, Float64Type, Int64Type},
    util::display::array_value_to_string,
};
use narrows_analysis::{
    Analysis, AnalysisError, AnalysisType, Answer, Input, Output, Request, Settings,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) fn analysis(threads: usize, memory_bytes: usize) -> Analysis {
    let settings = Settings {
        memory_bytes,
        disk_bytes: 1 << 30,
        temporary: std::env::temp_dir(),
        time: Duration::from_secs(600),
        threads,
    };
    Analysis::new(settings).expect("an analysis")
}

pub(crate) async fn run_with(
    threads: usize,
    kind: AnalysisType,
    tables: Vec<(String, Input)>,
    parameters: &Value,
) -> Result<Answer, AnalysisError> {
    run_within(analysis(threads, 1 << 30), kind, tables, parameters).await
}

/// Every row comes back.
pub(crate) async fn run_within(
    analysis: Analysis,
    kind: AnalysisType,
    tables: Vec<(String, Input)>,
    parameters: &Value,
) -> Result<Answer, AnalysisError> {
    let request = Request {
        kind,
        parameters: parameters.as_object().cloned().expect("parameters are an object"),
        output: Output { rows: 10_000_000, bytes: 1 << 30, ..Output::default() },
        refusal: None,
    };
    analysis.run(request, tables, None, CancellationToken::new()).await
}

/// One table, and several streams that must not mix its rows.
pub(crate) async fn run(
    kind: AnalysisType,
    data: Value,
    parameters: Value,
) -> Result<Answer, AnalysisError> {
    run_with(4, kind, vec![("data".to_owned(), Input::Json(data))], &parameters).await
}

pub(crate) fn of_columns(columns: Vec<(&str, ArrayRef)>) -> Input {
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    Input::Batches { schema: batch.schema(), batches: vec![batch] }
}

/// The rows that come back, as objects.
pub(crate) async fn rows(kind: AnalysisType, data: Value, parameters: Value) -> Value {
    let answer = run(kind, data, parameters).await.expect("an answer");
    let (columns, rows) = table(&answer);
    let object = |row: Vec<Value>| columns.iter().cloned().zip(row).collect::<Map<_, _>>();
    rows.into_iter().map(object).collect()
}

/// What is said of a request that cannot be done.
pub(crate) async fn refusal(kind: AnalysisType, data: Value, parameters: Value) -> String {
    match run(kind, data, parameters).await {
        Ok(answer) => panic!("there is an answer: {:?}", table(&answer)),
        Err(error) => error.to_string(),
    }
}

/// The names and the rows of a table.
pub(crate) fn table(answer: &Answer) -> (Vec<String>, Vec<Vec<Value>>) {
    let table = answer.table.as_ref().expect("a table");
    let names = table.schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut rows = Vec::new();
    for batch in &table.batches {
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|column| cell(column, row)).collect());
        }
    }
    assert_eq!(rows.len(), table.total_rows);
    (names, rows)
}

fn cell(column: &ArrayRef, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    let one = column.slice(row, 1);
    match column.data_type() {
        DataType::Boolean => json!(one.as_boolean().value(0)),
        data_type if data_type.is_integer() => {
            let number = cast(&one, &DataType::Int64).expect("a whole number");
            json!(number.as_primitive::<Int64Type>().value(0))
        }
        data_type if data_type.is_numeric() => {
            let number = cast(&one, &DataType::Float64).expect("a number");
            json!(number.as_primitive::<Float64Type>().value(0))
        }
        DataType::List(_) => {
            let items = one.as_list::<i32>().value(0);
            (0..items.len()).map(|index| cell(&items, index)).collect()
        }
        _ => json!(array_value_to_string(&one, 0).expect("a text")),
    }
}
