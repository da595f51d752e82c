//! How the plan of an answer is run, so that its rows stay in the order of the data where nothing
//! asks for another.

use std::sync::Arc;

use datafusion::{
    common::{
        config::ConfigNonZeroUsize,
        stats::Precision,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    datasource::source_as_provider,
    error::Result,
    execution::TaskContext,
    logical_expr::{LogicalPlan, TableScan},
    physical_plan::ExecutionPlan,
    prelude::DataFrame,
};

use super::counting;

/// The steps of plans that hold one step at a time. The others take smaller ones, so that wide rows
/// fit too.
const LARGE_BATCH_ROWS: usize = 8192;

/// So few rows are not worth being shared among threads.
const FEW_ROWS: usize = 1 << 15;

pub(super) enum Plan {
    Stream(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
    /// Its parts are in the order of its rows.
    Parts(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
}

impl Plan {
    pub(super) async fn of(frame: DataFrame, may_divide: bool) -> Result<Self> {
        let (mut state, plan) = frame.into_parts();
        let order = Order::of(&plan)?;
        let size = Size::of(&plan)?;
        if !size.holds_steps {
            let options = state.config_mut().options_mut();
            options.execution.batch_size = ConfigNonZeroUsize::try_new(LARGE_BATCH_ROWS)?;
        }
        let is_divided = may_divide && order == Order::OfParts;
        if is_divided {
            counting::in_parts(&mut state);
        } else if order != Order::Any || size.is_small() {
            state.config_mut().options_mut().execution.target_partitions = 1;
        }
        let plan = state.create_physical_plan(&plan).await?;
        let context = state.task_ctx();
        Ok(if is_divided { Self::Parts(plan, context) } else { Self::Stream(plan, context) })
    }
}

/// What is known of how much a plan has to do and to hold.
struct Size {
    /// The rows of its tables.
    rows: usize,
    /// There may be many more rows than its tables have.
    multiplies: bool,
    /// Many steps are in memory at once.
    holds_steps: bool,
}

impl Size {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut size = Self { rows: 0, multiplies: false, holds_steps: false };
        plan.apply(|node| {
            match node {
                LogicalPlan::TableScan(scan) => size.rows = size.rows.saturating_add(rows_of(scan)),
                // Puts a row beside all those of a step, as a list does.
                LogicalPlan::Join(_) | LogicalPlan::Unnest(_) => size.multiplies = true,
                // Merges as many steps as it has put aside.
                LogicalPlan::Sort(_) | LogicalPlan::Window(_) => size.holds_steps = true,
                _ => {}
            }
            // A subquery can become a join.
            node.apply_subqueries(|_| {
                size.multiplies = true;
                Ok(TreeNodeRecursion::Stop)
            })?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        size.holds_steps |= size.multiplies;
        Ok(size)
    }

    fn is_small(&self) -> bool {
        self.rows <= FEW_ROWS && !self.multiplies
    }
}

fn rows_of(scan: &TableScan) -> usize {
    let known = source_as_provider(&scan.source).ok().and_then(|table| table.statistics());
    match known.map(|statistics| statistics.num_rows) {
        Some(Precision::Exact(rows)) => rows,
        _ => usize::MAX,
    }
}

/// The order in which the rows of a plan have to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Any, or the plan sees to it.
    Any,
    /// As they come from their table, where they only go through, one by one: several threads would
    /// mix them up.
    OfTable,
    /// The same, and each part of the table can be read for itself.
    OfParts,
}

impl Order {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut order = Self::OfParts;
        plan.apply(|node| {
            match node {
                LogicalPlan::Projection(_)
                | LogicalPlan::Filter(_)
                | LogicalPlan::SubqueryAlias(_)
                | LogicalPlan::TableScan(_)
                | LogicalPlan::Extension(_)
                | LogicalPlan::Unnest(_) => {}
                LogicalPlan::Limit(_) => order = Self::OfTable,
                _ => {
                    order = Self::Any;
                    return Ok(TreeNodeRecursion::Stop);
                }
            }
            // A subquery can become a join, which divides rows in its own way.
            node.apply_subqueries(|_| {
                order = Self::OfTable;
                Ok(TreeNodeRecursion::Stop)
            })?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(order)
    }
}
