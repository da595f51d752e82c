//! Columns that are computed.

use datafusion::logical_expr::Expr;
use serde_json::Value;

use crate::{
    error::{AnalysisError, Result},
    ops::{
        order::Rows,
        reading::{pairs, text},
    },
    work::Work,
};

/// How deep columns may build on each other; planning takes ever longer.
const DEEPEST: usize = 50;

/// `{"total": "price * quantity"}`. Each may use those before it.
pub(super) fn apply(work: &Work, mut rows: Rows, path: &str, value: &Value) -> Result<Rows> {
    // Those that do not build on each other are computed side by side.
    let mut waiting: Vec<(String, Expr)> = Vec::new();
    let mut table = rows.table()?;
    let mut depth = 1;
    for (column, expression) in pairs(path, value)? {
        let expression = text(&column.path, expression)?;
        let mut parsed = work.expression(&table, &column.path, expression);
        let builds_on_waiting = match &parsed {
            Ok(parsed) => uses_any(parsed, &waiting),
            Err(_) => !waiting.is_empty(),
        };
        if builds_on_waiting {
            rows = rows.with(std::mem::take(&mut waiting))?;
            table = rows.table()?;
            parsed = work.expression(&table, &column.path, expression);
            depth += 1;
        }
        if depth > DEEPEST {
            let reason = format!("columns build on each other more than {DEEPEST} deep");
            return Err(AnalysisError::parameter(path, reason));
        }
        let parsed = parsed?;
        waiting.retain(|(name, _)| *name != column.name);
        waiting.push((column.name, parsed));
    }
    rows.with(waiting)
}

fn uses_any(expression: &Expr, columns: &[(String, Expr)]) -> bool {
    let used = expression.column_refs();
    columns.iter().any(|(name, _)| used.iter().any(|column| column.name == *name))
}
