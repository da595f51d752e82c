//! The HTTP client below rmcp's Streamable HTTP transport. It leaves the protocol to rmcp, and
//! looks at tool lists before they are parsed.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream::BoxStream};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage},
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::{Error as SseError, Sse, SseStream};
use tokio_util::sync::DropGuard;

use super::{bearer::Bearer, raw::RawTools};

type Headers = HashMap<HeaderName, HeaderValue>;
type HttpError = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

const SESSION: &str = "mcp-session-id";
/// The largest event of a stream, which may be a whole result.
const MOST_EVENT_BYTES: usize = 32 << 20;
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

/// A client that keeps tool definitions as they came.
#[derive(Clone, Debug)]
pub(super) struct RecordingClient {
    client: reqwest::Client,
    bearer: Arc<Bearer>,
    raw: RawTools,
    /// Tells the connection when the last clone is dropped.
    _alive: Arc<DropGuard>,
}

impl RecordingClient {
    pub(super) fn new(
        client: reqwest::Client,
        bearer: Arc<Bearer>,
        raw: RawTools,
        alive: Arc<DropGuard>,
    ) -> Self {
        Self { client, bearer, raw, _alive: alive }
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

    /// Asks for tools in our own name. None: it went wrong, and rmcp shall ask and see for
    /// itself (asking for tools twice changes nothing).
    async fn list_tools(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        token: Option<&str>,
        headers: &Headers,
    ) -> Option<StreamableHttpPostResponse> {
        let body = serde_json::to_vec(message).ok()?;
        let mut request = self
            .client
            .post(uri)
            .header(ACCEPT, "text/event-stream, application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.ok()?;
        if response.status() != reqwest::StatusCode::OK {
            return None;
        }
        let header = |name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let session = header(SESSION);
        let kind = header(CONTENT_TYPE.as_str())?;
        if kind.starts_with("text/event-stream") {
            let events = SseStream::from_bytes_stream(response.bytes_stream()).boxed();
            return Some(StreamableHttpPostResponse::Sse(self.listen(events), session));
        }
        let body = response.bytes().await.ok()?;
        self.raw.see(&body);
        Some(StreamableHttpPostResponse::Json(serde_json::from_slice(&body).ok()?, session))
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

impl StreamableHttpClient for RecordingClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let most = MOST_EVENT_BYTES;
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, most).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let lists_tools = matches!(
            &message,
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::ListToolsRequest(_))
        );
        self.with_token(|token| {
            let (uri, message, session) = (Arc::clone(&uri), message.clone(), session.clone());
            let headers = headers.clone();
            async move {
                if lists_tools {
                    let (session, token) = (session.as_deref(), token.as_deref());
                    let listed = self.list_tools(&uri, &message, session, token, &headers).await;
                    if let Some(listed) = listed {
                        return Ok(listed);
                    }
                }
                self.client
                    .post_message_with_max_sse_event_size(
                        uri, message, session, token, headers, most,
                    )
                    .await
            }
        })
        .await
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
        token: Option<String>,
        headers: Headers,
    ) -> Result<Events, HttpError> {
        let most = MOST_EVENT_BYTES;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, most)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<Events, HttpError> {
        self.with_token(|token| {
            self.client.get_stream_with_max_sse_event_size(
                Arc::clone(&uri),
                session.clone(),
                last_event.clone(),
                token,
                headers.clone(),
                most,
            )
        })
        .await
    }
}
