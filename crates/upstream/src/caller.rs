//! The caller of an upstream server, who receives what the server says or asks while it works on a
//! call.

use std::fmt;

use futures::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::{
        ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
        ElicitResult, LoggingMessageNotificationParam,
    },
};

/// The client on whose behalf an upstream server works.
pub trait Caller: Send + Sync {
    /// Returns a number that identifies the client. Servers of the older protocol do not say which call
    /// a question belongs to, and it must not reach another client.
    fn client(&self) -> u64 {
        0
    }

    /// Returns what the client can do for a server. Servers of the newer protocol are told with each
    /// request.
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    /// Returns the session that a person's approval can cover, if the client has one that outlasts this
    /// work.
    fn session(&self) -> Option<&str> {
        None
    }

    /// Tells whether a program makes the call, which may make other calls of the same tool.
    fn is_program(&self) -> bool {
        false
    }

    /// Tells whether the client has left. Then no new calls are made for it.
    fn is_gone(&self) -> bool {
        false
    }

    /// Receives the progress of a call.
    fn progress(&self, _server: &str, _progress: Progress) {}

    /// Receives a log message of a server.
    fn log(&self, _server: &str, _message: LoggingMessageNotificationParam) {}

    /// Asks the person on behalf of a server (elicitation).
    fn elicit(
        &self,
        server: &str,
        _question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        refuse(server, "asks the user for input (elicitation)")
    }

    /// Asks the model on behalf of a server (sampling).
    fn sample(
        &self,
        server: &str,
        _request: CreateMessageRequestParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, ErrorData>> {
        refuse(server, "asks the model for a completion (sampling)")
    }
}

fn refuse<'a, T: Send + 'a>(server: &str, what: &str) -> BoxFuture<'a, Result<T, ErrorData>> {
    let message = format!("the server {server:?} {what}, and the client does not support it");
    Box::pin(std::future::ready(Err(ErrorData::invalid_request(message, None))))
}

/// The progress of a call, as its server reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// Formats the progress for a person: `3 of 10: copying`.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.done)?;
        if let Some(total) = self.total {
            write!(f, " of {total}")?;
        }
        match &self.message {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

/// A caller without a client: the command line, a benchmark.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCaller;

impl Caller for NoCaller {}
