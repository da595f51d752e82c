//! The types of analysis, one module each.

mod aggregate;
mod columns;
mod conditions;
mod correlation;
mod describe;
mod filter;
mod groups;
mod held;
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
mod time_series;
mod times;
mod transform;
mod validate;

use serde_json::{Map, Value};

use crate::{
    error::Result,
    request::Kind,
    work::{Outcome, Work},
};

pub(crate) async fn run(
    work: &Work,
    kind: Kind,
    parameters: &Map<String, Value>,
) -> Result<Outcome> {
    match kind {
        Kind::Filter => filter::run(work, parameters).await,
        Kind::Aggregate => aggregate::run(work, parameters).await,
        Kind::Transform => transform::run(work, parameters).await,
        Kind::Validate => validate::run(work, parameters).await,
        Kind::Describe => describe::run(work, parameters).await,
        Kind::Percentiles => percentiles::run(work, parameters).await,
        Kind::TimeSeries => time_series::run(work, parameters).await,
        Kind::Correlation => correlation::run(work, parameters).await,
        Kind::Covariance => correlation::covariance(work, parameters).await,
        Kind::Test => test::run(work, parameters).await,
        Kind::Sql => sql::run(work, parameters).await,
    }
}
