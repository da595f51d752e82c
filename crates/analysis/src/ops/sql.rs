//! The analysis `sql`: a query over the tables by their names.

use serde_json::{Map, Value};

use super::reading::Given;
use crate::{
    error::Result,
    kind::Kind,
    sql,
    work::{Outcome, Work},
};

pub(crate) async fn run(work: &Work, parameters: &Map<String, Value>) -> Result<Outcome> {
    let given = Given::parameters(Kind::Sql, parameters)?;
    let query = given.text("query")?.ok_or_else(|| given.missing("query"))?;
    sql::query(work, query).await
}
