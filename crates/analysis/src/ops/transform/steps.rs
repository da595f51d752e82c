//! Runs the parts of a `transform`, which are given together or in steps, in their order.

use datafusion::prelude::ident;
use serde_json::{Map, Value};

use super::{
    cast, computed, deduplicate::Duplicates, fill, flatten, join, missing, pivot, rank, sample,
    unpivot,
};
use crate::{
    aliases::parameters::STEP,
    error::{AnalysisError, Result},
    kind::AnalysisType,
    ops::{
        columns,
        conditions::{Logic, predicate},
        params::{Params, one_or_more, pairs, text},
        row_order::OrderedRows,
        sorting::{Sorted, page, sort_keys},
    },
    work::{AnalysisContext, OpOutput},
};

const STEPS: &str = "steps";

/// The most steps. Each makes the plan deeper, and planning takes ever longer.
const MAX_STEPS: usize = 50;
const MAX_JOINS: usize = 20;

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let mut rows = OrderedRows::of(work.main().await?);
    let given = Params::parameters(AnalysisType::Transform, parameters)?;
    let Some((path, steps)) = given.value(STEPS) else {
        let rows = step(work, rows, &given).await?;
        return Ok(rows.finish()?.into());
    };
    if let Some(other) = parameters.keys().find(|name| **name != path) {
        return Err(AnalysisError::parameter(other, "goes into one of the steps"));
    }
    let steps = one_or_more(&path, steps);
    if steps.len() > MAX_STEPS {
        let reason = format!("there are more than {MAX_STEPS}");
        return Err(AnalysisError::parameter(path, reason));
    }
    for (path, value) in steps {
        rows = step(work, rows, &Params::object(&path, value, &STEP)?).await?;
    }
    Ok(rows.finish()?.into())
}

async fn step(
    work: &AnalysisContext,
    rows: OrderedRows,
    given: &Params<'_>,
) -> Result<OrderedRows> {
    let rows = prepared(work, rows, given).await?;
    let rows = shaped(work, rows, given).await?;
    chosen(work, rows, given)
}

/// Applies the parts that change values.
async fn prepared(
    work: &AnalysisContext,
    mut rows: OrderedRows,
    given: &Params<'_>,
) -> Result<OrderedRows> {
    if let Some((path, value)) = given.value("join") {
        let joins = one_or_more(&path, value);
        if joins.len() > MAX_JOINS {
            let reason = format!("there are more than {MAX_JOINS}");
            return Err(AnalysisError::parameter(path, reason));
        }
        for (path, value) in joins {
            rows = join::apply(work, rows, &path, value).await?;
        }
    }
    if let Some((path, value)) = given.value("flatten") {
        let drop_empty = given.flag("drop_empty")?.unwrap_or(false);
        for (path, value) in one_or_more(&path, value) {
            rows = flatten::apply(work, rows, &path, value, drop_empty).await?;
        }
    }
    if let Some((path, value)) = given.value("cast") {
        let strict = given.flag("strict")?.unwrap_or(false);
        rows = cast::apply(work, rows, &path, value, strict).await?;
    }
    if let Some((path, value)) = given.value("fill_null") {
        rows = fill::apply(work, rows, &path, value).await?;
    }
    if let Some((path, value)) = given.value("drop_null") {
        rows = missing::apply(work, rows, &path, value)?;
    }
    if let Some((path, value)) = given.value("computed") {
        rows = computed::apply(work, rows, &path, value)?;
    }
    Ok(rows)
}

/// Applies the parts that change rows.
async fn shaped(
    work: &AnalysisContext,
    mut rows: OrderedRows,
    given: &Params<'_>,
) -> Result<OrderedRows> {
    if let Some((path, value)) = given.value("filter") {
        let holds = predicate(work, &rows.table()?, &path, value, Logic::And).await?;
        rows = rows.filter(holds)?;
    }
    if let Some((path, value)) = given.value("rank") {
        rows = rank::apply(work, rows, &path, value).await?;
    }
    if let Some((path, value)) = given.value("pivot") {
        rows = pivot::apply(work, rows, &path, value).await?;
    }
    if let Some((path, value)) = given.value("unpivot") {
        rows = unpivot::apply(work, rows, &path, value)?;
    }
    let sorted = Sorted { frame: &rows.table()?, groups: None };
    if let Some(keys) = sort_keys(work, &sorted, given).await? {
        rows = rows.sort(keys)?;
    }
    Ok(rows)
}

/// Selects columns and rows.
fn chosen(
    work: &AnalysisContext,
    mut rows: OrderedRows,
    given: &Params<'_>,
) -> Result<OrderedRows> {
    let duplicates = Duplicates::read(given)?;
    if let Some(duplicates) = duplicates.as_ref().filter(|duplicates| duplicates.has_fields()) {
        rows = duplicates.remove(work, rows)?;
    }
    if let Some(names) = given.names("select")? {
        columns::check(work, &rows.table()?, &names)?;
        rows = rows.only(&names.into_iter().map(|column| column.name).collect::<Vec<_>>())?;
    }
    if let Some(names) = given.names("drop")? {
        columns::check(work, &rows.table()?, &names)?;
        let is_dropped = |name: &String| names.iter().any(|column| column.name == *name);
        let rest: Vec<String> = rows.names().into_iter().filter(|name| !is_dropped(name)).collect();
        rows = rows.only(&rest)?;
    }
    if let Some(duplicates) = duplicates.filter(|duplicates| !duplicates.has_fields()) {
        rows = duplicates.remove(work, rows)?;
    }
    if let Some((path, value)) = given.value("sample") {
        rows = sample::apply(rows, &path, value, given)?;
    }
    if let Some((offset, limit)) = page(given)? {
        rows = rows.page(offset, limit)?;
    }
    if let Some(count) = given.count("tail")? {
        rows = rows.last(count)?;
    }
    if let Some((path, value)) = given.value("rename") {
        rows = renamed(work, rows, &path, value)?;
    }
    Ok(rows)
}

fn renamed(
    work: &AnalysisContext,
    rows: OrderedRows,
    path: &str,
    value: &Value,
) -> Result<OrderedRows> {
    let mut names: Vec<(String, String)> =
        rows.names().into_iter().map(|name| (name.clone(), name)).collect();
    for (column, name) in pairs(path, value)? {
        work.column(&rows.table()?, &column.path, &column.name)?;
        let new = text(&column.path, name)?;
        let renamed = names.iter_mut().filter(|(old, _)| *old == column.name);
        renamed.for_each(|(_, name)| new.clone_into(name));
    }
    columns::check_unique(path, names.iter().map(|(_, name)| name.as_str()))?;
    rows.select(names.into_iter().map(|(old, name)| ident(old).alias(name)).collect())
}
