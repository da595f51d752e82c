//! The rules that put the guard's nodes into a plan.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::SchemaRef,
    common::{
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    error::Result,
    physical_expr::{
        PhysicalExpr,
        expressions::{Column, Literal},
        scalar_subquery::ScalarSubqueryExpr,
    },
    physical_optimizer::{PhysicalOptimizerRule, optimizer::PhysicalOptimizer},
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        coop::CooperativeExec,
        execution_plan::replace_children_if_necessary,
        joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec},
        projection::ProjectionExec,
        repartition::RepartitionExec,
        scalar_subquery::ScalarSubqueryExec,
        sorts::{sort::SortExec, sort_preserving_merge::SortPreservingMergeExec},
        unnest::UnnestExec,
        windows::{BoundedWindowAggExec, WindowAggExec},
    },
};
use tokio_util::sync::CancellationToken;

use super::{
    measure::Measure,
    node::Measured,
    stop,
    weigh::{self, is_wide},
    window,
};

/// The rows of a batch in which operators work; the memory of one step is not counted exactly.
pub(crate) const BATCH_ROWS: usize = 2048;

/// Which part of the memory, as a divisor, one step of an operator may make.
pub(crate) const STEP_SHARE: usize = 8;

/// The most bytes of a value that a scalar subquery gives, because it stands beside every row.
const SCALAR_BYTES: usize = 16 << 10;

/// Returns the engine's optimizer rules with ours: one before expressions are moved into scans, where
/// they could not be measured, and one when projections have their final place (the engine would swap
/// one above a cooperative node with one below it for ever).
pub(crate) fn rules(
    memory_bytes: usize,
    stop: CancellationToken,
) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    let place = rules.iter().position(|rule| rule.name() == "ProjectionPushdown");
    let guard = Guard { step_bytes: memory_bytes / STEP_SHARE, stop };
    rules.insert(place.unwrap_or(rules.len()), Arc::new(guard));
    let place = rules.iter().position(|rule| rule.name() == "EnsureCooperative");
    rules.insert(place.unwrap_or(rules.len()), Arc::new(MakeWay));
    rules
}

/// Tells whether a node computes window functions, guarded or not.
pub(crate) fn is_window(node: &PlanNode) -> bool {
    node.is::<WindowAggExec>()
        || node.is::<BoundedWindowAggExec>()
        || node.is::<window::CountedWindow>()
}

/// The rule that makes joins yield to other tasks, because they make many rows of few.
#[derive(Debug)]
struct MakeWay;

impl PhysicalOptimizerRule for MakeWay {
    fn name(&self) -> &str {
        "MakeWay"
    }

    fn optimize(&self, plan: PlanNode, _: &ConfigOptions) -> Result<PlanNode> {
        let made = plan.transform_up(|node| {
            let is_join = node.is::<NestedLoopJoinExec>()
                || node.is::<HashJoinExec>()
                || node.is::<CrossJoinExec>()
                || node.is::<SortMergeJoinExec>();
            Ok(match is_join {
                true => Transformed::yes(Arc::new(CooperativeExec::new(node)) as PlanNode),
                false => Transformed::no(node),
            })
        });
        made.map(|made| made.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Guard {
    step_bytes: usize,
    stop: CancellationToken,
}

impl PhysicalOptimizerRule for Guard {
    fn name(&self) -> &str {
        "Guard"
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| self.guard(node)).map(|guarded| guarded.data)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

type PlanNode = Arc<dyn ExecutionPlan>;

impl Guard {
    fn guard(&self, node: PlanNode) -> Result<Transformed<PlanNode>> {
        if node.is::<ProjectionExec>() || node.is::<AggregateExec>() {
            return self.computing(node);
        }
        if node.is::<SortExec>() {
            let sort = self.computing(node)?.data;
            return Ok(Transformed::yes(self.measured(sort, Measure::Held, |_| true)?));
        }
        if node.is::<RepartitionExec>() || node.is::<SortPreservingMergeExec>() {
            return Ok(Transformed::yes(self.measured(node, Measure::Held, |_| true)?));
        }
        if is_window(&node) {
            return Ok(Transformed::yes(Arc::new(window::CountedWindow::new(node))));
        }
        if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
            return self.joining(stop::nested_loop(join, &self.stop)?);
        }
        if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            return self.joining(stop::hash(join, &self.stop)?);
        }
        if node.is::<CrossJoinExec>() || node.is::<SortMergeJoinExec>() {
            return self.joining(node);
        }
        if node.is::<UnnestExec>() {
            let measure = Measure::Unnested { step_bytes: self.step_bytes };
            let guarded = self.measured(node, measure, |_| true)?;
            let steps = Measured::new(guarded, Measure::Steps, self.stop.clone());
            return Ok(Transformed::yes(Arc::new(steps)));
        }
        if node.is::<ScalarSubqueryExec>() {
            let measure = Measure::Rows { max_bytes: SCALAR_BYTES };
            return Ok(Transformed::yes(self.measured(node, measure, |child| child > 0)?));
        }
        Ok(Transformed::no(node))
    }

    /// Guards a node that computes several values of each row before it takes the next.
    fn computing(&self, node: PlanNode) -> Result<Transformed<PlanNode>> {
        let Some(input) = node.children().first().map(|input| input.schema()) else {
            return Ok(Transformed::no(node));
        };
        let mut made = ComputedValues { input, values: 0, constant_bytes: 0 };
        node.apply_expressions(&mut |root: &Arc<dyn PhysicalExpr>| {
            root.apply(|expression| {
                made.count(expression);
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        let ComputedValues { values, constant_bytes, .. } = made;
        if values == 0 && constant_bytes == 0 {
            return Ok(Transformed::no(node));
        }
        let measure = Measure::Computed { step_bytes: self.step_bytes, values, constant_bytes };
        Ok(Transformed::yes(self.measured(node, measure, |_| true)?))
    }

    /// Guards a join, which puts a row beside all rows of a step, against wide rows.
    fn joining(&self, node: PlanNode) -> Result<Transformed<PlanNode>> {
        let max_bytes = self.step_bytes / BATCH_ROWS;
        Ok(Transformed::yes(self.measured(node, Measure::Rows { max_bytes }, |_| true)?))
    }

    /// Puts a [`Measured`] node above the chosen children of a node.
    fn measured(
        &self,
        node: PlanNode,
        measure: Measure,
        chosen: impl Fn(usize) -> bool,
    ) -> Result<PlanNode> {
        let children = node.children().into_iter().cloned().enumerate();
        let children = children.map(|(index, child)| match chosen(index) {
            true => Arc::new(Measured::new(child, measure.clone(), self.stop.clone())) as PlanNode,
            false => child,
        });
        let children = children.collect();
        replace_children_if_necessary(node, children)
    }
}

/// The values that a node computes of each row.
struct ComputedValues {
    input: SchemaRef,
    /// The number of values of any size, without those that are only passed on.
    values: usize,
    /// The bytes of constants beside each row.
    constant_bytes: usize,
}

impl ComputedValues {
    fn count(&mut self, expression: &Arc<dyn PhysicalExpr>) {
        if let Some(literal) = expression.downcast_ref::<Literal>() {
            self.constant_bytes += weigh::constant(literal.value());
        } else if !expression.is::<Column>()
            && expression.data_type(&self.input).is_ok_and(|kind| is_wide(&kind))
        {
            match expression.downcast_ref::<ScalarSubqueryExpr>() {
                Some(_) => self.constant_bytes += SCALAR_BYTES,
                None => self.values += 1,
            }
        }
    }
}
