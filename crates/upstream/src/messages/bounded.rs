//! Reads what a server sends over HTTP: no more than one message's worth of each answer, and large
//! messages of one server a few at a time.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::{
    Stream, StreamExt,
    future::ready,
    stream::{self, BoxStream},
};
use sse_stream::{Error as SseError, Sse, SseStream};
use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use crate::messages::{
    budget::{Budget, FREE_BYTES, MessageMemory},
    inbox::parsing,
    limits::{Excess, LARGE_BYTES, MAX_LARGE_AT_ONCE, MAX_MESSAGE_BYTES, check_message},
};

/// Events of a server.
pub(crate) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Turns at reading the large messages of one server, and the memory that all servers share.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    turns: Arc<Semaphore>,
    budget: Budget,
}

impl Turns {
    pub(crate) fn new(budget: &Budget) -> Self {
        Self { turns: Arc::new(Semaphore::new(MAX_LARGE_AT_ONCE)), budget: budget.clone() }
    }
}

/// The memory of the message that is read now; its reader and its parser have it by turns.
pub(crate) type SharedRoom = Arc<Mutex<MessageMemory>>;

/// Why a body could not be read.
#[derive(Debug)]
pub(crate) enum BodyError {
    Excess(Excess),
    Http(reqwest::Error),
}

impl From<Excess> for BodyError {
    fn from(excess: Excess) -> Self {
        Self::Excess(excess)
    }
}

/// Reads the body of an answer that is one message.
pub(crate) async fn read_body(
    response: reqwest::Response,
    turns: &Turns,
    room: &mut MessageMemory,
) -> Result<Vec<u8>, BodyError> {
    let mut pieces = response.bytes_stream();
    let mut body = Vec::new();
    let mut turn = None;
    while let Some(piece) = in_time(pieces.next(), room.deadline()).await? {
        let piece = piece.map_err(BodyError::Http)?;
        if body.len() + piece.len() > MAX_MESSAGE_BYTES {
            return Err(BodyError::Excess(Excess::Bytes));
        }
        if body.len() + piece.len() > LARGE_BYTES && turn.is_none() {
            turn = Arc::clone(&turns.turns).acquire_owned().await.ok();
        }
        room.reserve(growth(body.len() + piece.len())).await?;
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Returns how much to reserve for so many bytes: the capacity of a buffer that doubles when it is
/// full.
pub(crate) fn growth(bytes: usize) -> usize {
    bytes.next_power_of_two()
}

/// Waits for a piece of a message, at most until the message has to be complete.
pub(crate) async fn in_time<T>(
    next: impl Future<Output = T>,
    deadline: Option<Instant>,
) -> Result<T, Excess> {
    match deadline {
        Some(deadline) => timeout_at(deadline, next).await.map_err(|_| Excess::Slow),
        None => Ok(next.await),
    }
}

/// Reads the beginning of a body that is for people.
pub(crate) async fn read_start(response: reqwest::Response, max_bytes: usize) -> String {
    let mut pieces = response.bytes_stream();
    let mut body = Vec::new();
    while body.len() < max_bytes
        && let Some(Ok(piece)) = pieces.next().await
    {
        body.extend_from_slice(&piece[..piece.len().min(max_bytes - body.len())]);
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// Reads events. `instead` makes what stands in the place of one that is over a limit; after one that
/// is too long nothing more comes, because nobody knows where the next begins.
pub(crate) fn events<E: std::error::Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    turns: &Turns,
    instead: impl Fn(Excess) -> Option<Sse> + Send + Sync + 'static,
) -> (Events, SharedRoom) {
    events_up_to(MAX_MESSAGE_BYTES, bytes, turns, instead)
}

fn events_up_to<E: std::error::Error + Send + Sync + 'static>(
    max_bytes: usize,
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    turns: &Turns,
    instead: impl Fn(Excess) -> Option<Sse> + Send + Sync + 'static,
) -> (Events, SharedRoom) {
    let room = Arc::new(Mutex::new(MessageMemory::new(&turns.budget)));
    let excess = Arc::new(OnceLock::new());
    let reader = BoundedReader {
        bytes: bytes.boxed(),
        max_bytes,
        size: EventSize::default(),
        turns: turns.clone(),
        turn: None,
        room: Arc::clone(&room),
        excess: Arc::clone(&excess),
    };
    let instead = Arc::new(instead);
    let at_end = Arc::clone(&instead);
    let events = SseStream::from_bytes_stream(stream::unfold(reader, BoundedReader::next).boxed())
        .filter_map(move |event| {
            let data = event.as_ref().ok().and_then(|event| event.data.as_deref());
            let checking = |data: &str| parsing(data.len(), || check_message(data.as_bytes()));
            ready(match data.map_or(Ok(0), checking) {
                Ok(_) => Some(event),
                Err(excess) => instead(excess).map(Ok),
            })
        })
        .chain(
            stream::once(async move { excess.get().copied() })
                .filter_map(move |excess| ready(excess.and_then(|over| at_end(over)).map(Ok))),
        );
    (events.boxed(), room)
}

/// The bytes of a stream of events, up to one that is too long.
struct BoundedReader<E> {
    bytes: BoxStream<'static, Result<Bytes, E>>,
    max_bytes: usize,
    size: EventSize,
    turns: Turns,
    turn: Option<OwnedSemaphorePermit>,
    room: SharedRoom,
    /// Why nothing more is read.
    excess: Arc<OnceLock<Excess>>,
}

impl<E> BoundedReader<E> {
    async fn next(mut self) -> Option<(Result<Bytes, E>, Self)> {
        match self.read().await {
            Ok(piece) => Some((piece?, self)),
            Err(excess) => {
                let _ = self.excess.set(excess);
                None
            }
        }
    }

    async fn read(&mut self) -> Result<Option<Result<Bytes, E>>, Excess> {
        let room = Arc::clone(&self.room);
        let mut room = room.lock().await;
        // A reader that asks for more has used all events before.
        if self.size.event <= LARGE_BYTES {
            self.turn = None;
        }
        if self.size.event <= FREE_BYTES {
            room.take();
        }
        let piece = match in_time(self.bytes.next(), room.deadline()).await? {
            Some(Ok(piece)) => piece,
            other => return Ok(other),
        };
        let longest = self.size.add(&piece);
        if longest > self.max_bytes {
            return Err(Excess::Bytes);
        }
        if longest > LARGE_BYTES && self.turn.is_none() {
            self.turn = Arc::clone(&self.turns.turns).acquire_owned().await.ok();
        }
        room.reserve(growth(longest)).await?;
        Ok(Some(Ok(piece)))
    }
}

/// The length of the event that is being read. An empty line ends it.
#[derive(Default)]
struct EventSize {
    event: usize,
    line: usize,
    after_return: bool,
}

impl EventSize {
    /// Adds a piece, and returns the length of the longest event that has a part in it.
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
        let turns = Turns::new(&Budget::default());
        let (events, _) = events_up_to(max_bytes, stream::iter(pieces), &turns, instead);
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
        let turns = Turns::new(&Budget::default());
        let open = || {
            let piece = Ok::<_, Infallible>(Bytes::from(large.clone()));
            let pieces = stream::iter([piece]).chain(stream::pending());
            events(pieces, &turns, |_| None).0
        };
        let mut waiting: Vec<_> = (0..MAX_LARGE_AT_ONCE).map(|_| open()).collect();
        for events in &mut waiting {
            assert!(futures::poll!(events.next()).is_pending());
        }
        assert_eq!(turns.turns.available_permits(), 0);
        waiting.pop();
        assert_eq!(turns.turns.available_permits(), 1);
    }
}
