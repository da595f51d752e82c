//! Large messages, over every wire: parsed beside the async threads, within the memory for all.

use std::{
    io::Write,
    os::fd::OwnedFd,
    sync::atomic::{AtomicU64, Ordering},
};

use futures::future::join_all;
use narrows_testkit::{leaves_thread, size};
use tokio::process::ChildStdout;

use super::*;
use crate::{messages::limits::MAX_MESSAGE_BYTES, stdio::transport::fuzz::transport_from};

/// Returns an answer with a text of so many bytes, or with so many empty lists.
fn answer(id: u64, bytes: usize, lists: usize) -> String {
    let lists = vec!["[]"; lists].join(",");
    let text = "x".repeat(bytes);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"text":"{text}","lists":[{lists}]}}}}}}"#
    )
}

/// Returns a transport that reads lines from whoever has the other end.
fn lines(inbox: &Inbox) -> (crate::stdio::transport::StdioTransport, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let stdout = std::process::ChildStdout::from(OwnedFd::from(reader));
    let stdout = ChildStdout::from_std(stdout).unwrap();
    (transport_from(stdout, 64 << 10, inbox.clone()), writer)
}

/// Writes as a child process does, and waits for whoever reads.
fn write(mut writer: std::io::PipeWriter, text: String) {
    std::thread::spawn(move || {
        // Whoever reads may be gone.
        let _ = writer.write_all(text.as_bytes());
    });
}

/// Tells whether work that is done again and again ever leaves the async thread to others.
async fn ever_leaves_thread<F: Future<Output = ()> + Send + 'static>(work: impl Fn() -> F) -> bool {
    for _ in 0..20 {
        if leaves_thread(work()).await {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_large_message_of_a_child_is_parsed_beside_the_async_threads() {
    let receive = |bytes: usize| async move {
        let (mut transport, writer) = lines(&Inbox::default());
        write(writer, answer(7, bytes, 0) + "\n");
        assert!(matches!(transport.receive().await, Some(JsonRpcMessage::Response(_))));
    };
    assert!(ever_leaves_thread(|| receive(4 << 20)).await);
    // Control: a small one is parsed at once.
    assert!(!ever_leaves_thread(|| receive(100)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_large_body_or_event_is_parsed_beside_the_async_threads() {
    let parse = |bytes: usize| async move {
        let inbox = Inbox::default();
        let text = answer(7, bytes, 0);
        let parsed = inbox.parse(text.as_bytes(), &mut MessageMemory::new(&inbox.budget)).await;
        assert!(matches!(parsed, Ok(Ok(JsonRpcMessage::Response(_)))));
    };
    assert!(ever_leaves_thread(|| parse(4 << 20)).await);
    assert!(!ever_leaves_thread(|| parse(100)).await);
}

#[tokio::test]
async fn an_answer_that_was_put_by_is_handed_on_once_and_only_to_whoever_waits() {
    let inbox = Inbox::default();
    let message = || serde_json::from_str::<ServerJsonRpcMessage>(&answer(7, 1_000, 0)).unwrap();
    assert!(inbox.put_by(message()).is_none(), "nobody waits");
    let awaited = inbox.expect(RequestId::Number(7));
    let short = inbox.put_by(message()).unwrap();
    assert!(short.len() < 100, "{short}");
    let short = || serde_json::from_str::<ServerJsonRpcMessage>(&short).unwrap();
    assert_eq!(json!(inbox.take_back(short())), json!(message()));
    assert_eq!(json!(inbox.take_back(short())), json!(short()));
    // Control: what the protocol library looks at stays as it is.
    let list = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#;
    assert!(inbox.put_by(serde_json::from_str(list).unwrap()).is_none());
    assert!(inbox.put_by(message()).is_some());
    drop(awaited);
    assert!(inbox.answers().is_empty(), "nothing is left of an answer that nobody waits for");
}

#[tokio::test]
async fn the_memory_of_an_answer_is_given_back_when_it_was_used() {
    let inbox = Inbox::default();
    let text = answer(7, 4 << 20, 0);
    let parse = async || {
        let mut room = MessageMemory::new(&inbox.budget);
        inbox.parse(text.as_bytes(), &mut room).await.unwrap().unwrap()
    };
    parse().await;
    assert_eq!(inbox.budget.used(), 0, "nobody waits for it");
    let awaited = inbox.expect(RequestId::Number(7));
    parse().await;
    let held = awaited.held();
    drop(awaited);
    assert!((4 << 20..6 << 20).contains(&inbox.budget.used()), "{}", inbox.budget.used());
    drop(held);
    assert_eq!(inbox.budget.used(), 0);
}

/// Lets many servers answer at once, and returns the most memory that their answers had together. Each
/// answer is used until so many are there.
async fn flood(budget: &Budget, servers: u64, bytes: usize, lists: usize, at_once: usize) -> u64 {
    let (most, all) = (&AtomicU64::new(0), &tokio::sync::Barrier::new(at_once));
    join_all((0..servers).map(|id| async move {
        let inbox = Inbox::new(budget.clone());
        let awaited = inbox.expect(RequestId::Number(id as i64));
        let (mut transport, writer) = lines(&inbox);
        write(writer, answer(id, bytes, lists) + "\n");
        let message = transport.receive().await;
        assert!(matches!(message, Some(JsonRpcMessage::Response(_))), "server {id}");
        let _held = awaited.held();
        assert!(budget.used() > 0);
        most.fetch_max(budget.used(), Ordering::AcqRel);
        all.wait().await;
        most.fetch_max(budget.used(), Ordering::AcqRel);
    }))
    .await;
    assert_eq!(budget.used(), 0);
    most.load(Ordering::Acquire)
}

#[tokio::test]
async fn answers_of_many_servers_at_once_share_one_budget_and_all_arrive() {
    let (bytes, lists, max_bytes) = (1 << 20, 10_000, 8 << 20);
    let one = memory(bytes + (64 << 10), 2 * lists) as u64;
    let most = flood(&Budget::new(max_bytes), 20, bytes, lists, 1).await;
    assert!(most <= max_bytes + one, "{most}");
    // Control: where there is room for all of them nobody waits.
    let most = flood(&Budget::new(1 << 30), 20, bytes, lists, 20).await;
    assert!(most > max_bytes + one, "{most}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_full_size_share_the_budget_of_default_size() {
    let (bytes, lists) = (MAX_MESSAGE_BYTES - (3 << 20), 800_000);
    let one = memory(MAX_MESSAGE_BYTES, 2_000_000) as u64;
    let servers = size(3, 50);
    let most = flood(&Budget::default(), servers, bytes, lists, 1).await;
    assert!(most <= crate::messages::budget::ANSWER_BYTES + one, "{most}");
}
