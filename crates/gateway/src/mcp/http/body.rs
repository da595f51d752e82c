//! Reads the body of a request before anything parses it: so much of it, within a time, and so many
//! large ones at once.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use axum::{
    body::{Body, BodyDataStream, Bytes},
    extract::Request,
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use narrows_model::{FairBudget, FairSemaphore, Permit};
use narrows_system::apart;
use serde_json::json;
use thiserror::Error;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::caller::Caller;
use crate::mcp::json_scan;

/// The largest body: a program with its context.
pub(super) const MAX_BODY_BYTES: usize = 16 << 20;
/// How much of a body that is too large is read and discarded, for clients that read no answer before
/// they have sent all.
const MAX_DISCARDED_BYTES: usize = 4 * MAX_BODY_BYTES;
/// Bodies above this size count as large: parsed, they take many times their size in memory, and a
/// thread for a while. One client with many of them took gigabytes, and all threads.
const LARGE_BODY_BYTES: usize = 256 << 10;
/// How many large requests one key may have at once, from their first byte until they are parsed.
pub(super) const MAX_LARGE_BODIES_PER_KEY: usize = 4;
/// How many large requests all keys together may have at once.
pub(super) const MAX_LARGE_BODIES: usize = 16;
/// The memory of all large requests that are parsed, as long as their work takes. A request for which
/// there is none keeps its places: programs that wait for minutes, each with a large context, must not
/// add up.
const MAX_PARSED_BYTES: u64 = 64 << 20;
/// The same for one key.
const MAX_PARSED_BYTES_PER_KEY: u64 = MAX_PARSED_BYTES / 2;
/// A rough estimate of the memory that a JSON value or key takes beside its text.
const VALUE_BYTES: usize = 128;
/// How long a large request waits for a place.
const PLACE_TIME: Duration = Duration::from_secs(15);
/// How long a whole body may take to arrive. Stops clients from holding a connection by sending a byte
/// now and then.
const BODY_TIME: Duration = Duration::from_secs(120);

/// The places or the memory that a large request holds of what its key and all keys have, given back
/// when dropped.
#[derive(Debug)]
pub(in crate::mcp) struct LargeBody {
    key: narrows_model::Caller,
    parsed: Arc<FairBudget>,
    held: Mutex<Held>,
}

#[derive(Debug)]
enum Held {
    /// Places: the request is still to be parsed, which takes most of the memory and the time of a
    /// thread.
    Places { _of_key: OwnedSemaphorePermit, _of_all: Permit },
    /// Memory of the parsed request, in bytes. Others need not wait for the end of its work.
    Parsed(u64),
}

impl LargeBody {
    /// Exchanges the places for memory once the request is parsed, if there is so much memory left.
    fn settle(&self, bytes: u64) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*held, Held::Places { .. }) && self.parsed.take(&self.key, bytes) {
            *held = Held::Parsed(bytes);
        }
    }
}

impl Drop for LargeBody {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Held::Parsed(bytes) = held {
            self.parsed.give_back(&self.key, *bytes);
        }
    }
}

/// Estimates how much memory a request takes once it is parsed: its text, twice because a program is
/// given it too, and its values.
fn parsed_bytes(bytes: usize, values: usize) -> u64 {
    (2 * bytes + VALUE_BYTES * values) as u64
}

/// The reason why the body of a request is refused.
#[derive(Debug, Error)]
enum BodyError {
    #[error("the request is larger than {} MB; send less at once", MAX_BODY_BYTES >> 20)]
    TooLarge,
    #[error("the request did not arrive within {} s; send it again", BODY_TIME.as_secs())]
    TooSlow,
    #[error("the request broke off: {0}")]
    Broken(#[from] axum::Error),
    #[error(
        "this key has {MAX_LARGE_BODIES_PER_KEY} large requests under way, the most at once; wait \
         for one of them"
    )]
    KeyBusy,
    #[error(
        "too many large requests are under way, of at most {MAX_LARGE_BODIES} of all keys at once; \
         try again in a moment"
    )]
    Busy,
    #[error(transparent)]
    Shape(#[from] json_scan::ScanError),
}

impl IntoResponse for BodyError {
    /// Writes the refusal as a JSON-RPC error, because some clients show their user what the body of an
    /// answer says.
    fn into_response(self) -> Response {
        let status = match &self {
            Self::TooLarge | Self::Shape(json_scan::ScanError::TooMany) => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken(_) | Self::Shape(json_scan::ScanError::TooDeep) => StatusCode::BAD_REQUEST,
            Self::KeyBusy => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        };
        let error = json!({"code": -32600, "message": self.to_string()});
        let body = json!({"jsonrpc": "2.0", "id": null, "error": error});
        let mut response = (status, axum::Json(body)).into_response();
        if matches!(self, Self::KeyBusy | Self::Busy) {
            let seconds = header::HeaderValue::from_static("5");
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

/// Reads bodies within limits that all callers share.
#[derive(Clone, Debug)]
pub(super) struct BodyReader {
    large: Arc<FairSemaphore>,
    parsed: Arc<FairBudget>,
    /// How long a large request waits for each of its places.
    place_time: Duration,
}

impl BodyReader {
    pub(super) fn new() -> Self {
        // Those who wait are bounded by their connections.
        let large = FairSemaphore::for_long(MAX_LARGE_BODIES, MAX_LARGE_BODIES_PER_KEY, usize::MAX);
        let parsed = FairBudget::new(MAX_PARSED_BYTES, MAX_PARSED_BYTES_PER_KEY);
        Self { large, parsed, place_time: PLACE_TIME }
    }

    /// Reads and checks the body of a request, and then hands it to `next`.
    pub(super) async fn pass(&self, request: Request, caller: &Caller, next: Next) -> Response {
        let (parts, body) = request.into_parts();
        let announced = parts.headers.get(header::CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse().ok());
        let reading = self.read(body, announced.unwrap_or(0), caller);
        let (bytes, large) = match timeout(BODY_TIME + 2 * self.place_time, reading).await {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => return error.into_response(),
            Err(_) => return BodyError::TooSlow.into_response(),
        };
        let large = large.map(Arc::new);
        let check = || json_scan::check(&bytes);
        let values = match if large.is_some() { apart(check) } else { check() } {
            Ok(values) => values,
            Err(error) => return BodyError::from(error).into_response(),
        };
        let parsed_bytes = parsed_bytes(bytes.len(), values);
        let mut request = Request::from_parts(parts, Body::from(bytes));
        let Some(large) = large else { return next.run(request).await };
        request.extensions_mut().insert(Arc::clone(&large));
        parsed_apart(next.run(request), || {
            large.settle(parsed_bytes);
            drop(large);
        })
        .await
    }

    /// Collects a body. Nothing large is read before there is a place for it.
    async fn read(
        &self,
        body: Body,
        announced: usize,
        caller: &Caller,
    ) -> Result<(Bytes, Option<LargeBody>), BodyError> {
        let mut pieces = body.into_data_stream();
        if announced > MAX_BODY_BYTES {
            discard(pieces).await;
            return Err(BodyError::TooLarge);
        }
        let mut large = None;
        if announced > LARGE_BODY_BYTES {
            large = Some(self.place(caller).await?);
        }
        let mut bytes = Vec::with_capacity(announced.min(LARGE_BODY_BYTES));
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            if piece.len() > MAX_BODY_BYTES - bytes.len() {
                drop((bytes, large));
                discard(pieces).await;
                return Err(BodyError::TooLarge);
            }
            bytes.extend_from_slice(&piece);
            if bytes.len() > LARGE_BODY_BYTES && large.is_none() {
                large = Some(self.place(caller).await?);
            }
        }
        Ok((bytes.into(), large))
    }

    async fn place(&self, caller: &Caller) -> Result<LargeBody, BodyError> {
        let of_key = Arc::clone(&caller.large_bodies).acquire_owned();
        let Ok(Ok(of_key)) = timeout(self.place_time, of_key).await else {
            return Err(BodyError::KeyBusy);
        };
        let key: narrows_model::Caller = caller.id.0.to_string().into();
        let of_all = self.large.acquire(&key).map_err(|_| BodyError::Busy)?;
        let of_all = timeout(self.place_time, of_all).await.map_err(|_| BodyError::Busy)?;
        let held = Mutex::new(Held::Places { _of_key: of_key, _of_all: of_all });
        Ok(LargeBody { key, parsed: Arc::clone(&self.parsed), held })
    }
}

/// Reads and discards the rest of a body, up to [`MAX_DISCARDED_BYTES`].
async fn discard(mut pieces: BodyDataStream) {
    let mut left = MAX_DISCARDED_BYTES;
    while let Some(Ok(piece)) = pieces.next().await {
        left = left.saturating_sub(piece.len());
        if left == 0 {
            return;
        }
    }
}

/// Waits for the answer to a request. Its body is complete, so that the first poll parses it in one go.
/// That poll runs in [`apart`], which hands the other tasks of this thread over: otherwise a few large
/// requests would take all threads. Then `parsed` is called.
async fn parsed_apart(answer: impl Future<Output = Response>, parsed: impl FnOnce()) -> Response {
    let mut answer = pin!(answer);
    let first = poll_fn(|cx| Poll::Ready(apart(|| answer.as_mut().poll(cx)))).await;
    parsed();
    match first {
        Poll::Ready(response) => response,
        Poll::Pending => answer.await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn caller(id: usize) -> Arc<Caller> {
        Caller::new(id, None, 1)
    }

    fn body_of(bytes: usize) -> Body {
        Body::from(vec![b'x'; bytes])
    }

    /// With one thread, which parses, nobody else would be answered.
    #[test]
    fn others_are_answered_while_a_large_request_is_parsed() {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).build().unwrap();
        let (answered, is_answered) = mpsc::channel();
        let parsing = poll_fn(move |_| {
            let answered = answered.clone();
            tokio::spawn(async move { answered.send(()) });
            is_answered.recv_timeout(Duration::from_secs(300)).expect("the other one waits");
            Poll::Ready(Response::default())
        });
        runtime.block_on(runtime.spawn(parsed_apart(parsing, || ()))).unwrap();
    }

    #[tokio::test]
    async fn a_body_has_so_many_bytes_whether_it_says_so_or_not() {
        let reader = BodyReader::new();
        let caller = caller(1);
        for announced in [0, MAX_BODY_BYTES] {
            let read = reader.read(body_of(MAX_BODY_BYTES), announced, &caller).await.unwrap();
            assert_eq!(read.0.len(), MAX_BODY_BYTES);
            let error = reader.read(body_of(MAX_BODY_BYTES + 1), announced, &caller).await;
            assert!(matches!(error, Err(BodyError::TooLarge)));
        }
        let announced = reader.read(body_of(1), MAX_BODY_BYTES + 1, &caller).await;
        assert!(matches!(announced, Err(BodyError::TooLarge)));
    }

    #[tokio::test]
    async fn a_key_with_many_large_requests_gets_no_more_and_others_do() {
        let reader = BodyReader { place_time: Duration::ZERO, ..BodyReader::new() };
        let (one, other) = (caller(1), caller(2));
        let large = LARGE_BODY_BYTES + 1;
        let mut held = Vec::new();
        for _ in 0..MAX_LARGE_BODIES_PER_KEY {
            held.push(reader.read(body_of(large), large, &one).await.unwrap());
        }
        let refused = reader.read(body_of(large), 0, &one).await;
        assert!(matches!(refused, Err(BodyError::KeyBusy)));
        // Small ones need no place.
        assert!(reader.read(body_of(10), 10, &one).await.unwrap().1.is_none());
        assert!(reader.read(body_of(large), large, &other).await.is_ok());
        held.pop();
        assert!(reader.read(body_of(large), large, &one).await.is_ok());
    }

    fn place_of(read: (Bytes, Option<LargeBody>)) -> LargeBody {
        read.1.unwrap()
    }

    #[tokio::test]
    async fn however_many_keys_hold_what_they_can_get_another_one_is_read_at_once() {
        let reader = BodyReader { place_time: Duration::ZERO, ..BodyReader::new() };
        let large = LARGE_BODY_BYTES + 1;
        let mut held = Vec::new();
        for id in 1..=4 {
            let attacker = caller(id);
            let before = held.len();
            while let Ok(read) = reader.read(body_of(large), large, &attacker).await {
                held.push(place_of(read));
            }
            // The control: each has some, and wants more.
            assert!(held.len() > before, "{id}");
        }
        reader.read(body_of(large), large, &caller(5)).await.unwrap();
    }

    #[tokio::test]
    async fn a_request_that_is_parsed_keeps_nobody_waiting_and_its_memory_is_counted() {
        let reader = BodyReader { place_time: Duration::ZERO, ..BodyReader::new() };
        let attacker = caller(1);
        let large = LARGE_BODY_BYTES + 1;
        let mut settled = Vec::new();
        // Many more than there are places.
        for _ in 0..2 * MAX_LARGE_BODIES {
            let read = reader.read(body_of(large), large, &attacker).await.unwrap();
            settled.push(place_of(read));
            settled[settled.len() - 1].settle(parsed_bytes(large, 1));
        }
        assert!(!reader.parsed.take(&attacker.id.0.to_string().into(), MAX_PARSED_BYTES_PER_KEY));
        // While there is no memory for them, they keep their places.
        for _ in 0..MAX_LARGE_BODIES_PER_KEY {
            let read = reader.read(body_of(large), large, &attacker).await.unwrap();
            settled.push(place_of(read));
            settled[settled.len() - 1].settle(MAX_PARSED_BYTES_PER_KEY);
        }
        let refused = reader.read(body_of(large), large, &attacker).await;
        assert!(matches!(refused, Err(BodyError::KeyBusy)));
        drop(settled);
        assert!(reader.parsed.take(&attacker.id.0.to_string().into(), MAX_PARSED_BYTES_PER_KEY));
    }
}
