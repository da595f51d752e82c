//! Parses and hands on what comes from a server, whatever the wire, within the memory for the messages
//! of all servers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use narrows_system::apart;
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult},
    transport::Transport,
};
use serde_json::json;

use crate::messages::{
    budget::{Budget, Held, MessageMemory, Reservation, memory},
    limits::{Excess, check_message},
    raw::RawTools,
};

/// Messages up to this size are parsed where they are read, because to hand them over takes as long.
pub(crate) const PARSED_AT_ONCE: usize = 64 << 10;

/// Runs work on a text of so many bytes, off the async threads if it takes long.
pub(crate) fn parsing<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= PARSED_AT_ONCE { work() } else { apart(work) }
}

/// The incoming side of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    pub(crate) raw: RawTools,
    pub(crate) budget: Budget,
    answers: Arc<Mutex<HashMap<RequestId, PendingAnswer>>>,
}

/// An answer that somebody waits for.
#[derive(Debug, Default)]
struct PendingAnswer {
    /// The memory that it holds in the budget.
    reservation: Option<Reservation>,
    /// The answer, if the protocol library was given another in its place.
    message: Option<ServerJsonRpcMessage>,
}

/// A registered interest in an answer. Without it nothing is kept of the answer.
#[derive(Debug)]
pub(crate) struct Awaited {
    inbox: Inbox,
    id: RequestId,
}

impl Inbox {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<RequestId, PendingAnswer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers that somebody waits for the answer to this request, until the result is dropped.
    pub(crate) fn expect(&self, id: RequestId) -> Awaited {
        self.answers().insert(id.clone(), PendingAnswer::default());
        Awaited { inbox: self.clone(), id }
    }

    /// Parses a message, as soon as there is memory for it.
    pub(crate) async fn parse(
        &self,
        text: &[u8],
        room: &mut MessageMemory,
    ) -> Result<serde_json::Result<ServerJsonRpcMessage>, Excess> {
        let values = parsing(text.len(), || check_message(text))?;
        room.reserve(memory(text.len(), values)).await?;
        let parsed = parsing(text.len(), || {
            let message = serde_json::from_slice(text);
            if message.is_ok() {
                self.raw.see(text);
            }
            message
        });
        if let Ok(message) = &parsed {
            self.hold(message, text.len(), room);
        }
        Ok(parsed)
    }

    /// Keeps the memory of an answer reserved for as long as somebody uses it, less that of its text,
    /// which is gone.
    pub(crate) fn hold(
        &self,
        message: &ServerJsonRpcMessage,
        text_bytes: usize,
        room: &mut MessageMemory,
    ) {
        let Some(id) = answered(message) else { return };
        if let Some(waiting) = self.answers().get_mut(id) {
            waiting.reservation = room.take();
            if let Some(reservation) = &mut waiting.reservation {
                reservation.shrink_by(text_bytes as u64);
            }
        }
    }

    /// Keeps a parsed answer, and returns the text of a short one to hand to rmcp in its place, which
    /// would parse the answer on the thread that all share. Returns `None` for answers that rmcp looks
    /// at itself, and must be given.
    pub(crate) fn put_by(&self, message: ServerJsonRpcMessage) -> Option<String> {
        let JsonRpcMessage::Response(response) = &message else { return None };
        if matches!(
            response.result,
            ServerResult::InitializeResult(_)
                | ServerResult::ListToolsResult(_)
                | ServerResult::DiscoverResult(_)
        ) {
            return None;
        }
        let id = response.id.clone();
        let instead = json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string();
        self.answers().get_mut(&id)?.message = Some(message);
        Some(instead)
    }

    /// Returns the kept answer that this one stands for, if there is one.
    fn take_back(&self, instead: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let whole = answered(&instead).and_then(|id| self.answers().get_mut(id)?.message.take());
        whole.unwrap_or(instead)
    }
}

fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

impl Awaited {
    /// Takes the memory that the answer holds in the budget.
    pub(crate) fn held(&self) -> Held {
        let mut answers = self.inbox.answers();
        let waiting = answers.get_mut(&self.id);
        Held { _reservation: waiting.and_then(|waiting| waiting.reservation.take()) }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let waiting = self.inbox.answers().remove(&self.id);
        drop(waiting);
    }
}

/// A transport for rmcp that puts kept answers back in the place of those that stand for them.
pub(crate) struct Unpacking<T> {
    inner: T,
    inbox: Inbox,
}

impl<T> Unpacking<T> {
    pub(crate) fn new(inner: T, inbox: Inbox) -> Self {
        Self { inner, inbox }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Unpacking<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.inner.receive().await?;
        Some(self.inbox.take_back(message))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests;
