//! Answers to what a server asks, on their way to it.
//!
//! rmcp gives each answer to a task of its own. A server that asks without end and takes no answers
//! would have them wait in memory, and over HTTP with an open connection each.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many answers may wait for a server to take them. Further ones are left out.
const MAX_WAITING: usize = 1_000;
/// How many of them are sent at once over HTTP.
const MAX_CONNECTIONS: usize = 16;

/// The answers that wait for one server.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    waiting: Arc<AtomicUsize>,
    connections: Arc<Semaphore>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { waiting: Arc::default(), connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }
}

/// A message that is being sent.
#[derive(Debug)]
pub(crate) struct Sending {
    answers: Option<Outbox>,
}

impl Outbox {
    /// Makes room for a message until the result is dropped. Returns `None` for an answer if too many
    /// wait already. Our own requests are bounded elsewhere.
    pub(crate) fn enter(&self, message: &ClientJsonRpcMessage) -> Option<Sending> {
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        if !is_answer {
            return Some(Sending { answers: None });
        }
        let sending = Sending { answers: Some(self.clone()) };
        (self.waiting.fetch_add(1, Ordering::AcqRel) < MAX_WAITING).then_some(sending)
    }
}

impl Sending {
    /// Waits for a connection that an answer may be sent over, and returns it with its place.
    pub(crate) async fn connection(&self) -> Option<OwnedSemaphorePermit> {
        let answers = self.answers.as_ref()?;
        Arc::clone(&answers.connections).acquire_owned().await.ok()
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(answers) = &self.answers {
            answers.waiting.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::{
        ErrorData,
        model::{ClientRequest, PingRequest, RequestId},
    };

    use super::*;

    #[test]
    fn answers_that_a_server_does_not_take_do_not_pile_up() {
        let id = || RequestId::Number(1);
        let answer = ClientJsonRpcMessage::error(ErrorData::internal_error("no", None), Some(id()));
        let outbox = Outbox::default();
        let mut waiting: Vec<_> =
            (0..MAX_WAITING).map(|_| outbox.enter(&answer).unwrap()).collect();
        for _ in 0..3 {
            assert!(outbox.enter(&answer).is_none());
        }
        // Controls: what we ask is sent, and what was taken makes room.
        let request = ClientRequest::PingRequest(PingRequest::default());
        assert!(outbox.enter(&ClientJsonRpcMessage::request(request, id())).is_some());
        waiting.pop();
        assert!(outbox.enter(&answer).is_some());
    }
}
