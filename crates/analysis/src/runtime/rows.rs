//! Reads the rows of an answer: as many as fit, a count of all, and all of them into a file if asked
//! for.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{RecordBatch, RecordBatchOptions},
        datatypes::{Schema, SchemaRef},
        util::display::{ArrayFormatter, FormatOptions},
    },
    common::runtime::SpawnedTask,
    error::{DataFusionError, Result},
    execution::{SendableRecordBatchStream, TaskContext},
    physical_plan::{ExecutionPlan, ExecutionPlanProperties, execute_stream},
    prelude::DataFrame,
};
use futures::StreamExt;

use super::{SpillTarget, plan::RowPlan, spill::Writer};
use crate::{answer::ResultTable, guard::compact, request::Output};

/// Answers up to this size are measured value by value.
const MAX_MEASURED: usize = 4 << 20;

/// The most memory that partitions which are read at the same time may hold together.
const MAX_BESIDE: usize = 64 << 20;

/// The bytes that a written value takes beside its text: quotes, a separator.
const MARKS: usize = 3;

pub(super) struct Reader {
    output: Output,
    keep: Option<SpillTarget>,
    disk_bytes: u64,
    /// The bytes of the rows that are kept for the answer, estimated as they will be written.
    bytes: usize,
    full: bool,
    writer: Option<Writer>,
    /// The reason why there is no file although there should be one.
    failed: Option<String>,
    table: ResultTable,
}

impl Reader {
    pub(super) fn new(output: Output, keep: Option<SpillTarget>, disk_bytes: u64) -> Self {
        let schema = Arc::new(Schema::empty());
        let table = ResultTable { schema, batches: Vec::new(), total_rows: 0, kept: None };
        Self { output, keep, disk_bytes, bytes: 0, full: false, writer: None, failed: None, table }
    }

    /// Runs the frame. Returns its table, and the reason if a file that was wanted could not be written.
    pub(super) async fn read(mut self, frame: DataFrame) -> Result<(ResultTable, Option<String>)> {
        let may_divide = self.may_divide(&frame);
        match RowPlan::of(frame, may_divide).await? {
            RowPlan::Stream(plan, context) => self.read_all(execute_stream(plan, context)?).await?,
            RowPlan::Parts(plan, context) => self.read_parts(&plan, &context).await?,
        }
        if self.keep.as_ref().is_some_and(|keep| keep.always) {
            self.open();
        }
        if let Some(writer) = self.writer.take() {
            match writer.finish() {
                Ok(kept) => self.table.kept = Some(kept),
                Err(reason) => self.failed = Some(reason),
            }
        }
        Ok((self.table, self.failed))
    }

    /// Tells whether partitions of a plan may be read at the same time: each holds as much as an answer
    /// may have, and a file needs the rows in their order.
    fn may_divide(&self, frame: &DataFrame) -> bool {
        let parts = frame.task_ctx().session_config().target_partitions();
        self.keep.is_none() && self.output.bytes.saturating_mul(parts) <= MAX_BESIDE
    }

    async fn read_all(&mut self, mut stream: SendableRecordBatchStream) -> Result<()> {
        self.table.schema = distinct_names(&stream.schema());
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let columns = batch.columns().to_vec();
            let schema = self.table.schema.clone();
            self.take(RecordBatch::try_new_with_options(schema, columns, &options)?);
        }
        Ok(())
    }

    /// Reads all partitions of a plan at the same time. Of each, as many rows are kept as an answer has
    /// room for; the rest are only counted.
    async fn read_parts(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
    ) -> Result<()> {
        self.table.schema = distinct_names(&plan.schema());
        let read = |part| {
            let rows = plan.execute(part, context.clone())?;
            let mut reader = Self::new(self.output.clone(), None, self.disk_bytes);
            Ok(SpawnedTask::spawn(async move {
                reader.read_all(rows).await?;
                Ok(reader.table)
            }))
        };
        let parts = 0..plan.output_partitioning().partition_count();
        let tasks = parts.map(read).collect::<Result<Vec<_>>>()?;
        for task in tasks {
            let part: Result<ResultTable> = task
                .join_unwind()
                .await
                .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?;
            self.add(part?);
        }
        Ok(())
    }

    /// Appends the rows of the next partition.
    fn add(&mut self, part: ResultTable) {
        let more: usize = part.batches.iter().map(RecordBatch::num_rows).sum();
        part.batches.into_iter().for_each(|batch| self.take(batch));
        if more < part.total_rows {
            self.full = true;
            self.table.total_rows += part.total_rows - more;
        }
    }

    fn take(&mut self, batch: RecordBatch) {
        self.table.total_rows += batch.num_rows();
        let fit = if self.full { 0 } else { self.fitting(&batch) };
        if fit > 0 {
            self.table.batches.push(compact(&batch, 0, fit));
        }
        if fit == batch.num_rows() {
            return;
        }
        if !self.full {
            self.full = true;
            self.open();
        }
        self.write(&batch.slice(fit, batch.num_rows() - fit));
    }

    /// Returns how many rows of a batch the answer has room for, and counts their bytes.
    fn fitting(&mut self, batch: &RecordBatch) -> usize {
        let have: usize = self.table.batches.iter().map(RecordBatch::num_rows).sum();
        let max = batch.num_rows().min(self.output.rows.saturating_sub(have));
        // A program gets so many bytes that measuring each value is not worth while.
        if self.output.bytes > MAX_MEASURED {
            self.bytes += compact(batch, 0, max).get_array_memory_size();
            return if self.bytes > self.output.bytes { 0 } else { max };
        }
        let options = FormatOptions::default();
        let formatters: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).ok())
            .collect();
        for row in 0..max {
            let written = |formatter: &Option<ArrayFormatter>| {
                let text = formatter.as_ref().and_then(|it| it.value(row).try_to_string().ok());
                text.map_or(0, |text| text.len()) + MARKS
            };
            let bytes = self.bytes + formatters.iter().map(written).sum::<usize>();
            if bytes > self.output.bytes {
                return row;
            }
            self.bytes = bytes;
        }
        max
    }

    /// Opens the file, and writes the rows to it that the answer has so far.
    fn open(&mut self) {
        let Some(keep) = self.keep.take() else { return };
        match Writer::new(keep, &self.table.schema, self.disk_bytes) {
            Ok(writer) => self.writer = Some(writer),
            Err(reason) => self.failed = Some(reason),
        }
        for batch in std::mem::take(&mut self.table.batches) {
            self.write(&batch);
            self.table.batches.push(batch);
        }
    }

    fn write(&mut self, batch: &RecordBatch) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(reason) = writer.write(batch) {
            self.failed = Some(reason);
            self.writer = None;
        }
    }
}

/// Makes the names of columns distinct, because joins can give two of the same name: the second `id`
/// becomes `id_2`.
fn distinct_names(schema: &SchemaRef) -> SchemaRef {
    let mut names: Vec<String> = Vec::new();
    let fields = schema.fields().iter().map(|field| {
        let mut name = field.name().clone();
        let mut count = 1;
        while names.contains(&name) {
            count += 1;
            name = format!("{}_{count}", field.name());
        }
        names.push(name.clone());
        Arc::new(field.as_ref().clone().with_name(name))
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
