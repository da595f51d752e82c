//! The values of a column as columns.

use datafusion::{
    arrow::datatypes::DataType,
    functions::expr_fn::coalesce,
    functions_aggregate::expr_fn::first_value,
    logical_expr::{Expr, ExprFunctionExt, cast, lit},
    prelude::{DataFrame, ident},
    scalar::ScalarValue,
};
use serde_json::Value;

use crate::{
    aliases::parameters::PIVOT,
    error::{AnalysisError, Result},
    ops::{
        aggregate::{
            grouped,
            metrics::{self, Figure, FigureFunction},
            with_rows,
        },
        columns,
        params::{ParamName, Params, wrong},
        row_order::OrderedRows,
        sorting::by_keys,
    },
    work::AnalysisContext,
};

/// More columns than this are a mistake.
const MAX_COLUMNS: usize = 200;

pub(super) async fn apply(
    work: &AnalysisContext,
    rows: OrderedRows,
    path: &str,
    value: &Value,
) -> Result<OrderedRows> {
    let frame = rows.table()?;
    let given = Params::object(path, value, &PIVOT)?;
    let index = given.names("index")?.unwrap_or_default();
    let across = given.required_name("columns")?;
    columns::check(work, &frame, &index)?;
    work.column(&frame, &across.path, &across.name)?;
    if index.iter().any(|column| column.name == across.name) {
        let reason = format!("column {:?} is in `index` too", across.name);
        return Err(AnalysisError::parameter(&across.path, reason));
    }
    let figures = read_figures(&frame, &given)?;
    let fill = given.value("fill_value").map(|(path, value)| match value {
        Value::Number(number) => Ok(number.as_i64().map(lit).or(number.as_f64().map(lit))),
        other => Err(wrong(&path, "a number", other)),
    });
    let fill = fill.transpose()?.flatten();
    let values = values_of(work, &frame, &across).await?;
    if index.is_empty() && values.is_empty() {
        let reason = "there are no rows, so there are no columns; `index` names some that stay";
        return Err(AnalysisError::parameter(&across.path, reason));
    }

    // First a value for each cell, of which there are few, then the cells in their columns.
    let keys: Vec<ParamName> = index.iter().cloned().chain([across.clone()]).collect();
    let (frame, row) = match figures.iter().any(|figure| figure.function.is_ordered()) {
        true => with_rows(rows)?,
        false => (frame, None),
    };
    let cells = grouped(work, frame, row.as_deref(), &keys, &figures).await?;
    let mut names: Vec<String> = index.iter().map(|column| column.name.clone()).collect();
    let mut aggregates: Vec<Expr> = Vec::new();
    for figure in &figures {
        for (value, text) in &values {
            let is_here = match value.is_null() {
                true => ident(&across.name).is_null(),
                false => ident(&across.name).eq(lit(value.clone())),
            };
            let cell = first_value(ident(&figure.name), Vec::new()).filter(is_here).build()?;
            let cell = match &fill {
                Some(fill) => coalesce(vec![cell, fill.clone()]),
                None => cell,
            };
            let name = match figures.len() {
                1 => text.clone(),
                _ => {
                    format!("{}_{text}", figure.field.as_ref().map_or("count", |field| &field.name))
                }
            };
            aggregates.push(cell.alias(&name));
            names.push(name);
        }
    }
    columns::check_unique(path, names.iter().map(String::as_str))?;
    let groups: Vec<Expr> = index.iter().map(|column| ident(&column.name)).collect();
    let frame = cells.aggregate(groups, aggregates)?;
    let sort = by_keys(&frame, &index);
    OrderedRows::sorted(frame, sort)
}

/// Reads one figure for each column of values, under a name that no column has.
fn read_figures(frame: &DataFrame, given: &Params<'_>) -> Result<Vec<Figure>> {
    let mut figures = wanted_figures(given)?;
    for (index, figure) in figures.iter_mut().enumerate() {
        if matches!(figure.function, FigureFunction::Top(_)) {
            let reason = "gives rows, not one value for each cell";
            return Err(AnalysisError::parameter(&figure.path, reason));
        }
        figure.name = columns::unused(frame, &format!("cell_{index}"));
    }
    Ok(figures)
}

fn wanted_figures(given: &Params<'_>) -> Result<Vec<Figure>> {
    let function = given.value("function");
    let sum = Value::String("sum".to_owned());
    let (path, function) = function.unwrap_or_else(|| (given.path("function"), &sum));
    let Some(values) = given.names("values")?.filter(|values| !values.is_empty()) else {
        return match function.as_str() {
            Some("count") => metrics::read(&path, function),
            _ => Err(given.missing("values")),
        };
    };
    let figure = |column: ParamName| {
        let figure = metrics::read_for(&path, function, &column)?;
        Ok(Figure { field: Some(column), ..figure })
    };
    values.into_iter().map(figure).collect()
}

/// Returns the different values of a column in their order, with their texts.
async fn values_of(
    work: &AnalysisContext,
    frame: &DataFrame,
    across: &ParamName,
) -> Result<Vec<(ScalarValue, String)>> {
    let value = columns::value(frame, &across.name);
    let distinct = frame.clone().aggregate(vec![value.alias("__value")], Vec::new())?;
    let distinct = distinct
        .sort(vec![ident("__value").sort(true, false)])?
        .limit(0, Some(MAX_COLUMNS + 1))?
        .select(vec![ident("__value"), cast(ident("__value"), DataType::Utf8).alias("__text")])?;
    let mut values = Vec::new();
    for batch in work.collect(distinct).await? {
        for row in 0..batch.num_rows() {
            let value = ScalarValue::try_from_array(batch.column(0), row)?;
            let text = match ScalarValue::try_from_array(batch.column(1), row)? {
                ScalarValue::Utf8(Some(text)) => text,
                _ => "null".to_owned(),
            };
            values.push((value, text));
        }
    }
    if values.len() > MAX_COLUMNS {
        let reason = format!(
            "column {:?} has more than {MAX_COLUMNS} different values: too many columns",
            across.name
        );
        return Err(AnalysisError::parameter(&across.path, reason));
    }
    Ok(values)
}
