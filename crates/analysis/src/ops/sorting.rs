//! The parameters for sorting rows and for a page of them.

use datafusion::{
    logical_expr::{Expr, SortExpr},
    prelude::DataFrame,
};
use serde_json::Value;

use super::{
    columns,
    params::{self, ParamName, Params},
    time_columns::sort_value,
};
use crate::{
    aliases::parameters::SORT_KEY,
    error::{AnalysisError, Result},
    work::AnalysisContext,
};

/// The rows that are sorted.
pub(crate) struct Sorted<'f> {
    pub(crate) frame: &'f DataFrame,
    /// The ungrouped rows and their keys, if the rows are groups. Whether a key is text that holds
    /// numbers is looked up in the ungrouped rows, so that the groups need not be computed for it.
    pub(crate) groups: Option<(&'f DataFrame, &'f [ParamName])>,
}

impl Sorted<'_> {
    async fn value(&self, work: &AnalysisContext, name: &str) -> Result<Expr> {
        let is_key = |keys: &[ParamName]| keys.iter().any(|key| key.name == name);
        match self.groups {
            Some((rows, keys)) if is_key(keys) => sort_value(work, rows, name).await,
            _ => sort_value(work, self.frame, name).await,
        }
    }
}

/// Reads the parameter `sort`: a name, `-name` or `name desc` for the largest first, an object, or a
/// list of those.
pub(crate) async fn sort_keys(
    work: &AnalysisContext,
    sorted: &Sorted<'_>,
    given: &Params<'_>,
) -> Result<Option<Vec<SortExpr>>> {
    let Some((path, value)) = given.value("sort") else {
        return Ok(None);
    };
    let by = params::one_or_more(&path, value);
    let descending = directions(given, by.len())?;
    let mut keys = Vec::new();
    for ((path, key), descending) in by.into_iter().zip(descending) {
        keys.push(sort_key(work, sorted, &path, key, descending).await?);
    }
    Ok(Some(keys))
}

/// Reads whether each key is sorted in descending order. As in pandas, `ascending` may be a list with an
/// entry for each key.
fn directions(given: &Params<'_>, keys: usize) -> Result<Vec<bool>> {
    for (name, is_descending) in [("ascending", false), ("descending", true)] {
        let Some((path, Value::Array(flags))) = given.value(name) else { continue };
        if flags.len() != keys {
            let reason = format!("has {} values, and there are {keys} to sort by", flags.len());
            return Err(AnalysisError::parameter(path, reason));
        }
        let flags = flags.iter().enumerate();
        let flag = |(at, flag)| Ok(params::flag(&format!("{path}[{at}]"), flag)? == is_descending);
        return flags.map(flag).collect();
    }
    Ok(vec![is_descending(given)?.unwrap_or(false); keys])
}

fn is_descending(given: &Params<'_>) -> Result<Option<bool>> {
    let descending = given.flag("descending")?;
    Ok(descending.or(given.flag("ascending")?.map(|ascending| !ascending)))
}

/// Reads one key. Missing values come last in both directions unless the key says otherwise, as in
/// pandas.
async fn sort_key(
    work: &AnalysisContext,
    sorted: &Sorted<'_>,
    path: &str,
    key: &Value,
    descending: bool,
) -> Result<SortExpr> {
    if let Value::String(text) = key {
        let (name, is_descending) = written_key(sorted.frame, text, descending);
        work.column(sorted.frame, path, name)?;
        return Ok(sorted.value(work, name).await?.sort(!is_descending, false));
    }
    let given = Params::object(path, key, &SORT_KEY)?;
    let field = given.required_name("field")?;
    work.column(sorted.frame, &field.path, &field.name)?;
    let order = [("desc", true), ("asc", false), ("descending", true), ("ascending", false)];
    let own = match given.choice("order", &order)? {
        Some(descending) => Some(descending),
        None => is_descending(&given)?,
    };
    let nulls_first = given.choice("nulls", &[("first", true), ("last", false)])?;
    let value = sorted.value(work, &field.name).await?;
    Ok(value.sort(!own.unwrap_or(descending), nulls_first.unwrap_or(false)))
}

/// Splits `-amount` or, as in SQL, `amount desc` into the name and whether the order is descending. A
/// column may really have such a name.
fn written_key<'t>(frame: &DataFrame, text: &'t str, descending: bool) -> (&'t str, bool) {
    if columns::has(frame, text) {
        return (text, descending);
    }
    if let Some(name) = text.strip_prefix('-') {
        return (name, !descending);
    }
    match text.trim().rsplit_once(' ') {
        Some((name, word)) if word.eq_ignore_ascii_case("desc") => (name.trim_end(), true),
        Some((name, word)) if word.eq_ignore_ascii_case("asc") => (name.trim_end(), false),
        _ => (text, descending),
    }
}

/// Returns expressions that sort by these columns, with missing values last.
pub(crate) fn by_keys(frame: &DataFrame, keys: &[ParamName]) -> Vec<SortExpr> {
    keys.iter().map(|key| columns::value(frame, &key.name).sort(true, false)).collect()
}

/// Reads `offset` and `limit`, if they are given.
pub(crate) fn page(given: &Params<'_>) -> Result<Option<(usize, Option<usize>)>> {
    let offset = given.count("offset")?;
    let limit = given.count("limit")?;
    // The query engine counts with signed numbers.
    let is_too_large =
        |count: Option<usize>| count.is_some_and(|count| count > isize::MAX as usize);
    for (name, count) in [("offset", offset), ("limit", limit)] {
        if is_too_large(count) {
            return Err(AnalysisError::parameter(given.path(name), "is too large"));
        }
    }
    Ok((offset.is_some() || limit.is_some()).then_some((offset.unwrap_or(0), limit)))
}
