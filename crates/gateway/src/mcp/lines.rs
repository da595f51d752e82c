//! Checks the messages of a client on standard input before anything parses them.

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

/// The longest line. The protocol library drops longer ones silently, so that their clients would wait
/// for ever; here they are refused.
const MAX_LINE_BYTES: usize = DEFAULT_MAX_LINE_LENGTH;
const CHUNK_BYTES: usize = 16 << 10;
/// Checking or parsing a line up to this size takes no longer than handing the thread's other tasks
/// over.
const LARGE_BYTES: usize = 64 << 10;

/// A reader that drops lines which are too long, or which would take many times their size in memory
/// once they are parsed. It reports the requests in them, so that they can be refused.
pub(super) struct CheckedLines<R> {
    reader: R,
    chunk: Box<[u8]>,
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// Whether the current line is too long, so that the rest of it is discarded.
    is_too_long: bool,
    /// The checked lines, which can be read. `read` is how much of them was.
    checked: Vec<u8>,
    read: usize,
    /// Whether `checked` is so large that parsing it takes long.
    is_large: Arc<AtomicBool>,
    refusals: UnboundedSender<Refusal>,
}

/// A request that was dropped before it was parsed, and the reason.
#[derive(Debug)]
pub(super) struct Refusal {
    id: RequestId,
    reason: LineError,
}

/// The reason why a line was dropped.
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

/// The fields that are read of a message which is not parsed. Only requests are answered.
#[derive(Default)]
struct Envelope {
    id: Option<RequestId>,
    has_method: bool,
}

impl Envelope {
    /// Returns the id of a request, if the part of it that is there contains one.
    fn request_id(line: &[u8]) -> Option<RequestId> {
        let mut envelope = Self::default();
        // The line may be cut off, and parsing then fails at its end.
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
    /// Wraps a reader. Returns the receiver of refused requests too.
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

    /// Returns the flag that says whether the data read next takes long to parse.
    pub(super) fn is_large(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_large)
    }

    /// Splits the next `bytes` of the chunk into lines, and moves those that pass the check into
    /// `checked`.
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
        // The memory of the line is freed.
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
                // A line without an end is not a message.
                0 => return Poll::Ready(Ok(())),
                bytes => this.take(bytes),
            }
            if this.checked.len() > LARGE_BYTES {
                // The reader parses it at once, and looks at this flag before it polls again.
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
