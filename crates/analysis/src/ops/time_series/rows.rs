//! Figures along rows in the order that they have, or that a column gives them: where there are no
//! times, as in pandas. All columns stay, and what was asked for comes after them.

use datafusion::{
    arrow::datatypes::DataType,
    functions_window::expr_fn::lag,
    logical_expr::{Expr, ExprFunctionExt, SortExpr, cast},
    prelude::{DataFrame, ident},
};
use serde_json::{Map, Value};

use super::{
    load::{find_time, numeric_fields},
    parameters::{SeriesRequest, Window},
    series::{change_name, cumulative_name, rolling_name},
};
use crate::{
    error::{AnalysisError, Result},
    functions::RunningFunction,
    kind::AnalysisType,
    ops::{
        columns,
        names::free_name,
        numbers::numeric,
        params::Params,
        row_order::OrderedRows,
        sorting::{Sorted, sort_keys},
        time_columns::sort_value,
    },
    work::{AnalysisContext, OpOutput},
};

/// Returns what rows are sorted by if figures follow the rows and not the time; none is their own order.
pub(super) async fn order(
    work: &AnalysisContext,
    asked: &SeriesRequest,
    parameters: &Map<String, Value>,
) -> Result<Option<Vec<SortExpr>>> {
    let given = Params::parameters(AnalysisType::TimeSeries, parameters)?;
    let frame = work.main().await?;
    let sorted = sort_keys(work, &Sorted { frame: &frame, groups: None }, &given).await?;
    if !asked.is_along_rows() {
        for name in ["sort", "shift"] {
            if let Some((path, _)) = given.value(name) {
                let reason = "is for `rolling` with a number of rows, `change`, `cumulative` and \
                              `shift`, without what needs times";
                return Err(AnalysisError::parameter(path, reason));
            }
        }
        return Ok(None);
    }
    if let Some(keys) = sorted {
        return Ok(Some(keys));
    }
    let time = match &asked.time {
        Some(time) => Some(time.clone()),
        None => find_time(work, &frame).await?,
    };
    match time {
        None => {
            work.note("figures follow the order of the rows; `sort` or `time` names another");
            Ok(Some(Vec::new()))
        }
        // Any value can be shifted, not only numbers.
        Some(time) if asked.shift.is_some() => {
            work.column(&frame, "time", &time)?;
            Ok(Some(vec![sort_value(work, &frame, &time).await?.sort(true, false)]))
        }
        Some(_) => Ok(None),
    }
}

pub(super) async fn run(
    work: &AnalysisContext,
    asked: &SeriesRequest,
    keys: Vec<SortExpr>,
) -> Result<OpOutput> {
    let frame = work.main().await?;
    let values = values(work, asked, &frame, &keys)?;
    asked.group_by.check_distinct("group_by")?;
    let mut groups = Vec::new();
    for (path, name) in asked.group_by.with_paths("group_by") {
        work.column(&frame, &path, name)?;
        groups.push(columns::value(&frame, name));
    }
    let mut taken = columns::names(&frame);
    let rows = OrderedRows::of(frame.clone());
    let rows = if keys.is_empty() { rows } else { rows.sort(keys)? };
    let (rows, row) = rows.numbered()?;
    let mut added: Vec<(String, Expr)> = Vec::new();
    for (path, name) in &values {
        for (wanted, function) in functions(work, &frame, asked, path, name).await? {
            let function = function
                .partition_by(groups.clone())
                .order_by(vec![ident(&row).sort(true, false)])
                .build()?;
            let name = free_name(&wanted, &taken);
            taken.push(name.clone());
            added.push((name, function));
        }
    }
    let rows = rows.with(added)?;
    let rows = match asked.limit {
        Some(limit) => rows.page(0, Some(limit))?,
        None => rows,
    };
    Ok(rows.finish()?.into())
}

/// Returns the columns that figures are computed of, each with its path in the parameters.
fn values(
    work: &AnalysisContext,
    asked: &SeriesRequest,
    frame: &DataFrame,
    keys: &[SortExpr],
) -> Result<Vec<(String, String)>> {
    let (path, names) = match &asked.values {
        Some((path, names)) => (path.clone(), names.clone()),
        None => {
            let ordered = keys.iter().flat_map(|key| key.expr.column_refs());
            let ordered = ordered.map(|column| column.name.clone());
            let others: Vec<String> =
                ordered.chain(asked.group_by.as_slice().iter().cloned()).collect();
            ("values".to_owned(), numeric_fields(work, frame, &others))
        }
    };
    names.check_distinct(&path)?;
    if names.as_slice().is_empty() {
        let reason = "there is no column with numbers; `values` names others";
        return Err(AnalysisError::parameter("values", reason));
    }
    let named = names.with_paths(&path).into_iter().map(|(path, name)| {
        work.column(frame, &path, name)?;
        Ok((path, name.to_owned()))
    });
    named.collect()
}

/// Returns the window functions for a column, with the names of the results.
async fn functions(
    work: &AnalysisContext,
    frame: &DataFrame,
    asked: &SeriesRequest,
    path: &str,
    name: &str,
) -> Result<Vec<(String, Expr)>> {
    let mut functions = Vec::new();
    let mut along: Vec<(String, RunningFunction)> = Vec::new();
    if let Some(windows) = &asked.rolling
        && let Window::Rows(rows) = windows.window
    {
        let min = windows.min;
        along.extend(windows.functions.iter().map(|(word, function)| {
            (rolling_name(name, word), RunningFunction::Rolling { rows, function: *function, min })
        }));
    }
    if let Some((periods, kind)) = asked.change {
        along.push((change_name(name, kind), RunningFunction::Change { periods, kind }));
    }
    for (word, kind) in &asked.cumulative {
        along.push((cumulative_name(name, word), RunningFunction::Cumulative(*kind)));
    }
    if !along.is_empty() {
        let number = cast(numeric(work, frame, path, name).await?, DataType::Float64);
        functions.extend(along.into_iter().map(|(name, along)| (name, along.of(number.clone()))));
    }
    if let Some(periods) = asked.shift {
        functions.push((format!("{name}_shift"), lag(ident(name), Some(periods), None)));
    }
    Ok(functions)
}
