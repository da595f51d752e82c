//! Connections to servers inside of this process.

use tokio::io::DuplexStream;

use super::*;
use crate::upstream::server_log::ServerLog;

/// A connection to whoever has the other end of the stream. It is closed when `closed` is.
pub(in crate::upstream) async fn connection(
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

#[test]
fn a_server_of_the_newer_protocol_gets_most_of_its_start_for_the_probe() {
    let patience = |era, seconds| probe_patience(era, Duration::from_secs(seconds)).as_secs();
    assert_eq!(patience(ProtocolGeneration::Unknown, 30), 5);
    assert_eq!(patience(ProtocolGeneration::Initialize, 300), 5);
    assert_eq!(patience(ProtocolGeneration::Discover, 30), 20);
    assert_eq!(patience(ProtocolGeneration::Discover, 3), 5);
}
