//! Message boards: agents of a namespace leave messages for each other.

use narrows_model::EventAction;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    audit::{self, NewEntry},
    clock::now,
    database::{Database, Result, Row, args},
    limits::{self, BOARD_KEEPS},
    queries::boards as sql,
};

/// A board is trimmed after so many messages; until then it keeps a few more.
const TRIM_EVERY: i64 = 100;

/// The boards of all namespaces. A board exists from its first message on.
#[derive(Clone, Copy, Debug)]
pub struct Boards<'a> {
    pub(crate) database: &'a Database,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Counts from 1 at each board. A message is visible before the next one gets its number.
    pub seq: i64,
    pub at: i64,
    pub author: String,
    pub body: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Board {
    pub name: String,
    /// The number of its last message, and when it was posted.
    pub last: i64,
    pub at: i64,
}

impl Boards<'_> {
    pub async fn post(
        &self,
        namespace: &str,
        board: &str,
        author: &str,
        body: &Value,
    ) -> Result<Message> {
        limits::name("namespace", namespace)?;
        limits::name("name of the board", board)?;
        limits::name("author", author)?;
        let text = limits::json("message", body)?;
        let mut write = self.database.begin().await?;
        let at = now();
        let seq = write.number(sql::NEXT, args![namespace, board, at]).await?;
        write.run(sql::POST, args![namespace, board, seq, at, author, &text]).await?;
        if seq % TRIM_EVERY == 0 {
            write.run(sql::TRIM, args![namespace, board, seq - BOARD_KEEPS]).await?;
        }
        let entry =
            NewEntry::done(author, namespace, EventAction::BoardPost, board, json!({ "seq": seq }));
        audit::append(&mut write, &[entry]).await?;
        write.commit().await?;
        Ok(Message { seq, at, author: author.to_owned(), body: body.clone() })
    }

    /// Returns the messages after a number, oldest first. Only the newest [`BOARD_KEEPS`] of a board
    /// are kept.
    pub async fn read(
        &self,
        namespace: &str,
        board: &str,
        since: i64,
        limit: usize,
    ) -> Result<Vec<Message>> {
        let args = args![namespace, board, since, limits::rows(limit)];
        let message = |row: &Row| {
            let mut columns = row.columns();
            Ok(Message {
                seq: columns.get()?,
                at: columns.get()?,
                author: columns.get()?,
                body: columns.json("messages")?,
            })
        };
        self.database.rows(sql::READ, args).await?.iter().map(message).collect()
    }

    /// Returns the number of the last message, 0 if there is none. It costs little to ask.
    pub async fn last(&self, namespace: &str, board: &str) -> Result<i64> {
        let row = self.database.row(sql::LAST, args![namespace, board]).await?;
        row.map_or(Ok(0), |row| row.columns().get())
    }

    pub async fn list(&self, namespace: &str) -> Result<Vec<Board>> {
        let board = |row: &Row| {
            let mut columns = row.columns();
            Ok(Board { name: columns.get()?, last: columns.get()?, at: columns.get()? })
        };
        self.database.rows(sql::LIST, args![namespace]).await?.iter().map(board).collect()
    }
}
