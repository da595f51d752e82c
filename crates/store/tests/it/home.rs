//! An empty store for a test, in either database.

use std::{path::PathBuf, time::Duration};

use narrows_store::{Store, StoreUrl};
use narrows_testkit::Postgres;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};
use tempfile::TempDir;

/// How long a test waits for what has to happen. Whatever takes longer hangs: nothing takes nearly
/// as long on the busiest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A database of the test's own, and how to reach it.
pub(crate) struct Home {
    pub(crate) url: String,
    pub(crate) store: Store,
    directory: TempDir,
}

impl Home {
    pub(crate) async fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", directory.path().join("narrows.db").display());
        Self { store: open(&url).await, url, directory }
    }

    pub(crate) async fn postgres() -> Option<Self> {
        if Postgres::is_missing() {
            return None;
        }
        let url = tokio::task::spawn_blocking(|| Some(Postgres::shared()?.database()));
        let url = url.await.unwrap()?;
        let directory = tempfile::tempdir().unwrap();
        Some(Self { store: open(&url).await, url, directory })
    }

    /// Opens another store on the same database, as another process has it.
    pub(crate) async fn another(&self) -> Store {
        open(&self.url).await
    }

    /// Returns the file of a store in SQLite.
    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("narrows.db")
    }

    /// Removes all there is, as if the store had never been opened.
    pub(crate) async fn empty(&self) {
        if self.url.starts_with("sqlite:") {
            for entry in std::fs::read_dir(self.directory.path()).unwrap() {
                std::fs::remove_file(entry.unwrap().path()).unwrap();
            }
        } else {
            self.tamper("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await;
        }
    }

    /// Asks past the store. What asked is gone when the answer is there: the one that closes a
    /// file last removes the files beside it.
    pub(crate) async fn ask(&self, sql: &'static str) -> Vec<String> {
        if self.url.starts_with("sqlite:") {
            let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
            let answer = sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
            connection.close().await.unwrap();
            return answer;
        }
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let answer = sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        answer
    }

    /// Runs SQL past the store, as somebody does who tampers with it. Gives how many rows changed.
    pub(crate) async fn tamper(&self, sql: &str) -> u64 {
        tamper(&self.url, sql).await.unwrap()
    }
}

/// Waits for the answer to something that must not hang.
pub(crate) async fn in_time<T>(asked: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, asked).await.expect("it hangs")
}

pub(crate) async fn open(url: &str) -> Store {
    Store::open(&place(url)).await.unwrap()
}

pub(crate) fn place(url: &str) -> StoreUrl {
    url.parse().unwrap()
}

pub(crate) async fn tamper(url: &str, sql: &str) -> Result<u64, sqlx::Error> {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    if url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(&format!("{url}?mode=rwc")).await?;
        let done = sql.execute(&mut connection).await?.rows_affected();
        connection.close().await?;
        return Ok(done);
    }
    let mut connection = PgConnection::connect(url).await?;
    let done = sql.execute(&mut connection).await?.rows_affected();
    connection.close().await?;
    Ok(done)
}

/// A promise that is kept on both databases: two tests.
macro_rules! on_both {
    ($(async fn $name:ident($home:ident) $body:block)*) => {
        $(mod $name {
            #[allow(unused_imports, reason = "not every promise needs all of them")]
            use super::*;

            async fn promise($home: $crate::home::Home) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                promise($crate::home::Home::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                if let Some(home) = $crate::home::Home::postgres().await {
                    promise(home).await;
                }
            }
        })*
    };
}
pub(crate) use on_both;
