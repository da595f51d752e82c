//! The two databases behind one face: the rest of the crate does not know which one it uses.
//!
//! Every statement goes through [`query!`], which binds the same arguments for either of them. Methods
//! return boxed futures: the code of an `async fn` is compiled by whoever awaits it, and that of both
//! databases takes minutes.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex},
};

use sqlx::{
    Decode, Executor, PgPool, Postgres, Row as _, SqlSafeStr, Sqlite, SqlitePool, Transaction, Type,
};

use crate::{StoreError, StoreUrl, queries::Sql};

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// The future of an answer of the database.
pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// An open database.
pub(crate) struct Database {
    pub(crate) place: Arc<StoreUrl>,
    pub(crate) pools: Pools,
    /// The proof of the key that we seal values of the vault with.
    pub(crate) vault_key: Mutex<Option<String>>,
}

pub(crate) enum Pools {
    /// SQLite has one writer at a time. Ours wait for the one connection in order, instead of
    /// trying again and again; only other processes have to.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
    },
    Postgres(PgPool),
}

/// A write transaction. It is rolled back unless it is committed.
pub(crate) struct Write {
    place: Arc<StoreUrl>,
    transaction: Open,
    /// How many statements were handed over.
    #[cfg(test)]
    pub(crate) statements: usize,
}

enum Open {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// A value for a placeholder of a query.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    Int(Option<i64>),
    Text(Option<&'a str>),
    Bytes(Option<&'a [u8]>),
}

/// The arguments of a query, in order.
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::database::Arg::from($value)),*] };
}
pub(crate) use args;

macro_rules! query {
    ($sql:expr, $args:expr) => {
        $args.iter().fold(sqlx::query($sql.text()), |query, arg| match *arg {
            Arg::Int(value) => query.bind(value),
            Arg::Text(value) => query.bind(value),
            Arg::Bytes(value) => query.bind(value),
        })
    };
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.place, f)
    }
}

impl Database {
    /// Begins a write. In SQLite it is the only one from here on: a transaction that reads first
    /// and writes then could fail in between.
    pub(crate) fn begin(&self) -> Answer<'_, Write> {
        Box::pin(async move {
            let place = Arc::clone(&self.place);
            let transaction = match &self.pools {
                Pools::Sqlite { writer, .. } => {
                    writer.begin_with("BEGIN IMMEDIATE").await.map(Open::Sqlite)
                }
                Pools::Postgres(pool) => pool.begin().await.map(Open::Postgres),
            };
            let transaction = transaction.map_err(|error| StoreError::new(&place, error))?;
            Ok(Write {
                place,
                transaction,
                #[cfg(test)]
                statements: 0,
            })
        })
    }

    pub(crate) fn rows<'a>(&'a self, sql: Sql, args: &'a [Arg<'a>]) -> Answer<'a, Vec<Row>> {
        Box::pin(async move {
            let found = match &self.pools {
                Pools::Sqlite { readers, .. } => query!(sql, args)
                    .fetch_all(readers)
                    .await
                    .map(|rows| self.each(rows, Kind::Sqlite)),
                Pools::Postgres(pool) => query!(sql, args)
                    .fetch_all(pool)
                    .await
                    .map(|rows| self.each(rows, Kind::Postgres)),
            };
            found.map_err(|error| StoreError::new(&self.place, error))
        })
    }

    pub(crate) async fn row(&self, sql: Sql, args: &[Arg<'_>]) -> Result<Option<Row>> {
        Ok(self.rows(sql, args).await?.pop())
    }

    /// Returns the one number of a query that always has one.
    pub(crate) async fn number(&self, sql: Sql, args: &[Arg<'_>]) -> Result<i64> {
        self.one(sql, args).await?.columns().get()
    }

    /// Returns the row of a query that always has one.
    pub(crate) async fn one(&self, sql: Sql, args: &[Arg<'_>]) -> Result<Row> {
        self.row(sql, args).await?.ok_or_else(|| no_row(&self.place))
    }

    fn each<T>(&self, rows: Vec<T>, kind: fn(T) -> Kind) -> Vec<Row> {
        let place = &self.place;
        rows.into_iter().map(|row| Row { place: Arc::clone(place), kind: kind(row) }).collect()
    }

    /// Prepares a query, without running it.
    pub(crate) fn prepare(&self, sql: Sql) -> Answer<'_, ()> {
        Box::pin(async move {
            let prepared = match &self.pools {
                Pools::Sqlite { readers, .. } => {
                    readers.prepare(sql.text().into_sql_str()).await.map(drop)
                }
                Pools::Postgres(pool) => pool.prepare(sql.text().into_sql_str()).await.map(drop),
            };
            prepared.map_err(|error| StoreError::new(&self.place, error))
        })
    }

    pub(crate) fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            match &self.pools {
                Pools::Sqlite { writer, readers } => {
                    readers.close().await;
                    writer.close().await;
                }
                Pools::Postgres(pool) => pool.close().await,
            }
        })
    }
}

impl Write {
    /// Counts a statement.
    fn hand_over(&mut self) {
        #[cfg(test)]
        {
            self.statements += 1;
        }
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) fn run<'a>(&'a mut self, sql: Sql, args: &'a [Arg<'a>]) -> Answer<'a, u64> {
        self.hand_over();
        Box::pin(async move {
            let done = match &mut self.transaction {
                Open::Sqlite(on) => {
                    query!(sql, args).execute(&mut **on).await.map(|r| r.rows_affected())
                }
                Open::Postgres(on) => {
                    query!(sql, args).execute(&mut **on).await.map(|r| r.rows_affected())
                }
            };
            done.map_err(|error| StoreError::new(&self.place, error))
        })
    }

    /// Runs a statement that gives a row, or none.
    pub(crate) fn row<'a>(&'a mut self, sql: Sql, args: &'a [Arg<'a>]) -> Answer<'a, Option<Row>> {
        self.hand_over();
        Box::pin(async move {
            let found = match &mut self.transaction {
                Open::Sqlite(on) => query!(sql, args)
                    .fetch_optional(&mut **on)
                    .await
                    .map(|row| row.map(Kind::Sqlite)),
                Open::Postgres(on) => query!(sql, args)
                    .fetch_optional(&mut **on)
                    .await
                    .map(|row| row.map(Kind::Postgres)),
            };
            let found = found.map_err(|error| StoreError::new(&self.place, error))?;
            Ok(found.map(|kind| Row { place: Arc::clone(&self.place), kind }))
        })
    }

    /// Runs a statement that always gives a row with one number.
    pub(crate) async fn number(&mut self, sql: Sql, args: &[Arg<'_>]) -> Result<i64> {
        self.one(sql, args).await?.columns().get()
    }

    /// Runs a statement that always gives a row.
    pub(crate) async fn one(&mut self, sql: Sql, args: &[Arg<'_>]) -> Result<Row> {
        self.row(sql, args).await?.ok_or_else(|| no_row(&self.place))
    }

    pub(crate) fn commit(self) -> Answer<'static, ()> {
        Box::pin(async move {
            let done = match self.transaction {
                Open::Sqlite(transaction) => transaction.commit().await,
                Open::Postgres(transaction) => transaction.commit().await,
            };
            done.map_err(|error| StoreError::new(&self.place, error))
        })
    }
}

fn no_row(place: &Arc<StoreUrl>) -> StoreError {
    StoreError::new(place, sqlx::Error::RowNotFound)
}

/// A row of either database.
pub(crate) struct Row {
    place: Arc<StoreUrl>,
    kind: Kind,
}

enum Kind {
    Sqlite(sqlx::sqlite::SqliteRow),
    Postgres(sqlx::postgres::PgRow),
}

impl Row {
    /// Returns its columns, from left to right.
    pub(crate) fn columns(&self) -> Columns<'_> {
        Columns { row: self, next: 0 }
    }
}

/// A reader of a row, in the order in which its query names the columns.
pub(crate) struct Columns<'r> {
    row: &'r Row,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn get<T>(&mut self) -> Result<T>
    where
        T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
    {
        let index = self.next;
        self.next += 1;
        let value = match &self.row.kind {
            Kind::Sqlite(row) => row.try_get(index),
            Kind::Postgres(row) => row.try_get(index),
        };
        value.map_err(|error| StoreError::new(&self.row.place, error))
    }

    /// Reads the next column, which is kept as JSON. Errors name the table.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(
        &mut self,
        table: &'static str,
    ) -> Result<T> {
        let text: &str = self.get()?;
        let place = &self.row.place;
        serde_json::from_str(text).map_err(|source| StoreError::Row {
            place: Arc::clone(place),
            table,
            source,
        })
    }
}

impl From<i64> for Arg<'_> {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Arg<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<&'a String> for Arg<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(Some(value))
    }
}

impl<'a> From<Option<&'a str>> for Arg<'a> {
    fn from(value: Option<&'a str>) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Arg<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(Some(value))
    }
}

impl<'a> From<Option<&'a [u8]>> for Arg<'a> {
    fn from(value: Option<&'a [u8]>) -> Self {
        Self::Bytes(value)
    }
}
