//! Values that the agents of a namespace share, changed by compare-and-set.

use narrows_model::EventAction;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    audit::{self, NewEntry},
    clock::now,
    database::{Database, Result, Row, args},
    limits,
    queries::shared as sql,
};

/// The shared values of all namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    pub(crate) database: &'a Database,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedValue {
    /// Rises with every change, and is never used twice.
    pub version: i64,
    pub author: String,
    pub at: i64,
    pub value: Value,
}

/// The condition of a change: what has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Anything,
    Absent,
    Version(i64),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum SetResult {
    Done {
        version: i64,
    },
    /// Nothing was changed: `current` is there instead of what was expected.
    Changed {
        current: Option<SharedValue>,
    },
}

impl Shared<'_> {
    pub async fn get(&self, namespace: &str, key: &str) -> Result<Option<SharedValue>> {
        let row = self.database.row(sql::GET, args![namespace, key]).await?;
        Ok(row.map(|row| entry(&row)).transpose()?.map(|(_, value)| value))
    }

    /// Sets a value, if there is what was expected.
    pub async fn set(
        &self,
        namespace: &str,
        key: &str,
        value: &Value,
        expected: Expected,
        author: &str,
    ) -> Result<SetResult> {
        check(namespace, key, author)?;
        let text = limits::json("shared value", value)?;
        let mut write = self.database.begin().await?;
        let version = write.number(sql::NEXT_VERSION, args![]).await?;
        let at = now();
        let rows = match expected {
            Expected::Anything => {
                write.run(sql::PUT, args![namespace, key, version, author, at, &text]).await?
            }
            Expected::Absent => {
                write.run(sql::PUT_NEW, args![namespace, key, version, author, at, &text]).await?
            }
            Expected::Version(old) => {
                let args = args![namespace, key, version, author, at, &text, old];
                write.run(sql::PUT_OVER, args).await?
            }
        };
        if rows == 0 {
            drop(write);
            return Ok(SetResult::Changed { current: self.get(namespace, key).await? });
        }
        let details = json!({ "version": version });
        let entry = NewEntry::done(author, namespace, EventAction::SharedSet, key, details);
        audit::append(&mut write, &[entry]).await?;
        write.commit().await?;
        Ok(SetResult::Done { version })
    }

    /// Removes a value, if there is what was expected. The version is that of the removal.
    pub async fn remove(
        &self,
        namespace: &str,
        key: &str,
        expected: Expected,
        author: &str,
    ) -> Result<SetResult> {
        check(namespace, key, author)?;
        let old = match expected {
            Expected::Anything => None,
            Expected::Version(old) => Some(old),
            Expected::Absent => {
                return Ok(SetResult::Changed { current: self.get(namespace, key).await? });
            }
        };
        let mut write = self.database.begin().await?;
        let version = write.number(sql::NEXT_VERSION, args![]).await?;
        if write.run(sql::REMOVE, args![namespace, key, old]).await? == 0 {
            drop(write);
            return Ok(SetResult::Changed { current: self.get(namespace, key).await? });
        }
        let details = json!({ "version": version });
        let entry = NewEntry::done(author, namespace, EventAction::SharedRemove, key, details);
        audit::append(&mut write, &[entry]).await?;
        write.commit().await?;
        Ok(SetResult::Done { version })
    }

    /// Returns the values whose keys begin with the prefix and come after a key, by key.
    pub async fn list(
        &self,
        namespace: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, SharedValue)>> {
        let (after, limit) = (after.unwrap_or_default(), limits::rows(limit));
        let rows = match &limits::after_prefix(prefix) {
            None => self.database.rows(sql::LIST, args![namespace, after, limit]).await?,
            Some(end) => {
                let args = args![namespace, after, limit, prefix, end];
                self.database.rows(sql::LIST_PREFIX, args).await?
            }
        };
        rows.iter().map(entry).collect()
    }
}

fn check(namespace: &str, key: &str, author: &str) -> Result<()> {
    limits::name("namespace", namespace)?;
    limits::name("key", key)?;
    limits::name("author", author)
}

fn entry(row: &Row) -> Result<(String, SharedValue)> {
    let mut columns = row.columns();
    let key = columns.get()?;
    let value = SharedValue {
        version: columns.get()?,
        author: columns.get()?,
        at: columns.get()?,
        value: columns.json("shared")?,
    };
    Ok((key, value))
}
