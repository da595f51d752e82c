//! Counts rows on their way through a plan, so that they need not be read again for it, and says
//! which of them come first where a plan reads its table in parts beside each other.

mod logical;
mod physical;
mod planner;

use std::{
    hash::{Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use datafusion::{
    error::Result,
    execution::SessionState,
    logical_expr::{Extension, LogicalPlan},
    prelude::DataFrame,
};

use logical::Counting;
pub(crate) use planner::Planner;

/// How many rows have come by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn add(&self, rows: usize) {
        self.0.fetch_add(rows, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters are the same if they count the same rows.
impl PartialEq for Counter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Counter {}

impl Hash for Counter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// The frame, whose rows are counted when it is run to its end.
pub(crate) fn counted(frame: DataFrame, counter: &Counter) -> Result<DataFrame> {
    let (state, plan) = frame.into_parts();
    node(state, plan, counter, None)
}

/// The same with one more column, which grows from row to row, though the parts of the table are
/// read beside each other.
pub(crate) fn placed(frame: DataFrame, counter: &Counter, place: &str) -> Result<DataFrame> {
    let (mut state, plan) = frame.into_parts();
    in_parts(&mut state);
    node(state, plan, counter, Some(place.to_owned()))
}

fn node(
    state: SessionState,
    plan: LogicalPlan,
    counter: &Counter,
    place: Option<String>,
) -> Result<DataFrame> {
    let node = Arc::new(Counting::new(plan, counter.clone(), place)?);
    Ok(DataFrame::new(state, LogicalPlan::Extension(Extension { node })))
}

/// Plans of this state have rows in the parts in which tables give them, where all rows of one come
/// before those of the next: nothing else divides them, and no part takes over from another.
pub(crate) fn in_parts(state: &mut SessionState) {
    let options = state.config_mut().options_mut();
    options.optimizer.enable_round_robin_repartition = false;
    options.optimizer.repartition_file_scans = false;
    options.execution.enable_file_stream_work_stealing = false;
}
