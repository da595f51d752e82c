//! Logins at HTTP servers: OAuth tokens in files that only the user can read.

use std::{
    fs::File,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use narrows_model::{
    Connection, HttpSpec, MissingVariable, ServerSpec, Template, fingerprint::fingerprint,
};
use narrows_system::private_file::{self, Durability};
use reqwest::Url;
use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialRefreshGuard, CredentialStore, StoredCredentials,
    auth::{AuthorizationCallback, OAuthClientConfig},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;

use crate::http_client;

/// The redirect address of a client that only refreshes its login: nobody goes there.
const NO_REDIRECT: &str = "http://127.0.0.1/";

/// How long a server may take to say where to log in.
const CHALLENGE_TIME: Duration = Duration::from_secs(10);

/// The directory of logins.
#[derive(Clone, Debug)]
pub struct LoginStore {
    dir: PathBuf,
}

/// Why a login failed.
#[derive(Debug, Error)]
pub enum LoginError {
    #[error("the server {0:?} is started as a command; only HTTP servers have logins")]
    NotHttp(String),
    #[error("{0}")]
    Setting(String),
    #[error("{setting}: {missing}")]
    UnsetVariable { setting: String, missing: MissingVariable },
    #[error(
        "the server {0:?} does not say where to log in; if it wants a key, set it under headers"
    )]
    NoAuthorizationServer(String),
    #[error(
        "{server:?} does not register clients by itself ({reason}); register one there, and set \
         servers.{server}.oauth.client_id"
    )]
    NoRegistration { server: String, reason: String },
    #[error(transparent)]
    OAuth(#[from] AuthError),
    #[error("the browser came back with an error: {0}")]
    Denied(String),
    #[error("the browser came back with the answer to another login; start again")]
    OtherLogin,
}

impl LoginStore {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    fn file(&self, server: &str, url: &Url) -> CredentialFile {
        // The address is part of the name: another server under the same name is another login.
        let path = self.dir.join(format!("{server}-{:016x}.json", fingerprint([url.as_str()])));
        CredentialFile { path, client_secret: Arc::default() }
    }

    /// Loads the login for a server, if there is one.
    pub(crate) async fn manager(
        &self,
        spec: &ServerSpec,
        url: &Url,
    ) -> Result<Option<AuthorizationManager>, LoginError> {
        let Connection::Http(http) = &spec.connection else { return Ok(None) };
        let file = self.file(&spec.name, url);
        if !file.path.exists() {
            return Ok(None);
        }
        let mut manager = manager(url).await?;
        manager.set_credential_store(file.clone());
        if !manager.initialize_from_store().await? {
            return Ok(None);
        }
        let stored = file.load().await?.map(|stored| stored.client_id);
        let client = match configured_client(http)? {
            Some((id, secret)) => Some((id, secret)),
            None => stored.map(|id| (id, file.secret())),
        };
        // A client with a secret shows it again when it refreshes.
        if let Some((id, Some(secret))) = client {
            let config = OAuthClientConfig::new(id, NO_REDIRECT).with_client_secret(secret);
            manager.configure_client(config)?;
        }
        Ok(Some(manager))
    }

    /// Begins a login. The person opens [`Login::url`] in a browser, which comes back to
    /// `redirect`. `scopes` are asked for beside those that the server suggests.
    pub async fn begin(
        &self,
        spec: &ServerSpec,
        redirect: &str,
        scopes: &[String],
    ) -> Result<Login, LoginError> {
        let Connection::Http(http) = &spec.connection else {
            return Err(LoginError::NotHttp(spec.name.clone()));
        };
        let url = expand("url", &http.url)?;
        let url = Url::parse(&url).map_err(|error| {
            LoginError::Setting(format!("its url is not a valid address: {error}"))
        })?;
        let mut manager = manager(&url).await?;
        let file = self.file(&spec.name, &url);
        manager.set_credential_store(file.clone());
        let challenge = challenge(&url).await;
        let resolution = manager.resolve_metadata_from_challenge(challenge.as_deref()).await?;
        let discovered = resolution.source.is_discovered();
        manager.set_metadata(resolution.metadata);
        let more = scopes;
        let mut scopes = if http.oauth.scopes.is_empty() {
            manager.select_initial_scopes(&[]).await
        } else {
            http.oauth.scopes.clone()
        };
        if !more.is_empty() {
            // A login with more than the last one keeps what that had.
            let granted = file.load().await?.map(|stored| stored.granted_scopes);
            scopes.extend(granted.unwrap_or_default().into_iter().chain(more.iter().cloned()));
            let mut seen = std::collections::HashSet::new();
            scopes.retain(|scope| seen.insert(scope.clone()));
        }
        let (id, secret) = match configured_client(http)? {
            Some(client) => client,
            None => {
                let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
                let registered = manager.register_client("Narrows", redirect, &scopes).await;
                let registered = registered.map_err(|error| match discovered {
                    true => LoginError::NoRegistration {
                        server: spec.name.clone(),
                        reason: error.to_string(),
                    },
                    false => LoginError::NoAuthorizationServer(spec.name.clone()),
                })?;
                (registered.client_id, registered.client_secret)
            }
        };
        file.set_secret(secret.clone());
        let mut request = AuthorizationRequest::new(redirect)
            .with_scopes(scopes)
            .with_initial_scope_selection()
            .with_preregistered_client(id);
        if let Some(secret) = secret {
            request = request.with_client_secret(secret);
        }
        let session = AuthorizationSession::new(manager, request).await;
        Ok(Login { session: session.map_err(|(_, error)| error)? })
    }

    /// Removes a login, and tells whether there was one.
    pub fn forget(&self, spec: &ServerSpec) -> std::io::Result<bool> {
        let Connection::Http(http) = &spec.connection else { return Ok(false) };
        let url = http.url.expand(|name| std::env::var(name).ok()).ok();
        let Some(url) = url.and_then(|url| Url::parse(&url).ok()) else { return Ok(false) };
        let path = self.file(&spec.name, &url).path;
        let _ = std::fs::remove_file(path.with_extension("lock"));
        match std::fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

async fn manager(url: &Url) -> Result<AuthorizationManager, AuthError> {
    http_client::prepare_tls();
    AuthorizationManager::new_allowing_private_addresses(url.clone()).await
}

/// Asks the server without a login for its challenge, which says where to log in and what for.
async fn challenge(url: &Url) -> Option<String> {
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "narrows", "version": env!("CARGO_PKG_VERSION")},
        },
    });
    let client = http_client::client().ok()?;
    let posted = client
        .post(url.clone())
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .body(request.to_string());
    let response = tokio::time::timeout(CHALLENGE_TIME, posted.send()).await.ok()?.ok()?;
    let challenge = response.headers().get("www-authenticate")?.to_str().ok()?;
    Some(challenge.to_owned())
}

/// Returns the client that was registered beforehand, with its secret, if one is configured.
fn configured_client(http: &HttpSpec) -> Result<Option<(String, Option<String>)>, LoginError> {
    let Some(id) = &http.oauth.client_id else { return Ok(None) };
    let secret = http.oauth.client_secret.as_ref();
    let secret = secret.map(|secret| expand("oauth.client_secret", secret)).transpose()?;
    Ok(Some((expand("oauth.client_id", id)?, secret)))
}

fn expand(setting: &str, template: &Template) -> Result<String, LoginError> {
    template
        .expand(|name| std::env::var(name).ok())
        .map_err(|missing| LoginError::UnsetVariable { setting: setting.to_owned(), missing })
}

/// A login that waits for the browser.
pub struct Login {
    session: AuthorizationSession,
}

impl Login {
    /// Returns the address to open in the browser.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Completes the login with the address that the browser came back to.
    pub async fn finish(self, callback: &str) -> Result<(), LoginError> {
        let state = parameter(self.url(), "state");
        if state.is_none() || parameter(callback, "state") != state {
            return Err(LoginError::OtherLogin);
        }
        if let Some(error) = parameter(callback, "error") {
            let why = parameter(callback, "error_description").unwrap_or_default();
            return Err(LoginError::Denied(format!("{error} {why}").trim().to_owned()));
        }
        let callback = AuthorizationCallback::from_redirect_url(callback)?;
        self.session
            .handle_callback_with_issuer(
                &callback.code,
                &callback.csrf_token,
                callback.issuer.as_deref(),
            )
            .await?;
        Ok(())
    }
}

fn parameter(url: &str, wanted: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login(…)")
    }
}

/// One login in one file.
#[derive(Clone)]
struct CredentialFile {
    path: PathBuf,
    /// Given by the server when the client was registered.
    client_secret: Arc<Mutex<Option<String>>>,
}

#[derive(Serialize, Deserialize)]
struct SavedLogin {
    #[serde(flatten)]
    credentials: StoredCredentials,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
}

impl CredentialFile {
    fn error(&self, what: &str, error: &std::io::Error) -> AuthError {
        let path = self.path.display();
        AuthError::CredentialStoreError(format!("the login file {path} cannot be {what}: {error}"))
    }

    fn secret(&self) -> Option<String> {
        self.client_secret.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_secret(&self, secret: Option<String>) {
        *self.client_secret.lock().unwrap_or_else(PoisonError::into_inner) = secret;
    }
}

#[async_trait]
impl CredentialStore for CredentialFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let text = match std::fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.error("read", &error)),
        };
        // A file that is broken is as good as none: the person logs in again.
        let Ok(kept) = serde_json::from_slice::<SavedLogin>(&text) else { return Ok(None) };
        if kept.client_secret.is_some() {
            self.set_secret(kept.client_secret);
        }
        Ok(Some(kept.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let kept = SavedLogin { credentials, client_secret: self.secret() };
        let text = serde_json::to_vec(&kept)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        private_file::write(&self.path, &text, Durability::Kept)
            .map_err(|error| self.error("written", &error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.error("removed", &error))
            }
            _ => Ok(()),
        }
    }

    /// Locks the login while it is refreshed. Two processes with one login must not refresh at once:
    /// many servers accept a refresh token only once.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let path = self.path.with_extension("lock");
        let locked = tokio::task::spawn_blocking(move || {
            let file = private_file::open(&path)?;
            file.lock()?;
            Ok::<File, std::io::Error>(file)
        });
        let locked = locked
            .await
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?
            .map_err(|error| self.error("locked", &error))?;
        Ok(Some(CredentialRefreshGuard::new(locked)))
    }
}
