//! What must hold for streams of events; see [`crate::fuzz`].

#![allow(clippy::expect_used, reason = "a fuzz target fails by panicking")]

use std::{convert::Infallible, future, path::PathBuf, sync::LazyLock};

use bytes::Bytes;
use futures::stream;
use narrows_model::{Connection, ServerSpec, StdioSpec};
use serde_json::Value;
use sse_stream::SseStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    fuzz::{in_pieces, json},
    http_client,
    login::LoginStore,
    logs::{redact::Redactor, server_log::ServerLog},
    messages::budget::{Budget, MessageMemory},
};

/// Checks that messages, and the address that the first event names, are the same however the events
/// are cut.
///
/// A malformed line ends the stream. What came with it in one piece is lost with it, so that of the
/// messages before such a line only the first ones are sure to arrive.
pub(crate) async fn check(bytes: &[u8], pieces: &[&[u8]]) {
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    let (expected, found) = (receive_all(&single).await, receive_all(pieces).await);
    let (address, named) = (address(&single).await, address(pieces).await);
    if events(&single).all(|event| future::ready(event.is_ok())).await {
        assert_eq!(found, expected, "messages differ with how they are cut");
        assert_eq!(named, address, "the address differs with how it is cut");
    } else {
        assert!(expected.starts_with(&found), "{found:?} and not {expected:?}");
        assert!(named.is_none() || named == address, "{named:?} and not {address:?}");
    }
}

/// Checks that messages that stand in lines arrive as events too, between other events.
pub(crate) async fn check_messages(bytes: &[u8], sizes: &[u8; 4]) {
    let mut expected = Vec::new();
    let mut written = String::from(": a comment\nevent: endpoint\ndata: /messages\n\n");
    for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let Ok(line) = str::from_utf8(line.trim_ascii()) else { continue };
        if let Ok(message) = serde_json::from_str(line) {
            expected.push(json(&message));
            written += &format!("event: message\r\ndata: {line}\r\n\r\n");
        }
    }
    let pieces = in_pieces(written.as_bytes(), sizes);
    assert_eq!(receive_all(&pieces).await, expected);
    assert_eq!(address(&pieces).await.as_deref(), Some("/messages"));
}

async fn receive_all(pieces: &[&[u8]]) -> Vec<Value> {
    let mut transport = transport(events(pieces)).await;
    let mut messages = Vec::new();
    while let Some(message) = transport.receive().await {
        messages.push(json(&message));
    }
    messages
}

async fn address(pieces: &[&[u8]]) -> Option<String> {
    endpoint(&mut events(pieces)).await
}

fn events(pieces: &[&[u8]]) -> Events {
    let pieces: Vec<_> =
        pieces.iter().map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece))).collect();
    SseStream::from_bytes_stream(stream::iter(pieces)).boxed()
}

/// A connection on which these events come, and which nothing can be sent over.
async fn transport(events: Events) -> SseTransport {
    static CLIENT: LazyLock<reqwest::Client> =
        LazyLock::new(|| http_client::client().expect("an HTTP client"));
    let url = Url::parse("http://127.0.0.1:9/").expect("an address");
    let spec = ServerSpec::new("fuzz", Connection::Stdio(StdioSpec::default()));
    let bearer = Bearer::new(LoginStore::new(PathBuf::new()), &spec, &url).await;
    SseTransport {
        client: CLIENT.clone(),
        headers: HeaderMap::new(),
        bearer: Arc::new(bearer.expect("no login is needed")),
        endpoint: url,
        events,
        outbox: Outbox::default(),
        inbox: Inbox::default(),
        room: Arc::new(tokio::sync::Mutex::new(MessageMemory::new(&Budget::default()))),
        event: None,
        history: ServerHistory::new(Redactor::default(), ServerLog::default()),
        _alive: Arc::new(CancellationToken::new().drop_guard()),
    }
}
