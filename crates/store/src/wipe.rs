//! Leaves nothing of removed values of the vault in the files of the database.
//!
//! SQLite overwrites what is deleted (`secure_delete`), but not the copies that stay in the gaps
//! of a page when rows move to another one. So the table is emptied, which overwrites all of its
//! pages, and filled again; then the write-ahead log is brought into the file and cut. PostgreSQL
//! writes the table into a new file and removes the old one; what its own log, its replicas and
//! its backups still hold is up to the server.

use std::{sync::Arc, time::Duration};

use sqlx::{ConnectOptions, Connection, SqlitePool, sqlite::SqliteConnectOptions};

use crate::{
    StoreError,
    database::{Answer, Database, Pools},
};

const REWRITE: &str = "CREATE TEMP TABLE vault_rest AS SELECT * FROM vault ORDER BY rowid;
     DELETE FROM vault;
     INSERT INTO vault SELECT * FROM vault_rest;
     DROP TABLE vault_rest";

/// Brings the log into the file and cuts it. The answer says whether somebody was in the way.
const CUT_LOG: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// How long the end of all reads is waited for, while nobody can write. Ours are short.
const HURRY: Duration = Duration::from_secs(3);

const REWRITE_FILE: &str = "VACUUM FULL vault";

pub(crate) fn vault(database: &Database) -> Answer<'_, ()> {
    Box::pin(async move {
        let wiped = match &database.pools {
            Pools::Sqlite { writer, .. } => sqlite(writer).await,
            Pools::Postgres(pool) => sqlx::raw_sql(REWRITE_FILE).execute(pool).await.map(|_| true),
        };
        let place = || Arc::clone(&database.place);
        match wiped {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::NotWiped { place: place(), source: None }),
            Err(error) => Err(StoreError::NotWiped { place: place(), source: Some(error) }),
        }
    })
}

/// Rewrites the vault and cuts the log. Returns false if readers were in the way for too long.
async fn sqlite(writer: &SqlitePool) -> Result<bool, sqlx::Error> {
    // While this connection is taken, none of our own writes comes in between.
    let mut connection = writer.acquire().await?;
    let mut write = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql(REWRITE).execute(&mut *write).await?;
    write.commit().await?;
    let options = SqliteConnectOptions::clone(&writer.connect_options()).busy_timeout(HURRY);
    let mut hurried = options.connect().await?;
    let busy: i64 = sqlx::query_scalar(CUT_LOG).fetch_one(&mut hurried).await?;
    hurried.close().await?;
    Ok(busy == 0)
}
