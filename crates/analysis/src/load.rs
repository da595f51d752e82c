//! From data as it comes to tables, with its flaws and notes said for whoever asked.

use datafusion::prelude::SessionContext;
use narrows_tables::{Input, LoadError, Loaded};

use crate::{
    error::{AnalysisError, Result},
    work::MAIN,
};

/// Makes a table of data. What it holds in memory is reserved in the context's memory pool.
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
