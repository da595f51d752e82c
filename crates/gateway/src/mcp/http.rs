//! The gateway over HTTP: `/mcp` for clients, `/health` for those who watch.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
    serve::ListenerExt,
};
use narrows_model::Principal;
use rmcp::{
    RoleServer,
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{Gateway, Session};

/// The largest request: a program with its context.
const MOST_BODY_BYTES: usize = 16 << 20;

/// Who may come in.
#[derive(Clone)]
pub(crate) struct Door {
    /// Who has no key may come in too.
    pub(crate) is_open: bool,
    /// Any of these opens, for the one whose it is.
    pub(crate) keys: Vec<(String, Option<Arc<Principal>>)>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) allowed_origins: Vec<String>,
}

/// Serves clients until it is told to stop.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    door: Door,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    gateway.warm_up();
    let address = listener.local_addr()?;
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts(&door, address))
        .with_allowed_origins(origins(&door, address))
        .enforce_origin_validation()
        .with_max_request_body_bytes(MOST_BODY_BYTES)
        .with_cancellation_token(stop.child_token());
    let sessions = Arc::new(LocalSessionManager::default());
    let mcp = StreamableHttpService::new(
        move || Ok(Session::new(Arc::clone(&gateway))),
        sessions,
        config,
    );
    let app = Router::new()
        .nest_service("/mcp", mcp)
        .layer(middleware::from_fn_with_state(Arc::new(door), admit))
        .route("/health", get(|| async { "ok\n" }));
    // An answer is several small writes; otherwise the second one waits 40 ms for the client's
    // acknowledgement of the first.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection cannot be told to send at once");
        }
    });
    axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await?;
    Ok(())
}

/// The names that a request may call us by: those of loopback, the address that we listen on, and
/// those of the configuration.
fn hosts(door: &Door, address: SocketAddr) -> Vec<String> {
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    if !address.ip().is_unspecified() {
        hosts.push(address.ip().to_string());
    }
    hosts.extend(door.allowed_hosts.iter().cloned());
    hosts
}

/// The web pages that may call us: those that we serve ourselves, and those of the configuration.
fn origins(door: &Door, address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let own = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{port}"));
    own.into_iter().chain(door.allowed_origins.iter().cloned()).collect()
}

async fn admit(State(door): State<Arc<Door>>, mut request: Request, next: Next) -> Response {
    let given = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, key)| key.trim());
    // All of them are compared, so that the time does not tell which one it was.
    let mut opened = door.is_open.then_some(&None);
    for (key, principal) in &door.keys {
        if given.is_some_and(|given| same(given, key)) {
            opened = Some(principal);
        }
    }
    if let Some(principal) = opened {
        if let Some(principal) = principal {
            request.extensions_mut().insert(Arc::clone(principal));
        }
        return next.run(request).await;
    }
    let why = match given {
        Some(_) => "the key is wrong",
        None => "a key is needed: send the header `Authorization: Bearer KEY`",
    };
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, format!("{why}\n")).into_response()
}

/// Whose key a request came with, if it is somebody's own.
pub(super) fn principal(context: &RequestContext<RoleServer>) -> Option<Arc<Principal>> {
    let parts = context.extensions.get::<axum::http::request::Parts>()?;
    parts.extensions.get::<Arc<Principal>>().cloned()
}

/// Compares in a time that does not tell where the difference is.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
