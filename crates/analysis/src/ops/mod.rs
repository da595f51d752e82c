//! The types of analysis, one module each.

mod aggregate;
mod columns;
mod conditions;
mod correlation;
mod describe;
mod filter;
mod groups;
mod held;
mod histogram;
mod names;
mod numbers;
mod order;
mod percentiles;
mod reading;
mod rows;
mod sorting;
mod sql;
mod test;
#[cfg(test)]
pub(crate) mod testing;
mod time_columns;
mod time_series;
mod transform;
mod validate;

use serde_json::{Map, Value};

use self::{
    conditions::{Logic, predicate},
    reading::Given,
};
use crate::{
    error::Result,
    kind::Kind,
    work::{Outcome, Work},
};

pub(crate) async fn run(
    work: &Work,
    kind: Kind,
    parameters: &Map<String, Value>,
) -> Result<Outcome> {
    if has_filter(kind) {
        narrow(work, &Given::parameters(kind, parameters)?).await?;
    }
    match kind {
        Kind::Filter => filter::run(work, parameters).await,
        Kind::Aggregate => aggregate::run(work, parameters).await,
        Kind::Transform => transform::run(work, parameters).await,
        Kind::Validate => validate::run(work, parameters).await,
        Kind::Describe => describe::run(work, parameters).await,
        Kind::Histogram => histogram::run(work, parameters).await,
        Kind::Percentiles => percentiles::run(work, parameters).await,
        Kind::TimeSeries => time_series::run(work, parameters).await,
        Kind::Correlation => correlation::run(work, parameters).await,
        Kind::Covariance => correlation::covariance(work, parameters).await,
        Kind::Test => test::run(work, parameters).await,
        Kind::Sql => sql::run(work, parameters).await,
    }
}

/// Whether a type has `filter` for the rows that it is about. Others choose rows themselves, and
/// `validate` says which rows of the table are wrong.
fn has_filter(kind: Kind) -> bool {
    !matches!(kind, Kind::Filter | Kind::Transform | Kind::Validate | Kind::Sql)
}

async fn narrow(work: &Work, given: &Given<'_>) -> Result<()> {
    if let Some((path, value)) = given.value("filter") {
        let rows = work.main().await?;
        let holds = predicate(work, &rows, &path, value, Logic::And).await?;
        work.narrow(rows.filter(holds)?);
    }
    Ok(())
}
