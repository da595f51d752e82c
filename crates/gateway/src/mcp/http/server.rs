//! Assembles the HTTP server: connections, authentication, and the protocol behind them.

use std::sync::Arc;

use axum::{Router, middleware, routing::get};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    HttpAuth,
    auth::{Doorkeeper, admit},
    body::MAX_BODY_BYTES,
    connections::Connections,
    descriptors, names,
    sessions::Sessions,
};
use crate::{
    config::HttpLimits,
    mcp::{ClientConnection, Gateway},
};

/// Serves clients over HTTP until `stop` is cancelled.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    door: HttpAuth,
    limits: HttpLimits,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    gateway.warm_up();
    let address = listener.local_addr()?;
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(names::hosts(&door, address))
        .with_allowed_origins(names::origins(&door, address))
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_cancellation_token(stop.child_token());
    let sessions = Sessions::new(limits.clone());
    let mcp = StreamableHttpService::new(
        move || Ok(ClientConnection::new(Arc::clone(&gateway))),
        Arc::clone(&sessions),
        config,
    );
    let max_sessions_per_key = limits.max_sessions_per_key as usize;
    let keeper = Doorkeeper::new(door, Arc::clone(&sessions), max_sessions_per_key);
    let app = Router::new()
        .nest_service("/mcp", mcp)
        .layer(middleware::from_fn_with_state(Arc::new(keeper), admit))
        .layer(middleware::from_fn(names::refuse_ambiguous))
        // Outside of it all, so that those who watch are answered whatever happens there.
        .route("/health", get(|| async { "ok\n" }));
    let expiring = tokio::spawn(sessions.expire(stop.clone()));
    Connections::new(&limits, descriptors::raise_limit()).serve(listener, app, stop).await;
    expiring.abort();
    Ok(())
}
