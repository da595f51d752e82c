//! Registers a Parquet file as a table of the query engine.

use std::{
    fs::File,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use datafusion::{
    catalog::TableProvider,
    config::TableParquetOptions,
    datasource::{
        file_format::parquet::ParquetFormat,
        listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl},
    },
    error::DataFusionError,
    execution::{object_store::ObjectStoreUrl, runtime_env::RuntimeEnv},
    prelude::SessionContext,
};
use futures::FutureExt;
use object_store::path::Path;

use super::{footer, store::FileStore};
use crate::{
    flaw::{Flaw, Result},
    ingest::{blocks::Source, table::Held, task::Task},
};

/// The number of the next file. Each file has a path of its own, which is never used again, because the
/// engine caches what it knows of files by their path.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub(in crate::ingest) async fn load(
    context: &SessionContext,
    task: &Task,
    file: File,
) -> Result<Arc<dyn TableProvider>> {
    let source = Source::new(file)?;
    let allowance = task.allowance.beside();
    // The reader may panic on files that nobody would write.
    let check = || footer::check(&source, |bytes| allowance.take(bytes));
    let known = panic::catch_unwind(AssertUnwindSafe(check));
    let known = known.map_err(|_| unreadable("its footer cannot be read"))??;
    drop(allowance);

    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = format!("{number}.parquet");
    let url = ListingTableUrl::parse(format!("table://{number}/{path}"))?;
    let store = Arc::new(FileStore { source, path: Path::from(path) });
    let place = Place { runtime: context.runtime_env(), url: url.object_store() };
    place.runtime.register_object_store(place.url.as_ref(), store);

    let options = ListingOptions::new(Arc::new(format(context))).with_file_extension(".parquet");
    let state = context.state();
    let schema = AssertUnwindSafe(options.infer_schema(&state, &url)).catch_unwind().await;
    let schema =
        schema.map_err(|_| unreadable("its schema cannot be read"))?.map_err(read_error)?;
    let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
    let table = ListingTable::try_new(config)?;
    Ok(match known.is_ascending {
        true => Held::divided(table, known.rows, place),
        false => Held::whole(table, known.rows, place),
    })
}

/// Returns the format for reading. The page index is off, because its sizes would have to be trusted;
/// filters are not evaluated while rows are decoded, because skipping rows one by one costs more than
/// reading them.
fn format(context: &SessionContext) -> ParquetFormat {
    let mut options: TableParquetOptions = context.state().default_table_options().parquet;
    options.global.enable_page_index = false;
    ParquetFormat::default().with_options(options)
}

fn unreadable(reason: &str) -> Flaw {
    Flaw::Data(format!("the Parquet file is damaged: {reason}"))
}

fn read_error(error: DataFusionError) -> Flaw {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => error.into(),
        _ => unreadable(&error.strip_backtrace()),
    }
}

/// The registration of the file with the engine, removed when dropped.
#[derive(Debug)]
struct Place {
    runtime: Arc<RuntimeEnv>,
    url: ObjectStoreUrl,
}

impl Drop for Place {
    fn drop(&mut self) {
        // It was registered, so it is there.
        let _ = self.runtime.deregister_object_store(self.url.as_ref());
    }
}
