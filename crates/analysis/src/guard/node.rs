//! [`Measured`]: a plan node that measures the rows that pass through it.

use std::{fmt, sync::Arc};

use datafusion::{
    arrow::array::RecordBatch,
    common::{config::ConfigOptions, exec_err},
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
        execution_plan::CardinalityEffect,
        filter_pushdown::{
            ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
        },
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{StreamExt, TryStreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::measure::Measure;
use crate::{error::finally, plan_node::passes_rows_on};

#[derive(Debug)]
pub(super) struct Measured {
    input: Arc<dyn ExecutionPlan>,
    measure: Measure,
    stop: CancellationToken,
}

impl Measured {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        measure: Measure,
        stop: CancellationToken,
    ) -> Self {
        Self { input, measure, stop }
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::new(input, self.measure.clone(), self.stop.clone())
    }
}

impl DisplayAs for Measured {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Measured: {:?}", self.measure)
    }
}

impl ExecutionPlan for Measured {
    passes_rows_on!("Measured");

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let measure = self.measure.clone();
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        let parts = move |batch: RecordBatch| {
            let parts = measure.parts(batch);
            async move { Ok(stream::iter(parts?.into_iter().rev().map(Ok))) }
        };
        let stop = self.stop.clone();
        let go_on = move |part: Result<RecordBatch>| match stop.is_cancelled() {
            true => exec_err!("stopped"),
            false => part,
        };
        let measured = input.and_then(parts).try_flatten().map_err(finally).map(go_on).boxed();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, measured)))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}
