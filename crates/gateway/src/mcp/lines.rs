//! Messages of a client over standard input, looked at before anything parses them.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use narrows_system::apart;

use rmcp::{
    ErrorData,
    model::{JsonRpcMessage, RequestId},
    service::{RoleServer, TxJsonRpcMessage},
    transport::async_rw::DEFAULT_MAX_LINE_LENGTH,
};
use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
};

use super::json_scan::{self, ScanError};

/// The protocol library leaves longer lines out without a word, and their clients wait for ever.
const MAX_LINE_BYTES: usize = DEFAULT_MAX_LINE_LENGTH;
const CHUNK_BYTES: usize = 16 << 10;
/// To check or to parse a line of so much takes no longer than to do so on another thread.
const LARGE_BYTES: usize = 64 << 10;

/// A reader that leaves lines out which would take many times their size in memory once they are parsed,
/// and tells of the requests in them.
pub(super) struct CheckedLines<R> {
    reader: R,
    chunk: Box<[u8]>,
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// It is too long, and the rest of it is not kept.
    is_too_long: bool,
    /// What can be read, and how much of it was.
    checked: Vec<u8>,
    read: usize,
    /// Whether that is so much that to parse it takes long.
    is_large: Arc<AtomicBool>,
    refusals: UnboundedSender<Refusal>,
}

/// A request that is not parsed, and why.
#[derive(Debug)]
pub(super) struct Refusal {
    id: RequestId,
    reason: LineError,
}

/// Why a line is left out.
#[derive(Debug, Error, PartialEq, Eq)]
enum LineError {
    #[error(transparent)]
    Shape(#[from] ScanError),
    #[error("the request is larger than {} MB; send less at once", MAX_LINE_BYTES >> 20)]
    TooLong,
}

impl From<Refusal> for TxJsonRpcMessage<RoleServer> {
    fn from(refusal: Refusal) -> Self {
        let error = ErrorData::invalid_request(refusal.reason.to_string(), None);
        JsonRpcMessage::error(error, Some(refusal.id))
    }
}

/// What is read of a message that is not parsed. Only requests are answered.
#[derive(Default)]
struct Envelope {
    id: Option<RequestId>,
    has_method: bool,
}

impl Envelope {
    /// Returns the id of a request, if it is in what there is of it.
    fn request_id(line: &[u8]) -> Option<RequestId> {
        let mut envelope = Self::default();
        // It breaks off where the line does.
        let _ = serde_json::Deserializer::from_slice(line).deserialize_map(&mut envelope);
        envelope.id.filter(|_| envelope.has_method)
    }
}

impl<'de> Visitor<'de> for &mut Envelope {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            if key == "id" {
                self.id = Some(entries.next_value()?);
                continue;
            }
            self.has_method |= key == "method";
            entries.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

impl<R> CheckedLines<R> {
    /// Returns the reader, and where it tells of requests that it left out.
    pub(super) fn new(reader: R) -> (Self, UnboundedReceiver<Refusal>) {
        let (refusals, refused) = mpsc::unbounded_channel();
        let lines = Self {
            reader,
            chunk: vec![0; CHUNK_BYTES].into(),
            line: Vec::new(),
            is_too_long: false,
            checked: Vec::new(),
            read: 0,
            is_large: Arc::default(),
            refusals,
        };
        (lines, refused)
    }

    /// Tells whether what is read next takes long to be parsed.
    pub(super) fn is_large(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_large)
    }

    /// Takes more of the lines; `checked` has what can be read of them.
    fn take(&mut self, bytes: usize) {
        let chunk = std::mem::take(&mut self.chunk);
        for piece in chunk[..bytes].split_inclusive(|byte| *byte == b'\n') {
            let is_end = piece.ends_with(b"\n");
            if self.is_too_long {
                self.is_too_long = !is_end;
                continue;
            }
            self.line.extend_from_slice(piece);
            if self.line.len() > MAX_LINE_BYTES {
                self.refuse(LineError::TooLong);
                self.is_too_long = !is_end;
            } else if is_end {
                self.end_line();
            }
        }
        self.chunk = chunk;
    }

    fn end_line(&mut self) {
        let checking = || json_scan::check(&self.line);
        let checked = if self.line.len() > LARGE_BYTES { apart(checking) } else { checking() };
        match checked {
            Ok(_) => self.checked.append(&mut self.line),
            Err(reason) => self.refuse(reason.into()),
        }
    }

    fn refuse(&mut self, reason: LineError) {
        // What it took is not kept.
        let line = std::mem::take(&mut self.line);
        tracing::warn!(%reason, bytes = line.len(), "a message of a client was refused before it was read");
        if let Some(id) = Envelope::request_id(&line) {
            // Whoever answers may be gone.
            let _ = self.refusals.send(Refusal { id, reason });
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for CheckedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = &mut *self;
        while this.read == this.checked.len() {
            this.checked = Vec::new();
            this.read = 0;
            this.is_large.store(false, Ordering::Release);
            let mut chunk = ReadBuf::new(&mut this.chunk);
            ready!(Pin::new(&mut this.reader).poll_read(context, &mut chunk))?;
            match chunk.filled().len() {
                // A line without an end is no message.
                0 => return Poll::Ready(Ok(())),
                bytes => this.take(bytes),
            }
            if this.checked.len() > LARGE_BYTES {
                // Whoever reads it parses it at once, and asks before where.
                this.is_large.store(true, Ordering::Release);
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        let left = &this.checked[this.read..];
        let bytes = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..bytes]);
        this.read += bytes;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    fn request(id: u32, lists: usize) -> String {
        let lists = vec!["[]"; lists].join(",");
        format!("{{\"id\":{id},\"method\":\"ping\",\"params\":{{\"a\":[{lists}]}}}}\n")
    }

    #[tokio::test]
    async fn a_line_with_a_million_values_is_left_out_and_its_request_is_told_of() {
        let (small, many) = (request(1, 10), request(2, 600_000));
        // The control: about as long, with fewer values.
        let fewer = request(3, 450_000);
        let response = many.replace("\"method\":\"ping\",", "");
        let input = [&small, &many, &response, &fewer, &small].map(String::as_str).concat();
        let (mut lines, mut refused) = CheckedLines::new(input.as_bytes());
        let mut passed = String::new();
        lines.read_to_string(&mut passed).await.unwrap();
        assert!(passed == [&small, &fewer, &small].map(String::as_str).concat());
        let refusal = refused.try_recv().unwrap();
        let expected = (RequestId::Number(2), LineError::from(ScanError::TooMany));
        assert_eq!((refusal.id, refusal.reason), expected);
        assert!(refused.try_recv().is_err(), "a response is not answered");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_not_collected_and_its_request_is_told_of() {
        let long = |id: u32, bytes: usize| {
            let start = format!("{{\"id\":{id},\"method\":\"ping\",\"params\":\"");
            format!("{start}{}\"}}\n", "x".repeat(bytes - start.len() - 3))
        };
        let (fits, longer) = (long(1, MAX_LINE_BYTES), long(2, MAX_LINE_BYTES + 1));
        let longest = long(3, 2 * MAX_LINE_BYTES);
        let input = [longer.as_str(), &fits, &longest, "{}\n"].concat();
        let (mut lines, mut refused) = CheckedLines::new(input.as_bytes());
        let mut passed = String::new();
        lines.read_to_string(&mut passed).await.unwrap();
        assert!(passed == [fits.as_str(), "{}\n"].concat());
        for id in [2, 3] {
            let refusal = refused.try_recv().unwrap();
            assert_eq!((refusal.id, refusal.reason), (RequestId::Number(id), LineError::TooLong));
        }
    }

    #[test]
    fn only_requests_have_an_id_to_answer() {
        let id = |line: &str| Envelope::request_id(line.as_bytes());
        assert_eq!(
            id(r#"{"method":"m","id":"a","params":[[["#),
            Some(RequestId::String("a".into()))
        );
        assert_eq!(id(r#"{"id":1,"result":{}}"#), None);
        assert_eq!(id(r#"{"method":"m","params":{}}"#), None);
        assert_eq!(id("[1"), None);
    }
}
