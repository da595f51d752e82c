//! Boards and shared values: messages and values that agents share.

use std::time::Duration;

use narrows_model::Access;
use narrows_store::{Board, Expected, Message, SetResult, SharedValue};
use serde_json::Value;
use tokio::{sync::Notify, time::Instant};

use super::{Agent, StateError};

/// How often a board is checked for messages from other gateways.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The longest wait for a message.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// The most messages that are read at once.
const MAX_MESSAGES: usize = 1_000;

/// Wakes callers that wait for a message, when one is posted through this gateway.
#[derive(Debug, Default)]
pub(super) struct BoardNotifier(Notify);

impl Agent {
    pub async fn post(
        &self,
        board: &str,
        body: &Value,
        namespace: Option<&str>,
    ) -> Result<Message, StateError> {
        let namespace = self.namespace(namespace, Access::Write)?;
        let posted = self.store().await?.boards().post(namespace, board, self.name(), body).await?;
        self.state.news.0.notify_waiters();
        Ok(posted)
    }

    /// Returns the messages after number `since`, oldest first.
    pub async fn read_board(
        &self,
        board: &str,
        since: i64,
        limit: usize,
        namespace: Option<&str>,
    ) -> Result<Vec<Message>, StateError> {
        let namespace = self.namespace(namespace, Access::Read)?;
        let limit = limit.clamp(1, MAX_MESSAGES);
        Ok(self.store().await?.boards().read(namespace, board, since, limit).await?)
    }

    /// Reads as [`Self::read_board`] does, but waits until there is a message or the time is over.
    /// Without `since`, only messages from now on count.
    pub async fn wait_board(
        &self,
        board: &str,
        since: Option<i64>,
        patience: Duration,
        namespace: Option<&str>,
    ) -> Result<Vec<Message>, StateError> {
        let deadline = Instant::now() + patience.min(MAX_WAIT);
        let namespace = self.namespace(namespace, Access::Read)?;
        let boards = self.store().await?.boards();
        let since = match since {
            Some(since) => since,
            None => boards.last(namespace, board).await?,
        };
        loop {
            // Registered before reading, so that a message posted in between wakes us.
            let woken = self.state.news.0.notified();
            let messages = boards.read(namespace, board, since, MAX_MESSAGES).await?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !messages.is_empty() || left.is_zero() {
                return Ok(messages);
            }
            let _ = tokio::time::timeout(left.min(LOOK_INTERVAL), woken).await;
        }
    }

    pub async fn boards(&self, namespace: Option<&str>) -> Result<Vec<Board>, StateError> {
        let namespace = self.namespace(namespace, Access::Read)?;
        Ok(self.store().await?.boards().list(namespace).await?)
    }

    pub async fn shared_value(
        &self,
        key: &str,
        namespace: Option<&str>,
    ) -> Result<Option<SharedValue>, StateError> {
        let namespace = self.namespace(namespace, Access::Read)?;
        Ok(self.store().await?.shared().get(namespace, key).await?)
    }

    /// Sets a value, or removes it if `value` is `None`, provided that it is still what the caller
    /// expects.
    pub async fn set_shared(
        &self,
        key: &str,
        value: Option<&Value>,
        expected: Expected,
        namespace: Option<&str>,
    ) -> Result<SetResult, StateError> {
        let namespace = self.namespace(namespace, Access::Write)?;
        let shared = self.store().await?.shared();
        Ok(match value {
            Some(value) => shared.set(namespace, key, value, expected, self.name()).await?,
            None => shared.remove(namespace, key, expected, self.name()).await?,
        })
    }

    pub async fn shared_keys(
        &self,
        prefix: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<String>, StateError> {
        let namespace = self.namespace(namespace, Access::Read)?;
        let found =
            self.store().await?.shared().list(namespace, prefix, None, MAX_MESSAGES).await?;
        Ok(found.into_iter().map(|(key, _)| key).collect())
    }
}

#[cfg(test)]
mod tests;
