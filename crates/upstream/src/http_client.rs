//! The HTTP client that all outgoing requests are made with.

use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Installs the cryptography of TLS, which must be known before the first client is made.
pub(crate) fn prepare_tls() {
    // A provider that was installed before is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns a client builder with our connect timeout and user agent.
pub fn client_builder() -> reqwest::ClientBuilder {
    prepare_tls();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("narrows/", env!("CARGO_PKG_VERSION")))
}

/// Builds a client for upstream servers. Redirects are not followed: they would carry our headers
/// along.
pub(crate) fn client() -> Result<reqwest::Client, reqwest::Error> {
    client_builder().redirect(reqwest::redirect::Policy::none()).build()
}
