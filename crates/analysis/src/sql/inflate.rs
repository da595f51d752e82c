//! Stops queries whose expressions grow by building on one another.
//!
//! The query engine writes an expression out wherever its name is used further up, so that `a + a AS b`,
//! then `b + b AS c` and so on doubles with each step. The final size is counted before the engine tries
//! it.

use datafusion::{
    common::{
        Column, DFSchemaRef,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    error::Result as Planned,
    logical_expr::{Expr, LogicalPlan},
};

use super::check::Refused;

/// The most parts that the names in one expression may stand for.
const MAX_PARTS: usize = 1024;

pub(super) fn check(plan: &LogicalPlan) -> Result<(), Refused> {
    let mut walk = Walk { max: 0 };
    walk.columns(plan).map_err(|error| error.strip_backtrace())?;
    match walk.max > MAX_PARTS {
        true => Err("its expressions build on one another too often".to_owned()),
        false => Ok(()),
    }
}

struct Walk {
    /// The most parts of any expression so far.
    max: usize,
}

/// The inputs of a node, and how many parts each of their columns stands for.
type Inputs<'a> = Vec<(&'a DFSchemaRef, Vec<usize>)>;

impl Walk {
    /// Counts the parts that each column of a plan stands for: none if it comes from a table.
    fn columns(&mut self, plan: &LogicalPlan) -> Planned<Vec<usize>> {
        let mut inputs = Inputs::new();
        for input in plan.inputs() {
            let columns = self.columns(input)?;
            inputs.push((input.schema(), columns));
        }
        let mut made = Vec::new();
        plan.apply_expressions(|expression| {
            made.push(self.expression(expression, &inputs)?);
            Ok(TreeNodeRecursion::Continue)
        })?;
        let fields = plan.schema().fields().len();
        let mut columns: Vec<usize> = match plan {
            LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) => made,
            LogicalPlan::Union(_) => return Ok(rows_of_either(&inputs, fields)),
            _ => inputs.into_iter().flat_map(|(_, columns)| columns).collect(),
        };
        columns.resize(fields, 0);
        Ok(columns)
    }

    fn expression(&mut self, expression: &Expr, inputs: &Inputs<'_>) -> Planned<usize> {
        let (mut written, mut named) = (0_usize, 0_usize);
        expression.apply(|part| {
            match part {
                Expr::Column(column) => named = named.saturating_add(stands_for(column, inputs)),
                Expr::Alias(_) | Expr::Literal(..) => {}
                Expr::ScalarSubquery(subquery) => drop(self.columns(&subquery.subquery)?),
                Expr::InSubquery(within) => drop(self.columns(&within.subquery.subquery)?),
                Expr::Exists(exists) => drop(self.columns(&exists.subquery.subquery)?),
                _ => written += 1,
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        self.max = self.max.max(named);
        Ok(written.saturating_add(named))
    }
}

fn stands_for(column: &Column, inputs: &Inputs<'_>) -> usize {
    let known = inputs
        .iter()
        .find_map(|(schema, columns)| columns.get(schema.maybe_index_of_column(column)?).copied());
    known.unwrap_or_default()
}

/// Counts the parts of a union's columns: those of the input in which the column has the most.
fn rows_of_either(inputs: &Inputs<'_>, fields: usize) -> Vec<usize> {
    let max = |index: usize| inputs.iter().filter_map(|(_, columns)| columns.get(index)).max();
    (0..fields).map(|index| max(index).copied().unwrap_or_default()).collect()
}
