//! Logs when a client connects and when it disconnects.

use std::time::Instant;

use narrows_model::clipped_name;
use rmcp::model::InitializeRequestParams;

/// How a client reaches the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientTransport {
    Stdio,
    Http,
}

impl ClientTransport {
    fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// A connected client; dropping this logs that it has disconnected. Requests of the newer protocol over
/// HTTP have no connection, so that the log has only what they do.
#[derive(Debug)]
pub(super) struct ConnectedClient {
    /// Tells the clients of a gateway apart.
    number: u64,
    principal: String,
    transport: ClientTransport,
    since: Instant,
}

impl ConnectedClient {
    /// Logs that a client has connected. `info` is what it said of itself, if it did.
    pub(super) fn new(
        number: u64,
        principal: &str,
        transport: ClientTransport,
        info: Option<&InitializeRequestParams>,
    ) -> Self {
        let client = info.map(|info| clipped_name(&info.client_info.name));
        let client_version = info.map(|info| clipped_name(&info.client_info.version));
        let protocol = info.map(|info| info.protocol_version.to_string());
        tracing::info!(
            connection = number,
            principal,
            transport = transport.name(),
            client,
            client_version,
            protocol,
            "a client has connected"
        );
        let (principal, since) = (principal.to_owned(), Instant::now());
        Self { number, principal, transport, since }
    }
}

impl Drop for ConnectedClient {
    fn drop(&mut self) {
        let Self { number, principal, transport, since } = self;
        tracing::info!(
            connection = *number,
            principal,
            transport = transport.name(),
            ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
            "a client has disconnected"
        );
    }
}
