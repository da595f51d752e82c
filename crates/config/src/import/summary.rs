//! Summaries of servers that show no secrets.

use narrows_model::Connection;
use serde::Serialize;

/// The part of a server that may be shown. Settings are shown by name only, because every value can be
/// a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerSummary {
    pub start: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
}

impl ServerSummary {
    pub fn of(connection: &Connection) -> Self {
        let (env, headers) = match connection {
            Connection::Stdio(stdio) => (stdio.env.keys().cloned().collect(), Vec::new()),
            Connection::Http(http) => (Vec::new(), http.headers.keys().cloned().collect()),
        };
        Self { start: connection.address(), env, headers }
    }
}
