//! Servers that run inside of this process.

#![allow(clippy::unwrap_used, reason = "compiled for tests only, which may fail loudly")]

use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{connection::in_process::connection, messages::inbox::Inbox};

/// Runs a server over a stream, as if it had just been started.
pub(crate) async fn start(
    server: &Arc<Upstream>,
    stream: DuplexStream,
    inbox: Inbox,
    closed: CancellationToken,
) {
    let changes = server.means.changes.clone();
    let opened = connection(&server.spec, stream, inbox, closed, changes).await;
    let tools = opened.list_tools(server.definition_share()).await.unwrap();
    server.publish(&opened, tools);
    server.settle(Ok(Arc::new(opened)), Duration::ZERO).unwrap();
}
