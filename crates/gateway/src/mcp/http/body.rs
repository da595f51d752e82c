//! Reads the body of a request before anything parses it: so much of it, within a time, and so many
//! large ones at once.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use axum::{
    body::{Body, BodyDataStream, Bytes},
    extract::Request,
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use narrows_sandbox::apart;
use serde_json::json;
use thiserror::Error;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::caller::Caller;
use crate::mcp::json_scan;

/// The largest request: a program with its context.
pub(super) const MAX_BODY_BYTES: usize = 16 << 20;
/// What is read of one that is too large, for clients that read no answer before they have sent all.
const MAX_DISCARDED_BYTES: usize = 4 * MAX_BODY_BYTES;
/// Larger ones take many times their size in memory when they are parsed, and a thread for a while:
/// one client with many of them took gigabytes, and all threads.
const LARGE_BODY_BYTES: usize = 256 << 10;
/// Large requests of one key at once, from their first byte to the end of their work.
pub(super) const MAX_LARGE_BODIES_PER_KEY: usize = 4;
/// Large requests of all keys at once.
pub(super) const MAX_LARGE_BODIES: usize = 16;
/// How long a large request waits for a place.
const PLACE_TIME: Duration = Duration::from_secs(15);
/// How long a whole body may take. Whoever sends a byte now and then holds a connection no longer.
const BODY_TIME: Duration = Duration::from_secs(120);

/// The places that a large request takes, of its key and of all.
#[derive(Debug)]
pub(in crate::mcp) struct LargeBody {
    _of_key: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

/// Why the body of a request is not taken.
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
    #[error("{MAX_LARGE_BODIES} large requests are under way, the most at once; try again")]
    Busy,
    #[error(transparent)]
    Shape(#[from] json_scan::ScanError),
}

impl IntoResponse for BodyError {
    /// As the protocol says it, for clients that show their user what an answer says.
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
    large: Arc<Semaphore>,
    /// How long a large request waits for each of its places.
    place_time: Duration,
}

impl BodyReader {
    pub(super) fn new() -> Self {
        Self { large: Arc::new(Semaphore::new(MAX_LARGE_BODIES)), place_time: PLACE_TIME }
    }

    /// Hands a request on once its body is here and looks harmless.
    pub(super) async fn pass(&self, request: Request, caller: &Caller, next: Next) -> Response {
        let (mut parts, body) = request.into_parts();
        let announced = parts.headers.get(header::CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse().ok());
        let reading = self.read(body, announced.unwrap_or(0), caller);
        let (bytes, large) = match timeout(BODY_TIME + 2 * self.place_time, reading).await {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => return error.into_response(),
            Err(_) => return BodyError::TooSlow.into_response(),
        };
        let is_large = large.is_some();
        if let Some(large) = large {
            parts.extensions.insert(Arc::new(large));
        }
        let checked =
            if is_large { apart(|| json_scan::check(&bytes)) } else { json_scan::check(&bytes) };
        if let Err(error) = checked {
            return BodyError::from(error).into_response();
        }
        let answer = next.run(Request::from_parts(parts, Body::from(bytes)));
        if is_large { parsed_apart(answer).await } else { answer.await }
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
        let of_all = Arc::clone(&self.large).acquire_owned();
        let Ok(Ok(of_all)) = timeout(self.place_time, of_all).await else {
            return Err(BodyError::Busy);
        };
        Ok(LargeBody { _of_key: of_key, _of_all: of_all })
    }
}

/// Reads what is left, up to a limit, and keeps nothing of it.
async fn discard(mut pieces: BodyDataStream) {
    let mut left = MAX_DISCARDED_BYTES;
    while let Some(Ok(piece)) = pieces.next().await {
        left = left.saturating_sub(piece.len());
        if left == 0 {
            return;
        }
    }
}

/// Waits for an answer whose request is parsed when it is first asked for, all at once since the body is
/// complete; otherwise a few large requests would take all threads, and nobody would be answered.
async fn parsed_apart(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    let first = poll_fn(|cx| Poll::Ready(apart(|| answer.as_mut().poll(cx)))).await;
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
        runtime.block_on(runtime.spawn(parsed_apart(parsing))).unwrap();
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
}
