//! Chooses how the plan of an answer is run, so that its rows stay in the order of the data where
//! nothing asks for another order.

use std::sync::Arc;

use datafusion::{
    common::{
        config::ConfigNonZeroUsize,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    datasource::source_as_provider,
    error::Result,
    execution::TaskContext,
    logical_expr::{LogicalPlan, TableScan},
    physical_plan::ExecutionPlan,
    prelude::DataFrame,
};

use crate::{counting, work::known_rows};

/// The steps of plans that hold one step at a time. The others take smaller ones, so that wide rows
/// fit too.
const LARGE_BATCH_ROWS: usize = 8192;

/// Up to this many rows are not worth being shared among threads.
const FEW_ROWS: usize = 1 << 15;

pub(super) enum RowPlan {
    Stream(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
    /// A plan whose partitions are in the order of its rows.
    Parts(Arc<dyn ExecutionPlan>, Arc<TaskContext>),
}

impl RowPlan {
    pub(super) async fn of(frame: DataFrame, may_divide: bool) -> Result<Self> {
        let (mut state, plan) = frame.into_parts();
        let order = RowOrder::of(&plan)?;
        let plan = state.optimize(&plan)?;
        let size = PlanSize::of(&plan)?;
        if !size.holds_steps {
            let options = state.config_mut().options_mut();
            options.execution.batch_size = ConfigNonZeroUsize::try_new(LARGE_BATCH_ROWS)?;
        }
        let is_divided = may_divide && order == RowOrder::OfParts;
        if is_divided {
            counting::in_parts(&mut state);
        } else if order != RowOrder::Any || size.is_small() {
            state.config_mut().options_mut().execution.target_partitions = 1;
        }
        let plan = state.query_planner().create_physical_plan(&plan, &state).await?;
        let context = state.task_ctx();
        Ok(if is_divided { Self::Parts(plan, context) } else { Self::Stream(plan, context) })
    }
}

/// An estimate of how much a plan has to do and to hold.
struct PlanSize {
    /// The rows of its tables.
    rows: usize,
    /// Whether it may give many more rows than its tables have.
    multiplies: bool,
    /// Whether many batches are in memory at once.
    holds_steps: bool,
}

impl PlanSize {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut size = Self { rows: 0, multiplies: false, holds_steps: false };
        plan.apply(|node| {
            match node {
                LogicalPlan::TableScan(scan) => size.rows = size.rows.saturating_add(rows_of(scan)),
                // Joins put a row beside all rows of a batch, as lists do when they are unnested.
                LogicalPlan::Join(_) | LogicalPlan::Unnest(_) => size.multiplies = true,
                // A sort with a small limit drops all other rows.
                LogicalPlan::Sort(sort)
                    if sort.fetch.is_some_and(|rows| rows <= LARGE_BATCH_ROWS) => {}
                // These merge as many batches as they have put aside.
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
    let table = source_as_provider(&scan.source).ok();
    table.and_then(|table| known_rows(table.as_ref())).unwrap_or(usize::MAX)
}

/// The order that the rows of a plan must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowOrder {
    /// Any order, or one that the plan itself establishes.
    Any,
    /// The order of the table, whose rows only pass through one by one: several threads would mix them
    /// up.
    OfTable,
    /// The order of the table, where each partition can be read on its own.
    OfParts,
}

impl RowOrder {
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

#[cfg(test)]
mod tests {
    use datafusion::{
        arrow::array::{ArrayRef, Int64Array, RecordBatch},
        datasource::MemTable,
        prelude::{SessionConfig, SessionContext},
    };
    use narrows_tables::Input;

    use super::*;

    const THREADS: usize = 3;
    const BATCH_ROWS: usize = 100;

    fn rows(count: usize) -> RecordBatch {
        let count = i64::try_from(count).unwrap();
        let column = |values| Arc::new(Int64Array::from_iter_values(values)) as ArrayRef;
        let columns = [
            ("number", column((0..count).collect::<Vec<_>>())),
            ("group", column((0..count).map(|number| number % 7).collect())),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    /// The threads and the rows of a step for a query of these tables.
    async fn planned(query: &str) -> (usize, usize) {
        let config = SessionConfig::new().with_target_partitions(THREADS);
        let context = SessionContext::new_with_config(config.with_batch_size(BATCH_ROWS));
        for (name, count) in [("few", FEW_ROWS), ("many", FEW_ROWS + 1)] {
            let batch = rows(count);
            let input = Input::Batches { schema: batch.schema(), batches: vec![batch] };
            let loaded = narrows_tables::load(&context, name, input).await.unwrap();
            context.register_table(name, loaded.provider).unwrap();
        }
        let unknown = MemTable::try_new(rows(1).schema(), vec![vec![rows(1)]]).unwrap();
        context.register_table("unknown", Arc::new(unknown)).unwrap();
        let frame = context.sql(query).await.unwrap();
        let (RowPlan::Stream(_, task) | RowPlan::Parts(_, task)) =
            RowPlan::of(frame, true).await.unwrap();
        let config = task.session_config();
        (config.target_partitions(), config.batch_size())
    }

    #[tokio::test]
    async fn few_rows_are_for_one_thread_unless_they_become_many() {
        const GROUPS: &str = r#"SELECT "group", count(*) FROM"#;
        for (query, wanted) in [
            (format!(r#"{GROUPS} few GROUP BY "group""#), 1),
            (format!(r#"{GROUPS} many GROUP BY "group""#), THREADS),
            (format!(r#"{GROUPS} unknown GROUP BY "group""#), THREADS),
            (
                format!(
                    r#"{GROUPS} (SELECT * FROM few UNION ALL SELECT * FROM few) GROUP BY "group""#
                ),
                THREADS,
            ),
            (
                format!(r#"{GROUPS} few JOIN few AS other USING ("group") GROUP BY "group""#),
                THREADS,
            ),
        ] {
            assert_eq!(planned(&query).await.0, wanted, "{query}");
        }
    }

    #[tokio::test]
    async fn plans_that_hold_many_steps_take_small_ones() {
        for (query, wanted) in [
            ("SELECT * FROM many WHERE number > 5", LARGE_BATCH_ROWS),
            ("SELECT * FROM many ORDER BY number DESC LIMIT 10", LARGE_BATCH_ROWS),
            ("SELECT * FROM many ORDER BY number DESC LIMIT 100000", BATCH_ROWS),
            ("SELECT * FROM many ORDER BY number DESC", BATCH_ROWS),
            ("SELECT *, sum(number) OVER (ORDER BY number) FROM many", BATCH_ROWS),
            ("SELECT * FROM many JOIN few USING (number) LIMIT 10", BATCH_ROWS),
            ("SELECT * FROM many WHERE number IN (SELECT number FROM few)", BATCH_ROWS),
        ] {
            assert_eq!(planned(query).await.1, wanted, "{query}");
        }
    }
}
