//! Reads rows in the order in which they were given.
//!
//! Plans read the partitions of their sources at the same time, which mixes the rows. Where the order
//! matters, one partition is read after the other.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, Int64Array, RecordBatch},
        datatypes::{DataType, Field, Schema, SchemaRef},
    },
    catalog::streaming::StreamingTable,
    error::DataFusionError,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, execution_plan::reset_plan_states,
        stream::RecordBatchStreamAdapter, streaming::PartitionStream,
    },
    prelude::{DataFrame, ident},
};
use futures::{StreamExt, TryStreamExt, stream};

use super::arrays::HeldArrays;
use crate::{error::Result, work::AnalysisContext};

/// The name of the column with the number of a row, from 0 on.
pub(crate) const ROW: &str = "row";

/// Streams the rows of a frame that only selects from a table.
pub(crate) async fn in_order(frame: DataFrame) -> Result<SendableRecordBatchStream> {
    let context = Arc::new(frame.task_ctx());
    Ok(one_after_another(plan(frame).await?, context))
}

/// Adds a column with the number of each row to a frame that only selects from a table.
pub(crate) async fn numbered(work: &AnalysisContext, frame: DataFrame) -> Result<DataFrame> {
    let plan = plan(frame).await?;
    let row = Arc::new(Field::new(ROW, DataType::Int64, false));
    let fields = plan.schema().fields().iter().cloned().chain([row]).collect::<Vec<_>>();
    let schema = Arc::new(Schema::new(fields));
    let numbered = Arc::new(Numbered { plan, schema: schema.clone() });
    let table = StreamingTable::try_new(schema, vec![numbered])?
        .with_sort_order(vec![ident(ROW).sort(true, false)]);
    Ok(work.context().read_table(Arc::new(table))?)
}

/// Makes a frame of rows that an operation computed itself. Their memory stays reserved as long as they
/// exist.
pub(crate) fn made(
    work: &AnalysisContext,
    rows: RecordBatch,
    held: HeldArrays,
) -> Result<DataFrame> {
    let schema = rows.schema();
    let made = Arc::new(HeldRows { rows, schema: schema.clone(), _held: held });
    let table = StreamingTable::try_new(schema, vec![made])?;
    Ok(work.context().read_table(Arc::new(table))?)
}

/// Plans a frame for a single partition, so that planning adds nothing that divides the rows again.
async fn plan(frame: DataFrame) -> Result<Arc<dyn ExecutionPlan>> {
    let (mut state, plan) = frame.into_parts();
    state.config_mut().options_mut().execution.target_partitions = 1;
    Ok(state.create_physical_plan(&plan).await?)
}

fn one_after_another(
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
) -> SendableRecordBatchStream {
    let schema = plan.schema();
    let parts = 0..plan.output_partitioning().partition_count();
    let batches =
        stream::iter(parts).map(move |part| plan.execute(part, context.clone())).try_flatten();
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

#[derive(Debug)]
struct Numbered {
    plan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
}

impl PartitionStream for Numbered {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Runs a fresh copy of the plan each time: the rows may be read several times, but a source of
    /// files gives a plan its rows only once.
    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = self.schema.clone();
        let mut next = 0;
        let fresh = stream::iter([reset_plan_states(self.plan.clone())]);
        let batches = fresh.map_ok(move |plan| one_after_another(plan, context.clone()));
        let batches = batches.try_flatten().map(move |batch| {
            let batch = batch?;
            let end = next + i64::try_from(batch.num_rows()).unwrap_or_default();
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(next..end));
            next = end;
            let columns = batch.columns().iter().cloned().chain([numbers]).collect();
            RecordBatch::try_new(schema.clone(), columns).map_err(DataFusionError::from)
        });
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), batches))
    }
}

/// How many computed rows are handed on in one batch.
const MADE_AT_ONCE: usize = 8192;

#[derive(Debug)]
struct HeldRows {
    rows: RecordBatch,
    schema: SchemaRef,
    _held: HeldArrays,
}

impl PartitionStream for HeldRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.clone();
        let starts = (0..rows.num_rows()).step_by(MADE_AT_ONCE);
        let batches = starts
            .map(move |start| Ok(rows.slice(start, MADE_AT_ONCE.min(rows.num_rows() - start))));
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), stream::iter(batches)))
    }
}
