//! The wire to a child process: one JSON-RPC message a line, whatever else the child prints.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleClient,
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcError, JsonRpcMessage,
        JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage, ServerNotification,
    },
    transport::Transport,
};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout},
    time::Instant,
};

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    handler::notification_barrier::NotificationBarrier,
    logs::server_history::ServerHistory,
    messages::{
        bounded::{growth, in_time},
        budget::{MessageMemory, memory},
        inbox::{Inbox, parsing},
        limits::{Excess, MAX_MESSAGE_BYTES, MAX_NOTICE_BYTES, check_message},
        outbox::Outbox,
    },
    stdio::child::Pipes,
};

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;

/// The longest line that is read.
const MAX_LINE_LEN: usize = MAX_MESSAGE_BYTES;
/// How much of both ends of a line that is too long is kept, to find out what it answers.
const LINE_ENDS: usize = 256;
/// How much a child may have printed that nobody has read when it is gone, and how long that may
/// take to arrive: whatever it started may go on printing.
const MAX_UNREAD: u64 = 64 << 10;
const UNREAD_TIME: Duration = Duration::from_secs(1);
/// How much of a line is kept that is not a message.
const NOISE_BYTES: usize = 200;

/// Messages to and from a child process.
pub(crate) struct StdioTransport {
    stdin: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    /// Taken when this is dropped.
    stdout: Option<BufReader<ChildStdout>>,
    /// The part of a line that was read so far: `receive` may be dropped in the middle of one.
    line: StdioLine,
    /// A line that is complete and waits for memory to be parsed in.
    whole: Option<StdioLine>,
    /// The memory of `line` and `whole`.
    room: MessageMemory,
    probe: Arc<Mutex<Probe>>,
    /// How long the probe may take. A child of the older protocol may ignore `server/discover` instead
    /// of refusing it. Then it counts as refused, and `initialize` is tried.
    probe_patience: Duration,
    inbox: Inbox,
    history: ServerHistory,
    notices: Arc<NotificationBarrier>,
    outbox: Outbox,
    /// Cancelled when a message could not be sent: whoever still holds the other end does not read.
    broken: CancellationToken,
    /// Held until all that the child printed was read.
    reading: Arc<DropGuard>,
    /// Tells the connection when this is dropped.
    _alive: Arc<DropGuard>,
}

/// The state of the probe for the newer protocol.
#[derive(Debug, Default)]
enum Probe {
    #[default]
    None,
    /// `server/discover` was sent.
    Asked(RequestId, Instant),
    /// It counts as refused; a late answer to it is ignored.
    GivenUp(RequestId),
}

#[derive(Debug, Default)]
struct StdioLine {
    text: Vec<u8>,
    /// How many bytes came after the longest line that is read.
    skipped: usize,
    tail: Vec<u8>,
    /// Why it is not read.
    excess: Option<Excess>,
}

impl StdioTransport {
    pub(crate) fn new(
        pipes: Pipes,
        inbox: Inbox,
        history: ServerHistory,
        notices: Arc<NotificationBarrier>,
        probe_patience: Duration,
        alive: Arc<DropGuard>,
    ) -> Self {
        Self {
            stdin: Arc::new(tokio::sync::Mutex::new(Some(pipes.stdin))),
            stdout: Some(BufReader::with_capacity(64 << 10, pipes.stdout)),
            line: StdioLine::default(),
            whole: None,
            room: MessageMemory::new(&inbox.budget),
            probe: Arc::default(),
            probe_patience,
            inbox,
            history,
            notices,
            outbox: Outbox::default(),
            broken: CancellationToken::new(),
            reading: pipes.reading,
            _alive: alive,
        }
    }

    /// Reads the next whole line; returns `None` at the end. Safe to drop and to call again.
    async fn next_line(&mut self) -> std::io::Result<Option<StdioLine>> {
        loop {
            let Some(stdout) = &mut self.stdout else { return Ok(None) };
            let buffer = match in_time(stdout.fill_buf(), self.room.deadline()).await {
                Ok(buffer) => buffer?,
                Err(slow) => {
                    self.line.give_up(slow);
                    self.room.take();
                    continue;
                }
            };
            if buffer.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.text.is_empty()).then_some(rest));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            let bytes = growth(self.line.kept_with(piece));
            if let Err(busy) = self.room.reserve(bytes).await {
                self.line.give_up(busy);
                self.room.take();
            }
            self.line.add(piece);
            let used = piece.len() + usize::from(end.is_some());
            stdout.consume(used);
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }

    /// Turns a line into a message, if it is one that anybody waits for.
    fn message(&self, line: &StdioLine) -> Option<ServerJsonRpcMessage> {
        if let Some(excess) = line.excess {
            self.history.problem(excess.to_string());
            return Some(excess.answer(line.id()?));
        }
        if line.skipped > 0 {
            let size = (line.text.len() + line.skipped) >> 20;
            self.history.problem(format!("it sent a line of {size} MB"));
            let reason = format!(
                "the answer has {size} MB, and {} MB is the most that is read; ask for less at once",
                MAX_LINE_LEN >> 20
            );
            return Some(error_for(line.id()?, ErrorCode::INTERNAL_ERROR, reason));
        }
        let text = line.text.trim_ascii();
        if text.is_empty() {
            return None;
        }
        match serde_json::from_slice::<ServerJsonRpcMessage>(text) {
            Ok(JsonRpcMessage::Notification(_)) if text.len() > MAX_NOTICE_BYTES => {
                self.history.problem(format!(
                    "it sent a notification of {} MB, which was left out",
                    text.len() >> 20
                ));
                None
            }
            Ok(message) => {
                if self.is_late(&message) {
                    return None;
                }
                self.inbox.raw.see(text);
                if let JsonRpcMessage::Notification(notification) = &message {
                    match &notification.notification {
                        ServerNotification::LoggingMessageNotification(_)
                        | ServerNotification::ProgressNotification(_) => self.notices.say(),
                        // Noted here, because an answer can overtake the task that is told of it.
                        ServerNotification::ToolListChangedNotification(_) => {
                            self.notices.change_tools();
                        }
                        _ => {}
                    }
                }
                Some(message)
            }
            Err(error) => {
                self.history.noise(&start_of(text));
                // An answer that is malformed is still an answer: nobody shall wait for it.
                let id = line.id().filter(|_| text.starts_with(b"{"))?;
                let reason = format!("the server's answer is not valid JSON-RPC: {error}");
                Some(error_for(id, ErrorCode::PARSE_ERROR, reason))
            }
        }
    }

    /// Parses the line that is complete, as soon as there is memory for it.
    async fn parse(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = self.whole.as_mut()?;
        let needed = match line.excess {
            None => line.check(),
            Some(_) => 0,
        };
        if let Err(busy) = self.room.reserve(needed).await {
            line.give_up(busy);
        }
        let line = self.whole.take()?;
        let bytes = line.text.len();
        let message = parsing(bytes, || self.message(&line));
        if let Some(message) = &message {
            self.inbox.hold(message, bytes, &mut self.room);
        }
        self.room.take();
        message
    }

    /// Tells whether this answers the probe that was given up.
    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let mut probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        match &*probe {
            Probe::GivenUp(id) => answered == Some(id),
            Probe::Asked(id, _) if answered == Some(id) => {
                *probe = Probe::None;
                false
            }
            _ => false,
        }
    }

    /// Returns when the probe counts as refused.
    fn patience(&self) -> Option<Instant> {
        match &*self.probe.lock().unwrap_or_else(PoisonError::into_inner) {
            Probe::Asked(_, since) => Some(*since + self.probe_patience),
            _ => None,
        }
    }

    fn give_up_probe(&self) -> Option<ServerJsonRpcMessage> {
        let mut probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        let Probe::Asked(id, _) = &*probe else { return None };
        let id = id.clone();
        *probe = Probe::GivenUp(id.clone());
        Some(error_for(id, ErrorCode::METHOD_NOT_FOUND, "no answer to server/discover".into()))
    }
}

impl StdioLine {
    /// Returns how much of its beginning is kept.
    fn longest(&self) -> usize {
        if self.excess.is_some() { LINE_ENDS } else { MAX_LINE_LEN }
    }

    /// Returns how long the kept beginning will be with another piece.
    fn kept_with(&self, piece: &[u8]) -> usize {
        (self.text.len() + piece.len()).min(self.longest())
    }

    /// Gives the line up, and keeps no more than is needed to find out what it answers.
    fn give_up(&mut self, excess: Excess) {
        self.excess.get_or_insert(excess);
        let text = std::mem::take(&mut self.text);
        let start = text.len().min(LINE_ENDS);
        for piece in [&text[..start], &text[start..]] {
            self.add(piece);
        }
    }

    /// Checks a complete line, and returns how much memory it takes to be parsed.
    fn check(&mut self) -> usize {
        if self.skipped > 0 {
            return 0;
        }
        let text = self.text.trim_ascii();
        match parsing(text.len(), || check_message(text)) {
            Ok(values) => memory(self.text.len(), values),
            Err(excess) => {
                self.excess = Some(excess);
                0
            }
        }
    }

    fn add(&mut self, piece: &[u8]) {
        let room = self.longest().saturating_sub(self.text.len()).min(piece.len());
        self.text.extend_from_slice(&piece[..room]);
        let rest = &piece[room..];
        if rest.is_empty() {
            return;
        }
        self.skipped += rest.len();
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(LINE_ENDS)..]);
        let over = self.tail.len().saturating_sub(LINE_ENDS);
        self.tail.drain(..over);
    }

    /// Finds the id of the message, which stands at one of its ends in all implementations known.
    fn id(&self) -> Option<RequestId> {
        let head = &self.text[..self.text.len().min(LINE_ENDS)];
        let tail = if self.skipped > 0 {
            &self.tail
        } else {
            &self.text[self.text.len().saturating_sub(LINE_ENDS)..]
        };
        [head, tail].into_iter().find_map(|end| {
            let text = String::from_utf8_lossy(end);
            let start = text.find("\"id\":").or_else(|| text.find("\"id\" :"))?;
            let value = text[start + 4..].trim_start_matches([' ', ':']);
            let mut values = serde_json::Deserializer::from_str(value);
            RequestId::deserialize(&mut values).ok()
        })
    }
}

/// Reads in the background what is left of the output: what a child printed before it left explains
/// why, and a message that could not be sent may have ended the connection before all of it was read.
impl Drop for StdioTransport {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Handle::try_current();
        let (Some(stdout), Ok(runtime)) = (self.stdout.take(), runtime) else { return };
        let mut unread = std::mem::take(&mut self.line.text);
        let (history, reading) = (self.history.clone(), Arc::clone(&self.reading));
        runtime.spawn(async move {
            let mut stdout = stdout.take(MAX_UNREAD);
            let _ = tokio::time::timeout(UNREAD_TIME, stdout.read_to_end(&mut unread)).await;
            let lines = unread.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            for line in lines.filter(|line| !line.is_empty() && !line.starts_with(b"{")) {
                history.noise(&start_of(line));
            }
            drop(reading);
        });
    }
}

fn start_of(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(NOISE_BYTES)]).into_owned()
}

/// Sleeps until a time, or for ever if there is none.
async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn error_for(id: RequestId, code: ErrorCode, reason: String) -> ServerJsonRpcMessage {
    JsonRpcMessage::Error(JsonRpcError {
        jsonrpc: JsonRpcVersion2_0,
        id: Some(id),
        error: ErrorData::new(code, reason, None),
    })
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &message
            && let ClientRequest::DiscoverRequest(_) = &request.request
        {
            let mut probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
            *probe = Probe::Asked(request.id.clone(), Instant::now());
        }
        let (stdin, broken) = (Arc::clone(&self.stdin), self.broken.clone());
        let sending = self.outbox.enter(&message);
        if sending.is_none() {
            self.history
                .problem("it asks faster than it reads answers, which were left out".into());
        }
        async move {
            let Some(_sending) = sending else { return Ok(()) };
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            let Some(stdin) = stdin.as_mut() else {
                return Err(std::io::ErrorKind::BrokenPipe.into());
            };
            let written = stdin.write_all(&line).await;
            if written.is_err() {
                broken.cancel();
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let (patience, broken) = (self.patience(), self.broken.clone());
            if self.whole.is_some() {
                match self.parse().await {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            let line = tokio::select! {
                line = self.next_line() => line,
                () = broken.cancelled() => return None,
                () = sleep_until(patience) => return self.give_up_probe(),
            };
            match line {
                Ok(Some(line)) => self.whole = Some(line),
                Ok(None) => return None,
                Err(error) => {
                    self.history.problem(format!("its output cannot be read: {error}"));
                    return None;
                }
            }
        }
    }

    /// Closes standard input, which asks the child to leave.
    async fn close(&mut self) -> Result<(), Self::Error> {
        self.stdin.lock().await.take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(text: &str) -> Option<RequestId> {
        let mut line = StdioLine::default();
        line.add(text.as_bytes());
        line.id()
    }

    #[test]
    fn the_id_of_a_message_is_found_at_either_end() {
        assert_eq!(id_of(r#"{"jsonrpc":"2.0","id":7,"result":"#), Some(RequestId::Number(7)));
        assert_eq!(id_of(r#"{"result":{},"jsonrpc":"2.0","id": 7}"#), Some(RequestId::Number(7)));
        assert_eq!(id_of(r#"{"method":"x"}"#), None);
    }

    #[test]
    fn a_long_line_is_not_kept_and_its_ends_are() {
        let mut line = StdioLine::default();
        line.add(&vec![b'x'; MAX_LINE_LEN]);
        for _ in 0..100 {
            line.add(&[b'y'; 1000]);
        }
        line.add(br#""id":9}"#);
        assert_eq!(line.text.len(), MAX_LINE_LEN);
        assert_eq!(line.skipped, 100_007);
        assert_eq!(line.id(), Some(RequestId::Number(9)));
    }
}
