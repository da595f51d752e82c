//! Opens the database of a place.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection, Executor, PgConnection,
    postgres::PgPoolOptions,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{
    PostgresPlace, StoreError, StoreUrl,
    database::{Answer, Database, Pools, Result},
    migrate,
};

/// How long a write waits for those of other processes, and a request for a free connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a server may take to let us in.
const DOOR: Duration = Duration::from_secs(10);

const SQLITE_READERS: u32 = 4;

/// The write-ahead log grows with the largest write, and is cut back to this afterwards.
const LOG_BYTES: &str = "16777216";

/// How much of the file a connection keeps in memory; negative, as SQLite wants it. It is enough for
/// the inner pages of the indexes over a million rows.
const CACHE_KIB: &str = "-8192";

/// How many rows wait for their reader. With fewer, two threads wake each other all the time.
const ROWS_AHEAD: usize = 1_000;

const POSTGRES_CONNECTIONS: u32 = 16;

/// A gateway that stands still in the middle of a write (stopped, or cut off from the network)
/// holds rows that all others need. The server ends such a transaction.
const POSTGRES_SETTINGS: &str = "SET lock_timeout = '30s';
     SET idle_in_transaction_session_timeout = '30s';
     SET default_transaction_isolation = 'read committed'";

pub(crate) fn open(place: &StoreUrl) -> Answer<'_, Database> {
    Box::pin(async move {
        let shared = Arc::new(place.clone());
        let pools = match place {
            StoreUrl::Sqlite(path) => sqlite(&shared, path).await?,
            StoreUrl::Postgres(postgres) => self::postgres(&shared, postgres).await?,
        };
        Ok(Database { place: shared, pools, vault_key: Mutex::default() })
    })
}

/// Checks whether the database of a place can be opened and written to. Nothing is made or changed.
pub(crate) fn look(place: &StoreUrl) -> Answer<'_, ()> {
    Box::pin(async move {
        let shared = Arc::new(place.clone());
        let failed = |error| StoreError::new(&shared, error);
        match place {
            StoreUrl::Sqlite(path) => {
                let mut connection =
                    sqlite_options(&shared, path)?.connect().await.map_err(failed)?;
                migrate::is_sqlite_done(&shared, &mut connection).await?;
                // The right to write, which is given back.
                let write = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
                write.rollback().await.map_err(failed)?;
                connection.close().await.map_err(failed)
            }
            StoreUrl::Postgres(postgres) => {
                let mut connection = enter(&shared, postgres).await?;
                migrate::is_postgres_done(&shared, &mut connection).await?;
                connection.close().await.map_err(failed)
            }
        }
    })
}

async fn sqlite(place: &Arc<StoreUrl>, path: &Path) -> Result<Pools> {
    let path = make_private(path)
        .map_err(|source| StoreError::Make { place: Arc::clone(place), source })?;
    let options = sqlite_options(place, &path)?;
    prepare_sqlite(place, &options.clone().journal_mode(SqliteJournalMode::Wal)).await?;
    let pool = || SqlitePoolOptions::new().acquire_timeout(PATIENCE).test_before_acquire(false);
    let writer = pool()
        .max_connections(1)
        // SQLite itself undoes a transaction when the disk is full; the connection then believes for
        // ever that it is in one.
        .before_acquire(|connection, _| {
            let is_usable = !connection.is_in_transaction();
            Box::pin(async move { Ok(is_usable) })
        })
        .connect_lazy_with(options.clone());
    let readers = pool().max_connections(SQLITE_READERS).connect_lazy_with(options);
    Ok(Pools::Sqlite { writer, readers })
}

fn sqlite_options(place: &Arc<StoreUrl>, path: &Path) -> Result<SqliteConnectOptions> {
    if path.is_dir() {
        return Err(StoreError::Directory { place: Arc::clone(place) });
    }
    Ok(SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(PATIENCE)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Normal)
        .pragma("journal_size_limit", LOG_BYTES)
        .pragma("cache_size", CACHE_KIB)
        // What was forgotten is overwritten; see `wipe`. It costs nothing that can be measured.
        .pragma("secure_delete", "ON")
        .row_buffer_size(ROWS_AHEAD)
        .disable_statement_logging())
}

/// Turns on the write-ahead log and migrates. Where several processes do so at the same moment,
/// SQLite refuses some of them at once instead of letting them wait.
async fn prepare_sqlite(place: &Arc<StoreUrl>, options: &SqliteConnectOptions) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let tried = async {
            let mut connection =
                options.connect().await.map_err(|error| StoreError::new(place, error))?;
            migrate::sqlite(place, &mut connection).await?;
            connection.close().await.map_err(|error| StoreError::new(place, error))
        };
        match tried.await {
            Err(StoreError::Busy { .. }) if Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            done => return done,
        }
    }
}

/// Makes the file if it is missing, for its owner only: it holds what agents wrote.
fn make_private(path: &Path) -> std::io::Result<std::path::PathBuf> {
    let path = std::path::absolute(path)?;
    let (mut directory, mut file) = (fs::DirBuilder::new(), fs::OpenOptions::new());
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        directory.mode(0o700);
        file.mode(0o600);
    }
    if let Some(parent) = path.parent() {
        directory.recursive(true).create(parent)?;
    }
    match file.write(true).create_new(true).open(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(path),
    }
}

/// Connects to a server. Not by the pool, which would try again and again and then not say what was
/// wrong.
async fn enter(place: &Arc<StoreUrl>, postgres: &PostgresPlace) -> Result<PgConnection> {
    let options = postgres.options().clone().disable_statement_logging();
    let connecting = tokio::time::timeout(DOOR, options.connect()).await;
    let connecting = connecting.unwrap_or_else(|late| Err(sqlx::Error::Io(late.into())));
    connecting.map_err(|error| StoreError::new(place, error))
}

async fn postgres(place: &Arc<StoreUrl>, postgres: &PostgresPlace) -> Result<Pools> {
    let mut connection = enter(place, postgres).await?;
    migrate::postgres(place, &mut connection).await?;
    connection.close().await.map_err(|error| StoreError::new(place, error))?;
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(DOOR)
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(POSTGRES_SETTINGS).await.map(drop) })
        })
        .connect_lazy_with(postgres.options().clone().disable_statement_logging());
    Ok(Pools::Postgres(pool))
}
