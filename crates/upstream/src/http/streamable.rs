//! The HTTP client below rmcp's Streamable HTTP transport. It leaves the protocol to rmcp, but reads
//! answers itself: within bounds, and looking at tool lists before they are parsed.

use std::{collections::HashMap, sync::Arc};

use futures::StreamExt;
use reqwest::{
    RequestBuilder, Response, StatusCode,
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

use crate::{
    http::bearer::Bearer,
    messages::{
        bounded::{BodyError, Events, SharedRoom, Turns, events, read_body, read_start},
        budget::MessageMemory,
        inbox::{Inbox, PARSED_AT_ONCE},
        limits::{Excess, MAX_ERROR_BYTES},
        outbox::Outbox,
    },
};

type Headers = HashMap<HeaderName, HeaderValue>;
type HttpError = StreamableHttpError<reqwest::Error>;

const SESSION: &str = "mcp-session-id";
const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
/// Headers that the protocol sets itself, and the configuration must not.
const RESERVED: [&str; 3] = ["accept", SESSION, "last-event-id"];

/// An HTTP client that keeps tool definitions as they came, and reads no more than it may.
#[derive(Clone, Debug)]
pub(crate) struct BoundedClient {
    client: reqwest::Client,
    bearer: Arc<Bearer>,
    inbox: Inbox,
    turns: Turns,
    outbox: Outbox,
    /// Tells the connection when the last clone is dropped.
    _alive: Arc<DropGuard>,
}

impl BoundedClient {
    pub(crate) fn new(
        client: reqwest::Client,
        bearer: Arc<Bearer>,
        inbox: Inbox,
        alive: Arc<DropGuard>,
    ) -> Self {
        let (turns, outbox) = (Turns::new(&inbox.budget), Outbox::default());
        Self { client, bearer, inbox, turns, outbox, _alive: alive }
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

    /// Sends a message and reads the answer. The cases are those of rmcp's own client, which reads
    /// bodies of any size.
    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        token: Option<&str>,
        headers: &Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let request = self
            .client
            .post(uri)
            .header(ACCEPT, "text/event-stream, application/json")
            .header(CONTENT_TYPE, JSON)
            .body(serde_json::to_vec(message)?);
        let response = prepared(request, session, token, headers)?.send().await?;
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
                let left_out = instead.clone();
                let (events, room) = events(response.bytes_stream(), &self.turns, instead);
                let events = self.listen(events, room, left_out);
                Ok(StreamableHttpPostResponse::Sse(events, session))
            }
            Some(kind) if kind.starts_with(JSON) => self.answered(response, id, session).await,
            _ => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }

    /// Opens the stream of what a server sends unasked, or sends again. The cases are those of rmcp's
    /// own client, which knows no memory for all servers.
    async fn stream(&self, request: RequestBuilder) -> Result<Events, HttpError> {
        let response = request.send().await?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        challenged(&response)?;
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let retry_after = header(&response, RETRY_AFTER.as_str());
            return Err(HttpStatusError::new(status.as_u16(), retry_after).into());
        }
        let response = response.error_for_status()?;
        let kind = header(&response, CONTENT_TYPE.as_str());
        if !kind
            .as_deref()
            .is_some_and(|kind| [EVENT_STREAM, JSON].iter().any(|known| kind.starts_with(known)))
        {
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let (events, room) = events(response.bytes_stream(), &self.turns, |_| None);
        Ok(self.listen(events, room, |_| None))
    }

    /// Reads an answer that is one JSON document.
    async fn answered(
        &self,
        response: Response,
        id: Option<&RequestId>,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut room = MessageMemory::new(&self.inbox.budget);
        let read = async {
            let body = read_body(response, &self.turns, &mut room).await?;
            let parsed = self.inbox.parse(&body, &mut room).await?;
            Ok::<_, BodyError>((body, parsed))
        };
        let (body, parsed) = match (read.await, id) {
            (Ok(read), _) => read,
            (Err(BodyError::Http(error)), _) => return Err(error.into()),
            (Err(BodyError::Excess(excess)), Some(id)) => {
                return Ok(StreamableHttpPostResponse::Json(excess.answer(id.clone()), session));
            }
            (Err(BodyError::Excess(_)), None) => return Ok(StreamableHttpPostResponse::Accepted),
        };
        match parsed {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            // Nobody waits for an answer to a notification.
            Err(_) if id.is_none() => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => {
                let start = String::from_utf8_lossy(&body[..body.len().min(256)]).into_owned();
                let reason = format!("the answer is not valid JSON-RPC: {error}: {start}");
                Err(StreamableHttpError::UnexpectedServerResponse(reason.into()))
            }
        }
    }

    /// Reads an answer with an error status. It may still be a message of the protocol.
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

    /// Looks at events before rmcp parses them. Large ones are parsed here, off the async threads, and
    /// rmcp is given a short answer in their place if possible.
    fn listen(
        &self,
        events: Events,
        room: SharedRoom,
        instead: impl Fn(Excess) -> Option<Sse> + Clone + Send + Sync + 'static,
    ) -> Events {
        let inbox = self.inbox.clone();
        events
            .filter_map(move |event| {
                let (inbox, room, instead) = (inbox.clone(), Arc::clone(&room), instead.clone());
                async move {
                    let data = match &event {
                        Ok(Sse { data: Some(data), .. }) => data,
                        _ => return Some(event),
                    };
                    if data.len() <= PARSED_AT_ONCE {
                        inbox.raw.see(data.as_bytes());
                        return Some(event);
                    }
                    let parsed = inbox.parse(data.as_bytes(), &mut *room.lock().await).await;
                    match parsed {
                        Err(excess) => instead(excess).map(Ok),
                        Ok(parsed) => match parsed.ok().and_then(|message| inbox.put_by(message)) {
                            Some(short) => Some(event.map(|event| event.data(short))),
                            None => Some(event),
                        },
                    }
                }
            })
            .boxed()
    }
}

/// Adds the headers that all requests have.
fn prepared(
    mut request: RequestBuilder,
    session: Option<&str>,
    token: Option<&str>,
    headers: &Headers,
) -> Result<RequestBuilder, HttpError> {
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
    Ok(request)
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Fails if the server wants a login, or one with more rights.
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

/// Returns the scope that a challenge names: `scope="read write"` or `scope=read`.
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

    /// Ignores rmcp's maximum size of events: our own limit holds for all of them.
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
        self.with_token(|token| {
            let (uri, session, headers) = (Arc::clone(&uri), session.clone(), headers.clone());
            let last_event = last_event.clone();
            async move {
                let request =
                    self.client.get(&*uri).header(ACCEPT, "text/event-stream, application/json");
                let mut request =
                    prepared(request, session.as_deref(), token.as_deref(), &headers)?;
                if let Some(last_event) = last_event {
                    request = request.header("last-event-id", last_event);
                }
                self.stream(request).await
            }
        })
        .await
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
