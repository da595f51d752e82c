//! The handle by which work for a client reports to it and asks it.

use futures::future::BoxFuture;
use narrows_engine::{
    RunClient,
    compute::{json_bytes, without_place},
    safety::PiiFilter,
    state::Agent,
};
use narrows_model::OutputStream;
use narrows_upstream::{Caller, Progress};
use rmcp::{
    ErrorData,
    model::{
        ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
        ElicitResult, LoggingMessageNotificationParam,
    },
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Stops a client that reads slowly, or not at all, from filling our memory with events. Events beyond
/// this are dropped, but for questions, which wait.
const MAX_WAITING_EVENTS: usize = 256;
/// The longest text of one progress message, and of one log message.
const MAX_PROGRESS_BYTES: usize = 4 << 10;
const MAX_LOG_BYTES: usize = 64 << 10;

/// An event for the client while work for it goes on.
pub(super) enum Event {
    Progress(Progress),
    Log(LoggingMessageNotificationParam),
    Output(OutputStream, String),
    Elicit(ElicitRequestParams, AnswerSender<ElicitResult>),
    Sample(Box<CreateMessageRequestParams>, AnswerSender<CreateMessageResult>),
}

pub(super) type AnswerSender<T> = oneshot::Sender<Result<T, ErrorData>>;

/// The identity of a client.
#[derive(Clone, Debug)]
pub(super) struct ClientId {
    /// Tells the clients of this gateway apart.
    pub(super) number: u64,
    /// The name of its session, unique among all gateways; none for a session that lasts one request
    /// only.
    pub(super) session: Option<String>,
}

/// The sending end of a client's events. [`ClientTask`](super::conversation::ClientTask) has the other
/// end, and talks to the client.
pub(super) struct ClientHandle {
    events: mpsc::Sender<Event>,
    id: ClientId,
    capabilities: ClientCapabilities,
    agent: Agent,
    /// Cancelled when the client has left.
    gone: CancellationToken,
    /// Puts tokens into all that the client is sent, because its model may read it.
    pii_filter: PiiFilter,
}

impl ClientHandle {
    pub(super) fn new(
        id: ClientId,
        capabilities: Option<ClientCapabilities>,
        agent: Agent,
        gone: CancellationToken,
    ) -> (Self, mpsc::Receiver<Event>) {
        let (events, receiver) = mpsc::channel(MAX_WAITING_EVENTS);
        let mut capabilities = capabilities.unwrap_or_default();
        // Servers must not rely on extensions, because we do not pass them on.
        capabilities.extensions = None;
        let pii_filter = agent.pii_filter();
        (Self { events, id, capabilities, agent, gone, pii_filter }, receiver)
    }

    fn tell(&self, event: Event) {
        // The client is gone, and soon the work is; or it does not read.
        let _ = self.events.try_send(event);
    }

    async fn ask<T>(&self, event: impl FnOnce(AnswerSender<T>) -> Event) -> Result<T, ErrorData> {
        let (answer, asked) = oneshot::channel();
        let gone = || ErrorData::internal_error("the client is gone", None);
        self.events.send(event(answer)).await.map_err(|_| gone())?;
        asked.await.map_err(|_| gone())?
    }
}

fn unsupported(server: &str, what: &str) -> ErrorData {
    let message =
        format!("the server {server:?} asks for {what}, which the client does not support");
    ErrorData::invalid_request(message, None)
}

impl RunClient for ClientHandle {
    fn output(&self, stream: OutputStream, text: String) {
        if !text.is_empty() {
            self.tell(Event::Output(stream, text));
        }
    }
}

impl Caller for ClientHandle {
    fn client(&self) -> u64 {
        self.id.number
    }

    fn session(&self) -> Option<&str> {
        self.id.session.as_deref()
    }

    fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    fn capabilities(&self) -> ClientCapabilities {
        self.capabilities.clone()
    }

    fn progress(&self, _server: &str, mut progress: Progress) {
        if let Some(message) = &mut progress.message {
            without_place(message.len(), || self.pii_filter.replace(message));
            message.truncate(message.floor_char_boundary(MAX_PROGRESS_BYTES));
        }
        self.tell(Event::Progress(progress));
    }

    fn log(&self, server: &str, mut message: LoggingMessageNotificationParam) {
        message.logger.get_or_insert_with(|| server.to_owned());
        let bytes = json_bytes(&message.data);
        let message = without_place(bytes, || {
            if message.data.to_string().len() > MAX_LOG_BYTES {
                let left_out = format!("(a message of more than {MAX_LOG_BYTES} bytes)");
                message.data = Value::from(left_out);
            }
            self.pii_filter.log(message)
        });
        self.tell(Event::Log(message));
    }

    fn elicit(
        &self,
        server: &str,
        question: ElicitRequestParams,
    ) -> BoxFuture<'_, Result<ElicitResult, ErrorData>> {
        if self.capabilities.elicitation.is_none() {
            let refused = Err(unsupported(server, "input from the user (elicitation)"));
            return Box::pin(std::future::ready(refused));
        }
        let server = server.to_owned();
        Box::pin(async move {
            let question = self.pii_filter.whole(&question)?;
            let mut answer = self.ask(|answer| Event::Elicit(question, answer)).await?;
            // A default that was shown as a token goes back as what it is.
            if let Some(content) = &mut answer.content {
                let revealed = self.agent.reveal_answer(&server, "elicitation", content).await;
                revealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
            Ok(answer)
        })
    }

    fn sample(
        &self,
        server: &str,
        request: CreateMessageRequestParams,
    ) -> BoxFuture<'_, Result<CreateMessageResult, ErrorData>> {
        if self.capabilities.sampling.is_none() {
            let refused = Err(unsupported(server, "a completion by the model (sampling)"));
            return Box::pin(std::future::ready(refused));
        }
        Box::pin(async move {
            // A model reads the request.
            let request = self.pii_filter.whole(&request)?;
            self.ask(|answer| Event::Sample(Box::new(request), answer)).await
        })
    }
}
