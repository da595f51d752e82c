//! The rows of an answer: as many as fit, a count of all, and all of them in a file if asked for.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{RecordBatch, RecordBatchOptions},
        datatypes::{Schema, SchemaRef},
        util::display::{ArrayFormatter, FormatOptions},
    },
    common::tree_node::{TreeNode, TreeNodeRecursion},
    error::{DataFusionError, Result},
    execution::SendableRecordBatchStream,
    logical_expr::LogicalPlan,
    physical_plan::execute_stream,
    prelude::DataFrame,
};
use futures::StreamExt;

use super::{Keep, guard::compact, kept::Writer};
use crate::{answer::Table, request::Output};

/// Answers up to this size are measured value by value.
const MOST_MEASURED: usize = 4 << 20;

/// What a value has beside its text when it is written: quotes, a separator.
const MARKS: usize = 3;

pub(super) struct Reader {
    output: Output,
    keep: Option<Keep>,
    disk_bytes: u64,
    /// The bytes of the rows that are kept for the answer, as they will be written.
    bytes: usize,
    full: bool,
    writer: Option<Writer>,
    note: Option<String>,
    table: Table,
}

impl Reader {
    pub(super) fn new(output: Output, keep: Option<Keep>, disk_bytes: u64) -> Self {
        let schema = Arc::new(Schema::empty());
        let table = Table { schema, batches: Vec::new(), total_rows: 0, kept: None };
        Self { output, keep, disk_bytes, bytes: 0, full: false, writer: None, note: None, table }
    }

    /// Runs the frame. The note says why there is no file although there should be one.
    pub(super) async fn read(mut self, frame: DataFrame) -> Result<(Table, Option<String>)> {
        let mut stream = run(frame).await?;
        self.table.schema = distinct_names(&stream.schema());
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let columns = batch.columns().to_vec();
            let schema = self.table.schema.clone();
            self.take(RecordBatch::try_new_with_options(schema, columns, &options)?);
        }
        if self.keep.as_ref().is_some_and(|keep| keep.always) {
            self.open();
        }
        if let Some(writer) = self.writer.take() {
            match writer.finish() {
                Ok(kept) => self.table.kept = Some(kept),
                Err(note) => self.note = Some(note),
            }
        }
        Ok((self.table, self.note))
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

    /// How many rows of a batch the answer has room for.
    fn fitting(&mut self, batch: &RecordBatch) -> usize {
        let have: usize = self.table.batches.iter().map(RecordBatch::num_rows).sum();
        let most = batch.num_rows().min(self.output.rows.saturating_sub(have));
        // A program gets so much that it is not worth while to look at each value.
        if self.output.bytes > MOST_MEASURED {
            self.bytes += compact(batch, 0, most).get_array_memory_size();
            return if self.bytes > self.output.bytes { 0 } else { most };
        }
        let options = FormatOptions::default();
        let formatters: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).ok())
            .collect();
        for row in 0..most {
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
        most
    }

    /// Begins the file with the rows that the answer has.
    fn open(&mut self) {
        let Some(keep) = self.keep.take() else { return };
        match Writer::new(keep, &self.table.schema, self.disk_bytes) {
            Ok(writer) => self.writer = Some(writer),
            Err(note) => self.note = Some(note),
        }
        for batch in std::mem::take(&mut self.table.batches) {
            self.write(&batch);
            self.table.batches.push(batch);
        }
    }

    fn write(&mut self, batch: &RecordBatch) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(note) = writer.write(batch) {
            self.note = Some(note);
            self.writer = None;
        }
    }
}

/// Runs a frame; rows stay in the order of the data where nothing asks for another.
async fn run(frame: DataFrame) -> Result<SendableRecordBatchStream> {
    let (mut state, plan) = frame.into_parts();
    if passes_rows_on(&plan)? {
        state.config_mut().options_mut().execution.target_partitions = 1;
    }
    let plan = state.create_physical_plan(&plan).await?;
    execute_stream(plan, state.task_ctx())
}

/// Whether rows only go through, one by one, so that several threads would only mix them up.
fn passes_rows_on(plan: &LogicalPlan) -> Result<bool, DataFusionError> {
    let mut passes = true;
    plan.apply(|node| {
        passes &= matches!(
            node,
            LogicalPlan::Projection(_)
                | LogicalPlan::Filter(_)
                | LogicalPlan::Limit(_)
                | LogicalPlan::SubqueryAlias(_)
                | LogicalPlan::TableScan(_)
                | LogicalPlan::Unnest(_)
        );
        Ok(if passes { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(passes)
}

/// Joins can give columns of the same name: the second `id` becomes `id_2`.
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
