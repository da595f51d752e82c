//! Counts the memory of window functions, which the query engine does not.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use datafusion::{
    arrow::array::RecordBatch,
    common::tree_node::TreeNodeRecursion,
    error::Result,
    execution::{
        SendableRecordBatchStream, TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
        execution_plan::replace_children_if_necessary, stream::RecordBatchStreamAdapter,
    },
};
use futures::{StreamExt, TryStreamExt, stream};

use super::{
    measure::steps,
    weigh::{is_wide, weigh, widest},
};
use crate::plan_node::passes_rows_on;

/// The memory that a window function takes for each row while it computes: a value of any type.
const VALUE_BYTES: usize = 64;

/// A plan node around a window function that counts its memory. Its children are those of the function,
/// so that rules see through it; the rows that go into the function are charged when it runs.
#[derive(Debug)]
pub(super) struct CountedWindow {
    window: Arc<dyn ExecutionPlan>,
}

impl CountedWindow {
    pub(super) fn new(window: Arc<dyn ExecutionPlan>) -> Self {
        Self { window }
    }

    /// Returns how many functions give values of a fixed size, and how many give values of any size.
    fn functions(&self, input: &Arc<dyn ExecutionPlan>) -> (usize, usize) {
        let schema = self.window.schema();
        let made = schema.fields().iter().skip(input.schema().fields().len());
        let (wide, narrow): (Vec<_>, Vec<_>) =
            made.map(|field| is_wide(field.data_type())).partition(|wide| *wide);
        (narrow.len(), wide.len())
    }
}

impl DisplayAs for CountedWindow {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counted: ")?;
        self.window.fmt_as(kind, f)
    }
}

impl ExecutionPlan for CountedWindow {
    fn name(&self) -> &str {
        "Counted"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.window.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.window.maintains_input_order()
    }

    fn required_input_ordering(
        &self,
    ) -> Vec<Option<datafusion::physical_expr::OrderingRequirements>> {
        self.window.required_input_ordering()
    }

    fn input_distribution_requirements(
        &self,
    ) -> datafusion::physical_plan::InputDistributionRequirements {
        self.window.input_distribution_requirements()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.window.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.window.apply_expressions(f)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(replace_children_if_necessary(self.window.clone(), children)?)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("window").register(context.memory_pool());
        let ledger = Arc::new(Ledger::new(reservation));
        let inputs = self.window.children().into_iter().map(|input| {
            let (narrow, wide) = self.functions(input);
            let input = input.clone();
            let ledger = ledger.clone();
            Arc::new(Charged { input, ledger, narrow, wide }) as Arc<dyn ExecutionPlan>
        });
        let window = replace_children_if_necessary(self.window.clone(), inputs.collect())?;
        let computed = window.execute(partition, context)?;
        let schema = computed.schema();
        let steps = computed.map_ok(|batch| stream::iter(steps(batch).map(Ok))).try_flatten();
        let released = steps.inspect_ok(move |batch| ledger.release(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, released.boxed())))
    }
}

/// The memory that is charged for rows which went into a window function and have not come out.
#[derive(Debug)]
struct Ledger {
    reservation: MemoryReservation,
    held: Mutex<VecDeque<Charge>>,
}

#[derive(Debug)]
struct Charge {
    rows: usize,
    bytes: usize,
}

impl Ledger {
    fn new(reservation: MemoryReservation) -> Self {
        Self { reservation, held: Mutex::default() }
    }

    fn charge(&self, rows: usize, bytes: usize) -> Result<()> {
        self.reservation.try_grow(bytes)?;
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push_back(Charge { rows, bytes });
        Ok(())
    }

    fn release(&self, mut rows: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while rows > 0
            && let Some(first) = held.front_mut()
        {
            let out = rows.min(first.rows);
            let bytes = first.bytes / first.rows * out;
            self.reservation.shrink(bytes);
            (first.rows, first.bytes, rows) = (first.rows - out, first.bytes - bytes, rows - out);
            if first.rows == 0 {
                self.reservation.shrink(first.bytes);
                held.pop_front();
            }
        }
    }
}

/// A plan node that charges each batch of a window function's input.
#[derive(Debug)]
struct Charged {
    input: Arc<dyn ExecutionPlan>,
    ledger: Arc<Ledger>,
    narrow: usize,
    wide: usize,
}

impl Charged {
    /// Estimates the memory for a batch: its rows, twice because they are concatenated, and the values
    /// that are computed of each.
    fn bytes(batch: &RecordBatch, narrow: usize, wide: usize) -> usize {
        let own: usize = batch.columns().iter().map(|column| weigh(column)).sum();
        let wide_columns = batch.columns().iter().filter(|column| is_wide(column.data_type()));
        let widest = wide_columns.map(|column| widest(column)).max().unwrap_or_default();
        let each = (narrow + wide) * VALUE_BYTES + wide * widest;
        (2 * own).saturating_add(each.saturating_mul(batch.num_rows()))
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Self {
        let (ledger, narrow, wide) = (self.ledger.clone(), self.narrow, self.wide);
        Self { input, ledger, narrow, wide }
    }
}

impl DisplayAs for Charged {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Charged")
    }
}

impl ExecutionPlan for Charged {
    passes_rows_on!("Charged");

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (ledger, narrow, wide) = (self.ledger.clone(), self.narrow, self.wide);
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        let charged = input.map(move |batch| {
            let batch = batch?;
            ledger.charge(batch.num_rows(), Self::bytes(&batch, narrow, wide))?;
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, charged.boxed())))
    }
}
