//! Why an upstream server did not do what was asked.

use std::time::Duration;

use rmcp::{
    ErrorData,
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::{InsufficientScopeError, StreamableHttpError},
};
use thiserror::Error;

use crate::{catalog::DisabledServer, logs::server_history::ServerHistory};

/// A failure of one upstream server. Says which, why, and what to do.
#[derive(Clone, Debug, Error)]
pub enum UpstreamError {
    #[error("there is no server {name:?}{hint}")]
    Unknown { name: String, hint: String },
    #[error(transparent)]
    Disabled(#[from] DisabledServer),
    #[error("the server {server:?} is not available: {reason}")]
    Unavailable { server: String, reason: String },
    #[error(
        "the server {server:?} needs a login; ask the user to run `narrows servers login {server}`"
    )]
    LoginNeeded { server: String },
    #[error(
        "the login of the server {server:?} does not have the scope {scope:?}; ask the user to run \
         `narrows servers login {server} --scope {scope}`"
    )]
    ScopeNeeded { server: String, scope: String },
    #[error("the connection to the server {server:?} ended during the call: {reason}")]
    Lost { server: String, reason: String },
    #[error("the server {server:?} did not take the request: {reason}")]
    NotSent { server: String, reason: String },
    #[error(
        "the server {server:?} did not answer within {} s; it was told to stop (set call_timeout for longer calls)",
        .after.as_secs_f64()
    )]
    Timeout { server: String, after: Duration },
    #[error("the server {server:?} refused: {}", .error.message)]
    Refused { server: String, error: Box<ErrorData> },
    #[error("the server {server:?} answered with something that is not an answer to {method}")]
    Unexpected { server: String, method: String },
}

impl UpstreamError {
    /// Returns the server whose own words are part of the message, if there are any.
    pub fn quotes(&self) -> Option<&str> {
        match self {
            Self::Unavailable { server, .. }
            | Self::ScopeNeeded { server, .. }
            | Self::Lost { server, .. }
            | Self::NotSent { server, .. }
            | Self::Refused { server, .. } => Some(server),
            Self::Unknown { .. }
            | Self::Disabled(_)
            | Self::LoginNeeded { .. }
            | Self::Timeout { .. }
            | Self::Unexpected { .. } => None,
        }
    }

    /// Explains an error of the protocol layer. The history hides secrets: an error of HTTP contains
    /// the whole address.
    pub(crate) fn from_service(
        server: &str,
        method: &str,
        error: ServiceError,
        history: &ServerHistory,
    ) -> Self {
        let server = server.to_owned();
        match error {
            ServiceError::McpError(error) => Self::Refused { server, error: Box::new(error) },
            ServiceError::TransportClosed => Self::Lost { server, reason: "it closed".into() },
            ServiceError::TransportSend(error) if asks_for_login(&error) => {
                Self::LoginNeeded { server }
            }
            ServiceError::TransportSend(error) => match needed_scope(&error) {
                Some(scope) => Self::ScopeNeeded { server, scope },
                None => {
                    Self::NotSent { server, reason: history.clean(&chain(error.error.as_ref())) }
                }
            },
            ServiceError::UnexpectedResponse => {
                Self::Unexpected { server, method: method.to_owned() }
            }
            other => Self::Lost { server, reason: history.clean(&other.to_string()) },
        }
    }
}

/// Tells whether a login is asked for anywhere in the causes.
pub(crate) fn asks_for_login(error: &(dyn std::error::Error + 'static)) -> bool {
    use rmcp::transport::{AuthError, streamable_http_client::AuthRequiredError};
    causes(error).any(|cause| {
        cause.is::<AuthRequiredError>()
            || matches!(cause.downcast_ref(), Some(AuthError::AuthorizationRequired))
    })
}

/// Returns the scope that a login lacks, if that is a cause.
pub(crate) fn needed_scope(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    causes(error)
        .find_map(|cause| cause.downcast_ref::<InsufficientScopeError>()?.required_scope.clone())
}

/// Tells whether a server refused the newer HTTP transport like one that does not know it.
pub(crate) fn is_older_transport(error: &ClientInitializeError) -> bool {
    // rmcp has the status in its message only, and the message in no type of its own.
    let reason = chain(root(error));
    ["HTTP 400", "HTTP 404", "HTTP 405", "Unexpected content type"]
        .iter()
        .any(|sign| reason.contains(sign))
}

/// Returns the error of the transport inside rmcp's error of the handshake.
pub(crate) fn root(error: &ClientInitializeError) -> &(dyn std::error::Error + 'static) {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => root(fallback),
        ClientInitializeError::TransportError { error, .. } => error.error.as_ref(),
        error => error,
    }
}

/// Formats an error with its causes in one line, each once.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(text) = no_connection(error) {
        return text;
    }
    let mut text = String::new();
    for cause in causes(error) {
        let cause = match needed_scope(cause) {
            Some(scope) => format!("the login does not have the scope {scope:?}"),
            None => cause.to_string(),
        };
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

/// Says where no connection could be made to, and why: the causes in between only name the layers of
/// the HTTP client.
fn no_connection(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let request = causes(error).find_map(|cause| cause.downcast_ref::<reqwest::Error>())?;
    let address = request.url().filter(|_| request.is_connect())?;
    let why = causes(request).last()?;
    Some(format!("cannot connect to {address}: {why}"))
}

/// Returns the cause of rmcp's error of a failed request, which does not name it as its source.
fn of_request<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a (dyn std::error::Error + 'static)> {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
        StreamableHttpError::Client(request) => Some(request),
        _ => None,
    }
}

fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source().or_else(|| of_request(*error)))
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use rmcp::transport::DynamicTransportError;

    use super::*;
    use crate::{
        http_client,
        logs::{redact::Redactor, server_log::ServerLog},
    };

    #[tokio::test]
    async fn whoever_cannot_be_reached_is_told_with_the_address_and_the_reason() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        drop(listener);
        let error = http_client::client().unwrap().get(&address).send().await.unwrap_err();
        let told = chain(&StreamableHttpError::Client(error));
        let expected = format!("cannot connect to {address}: Connection refused");
        assert!(told.starts_with(&expected), "{told}");
    }

    #[tokio::test]
    async fn the_secrets_of_an_address_are_not_told() {
        // Refused before it is sent, and told with its address as all errors of requests are.
        let address = "ftp://localhost/mcp?key=s3cret-key";
        let error = http_client::client().unwrap().get(address).send().await.unwrap_err();
        assert!(error.to_string().contains("s3cret-key"), "{error}");
        let error = Box::new(StreamableHttpError::Client(error));
        let error = DynamicTransportError::from_parts("http", TypeId::of::<()>(), error);
        let error = ServiceError::TransportSend(error);
        let redactor = Redactor::new(["key=s3cret-key".to_owned()]);
        let history = ServerHistory::new(redactor, ServerLog::default());
        let told = UpstreamError::from_service("far", "tools/call", error, &history).to_string();
        assert!(told.contains("localhost/mcp?***") && !told.contains("s3cret-key"), "{told}");
    }
}
