//! Selects the first rows of each group by a value.

use datafusion::{
    functions_window::row_number::row_number,
    logical_expr::{Expr, ExprFunctionExt, lit},
    prelude::{DataFrame, ident},
};

use super::metrics::{Figure, FigureFunction};
use crate::{
    error::{AnalysisError, Result},
    ops::{
        columns, params::ParamName, row_order::OrderedRows, sorting::by_keys,
        time_columns::sort_value,
    },
    work::AnalysisContext,
};

/// Returns all columns of the rows with the largest or smallest values, group by group.
pub(super) async fn rows(
    work: &AnalysisContext,
    frame: DataFrame,
    keys: &[ParamName],
    figure: &Figure,
) -> Result<OrderedRows> {
    let (FigureFunction::Top(top), Some(by)) = (&figure.function, &figure.field) else {
        return Err(AnalysisError::Internal("no rows are asked for".to_owned()));
    };
    work.column(&frame, &by.path, &by.name)?;
    let by_value = sort_value(work, &frame, &by.name).await?.sort(!top.largest, false);
    let names = columns::names(&frame);
    let is_key = |name: &String| keys.iter().any(|key| key.name == *name);
    let (first, rest): (Vec<String>, Vec<String>) = names.into_iter().partition(is_key);
    let all: Vec<String> = first.into_iter().chain(rest).collect();

    let (rows, row) = OrderedRows::of(frame).numbered()?;
    let frame = rows.into_frame();
    let place = columns::unused(&frame, "place");
    let in_group = row_number()
        .partition_by(keys.iter().map(|key| ident(&key.name)).collect())
        .order_by(vec![by_value, ident(&row).sort(true, false)])
        .build()?;
    let mut values: Vec<Expr> = all.iter().map(ident).collect();
    values.push(in_group.alias(&place));
    let frame = frame.select(values)?.filter(ident(&place).lt_eq(lit(top.count as u64)))?;
    let sort = by_keys(&frame, keys);
    OrderedRows::by(frame, [place]).first_by(sort)
}
