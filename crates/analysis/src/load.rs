//! Loads data into tables, with errors and notes in the caller's words.

use datafusion::prelude::SessionContext;
use narrows_tables::{Input, LoadError, Loaded};

use crate::{
    error::{AnalysisError, Result},
    work::MAIN,
};

/// Loads data as a table. The memory that it holds is reserved in the context's memory pool.
pub(crate) async fn load(context: &SessionContext, name: &str, input: Input) -> Result<Loaded> {
    let loaded = narrows_tables::load(context, name, input).await;
    let mut loaded = loaded.map_err(|error| failure(name, error))?;
    if name != MAIN {
        loaded.notes.iter_mut().for_each(|note| *note = format!("{name}: {note}"));
    }
    Ok(loaded)
}

fn failure(name: &str, error: LoadError) -> AnalysisError {
    match error {
        LoadError::Data(reason) => AnalysisError::Data { table: name.to_owned(), reason },
        LoadError::Memory(bytes) => AnalysisError::Memory(bytes),
        LoadError::GivenUp => AnalysisError::Cancelled,
        LoadError::Engine(error) => (*error).into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn notes_and_errors_name_the_table_if_it_is_not_the_only_one() {
        let context = SessionContext::new();
        let dirty = || Input::Json(json!([{"a": 1}, {"a": "x"}]));
        let loaded = load(&context, "orders", dirty()).await.unwrap();
        assert_eq!(loaded.notes, ["orders: a: 1 number and 1 text: all kept as text"]);
        let loaded = load(&context, MAIN, dirty()).await.unwrap();
        assert_eq!(loaded.notes, ["a: 1 number and 1 text: all kept as text"]);
        let error = load(&context, "orders", Input::Text("[".to_owned())).await.unwrap_err();
        assert!(
            matches!(&error, AnalysisError::Data { table, .. } if table == "orders"),
            "{error}"
        );
    }
}
