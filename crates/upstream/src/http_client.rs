//! The HTTP client of all that speaks HTTP to others.

use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// TLS needs to know its cryptography before the first client is made.
pub(crate) fn prepare_tls() {
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
pub(crate) fn client() -> Result<reqwest::Client, reqwest::Error> {
    client_builder().redirect(reqwest::redirect::Policy::none()).build()
}
