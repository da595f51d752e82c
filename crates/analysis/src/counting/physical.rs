//! The node of a running plan that counts rows.

use std::{fmt, sync::Arc};

use datafusion::{
    arrow::{
        array::{ArrayRef, Int64Array, RecordBatch},
        datatypes::{Schema, SchemaRef},
    },
    common::exec_datafusion_err,
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::EquivalenceProperties,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
        stream::RecordBatchStreamAdapter,
    },
};
use futures::StreamExt;

use super::{Counter, logical::place_field};
use crate::plan_node::passes_rows_on;

/// How many bits of a place number the row within its partition: more than any partition needs.
const PART_BITS: u32 = 40;

/// The plan node that counts rows. It declares no order of its output, because an operator that knew it
/// could stop early.
#[derive(Debug)]
pub(super) struct CountingExec {
    input: Arc<dyn ExecutionPlan>,
    counter: Counter,
    place: Option<String>,
    properties: Arc<PlanProperties>,
}

impl CountingExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        counter: Counter,
        place: Option<String>,
    ) -> Self {
        let schema = schema(&input.schema(), place.as_deref());
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, counter, place, properties: Arc::new(properties) }
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::new(input, self.counter.clone(), self.place.clone())
    }
}

fn schema(input: &SchemaRef, place: Option<&str>) -> SchemaRef {
    let Some(name) = place else { return input.clone() };
    let place = Arc::new(place_field(name));
    let fields: Vec<_> = input.fields().iter().cloned().chain([place]).collect();
    Arc::new(Schema::new_with_metadata(fields, input.metadata().clone()))
}

impl DisplayAs for CountingExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountingExec: {:?}", self.place)
    }
}

impl ExecutionPlan for CountingExec {
    passes_rows_on!("CountingExec");

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let counter = self.counter.clone();
        let mut places = match self.place {
            Some(_) => Some(Places::of(partition)?),
            None => None,
        };
        let (input, made) = (self.input.execute(partition, context)?, schema.clone());
        let counted = input.map(move |batch| {
            let batch = batch?;
            counter.add(batch.num_rows());
            match &mut places {
                Some(places) => places.beside(batch, &made),
                None => Ok(batch),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, counted)))
    }
}

/// The places of the rows of one partition, which are after those of all partitions before it.
struct Places {
    next: i64,
    end: i64,
}

impl Places {
    fn of(part: usize) -> Result<Self> {
        let first = i64::try_from(part).ok().and_then(|part| part.checked_mul(1 << PART_BITS));
        let next = first.ok_or_else(|| exec_datafusion_err!("a table has too many parts"))?;
        Ok(Self { next, end: next.saturating_add(1 << PART_BITS) })
    }

    fn beside(&mut self, batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        let rows = i64::try_from(batch.num_rows()).unwrap_or(i64::MAX);
        let after = self.next.checked_add(rows).filter(|after| *after <= self.end);
        let after = after.ok_or_else(|| exec_datafusion_err!("a table has too many rows"))?;
        let places: ArrayRef = Arc::new(Int64Array::from_iter_values(self.next..after));
        self.next = after;
        let columns = batch.columns().iter().cloned().chain([places]).collect();
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}
