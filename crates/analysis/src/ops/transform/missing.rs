//! Rows without values are left out, as pandas' `dropna` does.

use datafusion::logical_expr::Expr;
use serde_json::Value;

use crate::{
    aliases::parameters::MISSING,
    error::Result,
    ops::{
        columns,
        params::{ParamName, Params, list_of_names},
        row_order::OrderedRows,
    },
    work::AnalysisContext,
};

const HOW: &[(&str, bool)] = &[("any", false), ("all", true)];

/// Applies `true` for all columns, names, or `{"fields": …, "how": "all"}`.
pub(super) fn apply(
    work: &AnalysisContext,
    rows: OrderedRows,
    path: &str,
    value: &Value,
) -> Result<OrderedRows> {
    let (fields, only_if_all) = match value {
        Value::Bool(false) => return Ok(rows),
        Value::Bool(true) => (None, false),
        Value::Object(_) => {
            let given = Params::object(path, value, &MISSING)?;
            (given.names("fields")?, given.choice("how", HOW)?.unwrap_or(false))
        }
        names => (Some(list_of_names(path, names)?), false),
    };
    let table = rows.table()?;
    let every = |name| ParamName { path: path.to_owned(), name };
    let fields = fields.unwrap_or_else(|| rows.names().into_iter().map(every).collect());
    columns::check(work, &table, &fields)?;
    let there = fields.iter().map(|field| columns::value(&table, &field.name).is_not_null());
    match there.reduce(if only_if_all { Expr::or } else { Expr::and }) {
        Some(holds) => rows.filter(holds),
        None => Ok(rows),
    }
}
