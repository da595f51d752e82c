//! All columns, looked at a few at a time, and what is told of the table as a whole.

use std::collections::HashSet;

use datafusion::{
    arrow::{array::RecordBatch, util::display::array_value_to_string},
    execution::memory_pool::MemoryLimit,
    functions_aggregate::expr_fn::count,
    logical_expr::{Expr, lit},
    prelude::{DataFrame, ident},
};
use serde_json::{Map, Value, json};

use super::{
    profile::{self, Profile},
    table,
};
use crate::{
    error::{AnalysisError, Result},
    kind::AnalysisType,
    ops::{columns, params::Params, row_order::OrderedRows},
    work::{AnalysisContext, OpOutput},
};

/// At most so many columns are looked at in one pass.
const AT_ONCE: usize = 40;

/// Rows are compared as a whole if there are no more values than this.
const MAX_COMPARED: usize = 5_000_000;

/// The most memory for counting the values of all columns of one pass, and that of one value.
const COUNTING_BYTES: usize = 256 << 20;
const VALUE_BYTES: usize = 64;

/// How many rows at the beginning samples are taken from.
const FIRST_ROWS: usize = 1_000;
const SAMPLES: usize = 5;

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Describe, parameters)?;
    let frame = work.main().await?;
    let names: Vec<String> = match given.names("columns")? {
        Some(named) => {
            columns::check(work, &frame, &named)?;
            named.into_iter().map(|column| column.name).collect()
        }
        None => columns::names(&frame),
    };
    if names.is_empty() {
        return Err(AnalysisError::parameter("columns", "there are none"));
    }
    let frame = columns::only(frame, &names)?;
    let rows = columns::figures(work, frame.clone(), vec![count(lit(1))]).await?[0];
    let budget = match work.context().runtime_env().memory_pool.memory_limit() {
        MemoryLimit::Finite(bytes) => COUNTING_BYTES.min(bytes / 8),
        _ => COUNTING_BYTES,
    };
    let mut profiles: Vec<Profile> = Vec::new();
    // The more rows, the fewer columns at once: every value may be another one.
    let at_once = (budget / VALUE_BYTES / rows.max(1)).clamp(1, AT_ONCE);
    for names in names.chunks(at_once) {
        let pass = profile::ProfilePass { rows, max_bytes: budget / names.len() };
        profiles.extend(pass.run(work, &columns::only(frame.clone(), names)?, names).await?);
    }
    add_samples(work, &frame, &mut profiles).await?;
    note_estimates(work, &profiles);

    let mut facts = Map::new();
    facts.insert("row_count".to_owned(), json!(rows));
    facts.insert("column_count".to_owned(), json!(names.len()));
    if let Some(duplicates) = duplicates(work, &frame, rows).await? {
        facts.insert("duplicate_count".to_owned(), json!(duplicates));
    }
    let table = work.context().read_batch(table::of(&profiles)?)?;
    Ok(OpOutput { facts, frame: Some(OrderedRows::of(table).finish()?), later: None })
}

/// Adds the first few different values of each column.
async fn add_samples(
    work: &AnalysisContext,
    frame: &DataFrame,
    profiles: &mut [Profile],
) -> Result<()> {
    let first = OrderedRows::of(frame.clone()).page(0, Some(FIRST_ROWS))?.finish()?;
    let batches = work.collect(first).await?;
    for (index, profile) in profiles.iter_mut().enumerate() {
        let mut seen = HashSet::new();
        let values = batches.iter().flat_map(|batch| values_of(batch, index));
        profile.samples = values.filter(|value| seen.insert(value.clone())).take(SAMPLES).collect();
    }
    Ok(())
}

fn values_of(batch: &RecordBatch, index: usize) -> impl Iterator<Item = String> {
    let column = batch.column(index);
    let given = (0..column.len()).filter(|row| column.is_valid(*row));
    given.filter_map(|row| Some(table::shortened(&array_value_to_string(column, row).ok()?)))
}

fn note_estimates(work: &AnalysisContext, profiles: &[Profile]) {
    let estimated = profiles.iter().filter(|profile| profile.is_estimated);
    let names: Vec<&str> = estimated.map(|profile| profile.name.as_str()).collect();
    if !names.is_empty() {
        work.note(format!(
            "too many different values to count: distinct, p25, p50 and p75 are estimates, and \
             there is no top, for {}",
            names.join(", ")
        ));
    }
}

/// Counts rows that are equal to an earlier one, where that is quickly found.
async fn duplicates(
    work: &AnalysisContext,
    frame: &DataFrame,
    rows: usize,
) -> Result<Option<usize>> {
    let fields = frame.schema().fields();
    let is_quick = rows.saturating_mul(fields.len()) <= MAX_COMPARED
        && fields.iter().all(|field| !field.data_type().is_nested());
    if !is_quick {
        return Ok(None);
    }
    let all: Vec<Expr> = fields.iter().map(|field| ident(field.name())).collect();
    let different = frame.clone().aggregate(all, Vec::new())?;
    let different = columns::figures(work, different, vec![count(lit(1))]).await?[0];
    Ok(Some(rows - different))
}
