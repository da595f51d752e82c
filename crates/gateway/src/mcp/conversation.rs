//! Carries what happens during a call to the client, within the request it belongs to: HTTP
//! clients read notifications and questions from the answer to their own request.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use narrows_engine::{UnderWay, state::Agent};
use narrows_model::OutputStream;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CreateMessageRequest, ElicitRequest, InputRequest, InputRequests, InputResponses,
        LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    },
    service::{RequestContext, ServiceError},
};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    client::{AnswerSender, ClientHandle, ClientId, Event},
    http,
};

/// The largest piece in which a program's output is streamed to the client, and how much of it in all;
/// the result has the rest.
const MAX_PIECE: usize = 4 << 10;
const MAX_STREAMED: usize = 64 << 10;
/// Pieces of output that come within this time are sent together.
const PIECE_TIME: Duration = Duration::from_millis(50);
/// How long questions are collected, so that a client of the newer protocol is asked all of them in one
/// answer.
const MORE_QUESTIONS_TIME: Duration = Duration::from_millis(5);

/// A task that works for a client, and the events that the client is to be told of meanwhile. Dropping
/// it ends the task, because then the client has left.
pub(super) struct ClientTask<T> {
    task: JoinHandle<T>,
    /// Cancelled when this is dropped, so that calls under way learn that the client has left.
    gone: CancellationToken,
    events: mpsc::Receiver<Event>,
    /// Questions that the client was asked and has not answered.
    asked: BTreeMap<String, (InputRequest, Question)>,
    questions: u32,
    streamed: usize,
    progress: f64,
    /// Whether each progress message counts as one step. Set where several tools report progress of
    /// their own, because the progress of one request may only grow.
    counts_progress: bool,
    /// An event that was received while output was collected, and is still to be handled.
    next: Option<Event>,
}

enum Question {
    Elicit(AnswerSender<rmcp::model::ElicitResult>),
    Sample(AnswerSender<rmcp::model::CreateMessageResult>),
}

/// The reason for which [`ClientTask::go_on`] returned.
pub(super) enum Step<T> {
    Done(T),
    /// The client has to answer these, in another request.
    Asks(InputRequests),
}

impl<T: Send + 'static> ClientTask<T> {
    /// Starts work for the client of a request, counted in `under_way`. Once `left` is cancelled the
    /// client has left: no new calls are made for it, and those under way may end.
    pub(super) fn start<F>(
        under_way: &UnderWay,
        context: &RequestContext<RoleServer>,
        id: ClientId,
        agent: Agent,
        left: &CancellationToken,
        work: impl FnOnce(Arc<ClientHandle>) -> F,
    ) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let gone = left.child_token();
        let (client, events) =
            ClientHandle::new(id, context.client_capabilities(), agent, gone.clone());
        let (counted, work) = (under_way.begin(), work(Arc::new(client)));
        Self {
            task: tokio::spawn(async move {
                let _counted = counted;
                work.await
            }),
            gone,
            events,
            asked: BTreeMap::new(),
            questions: 0,
            streamed: 0,
            progress: 0.0,
            counts_progress: false,
            next: None,
        }
    }

    /// Counts progress messages instead of passing their numbers on, for work that calls many tools.
    pub(super) fn counting_progress(mut self) -> Self {
        self.counts_progress = true;
        self
    }

    /// Hands the client's answers to those who asked the questions.
    pub(super) fn answer(&mut self, answers: InputResponses) {
        for (key, answer) in answers {
            match self.asked.remove(&key) {
                Some((_, Question::Elicit(question))) => drop(question.send(parse(answer))),
                Some((_, Question::Sample(question))) => drop(question.send(parse(answer))),
                None => {}
            }
        }
    }

    /// Reports events to the client until the work is done or the client has to answer questions. Fails
    /// when the request is cancelled or its session ends.
    pub(super) async fn go_on(
        &mut self,
        context: &RequestContext<RoleServer>,
        level: Option<LoggingLevel>,
    ) -> Result<Step<T>, ErrorData> {
        let asks_directly =
            context.protocol_version().is_none_or(|version| version.has_initialize());
        let mut exchanges: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
        let session_end = http::session_end(context).unwrap_or_default();
        let teller = Notifier { context, token: context.meta.get_progress_token(), level };
        loop {
            let waits = !self.asked.is_empty();
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was cancelled", None));
                }
                () = session_end.cancelled() => {
                    return Err(ErrorData::internal_error("the client ended its session", None));
                }
                Some(event) = next_event(&mut self.next, &mut self.events) => match event {
                    Event::Progress(progress) if self.counts_progress => {
                        self.progress += 1.0;
                        teller.progress(self.progress, None, Some(progress.to_string())).await;
                    }
                    Event::Progress(progress) => {
                        teller.progress(progress.done, progress.total, progress.message).await;
                    }
                    Event::Log(message) => teller.log(message).await,
                    Event::Output(stream, text) => {
                        self.tell_output(&teller, stream, text).await;
                    }
                    Event::Elicit(question, answer) if asks_directly => {
                        exchanges.push(Box::pin(async move {
                            let asked = context.peer.create_elicitation(question).await;
                            let _ = answer.send(asked.map_err(of_service));
                        }));
                    }
                    Event::Sample(request, answer) if asks_directly => {
                        exchanges.push(Box::pin(async move {
                            let asked = context.peer.create_message(*request).await;
                            let _ = answer.send(asked.map_err(of_service));
                        }));
                    }
                    Event::Elicit(question, answer) => {
                        let request = InputRequest::Elicitation(ElicitRequest::new(question));
                        self.ask(request, Question::Elicit(answer));
                    }
                    Event::Sample(request, answer) => {
                        let request = CreateMessageRequest::new(*request);
                        self.ask(InputRequest::CreateMessage(request), Question::Sample(answer));
                    }
                },
                Some(()) = exchanges.next() => {}
                done = &mut self.task => {
                    return done.map(Step::Done).map_err(|error| {
                        ErrorData::internal_error(format!("the call failed: {error}"), None)
                    });
                }
                () = tokio::time::sleep(MORE_QUESTIONS_TIME), if waits => {
                    let requests = self.asked.iter();
                    return Ok(Step::Asks(
                        requests.map(|(key, (request, _))| (key.clone(), request.clone())).collect(),
                    ));
                }
            }
        }
    }

    fn ask(&mut self, request: InputRequest, question: Question) {
        self.questions += 1;
        self.asked.insert(format!("question-{}", self.questions), (request, question));
    }

    /// Streams output to the client, joined with what follows on the same stream within [`PIECE_TIME`].
    async fn tell_output(&mut self, teller: &Notifier<'_>, stream: OutputStream, mut text: String) {
        if self.streamed >= MAX_STREAMED || !teller.tells_output() {
            return;
        }
        let until = tokio::time::Instant::now() + PIECE_TIME;
        while text.len() < MAX_PIECE {
            match tokio::time::timeout_at(until, self.events.recv()).await {
                Ok(Some(Event::Output(other, more))) if other == stream => text.push_str(&more),
                Ok(other) => {
                    self.next = other;
                    break;
                }
                Err(_) => break,
            }
        }
        let room = text.floor_char_boundary(MAX_STREAMED - self.streamed);
        if room < text.len() {
            text.truncate(room);
            text.push_str("… (the result has the rest)");
        }
        self.streamed += room.max(1);
        self.progress += 1.0;
        teller.output(stream, text, self.progress).await;
    }
}

async fn next_event(
    early: &mut Option<Event>,
    events: &mut mpsc::Receiver<Event>,
) -> Option<Event> {
    match early.take() {
        Some(event) => Some(event),
        None => events.recv().await,
    }
}

impl<T> Drop for ClientTask<T> {
    fn drop(&mut self) {
        // First: what is under way has to know why it is given up.
        self.gone.cancel();
        self.task.abort();
    }
}

/// Sends notifications to the client of one request.
struct Notifier<'a> {
    context: &'a RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    /// The lowest level of log messages that the client wants; none if it wants no messages.
    level: Option<LoggingLevel>,
}

impl Notifier<'_> {
    async fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = &self.token else { return };
        let mut param = ProgressNotificationParam::new(token.clone(), done);
        param.total = total;
        param.message = message;
        let _ = self.context.peer.notify_progress(param).await;
    }

    async fn log(&self, message: LoggingMessageNotificationParam) {
        if self.level.is_some_and(|min| rank(message.level) >= rank(min)) {
            let _ = self.context.peer.notify_logging_message(message).await;
        }
    }

    fn tells_output(&self) -> bool {
        self.token.is_some() || self.level.is_some()
    }

    /// Sends what a program printed as progress of its call, or as a log message if the client wants no
    /// progress.
    async fn output(&self, stream: OutputStream, text: String, progress: f64) {
        if self.token.is_some() {
            return self.progress(progress, None, Some(text)).await;
        }
        let level = match stream {
            OutputStream::Stdout => LoggingLevel::Info,
            OutputStream::Stderr => LoggingLevel::Warning,
        };
        let message = LoggingMessageNotificationParam::new(level, Value::String(text));
        self.log(message.with_logger(stream.to_string())).await;
    }
}

fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}

fn of_service(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(error) => error,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}

fn parse<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, ErrorData> {
    serde_json::from_value(answer).map_err(|error| {
        ErrorData::invalid_params(format!("the client's answer is malformed: {error}"), None)
    })
}
