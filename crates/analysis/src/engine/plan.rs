//! How the plan of an answer is run, so that its rows stay in the order of the data where nothing
//! asks for another.

use std::sync::Arc;

use datafusion::{
    common::{
        config::ConfigNonZeroUsize,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    error::Result,
    execution::TaskContext,
    logical_expr::LogicalPlan,
    physical_plan::ExecutionPlan,
    prelude::DataFrame,
};

use super::counting;

/// The steps of plans that hold one step at a time. The others take smaller ones, so that wide rows
/// fit too.
const LARGE_BATCH_ROWS: usize = 8192;

pub(super) enum Plan {
    Stream(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
    /// Its parts are in the order of its rows.
    Parts(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
}

impl Plan {
    pub(super) async fn of(frame: DataFrame, may_divide: bool) -> Result<Self> {
        let (mut state, plan) = frame.into_parts();
        let order = Order::of(&plan)?;
        if !holds_steps(&plan)? {
            let options = state.config_mut().options_mut();
            options.execution.batch_size = ConfigNonZeroUsize::try_new(LARGE_BATCH_ROWS)?;
        }
        let is_divided = may_divide && order == Order::OfParts;
        if is_divided {
            counting::in_parts(&mut state);
        } else if order != Order::Any {
            state.config_mut().options_mut().execution.target_partitions = 1;
        }
        let plan = state.create_physical_plan(&plan).await?;
        let context = state.task_ctx();
        Ok(if is_divided { Self::Parts(plan, context) } else { Self::Stream(plan, context) })
    }
}

/// Whether many steps are in memory at once: a sort merges as many as it has put aside, and a join,
/// which a subquery can become, puts a row beside all those of a step, as its list does.
fn holds_steps(plan: &LogicalPlan) -> Result<bool> {
    let mut holds = false;
    plan.apply(|node| {
        holds |= matches!(
            node,
            LogicalPlan::Sort(_)
                | LogicalPlan::Window(_)
                | LogicalPlan::Join(_)
                | LogicalPlan::Unnest(_)
        );
        node.apply_subqueries(|_| {
            holds = true;
            Ok(TreeNodeRecursion::Stop)
        })?;
        Ok(if holds { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(holds)
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
