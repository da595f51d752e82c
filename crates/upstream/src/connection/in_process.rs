//! Connections to servers inside of this process.

#![allow(clippy::unwrap_used, reason = "compiled for tests only, which may fail loudly")]

use tokio::io::DuplexStream;

use super::*;
use crate::logs::server_log::ServerLog;

/// Opens a connection to whoever has the other end of the stream. It is closed when `closed` is
/// cancelled.
pub(crate) async fn connection(
    spec: &ServerSpec,
    stream: DuplexStream,
    inbox: Inbox,
    closed: CancellationToken,
    changes: broadcast::Sender<ServerChange>,
) -> Connection {
    let handler = Handler::new(&spec.name, changes);
    let service = handler
        .serve_with_lifecycle(stream, lifecycle(ProtocolGeneration::Initialize))
        .await
        .unwrap();
    Connection {
        server: spec.name.as_str().into(),
        info: service.peer_info().unwrap(),
        service,
        child: Mutex::new(None),
        process_id: None,
        printed: None,
        inbox,
        listing: tokio::sync::Mutex::default(),
        history: ServerHistory::new(Redactor::default(), ServerLog::default()),
        call_timeout: spec.call_timeout,
        closed,
    }
}
