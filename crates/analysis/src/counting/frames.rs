//! Frames whose rows are counted, and numbered, when they are run.

use std::sync::Arc;

use datafusion::{
    error::Result,
    execution::SessionState,
    logical_expr::{Extension, LogicalPlan},
    prelude::DataFrame,
};

use super::{Counter, logical::Counting};

/// Returns the frame with its rows counted when it is run to its end.
pub(crate) fn counted(frame: DataFrame, counter: &Counter) -> Result<DataFrame> {
    let (state, plan) = frame.into_parts();
    node(state, plan, counter, None)
}

/// The same as [`counted`], with one more column that grows from row to row, though partitions are read
/// at the same time.
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

/// Sets options so that plans keep the partitions of their tables, in which all rows of one come before
/// those of the next: nothing repartitions the rows.
pub(crate) fn in_parts(state: &mut SessionState) {
    let options = state.config_mut().options_mut();
    options.optimizer.enable_round_robin_repartition = false;
    options.optimizer.repartition_file_scans = false;
    options.execution.enable_file_stream_work_stealing = false;
}
