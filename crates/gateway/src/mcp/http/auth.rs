//! Authentication: requests need one of the keys, and a connection that has a place.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use narrows_model::Principal;

use super::{
    body::BodyReader,
    caller::Caller,
    connections::Connection,
    sessions::{Sender, Sessions},
};

/// The header that names a session.
const SESSION_ID: &str = "mcp-session-id";

/// The configuration of who may connect.
#[derive(Clone)]
pub(crate) struct HttpAuth {
    /// Whether clients without a key may connect too.
    pub(crate) is_open: bool,
    /// The valid keys, each with the principal that it belongs to, if any.
    pub(crate) keys: Vec<(String, Option<Arc<Principal>>)>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
}

/// The check of every request before the protocol layer sees it.
pub(super) struct Doorkeeper {
    /// The caller of all requests without a key, where none is needed.
    anyone: Option<Arc<Caller>>,
    keys: Vec<(String, Arc<Caller>)>,
    bodies: BodyReader,
    sessions: Arc<Sessions>,
}

impl Doorkeeper {
    pub(super) fn new(
        door: HttpAuth,
        sessions: Arc<Sessions>,
        max_sessions_per_key: usize,
    ) -> Self {
        let anyone = door.is_open.then(|| Caller::new(0, None, max_sessions_per_key));
        let keys = door.keys.into_iter().zip(1..);
        let keys = keys
            .map(|((key, principal), id)| (key, Caller::new(id, principal, max_sessions_per_key)));
        let keys = keys.collect();
        Self { anyone, keys, bodies: BodyReader::new(), sessions }
    }

    /// Returns the caller whose key a request has.
    fn caller(&self, key: Option<&str>) -> Option<&Arc<Caller>> {
        // All of them are compared, so that the time does not tell which one it was.
        let mut found = self.anyone.as_ref();
        for (known, caller) in &self.keys {
            if key.is_some_and(|key| is_same(key, known)) {
                found = Some(caller);
            }
        }
        found
    }

    /// Tells whether a request is to end a session that its caller does not have. The protocol layer
    /// would claim that it ended.
    fn ends_nothing(&self, request: &Request, caller: &Caller) -> bool {
        let id = request.headers().get(SESSION_ID).and_then(|id| id.to_str().ok());
        request.method() == Method::DELETE && id.is_some_and(|id| !self.sessions.has(caller, id))
    }
}

/// Admits requests with a valid key, as requests of that key's caller, and refuses all others.
pub(super) async fn admit(
    State(keeper): State<Arc<Doorkeeper>>,
    mut request: Request,
    next: Next,
) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    if connection.as_ref().is_some_and(|connection| connection.is_spare()) {
        let headers = [(header::RETRY_AFTER, "5"), (header::CONNECTION, "close")];
        let why = "too many connections are open; close some, or try again later ([http] \
                   max_connections, max_connections_per_address)\n";
        return (StatusCode::SERVICE_UNAVAILABLE, headers, why).into_response();
    }
    let key = bearer(request.headers());
    let Some(caller) = keeper.caller(key) else {
        // Anybody can send these: not in the log unless it is asked for.
        tracing::debug!(has_key = key.is_some(), "a request without a right key was refused");
        let why = match key {
            Some(_) => "the key is wrong",
            None => "a key is needed: send the header `Authorization: Bearer KEY`",
        };
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, challenge, format!("{why}\n")).into_response();
    };
    if let Some(connection) = connection {
        connection.set_trusted();
    }
    if keeper.ends_nothing(&request, caller) {
        return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
    }
    request.extensions_mut().insert(Arc::clone(caller));
    let method = request.method().clone();
    let response = Sender::scope(Arc::clone(caller), async {
        if method == Method::POST {
            keeper.bodies.pass(request, caller, next).await
        } else {
            next.run(request).await
        }
    })
    .await;
    // The session has ended: clients take "accepted", as the protocol layer says, for a failure.
    if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
        return StatusCode::NO_CONTENT.into_response();
    }
    response
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// Compares two keys of the same length in constant time, so that the time does not show where they
/// differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
