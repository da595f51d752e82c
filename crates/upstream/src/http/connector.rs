//! How an HTTP server is reached: by the transport that is configured, or that it turns out to know.

use std::sync::Arc;

use narrows_model::{HttpSpec, HttpTransport, ServerSpec};
use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap},
};
use rmcp::{
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio_util::sync::DropGuard;

use crate::{
    error::{chain, is_older_transport},
    handler::Handler,
    handshake::{ConnectionDeps, OpenError, Service, lifecycle, refused},
    http::{
        bearer::Bearer,
        sse::{SseTransport, SseTransportError},
        streamable::BoundedClient,
    },
    http_client,
    login::LoginError,
    logs::server_history::ServerHistory,
    messages::inbox::{Inbox, Unpacking},
    protocol::ProtocolGeneration,
};

/// The means to connect to an HTTP server.
pub(crate) struct HttpConnector<'a> {
    pub(crate) spec: &'a ServerSpec,
    pub(crate) http: &'a HttpSpec,
    pub(crate) url: &'a Url,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) inbox: &'a Inbox,
    pub(crate) history: &'a ServerHistory,
    pub(crate) alive: Arc<DropGuard>,
}

impl HttpConnector<'_> {
    pub(crate) async fn connect(
        &self,
        handler: Handler,
        era: ProtocolGeneration,
        means: &ConnectionDeps,
    ) -> Result<Service, OpenError> {
        let client = http_client::client().map_err(|error| OpenError::Handshake(chain(&error)))?;
        let bearer = Bearer::new(means.logins.clone(), self.spec, self.url).await;
        let bearer = Arc::new(bearer.map_err(|error| match error {
            LoginError::Setting(reason) => OpenError::Setting(reason),
            LoginError::UnsetVariable { .. } => OpenError::UnsetVariable(error.to_string()),
            error => OpenError::Handshake(chain(&error)),
        })?);
        let connected = match self.http.transport {
            HttpTransport::Sse => self.connect_sse(handler, client, bearer, None).await,
            HttpTransport::Http => {
                let connected = self.connect_streamable(handler, client, bearer, era).await;
                connected.map_err(|error| refused(&error, None))
            }
            HttpTransport::Auto => {
                let streamable = self.connect_streamable(
                    handler.clone(),
                    client.clone(),
                    Arc::clone(&bearer),
                    era,
                );
                match streamable.await {
                    // The specification's way to find an older server: whoever refuses the newer
                    // transport may still offer an event stream at the same address.
                    Err(error) if is_older_transport(&error) => {
                        let reason = Some(refused(&error, None).to_string());
                        self.connect_sse(handler, client, bearer, reason).await
                    }
                    connected => connected.map_err(|error| refused(&error, None)),
                }
            }
        };
        match connected {
            Err(OpenError::LoginNeeded) if self.headers.contains_key(AUTHORIZATION) => {
                let reason = "it refuses the header Authorization; check its value under headers";
                Err(OpenError::Setting(reason.to_owned()))
            }
            connected => connected,
        }
    }

    async fn connect_streamable(
        &self,
        handler: Handler,
        client: reqwest::Client,
        bearer: Arc<Bearer>,
        era: ProtocolGeneration,
    ) -> Result<Service, ClientInitializeError> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str());
        config.custom_headers =
            self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let alive = Arc::clone(&self.alive);
        let client = BoundedClient::new(client, bearer, self.inbox.clone(), alive);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let transport = Unpacking::new(transport, self.inbox.clone());
        handler.serve_with_lifecycle(transport, lifecycle(era)).await
    }

    /// Connects over the older transport. `first_reason` is why the newer one was refused; it explains
    /// more than a second refusal would.
    async fn connect_sse(
        &self,
        handler: Handler,
        client: reqwest::Client,
        bearer: Arc<Bearer>,
        first_reason: Option<String>,
    ) -> Result<Service, OpenError> {
        let transport = SseTransport::connect(
            client,
            self.url.clone(),
            self.headers.clone(),
            bearer,
            self.inbox.clone(),
            self.history.clone(),
            Arc::clone(&self.alive),
        );
        let transport = transport.await.map_err(|error| match (error, first_reason) {
            (SseTransportError::AuthRequired(_), _) => OpenError::LoginNeeded,
            (_, Some(reason)) => OpenError::Handshake(reason),
            (error, None) => OpenError::Handshake(chain(&error)),
        })?;
        let served = handler.serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await;
        served.map_err(|error| refused(&error, None))
    }
}
