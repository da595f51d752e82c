//! The client of a session, as those see it who work for it.

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

/// Filling our memory with what a client does not read, or not as fast as it is told. What is told
/// beyond this is left out, but for questions, which wait.
const MAX_WAITING_EVENTS: usize = 256;
/// The most that is told at once.
const MAX_PROGRESS_BYTES: usize = 4 << 10;
const MAX_LOG_BYTES: usize = 64 << 10;

/// Something for the client while work goes on.
pub(super) enum Event {
    Progress(Progress),
    Log(LoggingMessageNotificationParam),
    Output(OutputStream, String),
    Elicit(ElicitRequestParams, AnswerSender<ElicitResult>),
    Sample(Box<CreateMessageRequestParams>, AnswerSender<CreateMessageResult>),
}

pub(super) type AnswerSender<T> = oneshot::Sender<Result<T, ErrorData>>;

/// Which client it is.
#[derive(Clone, Debug)]
pub(super) struct ClientId {
    /// Tells the clients of this gateway apart.
    pub(super) number: u64,
    /// Names its session among those of all gateways, if it has one that lasts longer than a request.
    pub(super) session: Option<String>,
}

/// Collects events for the client; whoever talks to the client takes them from the other end.
pub(super) struct ClientHandle {
    events: mpsc::Sender<Event>,
    id: ClientId,
    capabilities: ClientCapabilities,
    agent: Agent,
    /// Cancelled when it has left.
    gone: CancellationToken,
    /// Its model may read all that it is told.
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
        // What we do not pass on, a server shall not count on.
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
            // A model reads it.
            let request = self.pii_filter.whole(&request)?;
            self.ask(|answer| Event::Sample(Box::new(request), answer)).await
        })
    }
}
