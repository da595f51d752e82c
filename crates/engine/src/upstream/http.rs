//! The HTTP client below rmcp's Streamable HTTP transport. It leaves the protocol to rmcp, but reads
//! answers itself: within bounds, and looking at tool lists before they are parsed.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::StreamExt;
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient,
        StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::Sse;
use tokio_util::sync::DropGuard;

use super::{
    bearer::Bearer,
    bounded::{BodyError, Events, Turns, events, read_body, read_start},
    limits::{Excess, MAX_ERROR_BYTES, MAX_MESSAGE_BYTES, check_message},
    outbox::Outbox,
    raw::RawTools,
};

type Headers = HashMap<HeaderName, HeaderValue>;
type HttpError = StreamableHttpError<reqwest::Error>;

const SESSION: &str = "mcp-session-id";
const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
/// Headers that the protocol needs for itself.
const RESERVED: [&str; 3] = ["accept", SESSION, "last-event-id"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// TLS needs to know its cryptography before the first client is made.
pub(super) fn prepare_tls() {
    // A provider that was installed before is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// How we speak HTTP to anybody.
pub fn client_builder() -> reqwest::ClientBuilder {
    prepare_tls();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("narrows/", env!("CARGO_PKG_VERSION")))
}

/// A client for all servers. Redirects are not followed: they would carry our headers along.
pub(super) fn client() -> Result<reqwest::Client, reqwest::Error> {
    client_builder().redirect(reqwest::redirect::Policy::none()).build()
}

/// A client that keeps tool definitions as they came, and reads no more than it may.
#[derive(Clone, Debug)]
pub(super) struct BoundedClient {
    client: reqwest::Client,
    bearer: Arc<Bearer>,
    raw: RawTools,
    turns: Turns,
    outbox: Outbox,
    /// Tells the connection when the last clone is dropped.
    _alive: Arc<DropGuard>,
}

impl BoundedClient {
    pub(super) fn new(
        client: reqwest::Client,
        bearer: Arc<Bearer>,
        raw: RawTools,
        alive: Arc<DropGuard>,
    ) -> Self {
        let (turns, outbox) = (Turns::default(), Outbox::default());
        Self { client, bearer, raw, turns, outbox, _alive: alive }
    }

    /// Makes a request with the token of the login, and once more if the token is refused and
    /// there is a newer one.
    async fn with_token<T, F>(&self, request: impl Fn(Option<String>) -> F) -> Result<T, HttpError>
    where
        F: Future<Output = Result<T, HttpError>>,
    {
        let token = self.bearer.token().await?;
        match request(token.clone()).await {
            Err(StreamableHttpError::AuthRequired(challenge)) => {
                let Some(refused) = token else {
                    return Err(StreamableHttpError::AuthRequired(challenge));
                };
                match self.bearer.renewed(&refused).await? {
                    Some(token) => request(Some(token)).await,
                    None => Err(StreamableHttpError::AuthRequired(challenge)),
                }
            }
            answered => answered,
        }
    }

    /// Sends a message and reads what answers it. The cases are those of rmcp's own client, which
    /// reads bodies of any size.
    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        token: Option<&str>,
        headers: &Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self
            .client
            .post(uri)
            .header(ACCEPT, "text/event-stream, application/json")
            .header(CONTENT_TYPE, JSON)
            .body(serde_json::to_vec(message)?);
        for (name, value) in headers {
            if RESERVED.contains(&name.as_str()) {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await?;
        challenged(&response)?;
        let status = response.status();
        let id = match message {
            JsonRpcMessage::Request(request) => Some(&request.id),
            _ => None,
        };
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return self.failed(response, message, session.is_some()).await;
        }
        let session = header(&response, SESSION);
        let kind = header(&response, CONTENT_TYPE.as_str());
        // The specification has 202 for what needs no answer, but some servers send an empty 200.
        if id.is_none() && response.content_length() == Some(0) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        match kind.as_deref() {
            Some(kind) if kind.starts_with(EVENT_STREAM) => {
                let id = id.cloned();
                let instead = move |excess: Excess| {
                    let answer = serde_json::to_string(&excess.answer(id.clone()?)).ok()?;
                    Some(Sse::default().data(answer))
                };
                let events = events(response.bytes_stream(), &self.turns, instead);
                Ok(StreamableHttpPostResponse::Sse(self.listen(events), session))
            }
            Some(kind) if kind.starts_with(JSON) => self.answered(response, id, session).await,
            _ => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }

    /// Reads an answer that is one JSON document.
    async fn answered(
        &self,
        response: Response,
        id: Option<&RequestId>,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let body = match (read_body(response, &self.turns).await, id) {
            (Ok(body), _) => body,
            (Err(BodyError::Http(error)), _) => return Err(error.into()),
            (Err(BodyError::Excess(excess)), Some(id)) => {
                return Ok(StreamableHttpPostResponse::Json(excess.answer(id.clone()), session));
            }
            (Err(BodyError::Excess(_)), None) => return Ok(StreamableHttpPostResponse::Accepted),
        };
        match serde_json::from_slice(&body) {
            Ok(answer) => {
                self.raw.see(&body);
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            // Nobody waits for an answer to a notification.
            Err(_) if id.is_none() => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => {
                let start = String::from_utf8_lossy(&body[..body.len().min(256)]).into_owned();
                let reason = format!("the answer is not valid JSON-RPC: {error}: {start}");
                Err(StreamableHttpError::UnexpectedServerResponse(reason.into()))
            }
        }
    }

    /// Reads an answer that says that something failed. It may still be one of the protocol.
    async fn failed(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let status = response.status();
        let is_json =
            header(&response, CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with(JSON));
        let is_overload = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        let retry_after = header(&response, RETRY_AFTER.as_str());
        let overload = || HttpStatusError::new(status.as_u16(), retry_after.clone());
        if is_overload && (!is_json || status == StatusCode::TOO_MANY_REQUESTS) {
            return Err(overload().into());
        }
        let session = header(&response, SESSION);
        let body = read_start(response, MAX_ERROR_BYTES).await;
        let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let told = match serde_json::from_str::<ServerJsonRpcMessage>(&body) {
            Ok(JsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        // A server of the older protocol refuses the probe in its own way, with or without our id.
        if let JsonRpcMessage::Request(request) = message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && status.is_client_error()
            && !is_login
            && !has_session
        {
            let error = told.map(|told| told.error).unwrap_or_else(|| {
                let reason = format!("server/discover rejected with HTTP {status}: {body}");
                ErrorData::invalid_request(reason, None)
            });
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        match told {
            Some(told) if is_json && !is_login => {
                Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(told), session))
            }
            _ if is_overload => Err(overload().into()),
            _ => {
                let reason = format!("HTTP {status}: {body}");
                Err(StreamableHttpError::UnexpectedServerResponse(reason.into()))
            }
        }
    }

    fn listen(&self, events: Events) -> Events {
        let raw = self.raw.clone();
        events
            .inspect(move |event| {
                if let Ok(Sse { data: Some(data), .. }) = event {
                    raw.see(data.as_bytes());
                }
            })
            .boxed()
    }
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Whether the server wants a login, or one with more rights.
fn challenged(response: &Response) -> Result<(), HttpError> {
    let Some(challenge) = header(response, WWW_AUTHENTICATE.as_str()) else { return Ok(()) };
    match response.status() {
        StatusCode::UNAUTHORIZED => {
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        StatusCode::FORBIDDEN => {
            let scope = scope_of(&challenge);
            let error = InsufficientScopeError::new(challenge, scope);
            Err(StreamableHttpError::InsufficientScope(error))
        }
        _ => Ok(()),
    }
}

/// The scope that a challenge names: `scope="read write"` or `scope=read`.
fn scope_of(challenge: &str) -> Option<String> {
    let start = challenge.to_ascii_lowercase().find("scope=")? + "scope=".len();
    let value = &challenge[start..];
    let scope = match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => value.split([',', ';', ' ', '\t']).next().filter(|scope| !scope.is_empty())?,
    };
    Some(scope.to_owned())
}

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let Some(sending) = self.outbox.enter(&message) else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        let _connection = sending.connection().await;
        self.with_token(|token| {
            let (uri, message, session) = (Arc::clone(&uri), message.clone(), session.clone());
            let headers = headers.clone();
            async move {
                let (session, token) = (session.as_deref(), token.as_deref());
                self.post(&uri, &message, session, token, &headers).await
            }
        })
        .await
    }

    /// Our own limit holds for all events.
    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        _max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post_message(uri, message, session, token, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpError> {
        self.with_token(|token| {
            let (uri, session) = (Arc::clone(&uri), Arc::clone(&session));
            self.client.delete_session(uri, session, token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<Events, HttpError> {
        let events = self.with_token(|token| {
            self.client.get_stream_with_max_sse_event_size(
                Arc::clone(&uri),
                session.clone(),
                last_event.clone(),
                token,
                headers.clone(),
                MAX_MESSAGE_BYTES,
            )
        });
        let events = events.await?.map(|event| {
            event.map(|event| match event.data.as_deref().map(str::as_bytes).map(check_message) {
                Some(Err(_)) => Sse { data: None, ..event },
                _ => event,
            })
        });
        Ok(self.listen(events.boxed()))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        _max_sse_event_size: usize,
    ) -> Result<Events, HttpError> {
        self.get_stream(uri, session, last_event, token, headers).await
    }
}

#[cfg(test)]
mod tests;
