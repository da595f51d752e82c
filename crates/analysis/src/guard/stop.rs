//! Makes joins stoppable: one that compares many rows without giving any would not notice that the
//! analysis was stopped.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use datafusion::{
    arrow::datatypes::FieldRef,
    arrow::{array::RecordBatch, datatypes::Schema},
    common::exec_err,
    error::Result,
    logical_expr::ColumnarValue,
    physical_expr::PhysicalExpr,
    physical_plan::{
        ExecutionPlan,
        joins::{HashJoinExec, NestedLoopJoinExec, utils::JoinFilter},
    },
};
use tokio_util::sync::CancellationToken;

pub(super) fn nested_loop(
    join: &NestedLoopJoinExec,
    stop: &CancellationToken,
) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(Arc::new(NestedLoopJoinExec::try_new(
        join.left().clone(),
        join.right().clone(),
        join.filter().map(|filter| stoppable(filter, stop)),
        join.join_type(),
        join.projection().as_ref().map(|columns| columns.to_vec()),
    )?))
}

pub(super) fn hash(
    join: &HashJoinExec,
    stop: &CancellationToken,
) -> Result<Arc<dyn ExecutionPlan>> {
    let filter = join.filter().map(|filter| stoppable(filter, stop));
    join.builder().with_filter(filter).build_exec()
}

fn stoppable(filter: &JoinFilter, stop: &CancellationToken) -> JoinFilter {
    let compared = Compared { expression: filter.expression().clone(), stop: stop.clone() };
    JoinFilter::new(Arc::new(compared), filter.column_indices().to_vec(), filter.schema().clone())
}

/// A join's condition that fails once the analysis was stopped.
#[derive(Debug)]
struct Compared {
    expression: Arc<dyn PhysicalExpr>,
    stop: CancellationToken,
}

impl PartialEq for Compared {
    fn eq(&self, other: &Self) -> bool {
        self.expression.eq(&other.expression)
    }
}

impl Eq for Compared {}

impl Hash for Compared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expression.hash(state);
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

impl PhysicalExpr for Compared {
    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.expression.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        match self.stop.is_cancelled() {
            true => exec_err!("stopped"),
            false => self.expression.evaluate(batch),
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.expression]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let expression = children.swap_remove(0);
        Ok(Arc::new(Self { expression, stop: self.stop.clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt_sql(f)
    }
}
