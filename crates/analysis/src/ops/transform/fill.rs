//! Values for those that are missing.

use datafusion::{
    arrow::datatypes::DataType,
    functions::expr_fn::coalesce,
    functions_aggregate::expr_fn::count,
    functions_window::expr_fn::last_value,
    logical_expr::{Expr, ExprFunctionExt, ExprSchemable, cast, expr::NullTreatment, lit},
    prelude::{DataFrame, ident},
};
use serde_json::Value;

use crate::{
    aliases::parameters::FILLED,
    error::{AnalysisError, Result},
    functions::RunningFunction,
    ops::{
        columns,
        conditions::literal::{ComparisonType, literal},
        numbers::{is_text, numeric},
        params::{ParamName, Params, pairs},
        row_order::OrderedRows,
    },
    work::AnalysisContext,
};

/// Applies `{"amount": 0, "name": "unknown"}`, or one value for all columns that can hold it.
pub(super) async fn apply(
    work: &AnalysisContext,
    rows: OrderedRows,
    path: &str,
    value: &Value,
) -> Result<OrderedRows> {
    if let Value::Object(fields) = value
        && fields.get("method").is_some_and(|method| method.is_string())
    {
        return by_method(work, rows, &Params::object(path, value, &FILLED)?).await;
    }
    let frame = rows.table()?;
    let values: Vec<(ParamName, &Value)> = match value {
        Value::Object(_) => pairs(path, value)?.collect(),
        one => {
            let fields = frame.schema().fields().iter();
            let fitting = fields.filter(|field| holds_such(field.data_type(), one));
            let named = |name: &String| ParamName { path: path.to_owned(), name: name.clone() };
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

/// How missing values are filled, as in pandas' `fillna` and `interpolate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FillMethod {
    Previous,
    Next,
    Linear,
    Mean,
    Median,
}

const METHODS: &[(&str, FillMethod)] = &[
    ("previous", FillMethod::Previous),
    ("next", FillMethod::Next),
    ("linear", FillMethod::Linear),
    ("mean", FillMethod::Mean),
    ("median", FillMethod::Median),
    ("ffill", FillMethod::Previous),
    ("pad", FillMethod::Previous),
    ("forward", FillMethod::Previous),
    ("bfill", FillMethod::Next),
    ("backfill", FillMethod::Next),
    ("backward", FillMethod::Next),
    ("interpolate", FillMethod::Linear),
    ("average", FillMethod::Mean),
];

/// Applies `{"method": "previous", "fields": ["amount"]}`; without fields to all columns that the method
/// can fill.
async fn by_method(
    work: &AnalysisContext,
    rows: OrderedRows,
    given: &Params<'_>,
) -> Result<OrderedRows> {
    let Some(method) = given.choice("method", METHODS)? else { return Ok(rows) };
    let frame = rows.table()?;
    let needs_numbers = !matches!(method, FillMethod::Previous | FillMethod::Next);
    let fields = match given.names("fields")? {
        Some(fields) => fields,
        None => {
            let fields = frame.schema().fields().iter();
            let fields = fields.filter(|field| !needs_numbers || field.data_type().is_numeric());
            let path = given.path("fields");
            fields
                .map(|field| ParamName { path: path.clone(), name: field.name().clone() })
                .collect()
        }
    };
    columns::check(work, &frame, &fields)?;
    let (rows, row) = rows.numbered()?;
    let mut results = Vec::new();
    for field in fields {
        let value = match needs_numbers {
            false => columns::value(&frame, &field.name),
            true => cast(numeric(work, &frame, &field.path, &field.name).await?, DataType::Float64),
        };
        let by_row = vec![ident(&row).sort(method != FillMethod::Next, false)];
        let function = match method {
            FillMethod::Previous | FillMethod::Next => {
                let last = last_value(value.clone()).order_by(by_row);
                last.null_treatment(NullTreatment::IgnoreNulls)
            }
            FillMethod::Linear => RunningFunction::FillLinear.of(value.clone()).order_by(by_row),
            FillMethod::Mean => RunningFunction::Mean.of(value.clone()).order_by(by_row),
            FillMethod::Median => RunningFunction::Median.of(value.clone()).order_by(by_row),
        };
        let filled = coalesce(vec![value, function.build()?]);
        results.push((field.name, filled));
    }
    rows.with(results)
}

/// Tells whether a column counts as text only because it has no values that would say otherwise.
async fn is_without_values(
    work: &AnalysisContext,
    frame: &DataFrame,
    column: &ParamName,
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
    match ComparisonType::of(data_type, &[]) {
        Some(ComparisonType::Number) => value.is_number(),
        Some(ComparisonType::Text) => value.is_string(),
        Some(ComparisonType::Boolean) => value.is_boolean(),
        _ => false,
    }
}

fn filled(frame: &DataFrame, column: &ParamName, value: &Value) -> Result<Expr> {
    let data_type = columns::data_type(frame, &column.name);
    let nature = ComparisonType::of(&data_type, &[]).ok_or_else(|| {
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
