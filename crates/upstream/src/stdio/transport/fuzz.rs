//! What must hold for lines from a child process; see [`crate::fuzz`].

#![allow(clippy::expect_used, reason = "a fuzz target fails by panicking")]

use std::{
    cell::RefCell,
    io::{PipeWriter, Write},
    os::fd::OwnedFd,
};

use serde_json::Value;

use super::*;
use crate::{
    fuzz::json,
    logs::{redact::Redactor, server_log::ServerLog},
};

/// The beginning of an answer. What follows it may be anything: somebody waits for the answer.
const ANSWER: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":7,";

/// Reading gives up after so many turns without a line.
const MAX_TURNS: usize = 10_000;

/// Lines are what stands between line breaks, however they were cut; a line that is a message is
/// received as such, and one that is not is nothing or an error for whoever waits.
pub(crate) async fn check(bytes: &[u8], pieces: &[&[u8]]) {
    let mut expected: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // What follows the last line break is a line only if it is something.
    expected.pop_if(|last| last.is_empty());
    let lines = read_lines(pieces).await;
    let texts: Vec<&[u8]> = lines.iter().map(|line| line.text.as_slice()).collect();
    assert_eq!(texts, expected, "lines differ with how they are cut");
    assert!(lines.iter().all(|line| line.skipped == 0), "a short line was not read as a whole");

    let (transport, _stdin) = transport(1);
    let messages: Vec<_> = lines.iter().filter_map(|line| message(&transport, line)).collect();
    let capacity = pieces.first().map_or(1, |piece| piece.len());
    assert_eq!(receive_all(bytes, capacity).await, messages);
}

/// Reads lines while they are written. Reading is given up and begun again all the time, as it is
/// when there is something else to do.
async fn read_lines(pieces: &[&[u8]]) -> Vec<StdioLine> {
    let (mut transport, mut stdin) = transport(64 << 10);
    let mut lines = Vec::new();
    let (mut written, mut done) = (0, 0);
    for piece in pieces {
        stdin.write_all(piece).expect("a piece fits into a pipe");
        written += piece.len();
        let mut turns = 0;
        while done + transport.line.text.len() < written {
            tokio::select! {
                biased;
                line = transport.next_line() => {
                    let line = line.expect("a pipe").expect("the end comes too early");
                    done += line.text.len() + 1;
                    lines.push(line);
                }
                () = tokio::task::yield_now() => {
                    turns += 1;
                    assert!(turns < MAX_TURNS, "bytes that were written are not read");
                }
            }
        }
    }
    drop(stdin);
    while let Some(line) = transport.next_line().await.expect("a pipe") {
        lines.push(line);
    }
    lines
}

fn message(transport: &StdioTransport, line: &StdioLine) -> Option<Value> {
    let found = transport.message(line);
    let text = line.text.trim_ascii();
    match (serde_json::from_slice::<ServerJsonRpcMessage>(text), &found) {
        (Ok(message), found) => assert_eq!(found.as_ref().map(json), Some(json(&message))),
        (Err(_), Some(JsonRpcMessage::Error(error))) => {
            assert!(text.starts_with(b"{"), "an error for what is no message");
            assert_eq!(error.error.code, ErrorCode::PARSE_ERROR);
            assert!(error.id.is_some(), "an error for nobody");
        }
        (Err(_), Some(other)) => panic!("what is malformed is no message: {other:?}"),
        (Err(_), None) => {
            assert!(!line.text.starts_with(ANSWER), "nobody is told of a malformed answer");
        }
    }
    found.as_ref().map(json)
}

async fn receive_all(bytes: &[u8], capacity: usize) -> Vec<Value> {
    let (mut transport, mut stdin) = transport(capacity);
    stdin.write_all(bytes).expect("bytes that fit into a pipe");
    drop(stdin);
    let mut messages = Vec::new();
    while let Some(message) = transport.receive().await {
        messages.push(json(&message));
    }
    messages
}

/// Returns a transport that reads from a pipe, as from a child process, so many bytes at once.
fn transport(capacity: usize) -> (StdioTransport, PipeWriter) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let stdout = std::process::ChildStdout::from(OwnedFd::from(reader));
    let stdout = ChildStdout::from_std(stdout).expect("a runtime");
    (transport_from(stdout, capacity, Inbox::default()), writer)
}

/// Returns a transport that reads what a child prints, so many bytes at once.
pub(crate) fn transport_from(stdout: ChildStdout, capacity: usize, inbox: Inbox) -> StdioTransport {
    StdioTransport {
        stdin: Arc::default(),
        stdout: Some(BufReader::with_capacity(capacity, stdout)),
        line: StdioLine::default(),
        probe: Arc::default(),
        probe_patience: Duration::ZERO,
        room: MessageMemory::new(&inbox.budget),
        inbox,
        whole: None,
        history: ServerHistory::new(Redactor::default(), ServerLog::default()),
        notices: Arc::default(),
        outbox: Outbox::default(),
        broken: CancellationToken::new(),
        reading: Arc::new(CancellationToken::new().drop_guard()),
        _alive: Arc::new(CancellationToken::new().drop_guard()),
    }
}

/// Checks that of a line that goes beyond the longest that is read, no more is kept than its ends.
pub(crate) fn check_longest_line(bytes: &[u8], pieces: &[&[u8]]) {
    thread_local! {
        /// The beginning of a line that is nearly too long. Filling it takes long.
        static LONG: RefCell<Vec<u8>> = RefCell::new(vec![b'x'; MAX_LINE_LEN]);
    }
    // Half of the bytes still fit.
    let room = bytes.len() / 2;
    let (kept, over) = bytes.split_at(room);
    let mut line = StdioLine { text: LONG.take(), ..StdioLine::default() };
    line.text.truncate(MAX_LINE_LEN - room);
    pieces.iter().for_each(|piece| line.add(piece));
    assert_eq!(line.text.len(), MAX_LINE_LEN);
    assert_eq!(line.text.capacity(), MAX_LINE_LEN, "more memory than the longest line has");
    assert_eq!(line.text[MAX_LINE_LEN - room..], *kept);
    assert_eq!(line.skipped, over.len());
    assert_eq!(line.tail, over[over.len().saturating_sub(LINE_ENDS)..]);
    // Whoever waits for it is told, if its end says who that is.
    if let Some(before) = over.strip_suffix(b",\"id\":7}")
        && !before.windows(4).any(|word| word == b"\"id\"")
    {
        assert_eq!(line.id(), Some(RequestId::Number(7)));
    }
    let mut text = line.text;
    text.truncate(MAX_LINE_LEN - room);
    text.resize(MAX_LINE_LEN, b'x');
    LONG.set(text);
}
