//! Dispatches an analysis to the operation of its type.

use serde_json::{Map, Value};

use super::{
    aggregate,
    conditions::{Logic, predicate},
    correlation, describe, filter, histogram,
    params::Params,
    percentiles, sql, test, time_series, transform, validate,
};
use crate::{
    error::Result,
    kind::AnalysisType,
    work::{AnalysisContext, OpOutput},
};

pub(crate) async fn run(
    work: &AnalysisContext,
    kind: AnalysisType,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    if has_filter(kind) {
        narrow(work, &Params::parameters(kind, parameters)?).await?;
    }
    match kind {
        AnalysisType::Filter => filter::run(work, parameters).await,
        AnalysisType::Aggregate => aggregate::run(work, parameters).await,
        AnalysisType::Transform => transform::run(work, parameters).await,
        AnalysisType::Validate => validate::run(work, parameters).await,
        AnalysisType::Describe => describe::run(work, parameters).await,
        AnalysisType::Histogram => histogram::run(work, parameters).await,
        AnalysisType::Percentiles => percentiles::run(work, parameters).await,
        AnalysisType::TimeSeries => time_series::run(work, parameters).await,
        AnalysisType::Correlation => correlation::run(work, parameters).await,
        AnalysisType::Covariance => correlation::covariance(work, parameters).await,
        AnalysisType::Test => test::run(work, parameters).await,
        AnalysisType::Sql => sql::run(work, parameters).await,
    }
}

/// Tells whether a type has the parameter `filter`, which chooses the rows that it is about. The other
/// types choose rows themselves, and `validate` reports which rows of the whole table are wrong.
fn has_filter(kind: AnalysisType) -> bool {
    !matches!(
        kind,
        AnalysisType::Filter | AnalysisType::Transform | AnalysisType::Validate | AnalysisType::Sql
    )
}

async fn narrow(work: &AnalysisContext, given: &Params<'_>) -> Result<()> {
    if let Some((path, value)) = given.value("filter") {
        let rows = work.main().await?;
        let holds = predicate(work, &rows, &path, value, Logic::And).await?;
        work.narrow(rows.filter(holds)?);
    }
    Ok(())
}
