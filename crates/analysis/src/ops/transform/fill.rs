//! Values for those that are missing.

use datafusion::{
    arrow::datatypes::DataType,
    functions::expr_fn::coalesce,
    functions_aggregate::expr_fn::count,
    logical_expr::{Expr, ExprSchemable, cast, lit},
    prelude::{DataFrame, ident},
};
use serde_json::Value;

use crate::{
    error::{AnalysisError, Result},
    ops::{
        columns,
        conditions::literal::{Nature, literal},
        numbers::is_text,
        order::Rows,
        reading::{Named, pairs},
    },
    work::Work,
};

/// `{"amount": 0, "name": "unknown"}`, or one value for all columns that can hold it.
pub(super) async fn apply(work: &Work, rows: Rows, path: &str, value: &Value) -> Result<Rows> {
    let frame = rows.table()?;
    let values: Vec<(Named, &Value)> = match value {
        Value::Object(_) => pairs(path, value)?.collect(),
        one => {
            let fields = frame.schema().fields().iter();
            let fitting = fields.filter(|field| holds_such(field.data_type(), one));
            let named = |name: &String| Named { path: path.to_owned(), name: name.clone() };
            fitting.map(|field| (named(field.name()), one)).collect()
        }
    };
    let mut results = Vec::new();
    for (column, value) in values {
        work.column(&frame, &column.path, &column.name)?;
        let filled = match is_without_values(work, &frame, &column, value).await? {
            true => plain(value).unwrap_or(filled(&frame, &column, value)?),
            false => filled(&frame, &column, value)?,
        };
        results.push((column.name, filled));
    }
    rows.with(results)
}

/// Whether a column counts as text only because it has no values that would say otherwise.
async fn is_without_values(
    work: &Work,
    frame: &DataFrame,
    column: &Named,
    value: &Value,
) -> Result<bool> {
    if value.is_string() || !is_text(&columns::data_type(frame, &column.name)) {
        return Ok(false);
    }
    let given = columns::figures(work, frame.clone(), vec![count(ident(&column.name))]).await?;
    Ok(given[0] == 0)
}

fn plain(value: &Value) -> Option<Expr> {
    match value {
        Value::Bool(flag) => Some(lit(*flag)),
        Value::Number(number) => number.as_i64().map(lit).or(number.as_f64().map(lit)),
        _ => None,
    }
}

fn holds_such(data_type: &DataType, value: &Value) -> bool {
    match Nature::of(data_type, &[]) {
        Some(Nature::Number) => value.is_number(),
        Some(Nature::Text) => value.is_string(),
        Some(Nature::Boolean) => value.is_boolean(),
        _ => false,
    }
}

fn filled(frame: &DataFrame, column: &Named, value: &Value) -> Result<Expr> {
    let data_type = columns::data_type(frame, &column.name);
    let nature = Nature::of(&data_type, &[]).ok_or_else(|| {
        let reason = format!("column {:?} holds {data_type}, which cannot be filled", column.name);
        AnalysisError::parameter(&column.path, reason)
    })?;
    let present = columns::value(frame, &column.name);
    let value = literal(&column.path, &column.name, nature, &data_type, value)?;
    // A column of whole numbers takes a number with a point as well.
    let value_type = value.get_type(frame.schema())?;
    let present = match data_type.is_integer() && value_type.is_floating() {
        true => cast(present, DataType::Float64),
        false => present,
    };
    Ok(coalesce(vec![present, value]))
}
