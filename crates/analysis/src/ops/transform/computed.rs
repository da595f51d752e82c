//! Columns that are computed.

use std::sync::Arc;

use datafusion::{
    error::DataFusionError,
    logical_expr::{
        EmptyRelation, Expr, LogicalPlan, physical_planning_context::PhysicalPlanningContext,
    },
    physical_expr::create_physical_expr,
    prelude::DataFrame,
};
use serde_json::Value;

use crate::{
    error::{AnalysisError, Result, explain},
    ops::{
        params::{ParamName, pairs, text},
        row_order::OrderedRows,
    },
    sql,
    work::AnalysisContext,
};

/// How deep columns may build on each other; planning takes ever longer.
const MAX_DEPTH: usize = 50;

/// Applies `{"total": "price * quantity"}`. Each value may use those before it.
pub(super) fn apply(
    work: &AnalysisContext,
    mut rows: OrderedRows,
    path: &str,
    value: &Value,
) -> Result<OrderedRows> {
    // Those that do not build on each other are computed side by side.
    let mut waiting: Vec<(String, Expr)> = Vec::new();
    let mut table = rows.table()?;
    let mut depth = 1;
    for (column, expression) in pairs(path, value)? {
        let expression = text(&column.path, expression)?;
        let mut parsed = sql::expression(work, &table, &column.path, expression);
        let builds_on_waiting = match &parsed {
            Ok(parsed) => uses_any(parsed, &waiting),
            Err(_) => !waiting.is_empty(),
        };
        if builds_on_waiting {
            rows = rows.with(std::mem::take(&mut waiting))?;
            table = rows.table()?;
            parsed = sql::expression(work, &table, &column.path, expression);
            depth += 1;
        }
        if depth > MAX_DEPTH {
            let reason = format!("columns build on each other more than {MAX_DEPTH} deep");
            return Err(AnalysisError::parameter(path, reason));
        }
        let parsed = parsed?;
        check(work, &table, &column, &parsed)?;
        waiting.retain(|(name, _)| *name != column.name);
        waiting.push((column.name, parsed));
    }
    rows.with(waiting)
}

/// Says of which column it is that it cannot be computed from these types. The plan of all of them
/// would say so too, but not of which.
fn check(
    work: &AnalysisContext,
    table: &DataFrame,
    column: &ParamName,
    value: &Expr,
) -> Result<()> {
    let refused = |reason: String| AnalysisError::parameter(&column.path, reason);
    planned(work, table, value).map_err(|error| explain(&error, refused))
}

/// Plans a value for a table like this one. The table itself would be planned again with each.
fn planned(work: &AnalysisContext, table: &DataFrame, value: &Expr) -> Result<(), DataFusionError> {
    let schema = Arc::new(table.schema().clone());
    let rows = EmptyRelation { produce_one_row: false, schema: schema.clone() };
    let rows = DataFrame::new(work.context().state(), LogicalPlan::EmptyRelation(rows));
    let (state, plan) = rows.select(vec![value.clone()])?.into_parts();
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| ())?;
    let context = PhysicalPlanningContext::default();
    for value in plan.expressions() {
        create_physical_expr(&value, &schema, state.execution_props(), &context)?;
    }
    Ok(())
}

fn uses_any(expression: &Expr, columns: &[(String, Expr)]) -> bool {
    let used = expression.column_refs();
    columns.iter().any(|(name, _)| used.iter().any(|column| column.name == *name))
}
