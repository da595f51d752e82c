//! The task of loading one table, and its result.

use std::{ops::Range, sync::Arc};

use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    execution::memory_pool::MemoryLimit,
    prelude::SessionContext,
};

use super::{
    blocks::{MAX_BLOCK, Source},
    columns::{
        names::Notes,
        rows::{Filled, Kept},
        schema_inference::{Layout, LayoutSummary, settle},
    },
    memory_budget::{Allowance, Budget},
};
use crate::flaw::{Flaw, Result};

pub(super) struct Task {
    pub(super) allowance: Arc<Allowance>,
    pub(super) threads: usize,
    /// Files of text up to this size are held in memory; larger ones are read for each query.
    pub(super) max_in_memory: u64,
    /// The size of a block, smaller if there is little memory.
    pub(super) block: u64,
}

/// A table that has been read.
pub(super) struct Made {
    pub(super) schema: SchemaRef,
    pub(super) rows: MadeRows,
    pub(super) notes: Vec<String>,
}

pub(super) enum MadeRows {
    Memory(Vec<RecordBatch>),
    /// The rows stay in the file and are read again for each query.
    File {
        source: Source,
        ranges: Vec<Range<u64>>,
        rows: usize,
        parse: Arc<Parse>,
    },
}

/// A function that reads rows from a range of a file.
pub(super) type Parse = dyn Fn(&[u8], Range<u64>, Budget) -> Result<Vec<RecordBatch>> + Send + Sync;

impl Task {
    pub(super) fn new(context: &SessionContext, table: &str) -> Self {
        let pool = &context.runtime_env().memory_pool;
        let max_in_memory = match pool.memory_limit() {
            MemoryLimit::Finite(bytes) => bytes as u64 / 4,
            MemoryLimit::Infinite | MemoryLimit::Unknown => u64::MAX,
        };
        let threads = context.copied_config().target_partitions();
        let block = (max_in_memory / 16).clamp(MIN_BLOCK, MAX_BLOCK);
        Self { allowance: Allowance::new(table, pool), threads, max_in_memory, block }
    }

    pub(super) fn budget(&self) -> Budget {
        Budget::new(&self.allowance)
    }

    /// Returns a budget for temporary memory.
    pub(super) fn brief_budget(&self) -> Budget {
        Budget::new(&self.allowance.beside())
    }

    /// Reads nested data into memory. Reading is tried again as long as objects are found that cannot be
    /// split into columns.
    pub(super) fn in_memory(
        &self,
        read: impl Fn(&Arc<Kept>) -> Result<Vec<Filled>>,
    ) -> Result<Made> {
        self.retrying(|kept| {
            let pieces = read(kept)?.into_iter().map(Piece::new).collect();
            made_of(pieces, kept, Notes::default())
        })
    }

    pub(super) fn retrying<T>(
        &self,
        mut attempt: impl FnMut(&Arc<Kept>) -> Result<T>,
    ) -> Result<T> {
        let mut kept = Arc::new(Kept::default());
        for tries in 1.. {
            self.allowance.settle(0)?;
            let result = attempt(&kept);
            let now = Arc::make_mut(&mut kept);
            match result {
                Err(Flaw::Mixed(names)) if !now.all => now.mixed.extend(names),
                Err(Flaw::Wide(names)) if !now.all => now.wide.extend(names),
                result => return result,
            }
            now.all = tries == MAX_TRIES;
        }
        Err(Flaw::changed())
    }
}

const MIN_BLOCK: u64 = 1 << 18;

/// After this many attempts, no object is split any more.
const MAX_TRIES: usize = 4;

/// A part of a table: a summary of its columns, and the values themselves if they are kept.
pub(super) struct Piece {
    pub(super) summary: LayoutSummary,
    pub(super) filled: Option<Filled>,
}

impl Piece {
    pub(super) fn new(filled: Filled) -> Self {
        Self { summary: filled.summary(), filled: Some(filled) }
    }
}

pub(super) fn layout_of(pieces: &mut [Piece], kept: &Kept, notes: &mut Notes) -> Result<Layout> {
    let summaries: Vec<LayoutSummary> =
        pieces.iter_mut().map(|piece| std::mem::take(&mut piece.summary)).collect();
    settle(&summaries, kept, notes)
}

pub(super) fn made_of(mut pieces: Vec<Piece>, kept: &Kept, mut notes: Notes) -> Result<Made> {
    let layout = layout_of(&mut pieces, kept, &mut notes)?;
    let data = pieces.into_iter().skip(usize::from(layout.header)).filter_map(|piece| piece.filled);
    let batches = data.map(|filled| filled.into_batch(&layout)).collect::<Result<_>>()?;
    Ok(Made { schema: layout.schema, rows: MadeRows::Memory(batches), notes: notes.finish() })
}
