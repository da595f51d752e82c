//! The caller's side of a run: answers what the guest asks, with the caller's [`ToolHost`].
//!
//! The guest runs on a thread of its own and sends events; everything that borrows the host
//! happens here, in the caller's task.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use futures::{
    StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use narrows_model::{Limits, OutputStream};
use serde_json::value::RawValue;
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender},
    oneshot,
};

use crate::{
    host::{ModuleSource, Query, ToolAnswer, ToolCall, ToolFailure, ToolHost},
    isolate::{Isolate, Report},
    untaken::{Untaken, UntakenBytes},
};

/// The outcome of a tool call, on its way to the guest.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) number: u64,
    pub(crate) succeeded: bool,
    /// The JSON of its value or its failure.
    pub(crate) text: String,
    pub(crate) data: Option<Bytes>,
    /// The memory that it takes until the program has it; `None` for a failure.
    pub(crate) untaken: Option<UntakenBytes>,
}

/// A message from the guest's thread to the caller's side.
#[derive(Debug)]
pub(crate) enum Event {
    Output {
        stream: OutputStream,
        bytes: Bytes,
    },
    Call {
        number: u64,
        tool: String,
        arguments: String,
        data: Vec<Bytes>,
    },
    Abandon(u64),
    /// The program has taken answers, so that its calls may go on.
    Taken,
    Query {
        name: String,
        arguments: String,
        reply: oneshot::Sender<Result<String, String>>,
    },
    Module {
        name: String,
        reply: oneshot::Sender<Option<ModuleSource>>,
    },
    /// The report of the run, and the isolate if a session keeps it.
    Finished(Box<Report>, Option<Box<Isolate>>),
}

/// The output of a run.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
}

/// The beginning of a stream's text, and how much came after it.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) text: String,
    pub(crate) dropped_bytes: u64,
    /// The first bytes of a character whose rest has not come yet.
    partial: Vec<u8>,
}

/// Answers events until the run is finished. Returns no report if it ended without one.
pub(crate) async fn drive(
    host: &dyn ToolHost,
    limits: &Limits,
    mut events: UnboundedReceiver<Event>,
    completions: UnboundedSender<Completion>,
    untaken: Arc<Untaken>,
) -> (Option<(Report, Option<Box<Isolate>>)>, Printed) {
    let mut printed = Printed::default();
    let mut work = Work::new(host, limits, completions, untaken);
    let report = loop {
        tokio::select! {
            biased;
            event = events.recv() => match event {
                Some(Event::Output { stream, bytes }) => printed.add(host, limits, stream, &bytes),
                Some(Event::Finished(report, kept)) => break Some((*report, kept)),
                Some(event) => work.begin(event),
                None => break None,
            },
            Some(ended) = work.running.next() => work.ended(ended),
        }
    };
    printed.end(host, limits);
    (report, printed)
}

/// The calls and questions of a run that are not answered yet.
struct Work<'a> {
    host: &'a dyn ToolHost,
    completions: UnboundedSender<Completion>,
    /// Calls that wait until fewer are in flight.
    waiting: VecDeque<ToolCall>,
    calls: HashMap<u64, AbortHandle>,
    max_calls: usize,
    /// Answers that the program has not taken.
    untaken: Arc<Untaken>,
    /// The futures under way; that of a call yields its number.
    running: FuturesUnordered<BoxFuture<'a, Option<u64>>>,
}

impl<'a> Work<'a> {
    fn new(
        host: &'a dyn ToolHost,
        limits: &Limits,
        completions: UnboundedSender<Completion>,
        untaken: Arc<Untaken>,
    ) -> Self {
        Self {
            host,
            completions,
            waiting: VecDeque::new(),
            calls: HashMap::new(),
            max_calls: limits.calls_in_flight.max(1) as usize,
            untaken,
            running: FuturesUnordered::new(),
        }
    }

    fn begin(&mut self, event: Event) {
        match event {
            Event::Call { number, tool, arguments, data } => {
                match RawValue::from_string(arguments) {
                    Ok(arguments) => {
                        self.waiting.push_back(ToolCall { number, tool, arguments, data });
                        self.start_waiting();
                    }
                    Err(error) => self.complete(number, Err(not_json(&error))),
                }
            }
            Event::Abandon(number) => {
                self.waiting.retain(|call| call.number != number);
                // The call keeps its place until its future is gone.
                if let Some(call) = self.calls.get(&number) {
                    call.abort();
                }
            }
            Event::Taken => self.start_waiting(),
            Event::Query { name, arguments, reply } => {
                let host = self.host;
                self.running.push(Box::pin(async move {
                    let answer = match RawValue::from_string(arguments) {
                        Ok(arguments) => host.query(Query { name, arguments }).await,
                        Err(error) => Err(not_json(&error)),
                    };
                    // The run may have ended while the host thought.
                    let _ = reply.send(answer.map(json).map_err(|failure| failure_json(&failure)));
                    None
                }));
            }
            Event::Module { name, reply } => {
                let host = self.host;
                self.running.push(Box::pin(async move {
                    let _ = reply.send(host.module(name).await);
                    None
                }));
            }
            Event::Output { .. } | Event::Finished(..) => {}
        }
    }

    /// Starts as many waiting calls as may be in flight, unless the program has to take earlier answers
    /// first.
    fn start_waiting(&mut self) {
        while self.calls.len() < self.max_calls
            && !self.untaken.is_full()
            && let Some(call) = self.waiting.pop_front()
        {
            let number = call.number;
            let (abort, registration) = AbortHandle::new_pair();
            let answer = Abortable::new(self.host.call(call), registration);
            let (completions, untaken) = (self.completions.clone(), Arc::clone(&self.untaken));
            self.calls.insert(number, abort);
            self.running.push(Box::pin(async move {
                if let Ok(answer) = answer.await {
                    let _ = completions.send(completion(number, answer, &untaken));
                }
                Some(number)
            }));
        }
    }

    fn ended(&mut self, call: Option<u64>) {
        if let Some(number) = call {
            self.calls.remove(&number);
            self.start_waiting();
        }
    }

    fn complete(&self, number: u64, answer: Result<ToolAnswer, ToolFailure>) {
        let _ = self.completions.send(completion(number, answer, &self.untaken));
    }
}

fn completion(
    number: u64,
    answer: Result<ToolAnswer, ToolFailure>,
    untaken: &Arc<Untaken>,
) -> Completion {
    let answer = answer.and_then(|ToolAnswer { value, data }| {
        let bytes = value.get().len() + data.as_ref().map_or(0, Bytes::len);
        let untaken = untaken.add(bytes).ok_or_else(no_memory)?;
        Ok((json(value), data, untaken))
    });
    match answer {
        Ok((text, data, untaken)) => {
            Completion { number, succeeded: true, text, data, untaken: Some(untaken) }
        }
        Err(failure) => {
            let text = failure_json(&failure);
            Completion { number, succeeded: false, text, data: None, untaken: None }
        }
    }
}

fn no_memory() -> ToolFailure {
    ToolFailure::new(
        "the call was made, but there is no memory for its answer: programs use what the sandbox has \
         for them; await the answers of fewer calls at once, or try again when other programs have ended",
    )
}

fn json(value: Box<RawValue>) -> String {
    Box::<str>::from(value).into()
}

pub(crate) fn failure_json(failure: &ToolFailure) -> String {
    serde_json::json!(failure).to_string()
}

fn not_json(error: &serde_json::Error) -> ToolFailure {
    ToolFailure::new(format!("the arguments are not JSON: {error}"))
}

impl Printed {
    fn add(&mut self, host: &dyn ToolHost, limits: &Limits, stream: OutputStream, bytes: &[u8]) {
        let kept = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let text = kept.decode(bytes);
        kept.show(host, limits, stream, &text);
    }

    /// Ends both streams: half a character at their end will not be completed any more.
    fn end(&mut self, host: &dyn ToolHost, limits: &Limits) {
        let streams =
            [(OutputStream::Stdout, &mut self.stdout), (OutputStream::Stderr, &mut self.stderr)];
        for (stream, kept) in streams {
            if !kept.partial.is_empty() {
                kept.partial.clear();
                kept.show(host, limits, stream, "\u{fffd}");
            }
        }
    }
}

impl Kept {
    fn show(&mut self, host: &dyn ToolHost, limits: &Limits, stream: OutputStream, text: &str) {
        host.output(stream, text);
        let max = usize::try_from(limits.output_bytes).unwrap_or(usize::MAX);
        let room = max.saturating_sub(self.text.len());
        // Once something was dropped, nothing after it is kept: the text has no holes.
        let room = if self.dropped_bytes > 0 { 0 } else { text.floor_char_boundary(room) };
        self.text.push_str(&text[..room]);
        self.dropped_bytes += (text.len() - room) as u64;
    }

    /// Decodes bytes, as far as their characters are complete.
    fn decode(&mut self, bytes: &[u8]) -> String {
        self.partial.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.partial.len());
        let mut rest = 0;
        for chunk in self.partial.utf8_chunks() {
            text.push_str(chunk.valid());
            rest += chunk.valid().len();
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                break;
            }
            let is_last = rest + invalid.len() == self.partial.len();
            if is_last && may_be_completed(invalid) {
                break;
            }
            text.push('\u{fffd}');
            rest += invalid.len();
        }
        self.partial.drain(..rest);
        text
    }
}

/// Tells whether these bytes are the beginning of a character rather than wrong.
fn may_be_completed(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_cut_in_two_arrives_whole() {
        let mut kept = Kept::default();
        let text = "aé€😀z".as_bytes();
        let mut shown = String::new();
        for byte in text {
            shown += &kept.decode(&[*byte]);
        }
        assert_eq!(shown, "aé€😀z");
        assert!(kept.partial.is_empty());
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut kept = Kept::default();
        assert_eq!(kept.decode(b"a\xffb\xe2\x82"), "a\u{fffd}b");
        assert_eq!(kept.decode(b"x"), "\u{fffd}x");
    }
}
