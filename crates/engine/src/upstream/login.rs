//! Logins at HTTP servers: OAuth tokens in files that only the user can read.

use std::{
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
};

use async_trait::async_trait;
use narrows_model::{Connection, ServerSpec, Template};
use reqwest::Url;
use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialRefreshGuard, CredentialStore, StoredCredentials,
    auth::{AuthorizationCallback, OAuthClientConfig},
};
use thiserror::Error;

use crate::private_file;

/// Where logins are kept.
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
    #[error(
        "the server {0:?} does not say where to log in; if it wants a key, set it under headers"
    )]
    NoAuthorizationServer(String),
    #[error(transparent)]
    OAuth(#[from] AuthError),
    #[error("the browser came back with an error: {0}")]
    Denied(String),
}

impl LoginStore {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    fn file(&self, server: &str, url: &Url) -> CredentialFile {
        // The address is part of the name: another server under the same name is another login.
        let mut hasher = DefaultHasher::new();
        url.as_str().hash(&mut hasher);
        let path = self.dir.join(format!("{server}-{:016x}.json", hasher.finish()));
        CredentialFile { path }
    }

    /// The login that is there for a server, if any.
    pub(super) async fn manager(
        &self,
        spec: &ServerSpec,
        url: &Url,
    ) -> Result<Option<AuthorizationManager>, AuthError> {
        let Connection::Http(http) = &spec.connection else { return Ok(None) };
        let file = self.file(&spec.name, url);
        if !file.path.exists() {
            return Ok(None);
        }
        let mut manager = AuthorizationManager::new_allowing_private_addresses(url.clone()).await?;
        manager.set_credential_store(file.clone());
        if !manager.initialize_from_store().await? {
            return Ok(None);
        }
        // A client with a secret shows it again when it refreshes.
        if let (Some(id), Some(secret)) = (
            http.oauth.client_id.as_ref().and_then(expand),
            http.oauth.client_secret.as_ref().and_then(expand),
        ) {
            let config = OAuthClientConfig::new(id, "http://127.0.0.1/").with_client_secret(secret);
            manager.configure_client(config)?;
        }
        Ok(Some(manager))
    }

    /// Begins a login. The person opens [`Login::url`] in a browser, which comes back to
    /// `redirect`.
    pub async fn begin(&self, spec: &ServerSpec, redirect: &str) -> Result<Login, LoginError> {
        let Connection::Http(http) = &spec.connection else {
            return Err(LoginError::NotHttp(spec.name.clone()));
        };
        let _ = super::http::client(); // TLS needs its provider before the first request.
        let url = http.url.expand(|name| std::env::var(name).ok());
        let url = url.map_err(|missing| LoginError::Setting(missing.to_string()))?;
        let url = Url::parse(&url).map_err(|error| {
            LoginError::Setting(format!("its url is not a valid address: {error}"))
        })?;
        let mut manager = AuthorizationManager::new_allowing_private_addresses(url.clone()).await?;
        manager.set_credential_store(self.file(&spec.name, &url));
        let resolution = manager.resolve_metadata().await?;
        if !resolution.source.is_discovered() && http.oauth.client_id.is_none() {
            // Old servers have the endpoints at fixed places; without any sign of them there is
            // nothing to open in a browser.
            if resolution.metadata.registration_endpoint.is_none() {
                return Err(LoginError::NoAuthorizationServer(spec.name.clone()));
            }
        }
        manager.set_metadata(resolution.metadata);
        let mut request = AuthorizationRequest::new(redirect).with_client_name("Narrows");
        request = if http.oauth.scopes.is_empty() {
            request.with_initial_scope_selection()
        } else {
            request.with_scopes(http.oauth.scopes.clone())
        };
        if let Some(id) = &http.oauth.client_id {
            let id = expand(id).ok_or_else(|| unset("client_id"))?;
            request = request.with_preregistered_client(id);
            if let Some(secret) = &http.oauth.client_secret {
                let secret = expand(secret).ok_or_else(|| unset("client_secret"))?;
                request = request.with_client_secret(secret);
            }
        }
        let session = AuthorizationSession::new(manager, request).await;
        Ok(Login { session: session.map_err(|(_, error)| error)? })
    }

    /// Forgets a login. Whether there was one.
    pub fn forget(&self, spec: &ServerSpec) -> std::io::Result<bool> {
        let Connection::Http(http) = &spec.connection else { return Ok(false) };
        let url = http.url.expand(|name| std::env::var(name).ok()).ok();
        let Some(url) = url.and_then(|url| Url::parse(&url).ok()) else { return Ok(false) };
        match std::fs::remove_file(self.file(&spec.name, &url).path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn expand(template: &Template) -> Option<String> {
    template.expand(|name| std::env::var(name).ok()).ok()
}

fn unset(name: &str) -> LoginError {
    LoginError::Setting(format!("oauth.{name} names an environment variable that is not set"))
}

/// A login that waits for the browser.
pub struct Login {
    session: AuthorizationSession,
}

impl Login {
    /// What to open in the browser.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// The browser came back to this address.
    pub async fn finish(self, callback: &str) -> Result<(), LoginError> {
        let url = Url::parse(callback)
            .map_err(|error| LoginError::Denied(format!("its address is malformed: {error}")))?;
        let value = |wanted: &str| {
            url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        if let Some(error) = value("error") {
            let why = value("error_description").unwrap_or_default();
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

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login(…)")
    }
}

/// One login in one file.
#[derive(Clone, Debug)]
struct CredentialFile {
    path: PathBuf,
}

impl CredentialFile {
    fn error(&self, what: &str, error: &std::io::Error) -> AuthError {
        let path = self.path.display();
        AuthError::CredentialStoreError(format!("the login file {path} cannot be {what}: {error}"))
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
        Ok(serde_json::from_slice(&text).ok())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let text = serde_json::to_vec(&credentials)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        private_file::write(&self.path, &text).map_err(|error| self.error("written", &error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(self.error("removed", &error))
            }
            _ => Ok(()),
        }
    }

    /// Two processes with one login must not refresh at once: many servers accept a refresh
    /// token only once.
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
