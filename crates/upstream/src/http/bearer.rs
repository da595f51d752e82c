//! The token that requests to an HTTP server carry, fresh whenever it is needed.

use narrows_model::ServerSpec;
use reqwest::Url;
use rmcp::transport::{AuthError, AuthorizationManager};
use tokio::sync::Mutex;

use crate::login::{LoginError, LoginStore};

/// The login of one server, if there is one. Shared by all its requests.
pub(crate) struct Bearer {
    logins: LoginStore,
    spec: ServerSpec,
    url: Url,
    manager: Mutex<Option<AuthorizationManager>>,
}

impl Bearer {
    pub(crate) async fn new(
        logins: LoginStore,
        spec: &ServerSpec,
        url: &Url,
    ) -> Result<Self, LoginError> {
        let manager = Mutex::new(logins.manager(spec, url).await?);
        Ok(Self { logins, spec: spec.clone(), url: url.clone(), manager })
    }

    /// Returns the token for a request, or `None` if there is no login; the server may not want one.
    pub(crate) async fn token(&self) -> Result<Option<String>, AuthError> {
        let mut manager = self.manager.lock().await;
        match current(&manager).await? {
            Some(token) => Ok(Some(token)),
            None if manager.is_none() => Ok(None),
            // The person may have logged in again meanwhile, as another client.
            None => {
                *manager = self.again().await?;
                current(&manager).await
            }
        }
    }

    /// Returns another token, after the server refused this one. Of many requests that were refused
    /// together, the first gets a new token for all.
    pub(crate) async fn renewed(&self, refused: &str) -> Result<Option<String>, AuthError> {
        let mut manager = self.manager.lock().await;
        if let Some(token) = current(&manager).await?.filter(|token| token != refused) {
            return Ok(Some(token));
        }
        let refreshed = match manager.as_ref() {
            Some(manager) => refresh(manager).await,
            None => Err(AuthError::AuthorizationRequired),
        };
        match refreshed {
            // The login in the file is another client's by now.
            Err(AuthError::AuthorizationRequired) => {
                *manager = self.again().await?;
                match (current(&manager).await?, manager.as_ref()) {
                    (Some(token), Some(manager)) if token == refused => {
                        or_none(refresh(manager).await)
                    }
                    (token, _) => Ok(token),
                }
            }
            refreshed => or_none(refreshed),
        }
    }

    async fn again(&self) -> Result<Option<AuthorizationManager>, AuthError> {
        match self.logins.manager(&self.spec, &self.url).await {
            Ok(manager) => Ok(manager),
            Err(LoginError::OAuth(error)) => Err(error),
            Err(error) => Err(AuthError::CredentialStoreError(error.to_string())),
        }
    }
}

async fn current(manager: &Option<AuthorizationManager>) -> Result<Option<String>, AuthError> {
    let Some(manager) = manager else { return Ok(None) };
    or_none(manager.get_access_token().await)
}

async fn refresh(manager: &AuthorizationManager) -> Result<String, AuthError> {
    manager.refresh_token().await?;
    manager.get_access_token().await
}

fn or_none(token: Result<String, AuthError>) -> Result<Option<String>, AuthError> {
    match token {
        Ok(token) => Ok(Some(token)),
        Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer(…)")
    }
}
