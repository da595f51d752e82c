//! Table providers over loaded data.

use std::{collections::HashSet, fmt::Debug, ops::Range, sync::Arc};

use async_trait::async_trait;
use datafusion::{
    arrow::{
        array::{Array, ArrayData, RecordBatch},
        datatypes::SchemaRef,
    },
    catalog::{ScanArgs, ScanResult, Session, TableProvider, streaming::StreamingTable},
    common::stats::Precision,
    datasource::MemTable,
    error::Result as EngineResult,
    logical_expr::{Expr, TableProviderFilterPushDown, TableType},
    physical_plan::{ExecutionPlan, Statistics, streaming::PartitionStream},
};

use super::{
    stream::FilePart,
    task::{Made, MadeRows, Task},
};
use crate::flaw::Result;

/// A read-only table together with a value that has to live as long as it does, such as a memory
/// reservation.
///
/// The partitions that it is read in are in the order of its rows: all rows of one come before those of
/// the next.
#[derive(Debug)]
pub(super) struct Held<T, K> {
    table: T,
    /// The same rows in one partition, for plans that have a single one.
    in_order: Option<T>,
    rows: usize,
    /// Whether its file is split for plans with several partitions.
    is_divided: bool,
    _keep: K,
}

impl<T, K> Held<T, K> {
    /// Makes a table of a file that is read in as many partitions as a plan has.
    pub(super) fn divided(table: T, rows: usize, keep: K) -> Arc<Self> {
        Arc::new(Self { table, in_order: None, rows, is_divided: true, _keep: keep })
    }

    /// Makes a table of a file that is not split here, because its row groups are not in order; only
    /// plans that need no order split it themselves.
    pub(super) fn whole(table: T, rows: usize, keep: K) -> Arc<Self> {
        Arc::new(Self { table, in_order: None, rows, is_divided: false, _keep: keep })
    }

    fn for_plan(&self, state: &dyn Session) -> &T {
        let in_order = self.in_order.as_ref().filter(|_| state.config().target_partitions() == 1);
        in_order.unwrap_or(&self.table)
    }

    fn in_parts(
        &self,
        state: &dyn Session,
        plan: Arc<dyn ExecutionPlan>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let parts = state.config().target_partitions();
        if !self.is_divided || parts == 1 {
            return Ok(plan);
        }
        let divided = plan.repartitioned(parts, state.config_options())?;
        Ok(divided.unwrap_or(plan))
    }
}

#[async_trait]
impl<T: TableProvider, K: Debug + Send + Sync + 'static> TableProvider for Held<T, K> {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let plan = self.for_plan(state).scan(state, projection, filters, limit).await?;
        self.in_parts(state, plan)
    }

    async fn scan_with_args<'a>(
        &self,
        state: &dyn Session,
        args: ScanArgs<'a>,
    ) -> EngineResult<ScanResult> {
        let scanned = self.for_plan(state).scan_with_args(state, args).await?;
        Ok(ScanResult::new(self.in_parts(state, scanned.into_inner())?))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> EngineResult<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }

    fn statistics(&self) -> Option<Statistics> {
        let unknown = Statistics::new_unknown(&self.schema());
        Some(Statistics { num_rows: Precision::Exact(self.rows), ..unknown })
    }
}

/// Makes a table provider of a table that was read.
pub(super) fn provide(task: &Task, made: Made) -> Result<Arc<dyn TableProvider>> {
    let schema = made.schema;
    match made.rows {
        MadeRows::Memory(batches) => in_memory(task, schema, batches),
        MadeRows::File { source, ranges, rows, parse } => {
            task.allowance.settle(0)?;
            let table = |ranges: Vec<Vec<Range<u64>>>| {
                let part = |ranges| {
                    let (source, parse) = (source.clone(), Arc::clone(&parse));
                    let schema = Arc::clone(&schema);
                    Arc::new(FilePart { schema, source, ranges, parse }) as Arc<dyn PartitionStream>
                };
                StreamingTable::try_new(Arc::clone(&schema), ranges.into_iter().map(part).collect())
            };
            let in_order = Some(table(vec![ranges.clone()])?);
            let table = table(shared(ranges, task.threads, |range| range.end - range.start))?;
            Ok(Arc::new(Held { table, in_order, rows, is_divided: false, _keep: () }))
        }
    }
}

/// Makes a table in memory, which stays reserved as long as the table exists.
pub(super) fn in_memory(
    task: &Task,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> Result<Arc<dyn TableProvider>> {
    task.allowance.settle(memory(&batches))?;
    let pieces: Vec<RecordBatch> = batches.into_iter().flat_map(sliced).collect();
    let rows: usize = pieces.iter().map(RecordBatch::num_rows).sum();
    let parts = if rows <= FEW_ROWS { 1 } else { task.threads };
    let in_order = Some(MemTable::try_new(Arc::clone(&schema), vec![pieces.clone()])?);
    let parts = shared(pieces, parts, |batch| batch.num_rows() as u64);
    let table = MemTable::try_new(schema, parts)?;
    let keep = Arc::clone(&task.allowance);
    Ok(Arc::new(Held { table, in_order, rows, is_divided: false, _keep: keep }))
}

/// Returns the memory of batches. Buffers that several of them share are counted once.
fn memory(batches: &[RecordBatch]) -> usize {
    let mut counted = HashSet::new();
    let columns = batches.iter().flat_map(RecordBatch::columns);
    columns.map(|column| uncounted(&column.to_data(), &mut counted)).sum()
}

fn uncounted(data: &ArrayData, counted: &mut HashSet<*const u8>) -> usize {
    let nulls = data.nulls().map(|nulls| nulls.buffer());
    let mut bytes = 0;
    for buffer in data.buffers().iter().chain(nulls) {
        if counted.insert(buffer.data_ptr().as_ptr().cast_const()) {
            bytes += buffer.capacity();
        }
    }
    bytes + data.child_data().iter().map(|child| uncounted(child, counted)).sum::<usize>()
}

/// Up to this many rows stay in one partition: too few for several threads.
const FEW_ROWS: usize = 8192;

/// The most rows of a batch, so that batches can be shared evenly.
const MAX_ROWS: usize = 1 << 16;

fn sliced(batch: RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let rows = batch.num_rows();
    (0..rows.max(1))
        .step_by(MAX_ROWS)
        .map(move |start| batch.slice(start, MAX_ROWS.min(rows - start)))
}

/// Divides items into parts of about the same size, each of neighbours.
fn shared<T>(items: Vec<T>, parts: usize, size: impl Fn(&T) -> u64) -> Vec<Vec<T>> {
    let parts = parts.max(1);
    let total: u64 = items.iter().map(&size).sum();
    let mut shares: Vec<Vec<T>> = (0..parts).map(|_| Vec::new()).collect();
    let mut before = 0;
    for item in items {
        let size = size(&item);
        let middle = u128::from(before + size / 2) * parts as u128 / u128::from(total.max(1));
        let share = usize::try_from(middle).unwrap_or(usize::MAX).min(parts - 1);
        shares[share].push(item);
        before += size;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_even_and_in_order() {
        let shares = shared((0..10).collect(), 3, |_| 7);
        assert_eq!(shares.concat(), (0..10).collect::<Vec<_>>());
        assert!(shares.iter().all(|share| (3..=4).contains(&share.len())), "{shares:?}");
        assert!(shared(Vec::<u8>::new(), 2, |_| 1).iter().all(Vec::is_empty));
        assert_eq!(shared(vec![1], 2, |_| 0), [vec![1], vec![]]);
    }
}
