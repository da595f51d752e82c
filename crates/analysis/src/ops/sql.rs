//! The analysis `sql`: a query over the tables by their names.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    error::{AnalysisError, Result},
    request, sql,
    work::{Outcome, Work},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The query; `sql` is the same.
    #[serde(alias = "sql")]
    query: String,
}

pub(crate) async fn run(work: &Work, parameters: &Map<String, Value>) -> Result<Outcome> {
    if parameters.contains_key("query") && parameters.contains_key("sql") {
        return Err(AnalysisError::parameter("sql", "give either query or sql"));
    }
    let Parameters { query } = request::parameters(parameters, &["query", "sql"])?;
    sql::query(work, &query).await
}
