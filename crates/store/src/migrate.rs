//! Brings a database to the version of this program, in one transaction.
//!
//! sqlx has migrations too, but in SQLite two processes that make a new database at the same
//! moment get into each other's way. Here the one that comes second waits, and finds it made.

use std::sync::Arc;

use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

use crate::{StoreError, StoreUrl, database::Result, queries::schema};

/// The steps, oldest first. A step that was released is never changed; what is new is a new step,
/// and a new fixture in `tests/fixtures`.
const SQLITE: &[&str] = &[
    include_str!("../migrations/sqlite/0001_first.sql"),
    include_str!("../migrations/sqlite/0002_places.sql"),
    include_str!("../migrations/sqlite/0003_protection.sql"),
    include_str!("../migrations/sqlite/0004_fewer_indexes.sql"),
    include_str!("../migrations/sqlite/0005_approval_scopes.sql"),
];
const POSTGRES: &[&str] = &[
    include_str!("../migrations/postgres/0001_first.sql"),
    include_str!("../migrations/postgres/0002_places.sql"),
    include_str!("../migrations/postgres/0003_protection.sql"),
    include_str!("../migrations/postgres/0004_fewer_indexes.sql"),
    include_str!("../migrations/postgres/0005_approval_scopes.sql"),
];

const _: () = assert!(SQLITE.len() == POSTGRES.len());

/// The version of a database that this program makes.
pub const SCHEMA_VERSION: i64 = SQLITE.len() as i64;

const MAKE_SCHEMA: &str = "CREATE TABLE IF NOT EXISTS narrows_schema (version BIGINT NOT NULL)";

/// Any number, as long as it is always the same: who has this lock of the database may migrate.
const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(7810771519)";

macro_rules! migrate {
    ($name:ident, $is_done:ident, $connection:ty, $steps:expr, $begin:expr, $lock:expr) => {
        /// Tells whether there is nothing to do. A database of a newer version is refused.
        pub(crate) async fn $is_done(
            place: &Arc<StoreUrl>,
            connection: &mut $connection,
        ) -> Result<bool> {
            let seen = sqlx::query_scalar(schema::VERSION.text()).fetch_optional(connection);
            match seen.await {
                Ok(Some(version)) => Ok(steps_after(place, version, $steps)?.is_empty()),
                _ => Ok(false),
            }
        }

        pub(crate) async fn $name(
            place: &Arc<StoreUrl>,
            connection: &mut $connection,
        ) -> Result<()> {
            // Most often so; then nobody waits, and the right to write is not needed.
            if $is_done(place, connection).await? {
                return Ok(());
            }
            let failed = |error| StoreError::new(place, error);
            let mut write = connection.begin_with($begin).await.map_err(failed)?;
            for statement in $lock {
                write.execute(*statement).await.map_err(failed)?;
            }
            let version = sqlx::query_scalar(schema::VERSION.text())
                .fetch_optional(&mut *write)
                .await
                .map_err(failed)?;
            for step in steps_after(place, version.unwrap_or(0), $steps)? {
                sqlx::raw_sql(*step).execute(&mut *write).await.map_err(failed)?;
            }
            write.execute(schema::FORGET_VERSION.text()).await.map_err(failed)?;
            sqlx::query(schema::NOTE_VERSION.text())
                .bind(SCHEMA_VERSION)
                .execute(&mut *write)
                .await
                .map_err(failed)?;
            write.commit().await.map_err(failed)
        }
    };
}

migrate!(sqlite, is_sqlite_done, SqliteConnection, SQLITE, "BEGIN IMMEDIATE", &[MAKE_SCHEMA]);
migrate!(
    postgres,
    is_postgres_done,
    PgConnection,
    POSTGRES,
    "BEGIN",
    &[POSTGRES_LOCK, MAKE_SCHEMA]
);

/// Returns the steps that are left for a database of this version.
fn steps_after<'a>(
    place: &Arc<StoreUrl>,
    version: i64,
    steps: &'a [&str],
) -> Result<&'a [&'a str]> {
    usize::try_from(version).ok().and_then(|done| steps.get(done..)).ok_or_else(|| {
        StoreError::Newer { place: Arc::clone(place), found: version, known: SCHEMA_VERSION }
    })
}
