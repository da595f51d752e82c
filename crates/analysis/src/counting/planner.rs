//! Plans our logical nodes as nodes that run.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::{
    catalog::Session,
    error::Result,
    execution::context::QueryPlanner,
    logical_expr::{
        LogicalPlan, UserDefinedLogicalNode, physical_planning_context::PhysicalPlanningContext,
    },
    physical_plan::ExecutionPlan,
    physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner},
};

use super::{logical::Counting, physical::CountingExec};

/// The query engine's planner, extended by our node.
#[derive(Debug)]
pub(crate) struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(Self)]);
        planner.create_physical_plan(plan, session).await
    }
}

#[async_trait]
impl ExtensionPlanner for Planner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let counting = node.as_any().downcast_ref::<Counting>();
        let Some((Counting { counter, place, .. }, input)) = counting.zip(inputs.first()) else {
            return Ok(None);
        };
        let counted = CountingExec::new(input.clone(), counter.clone(), place.clone());
        Ok(Some(Arc::new(counted)))
    }
}
