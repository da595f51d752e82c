//! Whoever made a call: what a server says or asks while it works on the call goes to them.

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
    /// Which client it is. Servers of the older protocol do not say for whose call they ask
    /// something, and a question must not reach another client.
    fn client(&self) -> u64 {
        0
    }

    /// What the client can do for a server. Servers of the newer protocol are told with each
    /// request.
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    /// The session that a person's yes can be for, if the client has one that lasts longer than this
    /// work.
    fn session(&self) -> Option<&str> {
        None
    }

    /// Whether it is a program that calls, which may make other calls of the same tool.
    fn is_program(&self) -> bool {
        false
    }

    /// Whether the client has left. Then no new calls are made for it.
    fn is_gone(&self) -> bool {
        false
    }

    /// How far a call has come.
    fn progress(&self, _server: &str, _progress: Progress) {}

    /// A server's own log message.
    fn log(&self, _server: &str, _message: LoggingMessageNotificationParam) {}

    /// A server asks the person.
    fn elicit(
        &self,
        server: &str,
        _question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        refuse(server, "asks the user for input (elicitation)")
    }

    /// A server asks the model.
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

/// How far a call has come, as its server tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// As a person reads it: `3 of 10: copying`.
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

/// A caller that nobody stands behind: the command line, a benchmark.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCaller;

impl Caller for NoCaller {}
