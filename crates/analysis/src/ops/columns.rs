//! Finds and selects columns of a frame by name.

use datafusion::{
    arrow::{
        array::AsArray,
        compute::cast,
        datatypes::{DataType, Int64Type},
    },
    logical_expr::Expr,
    prelude::{DataFrame, ident},
};

use super::{
    numbers::{plain_type, without_nan},
    params::ParamName,
};
use crate::{
    error::{AnalysisError, Result},
    work::AnalysisContext,
};

pub(crate) fn names(frame: &DataFrame) -> Vec<String> {
    frame.schema().fields().iter().map(|field| field.name().clone()).collect()
}

pub(crate) fn has(frame: &DataFrame, name: &str) -> bool {
    frame.schema().fields().iter().any(|field| field.name() == name)
}

/// Returns the type of a column; null if there is no such column.
pub(crate) fn data_type(frame: &DataFrame, name: &str) -> DataType {
    let field = frame.schema().fields().iter().find(|field| field.name() == name);
    field.map_or(DataType::Null, |field| field.data_type().clone())
}

/// Checks that all these columns exist.
pub(crate) fn check(work: &AnalysisContext, frame: &DataFrame, named: &[ParamName]) -> Result<()> {
    named.iter().try_for_each(|column| work.column(frame, &column.path, &column.name).map(drop))
}

/// Returns a column in a form that can be compared and counted: without its dictionary, and with null
/// for NaN.
pub(crate) fn value(frame: &DataFrame, name: &str) -> Expr {
    let data_type = data_type(frame, name);
    let plain = plain_type(&data_type);
    if *plain == data_type {
        without_nan(ident(name), plain)
    } else {
        without_nan(datafusion::logical_expr::cast(ident(name), plain.clone()), plain)
    }
}

/// Selects these columns.
pub(crate) fn only(frame: DataFrame, names: &[String]) -> Result<DataFrame> {
    Ok(frame.select(names.iter().map(ident).collect::<Vec<_>>())?)
}

/// Returns a name that no column has.
pub(crate) fn unused(frame: &DataFrame, base: &str) -> String {
    let mut name = format!("__{base}");
    while has(frame, &name) {
        name.push('_');
    }
    name
}

/// Checks that no two results have the same name.
pub(crate) fn check_unique<'n>(
    parameter: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(name) => {
            let reason = format!("two columns of the result would be called {name:?}");
            Err(AnalysisError::parameter(parameter, reason))
        }
    }
}

/// Runs aggregates that give one whole number each, such as counts, in one pass.
pub(crate) async fn figures(
    work: &AnalysisContext,
    frame: DataFrame,
    aggregates: Vec<Expr>,
) -> Result<Vec<usize>> {
    let width = aggregates.len();
    let aggregates: Vec<Expr> = aggregates
        .into_iter()
        .enumerate()
        .map(|(index, aggregate)| aggregate.alias(format!("__{index}")))
        .collect();
    let batches = work.collect(frame.aggregate(Vec::new(), aggregates)?).await?;
    let row = batches.iter().find(|batch| batch.num_rows() > 0);
    let read = |index: usize| {
        let column = cast(row?.column(index), &DataType::Int64).ok()?;
        usize::try_from(column.as_primitive::<Int64Type>().value(0)).ok()
    };
    Ok((0..width).map(|index| read(index).unwrap_or_default()).collect())
}
