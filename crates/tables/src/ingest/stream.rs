//! Streams rows of a text file, which is read again for each query.

use std::{ops::Range, sync::Arc};

use datafusion::{
    arrow::datatypes::SchemaRef,
    error::{DataFusionError, Result as EngineResult},
    execution::{SendableRecordBatchStream, TaskContext},
    physical_plan::{stream::RecordBatchReceiverStreamBuilder, streaming::PartitionStream},
};

use super::{
    blocks::Source,
    memory_budget::{Allowance, Budget},
    task::Parse,
};
use crate::flaw::Flaw;

/// A partition of a file: neighbouring ranges, each with whole records only.
pub(super) struct FilePart {
    pub(super) schema: SchemaRef,
    pub(super) source: Source,
    pub(super) ranges: Vec<Range<u64>>,
    pub(super) parse: Arc<Parse>,
}

impl std::fmt::Debug for FilePart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FilePart").field("ranges", &self.ranges).finish_non_exhaustive()
    }
}

impl PartitionStream for FilePart {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let (source, parse, ranges) =
            (self.source.clone(), Arc::clone(&self.parse), self.ranges.clone());
        let rows = context.session_config().batch_size();
        let sender = stream.tx();
        stream.spawn_blocking(move || {
            let allowance = Allowance::new("of a file", context.memory_pool());
            for range in ranges {
                let memory = allowance.beside();
                let bytes = source.read(range.clone()).map_err(engine_error)?;
                let batches = parse(&bytes, range, Budget::new(&memory)).map_err(engine_error)?;
                for batch in batches {
                    for start in (0..batch.num_rows()).step_by(rows.max(1)) {
                        let piece = batch.slice(start, rows.min(batch.num_rows() - start));
                        // The receiver is gone.
                        if sender.blocking_send(Ok(piece)).is_err() {
                            return Ok(());
                        }
                    }
                }
            }
            EngineResult::Ok(())
        });
        stream.build()
    }
}

fn engine_error(flaw: Flaw) -> DataFusionError {
    match flaw {
        Flaw::Engine(error) => *error,
        Flaw::Data(reason) | Flaw::At(_, reason) => DataFusionError::Execution(reason),
        Flaw::Mixed(_) | Flaw::Wide(_) | Flaw::GivenUp => {
            DataFusionError::Execution("the rows of a file cannot be read again".to_owned())
        }
    }
}
