//! The transport of servers before 2025: one stream of events from the server, and a second
//! address, named by the first event, that messages are posted to.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use reqwest::{
    Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap},
};
use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{AuthError, Transport, streamable_http_client::AuthRequiredError},
};
use thiserror::Error;
use tokio_util::sync::DropGuard;

use crate::{
    http::bearer::Bearer,
    logs::server_history::ServerHistory,
    messages::{
        bounded::{Events, SharedRoom, Turns, events},
        inbox::Inbox,
        limits::Excess,
        outbox::Outbox,
    },
};

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;

/// How long the server may take to name the address for messages.
const ENDPOINT_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Error)]
pub(crate) enum SseTransportError {
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    #[error(transparent)]
    Login(#[from] AuthError),
    #[error("Auth required")]
    AuthRequired(#[source] AuthRequiredError),
    #[error("the server answered with HTTP {0}")]
    Status(u16),
    #[error("the server is no HTTP+SSE server: its answer is no event stream")]
    NoEvents,
    #[error("the server did not name the address for messages")]
    NoEndpoint,
    #[error("the server names an address for messages on another host, {0:?}")]
    ForeignEndpoint(String),
    #[error("a message could not be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// A connection over HTTP+SSE.
pub(crate) struct SseTransport {
    client: reqwest::Client,
    headers: HeaderMap,
    bearer: Arc<Bearer>,
    endpoint: Url,
    events: Events,
    outbox: Outbox,
    inbox: Inbox,
    /// The memory of the event that is being read.
    room: SharedRoom,
    /// An event that waits to be parsed: `receive` may be dropped meanwhile.
    event: Option<String>,
    history: ServerHistory,
    /// Tells the connection when this is dropped.
    _alive: Arc<DropGuard>,
}

impl SseTransport {
    pub(crate) async fn connect(
        client: reqwest::Client,
        url: Url,
        headers: HeaderMap,
        bearer: Arc<Bearer>,
        inbox: Inbox,
        history: ServerHistory,
        alive: Arc<DropGuard>,
    ) -> Result<Self, SseTransportError> {
        let request = || {
            let request = client.get(url.clone()).header(ACCEPT, "text/event-stream");
            request.headers(headers.clone())
        };
        let response = send(request, &bearer).await?;
        let is_events = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if !is_events {
            return Err(SseTransportError::NoEvents);
        }
        // It is unknown whose answer it was; where its end is unknown too, the connection ends.
        let problems = history.clone();
        let left_out = move |excess: Excess| {
            problems.problem(excess.to_string());
            None
        };
        let turns = Turns::new(&inbox.budget);
        let (mut events, room) = events(response.bytes_stream(), &turns, left_out);
        let endpoint = tokio::time::timeout(ENDPOINT_PATIENCE, endpoint(&mut events))
            .await
            .ok()
            .flatten()
            .and_then(|address| url.join(&address).ok())
            .ok_or(SseTransportError::NoEndpoint)?;
        // Our headers may hold secrets that are meant for this server alone.
        if endpoint.origin() != url.origin() {
            return Err(SseTransportError::ForeignEndpoint(endpoint.to_string()));
        }
        let outbox = Outbox::default();
        Ok(Self {
            client,
            headers,
            bearer,
            endpoint,
            events,
            outbox,
            inbox,
            room,
            event: None,
            history,
            _alive: alive,
        })
    }
}

/// Sends a request with the token of the login, and once more if a newer one is needed.
async fn send(
    request: impl Fn() -> reqwest::RequestBuilder,
    bearer: &Bearer,
) -> Result<reqwest::Response, SseTransportError> {
    let with = |token: Option<&str>| match token {
        Some(token) => request().bearer_auth(token),
        None => request(),
    };
    let token = bearer.token().await?;
    let response = with(token.as_deref()).send().await?;
    let response = match token {
        Some(token) if response.status() == reqwest::StatusCode::UNAUTHORIZED => {
            match bearer.renewed(&token).await? {
                Some(token) => with(Some(&token)).send().await?,
                None => response,
            }
        }
        _ => response,
    };
    check(&response)?;
    Ok(response)
}

fn check(response: &reqwest::Response) -> Result<(), SseTransportError> {
    let status = response.status();
    if status == reqwest::StatusCode::UNAUTHORIZED {
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.and_then(|value| value.to_str().ok()).unwrap_or_default();
        return Err(SseTransportError::AuthRequired(AuthRequiredError::new(challenge.to_owned())));
    }
    if status.is_success() { Ok(()) } else { Err(SseTransportError::Status(status.as_u16())) }
}

async fn endpoint(events: &mut Events) -> Option<String> {
    while let Some(event) = events.next().await {
        let event = event.ok()?;
        if event.event.as_deref() == Some("endpoint") {
            return event.data;
        }
    }
    None
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseTransportError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (client, endpoint) = (self.client.clone(), self.endpoint.clone());
        let (headers, bearer) = (self.headers.clone(), Arc::clone(&self.bearer));
        let sending = self.outbox.enter(&message);
        async move {
            let Some(sending) = sending else { return Ok(()) };
            let _connection = sending.connection().await;
            let body = serde_json::to_vec(&message)?;
            let request = || {
                let request = client.post(endpoint.clone()).headers(headers.clone());
                request.header(CONTENT_TYPE, "application/json").body(body.clone())
            };
            send(request, &bearer).await.map(drop)
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if self.event.is_none() {
                self.event = self.events.next().await?.ok()?.data;
            }
            let Some(data) = &self.event else { continue };
            let mut room = self.room.lock().await;
            let parsed = self.inbox.parse(data.as_bytes(), &mut room).await;
            self.event = None;
            match parsed {
                Ok(Ok(message)) => return Some(message),
                Ok(Err(_)) => {}
                // Whose answer it was, nobody knows.
                Err(excess) => self.history.problem(excess.to_string()),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures::stream::empty().boxed();
        Ok(())
    }
}
