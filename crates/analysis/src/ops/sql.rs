//! The analysis `sql`: a query over the tables by their names.

use serde_json::{Map, Value};

use super::params::Params;
use crate::{
    error::Result,
    kind::AnalysisType,
    sql,
    work::{AnalysisContext, OpOutput},
};

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Sql, parameters)?;
    let query = given.text("query")?.ok_or_else(|| given.missing("query"))?;
    sql::query(work, query).await
}
