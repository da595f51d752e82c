//! Reads which columns are compared, and reads their rows in one pass.

use datafusion::{
    arrow::datatypes::DataType,
    logical_expr::{Expr, cast},
    prelude::DataFrame,
};
use futures::TryStreamExt;
use serde_json::{Map, Value};

use super::{
    method::{CorrelationMethod, METHODS},
    pairs::{self, ColumnValues, Matrix, PairSink},
    report::Report,
};
use crate::{
    error::{AnalysisError, Result},
    kind::AnalysisType,
    ops::{
        arrays::{HeldArrays, floats},
        groups::Groups,
        names::{Names, counted, word},
        numbers::numeric,
        params::Params,
    },
    work::{AnalysisContext, OpOutput},
};

/// The most columns of which all pairs are compared.
const MAX_FIELDS: usize = 50;
/// The most groups with a matrix each.
const MAX_GROUPS: usize = 1_000;

#[derive(Debug)]
struct CorrelationParameters {
    fields: Option<Names>,
    group_by: Names,
}

impl CorrelationParameters {
    fn read(given: &Params<'_>) -> Result<Self> {
        let group_by = given.read("group_by", Names::read)?.unwrap_or_default();
        let fields = match (given.name("x")?, given.name("y")?) {
            (None, None) => given.read("fields", Names::read)?,
            (Some(x), Some(y)) if given.value("fields").is_none() => {
                Some(Names::Many(vec![x.name, y.name]))
            }
            _ => {
                let reason = "give `x` and `y`, or all of them as `fields`";
                return Err(AnalysisError::parameter("x", reason));
            }
        };
        Ok(Self { fields, group_by })
    }
}

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Correlation, parameters)?;
    let method = match given.text("method")? {
        Some(method) => word("method", method, &METHODS)?,
        None => CorrelationMethod::Pearson,
    };
    compare(work, &CorrelationParameters::read(&given)?, method).await
}

pub(crate) async fn covariance(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Covariance, parameters)?;
    compare(work, &CorrelationParameters::read(&given)?, CorrelationMethod::Covariance).await
}

async fn compare(
    work: &AnalysisContext,
    parameters: &CorrelationParameters,
    method: CorrelationMethod,
) -> Result<OpOutput> {
    let frame = work.main().await?;
    let group_by = parameters.group_by.as_slice();
    let fields = match &parameters.fields {
        Some(fields) => fields.clone(),
        None => numeric_fields(work, &frame, group_by),
    };
    let names = fields.as_slice();
    if names.len() < 2 {
        let reason =
            format!("at least two columns of numbers are needed, and there are {}", names.len());
        return Err(AnalysisError::parameter("fields", reason));
    }
    if names.len() > MAX_FIELDS {
        let reason = format!("at most {MAX_FIELDS} columns can be compared, not {}", names.len());
        return Err(AnalysisError::parameter("fields", reason));
    }
    fields.check_distinct("fields")?;
    parameters.group_by.check_distinct("group_by")?;
    let mut selected: Vec<Expr> = Vec::new();
    for (path, name) in parameters.group_by.with_paths("group_by") {
        selected.push(work.column(&frame, &path, name)?.alias(format!("g{}", selected.len())));
    }
    for (path, name) in fields.with_paths("fields") {
        if group_by.iter().any(|group| group == name) {
            return Err(AnalysisError::parameter(path, format!("{name:?} is in `group_by` too")));
        }
        let number = cast(numeric(work, &frame, &path, name).await?, DataType::Float64);
        selected.push(number.alias(format!("f{}", selected.len())));
    }
    let (groups, matrices) =
        read(work, frame.select(selected)?, group_by.len(), names, method).await?;
    Report { work, names, group_by, method, groups: &groups, matrices: &matrices }.outcome()
}

/// Returns the columns of numbers, as many as can be compared.
fn numeric_fields(work: &AnalysisContext, frame: &DataFrame, group_by: &[String]) -> Names {
    let fields = frame.schema().fields().iter();
    let mut names: Vec<String> = fields
        .filter(|field| field.data_type().is_numeric() && !group_by.contains(field.name()))
        .map(|field| field.name().clone())
        .collect();
    if names.len() > MAX_FIELDS {
        work.note(format!(
            "only the first {MAX_FIELDS} of {} columns of numbers are compared; `fields` chooses others",
            names.len()
        ));
        names.truncate(MAX_FIELDS);
    }
    Names::Many(names)
}

/// Reads the rows in one pass. Sums need no more memory than the matrices; ranks need all values.
async fn read(
    work: &AnalysisContext,
    frame: DataFrame,
    grouped: usize,
    names: &[String],
    method: CorrelationMethod,
) -> Result<(Groups, Vec<Matrix>)> {
    let types = frame.schema().fields().iter().take(grouped);
    let mut groups = Groups::new(types.map(|field| field.data_type().clone()).collect())?;
    let held = HeldArrays::new(work, "correlation");
    let mut sinks: Vec<PairSink> = Vec::new();
    let mut infinite = 0_u64;
    let mut rows = frame.execute_stream().await?;
    while let Some(batch) = rows.try_next().await? {
        let (keys, values) = batch.columns().split_at(grouped);
        let places = groups.of(keys, batch.num_rows())?;
        if groups.len() > MAX_GROUPS {
            let reason = format!("there are more than {MAX_GROUPS} groups");
            return Err(AnalysisError::parameter("group_by", reason));
        }
        let mut columns: ColumnValues = values.iter().map(floats).collect::<Result<_>>()?;
        for value in columns.iter_mut().flatten().filter(|value| value.is_infinite()) {
            infinite += 1;
            *value = f64::NAN;
        }
        if method.is_by_rank() {
            // The values and their ranks, and what ranking a pair of columns takes.
            held.add(batch.num_rows() * (2 * names.len() + 6) * size_of::<f64>())?;
        }
        held.add((groups.len() - sinks.len()) * PairSink::bytes(names.len()))?;
        sinks.resize_with(groups.len(), || PairSink::new(names.len(), method));
        pairs::distribute(columns, &places, &mut sinks)?;
    }
    sinks.resize_with(groups.len(), || PairSink::new(names.len(), method));
    if infinite > 0 {
        work.note(format!("{} left out", counted(infinite, "infinite value")));
    }
    let mut matrices = Vec::with_capacity(sinks.len());
    for sink in sinks {
        matrices.push(sink.matrix(method).await?);
    }
    Ok((groups, matrices))
}
