//! Plans queries and expressions from their text.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::DataType,
    common::{
        DFSchema,
        tree_node::{Transformed, TreeNode},
    },
    error::DataFusionError,
    logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast},
    prelude::{DataFrame, SessionContext},
    sql::{
        parser::Statement as Parsed,
        sqlparser::ast::{ExprWithAlias, Statement},
    },
};
use tokio_util::sync::CancellationToken;

use super::{
    check::{KnownNames, Refused, SqlCheck},
    functions::Allowance,
    inflate,
    names::{self, UnusualColumns},
    parse, zones,
};
use crate::{
    error::{AnalysisError, Result, explain, missing_column},
    work::{AnalysisContext, OpOutput},
};

/// Plans an expression over a frame's rows, such as `price * quantity`, and records it so that the
/// parameter is named if a row makes it fail.
pub(crate) fn expression(
    work: &AnalysisContext,
    frame: &DataFrame,
    parameter: &str,
    text: &str,
) -> Result<Expr> {
    let value = plan_expression(work, frame.schema(), parameter, text)?;
    work.record(parameter, frame, &value);
    Ok(value)
}

/// Plans an expression over the columns of a schema: no subqueries, and each row by itself, so no
/// aggregates and no window functions either.
fn plan_expression(
    work: &AnalysisContext,
    schema: &DFSchema,
    parameter: &str,
    text: &str,
) -> Result<Expr> {
    let context = work.context();
    let refused = |reason| AnalysisError::parameter(parameter, reason);
    let mut written = parse::expression(text).map_err(refused)?;
    let columns = UnusualColumns::new(schema.fields().iter().map(|field| field.name().as_str()));
    columns.join(&mut written);
    names::quoted_texts(work, &mut written, schema);
    columns.note_numbers(work, &mut written);
    let state = context.state();
    let known = KnownNames::new(&state, &[]);
    let check = SqlCheck::expression(&known, &mut written).map_err(refused)?;
    zones::replace(&mut written);
    allowance(context).expect(check.calls());
    let written = ExprWithAlias { expr: written, alias: None };
    let planned = state.create_logical_expr_from_sql_expr(written, schema);
    let planned = planned.and_then(|planned| with_fractions(planned, schema));
    planned.map_err(|error| explain(&error, |reason| refused(hinted(text, &error, reason))))
}

/// Divides integers as floats. In SQL 3 / 4 is 0, but whoever writes `won / games` means a share,
/// whether or not there is a point in one of the values.
fn with_fractions(
    expression: Expr,
    schema: &DFSchema,
) -> std::result::Result<Expr, DataFusionError> {
    let divided = expression.transform_up(|part| {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide, right }) = part else {
            return Ok(Transformed::no(part));
        };
        let is_whole = left.get_type(schema)?.is_integer() && right.get_type(schema)?.is_integer();
        let left = if is_whole { Box::new(cast(*left, DataType::Float64)) } else { left };
        let divided = BinaryExpr { left, op: Operator::Divide, right };
        Ok(Transformed::new_transformed(Expr::BinaryExpr(divided), is_whole))
    })?;
    Ok(divided.data)
}

/// Plans a query.
pub(crate) async fn query(work: &AnalysisContext, text: &str) -> Result<OpOutput> {
    let mut query = parse::query(text).map_err(AnalysisError::Sql)?;
    let mut columns = Vec::new();
    for table in work.tables() {
        let frame = work.table("sql", table).await?;
        columns.extend(frame.schema().fields().iter().map(|field| field.name().clone()));
    }
    let columns = UnusualColumns::new(columns.iter().map(String::as_str));
    columns.join(&mut query);
    columns.note_numbers(work, &mut query);
    let context = work.context();
    let state = context.state();
    let known = KnownNames::new(&state, work.tables());
    let check = SqlCheck::query(&known, &mut query).map_err(AnalysisError::Sql)?;
    zones::replace(&mut query);
    allowance(context).expect(check.calls());
    let failed = |error: DataFusionError| {
        explain(&error, |reason| AnalysisError::Sql(hinted(text, &error, reason)))
    };
    let statement = Parsed::Statement(Box::new(Statement::Query(query)));
    let plan = state.statement_to_plan(statement).await.map_err(failed)?;
    inflate::check(&plan).map_err(AnalysisError::Sql)?;
    Ok(DataFrame::new(state, plan).into())
}

fn allowance(context: &SessionContext) -> Arc<Allowance> {
    let given = context.state().config().get_extension::<Allowance>();
    given.unwrap_or_else(|| Arc::new(Allowance::new(0, CancellationToken::new())))
}

/// Adds a hint to an error: `"Tech"` is a column in SQL, but not always to those who write it.
fn hinted(text: &str, error: &DataFusionError, reason: Refused) -> Refused {
    match missing_column(error) {
        Some(name) if text.contains(&format!("\"{name}\"")) => {
            format!("{reason}; if it is a text, write it in single quotes: '{name}'")
        }
        _ => reason,
    }
}
