//! Loads data of all forms and looks at the tables.

mod csv;
mod dirty;
mod files;
mod json;
mod parquet;
pub(crate) mod same;

use std::{fs::File, io::Write, sync::Arc};

use datafusion::{
    arrow::{
        array::{Array, AsArray, RecordBatch},
        datatypes::{DataType, Float64Type, Int64Type},
    },
    execution::{memory_pool::GreedyMemoryPool, runtime_env::RuntimeEnvBuilder},
    physical_plan::collect_partitioned,
    prelude::{SessionConfig, SessionContext},
};
use serde_json::{Map, Value, json};

use super::{FileFormat, Input, Loaded, load};
use crate::LoadError;

pub(crate) const PLENTY: usize = 1 << 30;

pub(crate) fn context(memory: usize) -> SessionContext {
    let pool = Arc::new(GreedyMemoryPool::new(memory));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc().expect("runtime");
    let config = SessionConfig::new().with_target_partitions(2);
    SessionContext::new_with_config_rt(config, runtime)
}

/// A table as plain values.
#[derive(Debug, PartialEq)]
pub(crate) struct Plain {
    /// "a: Int64, b: Utf8"
    pub(crate) columns: String,
    pub(crate) rows: Vec<Value>,
    pub(crate) notes: Vec<String>,
}

pub(crate) async fn plain(input: Input) -> Result<Plain, LoadError> {
    plain_in(&context(PLENTY), input).await
}

pub(crate) async fn plain_in(context: &SessionContext, input: Input) -> Result<Plain, LoadError> {
    let loaded = load(context, "data", input).await?;
    let notes = loaded.notes.clone();
    let (columns, batches) = scanned(context, loaded).await;
    Ok(Plain { columns, rows: batches.iter().flat_map(rows_of).collect(), notes })
}

/// All rows in order.
pub(crate) async fn scanned(
    context: &SessionContext,
    loaded: Loaded,
) -> (String, Vec<RecordBatch>) {
    let schema = loaded.provider.schema();
    let columns: Vec<String> = schema
        .fields()
        .iter()
        .map(|field| format!("{}: {}", field.name(), field.data_type()))
        .collect();
    let scan = loaded.provider.scan(&context.state(), None, &[], None).await.expect("scan");
    let parts = collect_partitioned(scan, context.task_ctx()).await.expect("rows");
    (columns.join(", "), parts.into_iter().flatten().collect())
}

pub(crate) fn rows_of(batch: &RecordBatch) -> Vec<Value> {
    let schema = batch.schema();
    let row = |row: usize| {
        let cells = schema.fields().iter().zip(batch.columns());
        let cells = cells.map(|(field, array)| (field.name().clone(), cell(array, row)));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    (0..batch.num_rows()).map(row).collect()
}

/// What JSON does not know is text.
fn cell(array: &Arc<dyn Array>, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            if value.is_finite() { json!(value) } else { json!(format!("float {value}")) }
        }
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        other => panic!("{other} is not expected"),
    }
}

pub(crate) fn file(content: impl AsRef<[u8]>, format: FileFormat) -> Input {
    Input::File { file: open(content), format }
}

pub(crate) fn open(content: impl AsRef<[u8]>) -> File {
    let mut file = tempfile::tempfile().expect("temporary file");
    file.write_all(content.as_ref()).expect("written");
    file
}

/// The words of an error in the data.
pub(crate) async fn complaint(input: Input) -> String {
    match plain(input).await {
        Err(LoadError::Data(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

/// The same as a value and as text gives this table.
pub(crate) async fn assert_json(value: Value, columns: &str, rows: Value, notes: &[&str]) {
    let text = value.to_string();
    for input in [Input::Json(value), Input::Text(text)] {
        let shown = format!("{input:?}");
        let plain = plain(input).await.expect("a table");
        assert_eq!(plain.columns, columns, "{shown}");
        assert_eq!(Value::Array(plain.rows), rows, "{shown}");
        assert_eq!(plain.notes, notes, "{shown}");
    }
}
