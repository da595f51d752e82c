//! What must hold for the wires to servers whatever comes over them, as functions for a fuzzer.
//!
//! Their tests feed them random bytes and damaged seeds; `fuzz/` at the top of the repository feeds
//! them what libFuzzer finds. No part of the product: compiled for tests and fuzzers only.

#![allow(clippy::expect_used, reason = "a fuzz target fails by panicking")]

use rmcp::model::ServerJsonRpcMessage;
use serde_json::Value;

use crate::{http::sse, messages::raw::RawTools, stdio::transport};

/// The most bytes of an input: what fits into a pipe at once, however small the system makes it.
const MAX_BYTES: usize = 4096;

/// Checks the readers of what servers send. Their messages are the same however they are cut, and
/// whichever wire they come over; what is malformed is no message and ends nothing but its line.
///
/// The first four bytes are sizes of pieces, which the rest is cut into by turns.
pub fn wire(data: &[u8]) {
    let Some((sizes, bytes)) = data.split_first_chunk::<4>() else { return };
    let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
    let pieces = in_pieces(bytes, sizes);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        transport::fuzz::check(bytes, &pieces).await;
        sse::fuzz::check(bytes, &pieces).await;
        sse::fuzz::check_messages(bytes, sizes).await;
    });
    transport::fuzz::check_longest_line(bytes, &pieces);
    check_raw_tools(bytes);
}

/// Cuts bytes into pieces of these sizes, by turns, and of at least one byte.
pub(crate) fn in_pieces<'a>(mut bytes: &'a [u8], sizes: &[u8; 4]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (piece, rest) = bytes.split_at(usize::from(*size).clamp(1, bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// Turns a message into a form that can be compared.
pub(crate) fn json(message: &ServerJsonRpcMessage) -> Value {
    serde_json::to_value(message).expect("a message is JSON")
}

/// Checks that a list of tools that is awaited is kept as its server wrote it.
fn check_raw_tools(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let raw = RawTools::default();
        raw.expect();
        raw.see(line);
        let Ok(message) = serde_json::from_slice::<Value>(line) else { continue };
        let tools = message.pointer("/result/tools").and_then(Value::as_array);
        let is_list = String::from_utf8_lossy(line).contains("\"tools\"");
        let page = raw.take();
        assert_eq!(page.as_ref().map(|page| &page.tools), tools.filter(|_| is_list));
    }
}

#[cfg(test)]
mod tests {
    use narrows_testkit::{damaged, same_cases};
    use proptest::prelude::*;

    use super::*;

    /// Lines of messages and of noise; events with all ways to end a line. Sizes come first.
    const SEEDS: [&str; 9] = [
        "\x01\x02\x03\x04{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}\n",
        "\x20\x01\x40\x01starting up…\n\n {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\
         \"params\":{\"progressToken\":1,\"progress\":0.5}}\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{]}\n",
        "\x07\x07\x07\x07{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"t\",\"x\":1,\
         \"inputSchema\":{\"type\":\"object\"}},{\"name\":\"t\",\"inputSchema\":{}},{}]}}\n\
         {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32601,\"message\":\"no\"}}",
        "\x03\x05\x07\x0b{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\
         \"params\":{\"level\":\"info\",\"data\":{\"a\":[1,null]}}}\n\
         {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\"}\n",
        "\x05\x01\x01\x30event: endpoint\ndata: /messages?session=1\n\n\
         event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n",
        "\x0a\x14\x1e\x28: a comment\r\n\r\nid: 1\r\nretry: 10\r\ndata: {\"jsonrpc\":\"2.0\",\r\n\
         data: \"id\":2,\"result\":{}}\r\n\r\n",
        "\x02\x02\x02\x02\u{feff}data:{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\r\rdata\r\r",
        "\x11\x13\x17\x1ddata: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n\nunknown: field\n\n\
         data: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n\n",
        "\x7f\x01\x7f\x01not JSON at all\nnull\n[]\n{}\n{\"id\":1}\n,\"id\":7}",
    ];
    const BYTES: &[u8] = b"{}[]\":,\n\n\r\r \\07id.datevn";

    proptest! {
        #![proptest_config(same_cases(300))]

        #[test]
        fn any_bytes_keep_the_promises_of_the_wire(data in damaged(&SEEDS, BYTES)) {
            wire(&data);
        }
    }
}
