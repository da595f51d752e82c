//! How a server is started, in words that show no secrets.

use narrows_model::Connection;
use serde::Serialize;

/// What may be shown of a server. Of its settings only the names: every value can be a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ServerSummary {
    pub(crate) start: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) env: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) headers: Vec<String>,
}

impl ServerSummary {
    pub(crate) fn of(connection: &Connection) -> Self {
        let (env, headers) = match connection {
            Connection::Stdio(stdio) => (stdio.env.keys().cloned().collect(), Vec::new()),
            Connection::Http(http) => (Vec::new(), http.headers.keys().cloned().collect()),
        };
        Self { start: connection.address(), env, headers }
    }
}
