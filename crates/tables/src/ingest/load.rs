//! Loads data of any format as a table.

use std::sync::Arc;

use datafusion::{
    catalog::TableProvider, error::DataFusionError, execution::memory_pool::MemoryLimit,
    prelude::SessionContext,
};
use futures::future::BoxFuture;
use thiserror::Error;
use tokio::sync::oneshot;

use super::{
    blocks::Source,
    csv,
    input::{FileFormat, Input},
    lines,
    memory_budget::GiveUp,
    objects, parquet, python, table,
    task::{Made, MadeRows, Task},
};
use crate::flaw::Flaw;

/// A table that can be queried, and notes on what was done to the data.
#[derive(Debug)]
pub struct Loaded {
    pub provider: Arc<dyn TableProvider>,
    pub notes: Vec<String>,
}

/// The reason why data was not loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A mistake in the data.
    #[error("{0}")]
    Data(String),
    /// The context's memory pool has no more than this many bytes.
    #[error("it does not fit into {0} bytes of memory")]
    Memory(usize),
    #[error("nobody waits for it any more")]
    GivenUp,
    #[error(transparent)]
    Engine(Box<DataFusionError>),
}

/// Loads data as a table. Its memory is reserved in the context's memory pool under this name. The
/// future is boxed, because the code of an `async fn` is compiled by every crate that awaits it.
pub fn load<'a>(
    context: &'a SessionContext,
    name: &'a str,
    input: Input,
) -> BoxFuture<'a, Result<Loaded, LoadError>> {
    Box::pin(async move {
        let task = Task::new(context, name);
        let loaded = match input {
            Input::File { file, format: FileFormat::Parquet } => {
                let provider = parquet::load(context, &task, file).await;
                provider.map(|provider| Loaded { provider, notes: Vec::new() })
            }
            input => read_elsewhere(task, input).await,
        };
        let spread = loaded.and_then(|loaded| {
            Ok(Loaded { provider: objects::spread(loaded.provider)?, ..loaded })
        });
        spread.map_err(|flaw| failure(context, flaw))
    })
}

/// Reads data on a blocking thread, which stops soon after this future is dropped.
async fn read_elsewhere(task: Task, input: Input) -> Result<Loaded, Flaw> {
    let _give_up = GiveUp(Arc::clone(&task.allowance));
    let (sender, receiver) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let loaded = read(&task, &input).and_then(|made| {
            let notes = made.notes.clone();
            Ok(Loaded { provider: table::provide(&task, made)?, notes })
        });
        // The table alone holds the memory from now on.
        drop(task);
        // Dropped after the answer was sent: freeing large data takes time.
        let _ = sender.send(loaded);
        drop(input);
    });
    receiver.await.unwrap_or_else(|_| Err(Flaw::data("reading it failed unexpectedly")))
}

fn read(task: &Task, input: &Input) -> Result<Made, Flaw> {
    match input {
        Input::Json(value) => lines::load_value(task, value),
        Input::Text(text) => lines::load_text(task, text),
        Input::Marshal(parts) => python::load(task, parts),
        Input::File { file, format } => {
            let source = Source::new(file.try_clone()?)?;
            match format {
                FileFormat::Json => lines::load_file(task, &source),
                FileFormat::JsonLines => lines::load_lines(task, &source),
                FileFormat::Csv => csv::load(task, &source, None),
                FileFormat::Tsv => csv::load(task, &source, Some(b'\t')),
                FileFormat::Parquet => Err(Flaw::data("Parquet is read by the query engine")),
            }
        }
        Input::Batches { schema, batches } => {
            let (schema, rows) = (Arc::clone(schema), MadeRows::Memory(batches.clone()));
            Ok(Made { schema, rows, notes: Vec::new() })
        }
    }
}

fn failure(context: &SessionContext, flaw: Flaw) -> LoadError {
    match flaw {
        Flaw::Data(reason) => LoadError::Data(reason),
        Flaw::At(offset, reason) => LoadError::Data(format!("byte {offset}: {reason}")),
        Flaw::Mixed(names) | Flaw::Wide(names) => {
            LoadError::Data(format!("objects cannot be read: {}", names.join(", ")))
        }
        Flaw::GivenUp => LoadError::GivenUp,
        Flaw::Engine(error) => match error.find_root() {
            DataFusionError::ResourcesExhausted(_) => {
                match context.runtime_env().memory_pool.memory_limit() {
                    MemoryLimit::Finite(bytes) => LoadError::Memory(bytes),
                    MemoryLimit::Infinite | MemoryLimit::Unknown => LoadError::Engine(error),
                }
            }
            _ => LoadError::Engine(error),
        },
    }
}
