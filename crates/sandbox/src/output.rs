//! The output of a program, on its way out as it is printed.

use bytes::Bytes;
use narrows_model::{LimitKind, Limits, OutputStream as Stream};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::UnboundedSender;
use wasmtime_wasi::{
    async_trait,
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamError, StreamResult},
};

use crate::{driver::Event, isolate::Exceeded};

/// The most that one write may carry. Python's unbuffered streams ignore how much of a write
/// was taken, so that whatever is within the limit has to be taken at once.
const MAX_AT_ONCE: u64 = 48 << 20;

/// One of the two streams of an isolate. Until a run begins, what is written goes nowhere.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    stream: Stream,
    sink: Arc<Mutex<Sink>>,
}

#[derive(Debug, Default)]
struct Sink {
    events: Option<UnboundedSender<Event>>,
    left: u64,
}

impl Output {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, sink: Arc::default() }
    }

    /// Sends what is written from now on to `events`, up to the ceiling.
    pub(crate) fn begin(&self, events: UnboundedSender<Event>, limits: &Limits) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink.events = Some(events);
        sink.left = limits.output_bytes.saturating_mul(Limits::OUTPUT_CEILING);
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this, and it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

#[async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(events) = &sink.events else { return Ok(()) };
        let Some(left) = sink.left.checked_sub(bytes.len() as u64) else {
            return Err(StreamError::Trap(Exceeded(LimitKind::Output).into()));
        };
        // When nobody listens any more, the run is about to be stopped.
        let _ = events.send(Event::Output { stream: self.stream, bytes });
        sink.left = left;
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        let sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        // One byte more than is left, to notice a write that is too large.
        let room = if sink.events.is_some() { sink.left + 1 } else { MAX_AT_ONCE };
        Ok(room.min(MAX_AT_ONCE) as usize)
    }
}
