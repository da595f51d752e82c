//! Reads what a server sends over HTTP: no more than one message's worth of each answer, and large
//! messages of one server a few at a time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use futures::{
    Stream, StreamExt,
    future::ready,
    stream::{self, BoxStream},
};
use sse_stream::{Error as SseError, Sse, SseStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::{Excess, LARGE_BYTES, MAX_LARGE_AT_ONCE, MAX_MESSAGE_BYTES, check_message};

/// Events of a server.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Turns at reading the large messages of one server.
#[derive(Clone, Debug)]
pub(super) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_LARGE_AT_ONCE)))
    }
}

/// Why a body could not be read.
#[derive(Debug)]
pub(super) enum BodyError {
    Excess(Excess),
    Http(reqwest::Error),
}

/// Reads the body of an answer that is one message.
pub(super) async fn read_body(
    response: reqwest::Response,
    turns: &Turns,
) -> Result<Vec<u8>, BodyError> {
    let mut pieces = response.bytes_stream();
    let mut body = Vec::new();
    let mut turn = None;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(BodyError::Http)?;
        if body.len() + piece.len() > MAX_MESSAGE_BYTES {
            return Err(BodyError::Excess(Excess::Bytes));
        }
        if body.len() + piece.len() > LARGE_BYTES && turn.is_none() {
            turn = Arc::clone(&turns.0).acquire_owned().await.ok();
        }
        body.extend_from_slice(&piece);
    }
    check_message(&body).map_err(BodyError::Excess)?;
    Ok(body)
}

/// Reads the beginning of a body that is for people.
pub(super) async fn read_start(response: reqwest::Response, max_bytes: usize) -> String {
    let mut pieces = response.bytes_stream();
    let mut body = Vec::new();
    while body.len() < max_bytes
        && let Some(Ok(piece)) = pieces.next().await
    {
        body.extend_from_slice(&piece[..piece.len().min(max_bytes - body.len())]);
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// Reads events. `instead` is asked what stands in the place of one that is over a limit; after one
/// that is too long nothing more comes, for nobody knows where the next begins.
pub(super) fn events<E: std::error::Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    turns: &Turns,
    instead: impl Fn(Excess) -> Option<Sse> + Send + Sync + 'static,
) -> Events {
    events_up_to(MAX_MESSAGE_BYTES, bytes, turns, instead)
}

fn events_up_to<E: std::error::Error + Send + Sync + 'static>(
    max_bytes: usize,
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    turns: &Turns,
    instead: impl Fn(Excess) -> Option<Sse> + Send + Sync + 'static,
) -> Events {
    let is_over = Arc::new(AtomicBool::new(false));
    let reader = Reader {
        bytes: bytes.boxed(),
        max_bytes,
        size: EventSize::default(),
        turns: turns.clone(),
        turn: None,
        is_over: Arc::clone(&is_over),
    };
    let instead = Arc::new(instead);
    let at_end = Arc::clone(&instead);
    SseStream::from_bytes_stream(stream::unfold(reader, Reader::next).boxed())
        .filter_map(move |event| {
            let data = event.as_ref().ok().and_then(|event| event.data.as_deref());
            let checked = data.map_or(Ok(()), |data| check_message(data.as_bytes()));
            ready(match checked {
                Ok(()) => Some(event),
                Err(excess) => instead(excess).map(Ok),
            })
        })
        .chain(stream::once(async move { is_over.load(Ordering::Acquire) }).filter_map(
            move |is_over| ready(if is_over { at_end(Excess::Bytes).map(Ok) } else { None }),
        ))
        .boxed()
}

/// The bytes of a stream of events, up to one that is too long.
struct Reader<E> {
    bytes: BoxStream<'static, Result<Bytes, E>>,
    max_bytes: usize,
    size: EventSize,
    turns: Turns,
    turn: Option<OwnedSemaphorePermit>,
    is_over: Arc<AtomicBool>,
}

impl<E> Reader<E> {
    async fn next(mut self) -> Option<(Result<Bytes, E>, Self)> {
        let piece = self.bytes.next().await?;
        if let Ok(piece) = &piece {
            if self.size.add(piece) > self.max_bytes {
                self.is_over.store(true, Ordering::Release);
                return None;
            }
            if self.size.event <= LARGE_BYTES {
                self.turn = None;
            } else if self.turn.is_none() {
                self.turn = Arc::clone(&self.turns.0).acquire_owned().await.ok();
            }
        }
        Some((piece, self))
    }
}

/// How long the event is that is being read. An empty line ends it.
#[derive(Default)]
struct EventSize {
    event: usize,
    line: usize,
    after_return: bool,
}

impl EventSize {
    /// Returns how long the longest event is that has a part in this piece.
    fn add(&mut self, piece: &[u8]) -> usize {
        let mut longest = self.event;
        for byte in piece {
            let is_break = matches!(byte, b'\n' | b'\r');
            if *byte == b'\n' && std::mem::take(&mut self.after_return) {
                continue;
            }
            self.after_return = *byte == b'\r';
            if is_break && self.line == 0 {
                self.event = 0;
            } else if is_break {
                self.line = 0;
                self.event += 1;
            } else {
                self.line += 1;
                self.event += 1;
            }
            longest = longest.max(self.event);
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    async fn read(max_bytes: usize, pieces: &[&str]) -> Vec<String> {
        let pieces: Vec<Result<Bytes, Infallible>> =
            pieces.iter().map(|piece| Ok(Bytes::copy_from_slice(piece.as_bytes()))).collect();
        let instead = |excess| Some(Sse::default().data(format!("{excess:?}")));
        let events = events_up_to(max_bytes, stream::iter(pieces), &Turns::default(), instead);
        events.map(|event| event.unwrap().data.unwrap()).collect().await
    }

    #[tokio::test]
    async fn an_event_that_does_not_end_is_not_read_on() {
        // Control: many events that are each short enough, however their lines end.
        for pieces in [
            &["data: a\n\ndata: b\n", "\ndata: c\n\n"][..],
            &["data: a\r\n\r", "\ndata: b\r\n\r\ndata: c\r\r"],
        ] {
            assert_eq!(read(10, pieces).await, ["a", "b", "c"], "{pieces:?}");
        }
        assert_eq!(read(10, &["data: a\n\ndata: ", "bbbbbb", "bbbb"]).await, ["a", "Bytes"]);
        // Neither do lines that each are short.
        assert_eq!(read(10, &["data: a\r\ndata: b\r\n", "\r\n"]).await, ["Bytes"]);
        assert_eq!(read(20, &["data: a\r\ndata: b\r\n", "\r\n"]).await, ["a\nb"]);
    }

    #[tokio::test]
    async fn an_event_of_too_many_values_is_not_parsed() {
        let many = format!("data: [{}]\n\n", "[],".repeat(1_000_001));
        assert_eq!(read(MAX_MESSAGE_BYTES, &[&many, "data: [[]]\n\n"]).await, ["Values", "[[]]"]);
    }

    #[tokio::test]
    async fn large_messages_of_one_server_are_read_by_turns() {
        let large = format!("data: {}", "x".repeat(LARGE_BYTES));
        let turns = Turns::default();
        let open = || {
            let piece = Ok::<_, Infallible>(Bytes::from(large.clone()));
            let pieces = stream::iter([piece]).chain(stream::pending());
            events(pieces, &turns, |_| None)
        };
        let mut waiting: Vec<_> = (0..MAX_LARGE_AT_ONCE).map(|_| open()).collect();
        for events in &mut waiting {
            assert!(futures::poll!(events.next()).is_pending());
        }
        assert_eq!(turns.0.available_permits(), 0);
        waiting.pop();
        assert_eq!(turns.0.available_permits(), 1);
    }
}
