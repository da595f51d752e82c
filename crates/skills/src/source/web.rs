//! Fetches a file by HTTP: encrypted or from this machine, of bounded size, in bounded time.

use std::{net::IpAddr, time::Duration};

use reqwest::{
    Client, ClientBuilder, StatusCode, Url,
    header::{HeaderMap, LOCATION},
    redirect::Policy,
};
use thiserror::Error;

/// The time to fetch a file, redirects included.
const PATIENCE: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;

/// The reason for which a file was not fetched.
#[derive(Debug, Error)]
pub enum WebError {
    #[error("{0} is not encrypted: use https:// (http:// is for this machine only)")]
    NotEncrypted(String),
    #[error("{0} has no host")]
    NoHost(String),
    #[error("{from} redirects to {to}, which is on this machine: that is refused")]
    Inwards { from: String, to: String },
    #[error("{0} redirects more than {MAX_REDIRECTS} times")]
    Redirects(String),
    #[error("{0} redirects to nowhere")]
    Nowhere(String),
    #[error("{url} answers {status}: look whether the address is right")]
    Status { url: String, status: StatusCode },
    #[error("{url} has more than {max} bytes")]
    TooLarge { url: String, max: usize },
    #[error("{url} takes longer than {} seconds", PATIENCE.as_secs())]
    TooLong { url: String },
    #[error("{url} cannot be got: {source}")]
    Failed { url: String, source: reqwest::Error },
    #[error("there is no HTTP client: {0}")]
    Client(reqwest::Error),
}

/// An HTTP client that checks each redirect before it follows it: see `next` and [`check`].
#[derive(Clone, Debug)]
pub(crate) struct Web {
    client: Client,
}

impl Web {
    pub(crate) fn new(builder: ClientBuilder) -> Result<Self, WebError> {
        let client = builder.redirect(Policy::none()).build().map_err(WebError::Client)?;
        Ok(Self { client })
    }

    pub(crate) async fn get(&self, url: &Url, max: usize) -> Result<Vec<u8>, WebError> {
        let late = |_| WebError::TooLong { url: shown(url) };
        tokio::time::timeout(PATIENCE, self.follow(url, max)).await.map_err(late)?
    }

    async fn follow(&self, first: &Url, max: usize) -> Result<Vec<u8>, WebError> {
        let mut url = first.clone();
        for _ in 0..=MAX_REDIRECTS {
            check(&url)?;
            let failed = |source: reqwest::Error| WebError::Failed {
                url: shown(&url),
                source: source.without_url(),
            };
            let mut response = self.client.get(url.clone()).send().await.map_err(failed)?;
            let status = response.status();
            if status.is_redirection() {
                url = next(&url, response.headers())?;
                continue;
            }
            if !status.is_success() {
                return Err(WebError::Status { url: shown(&url), status });
            }
            let mut bytes = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                if bytes.len() + chunk.len() > max {
                    return Err(WebError::TooLarge { url: shown(&url), max });
                }
                bytes.extend_from_slice(&chunk);
            }
            return Ok(bytes);
        }
        Err(WebError::Redirects(shown(first)))
    }
}

/// Returns the target of a redirect, if it is allowed.
fn next(url: &Url, headers: &HeaderMap) -> Result<Url, WebError> {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let next = location.and_then(|location| url.join(location).ok());
    let next = next.ok_or_else(|| WebError::Nowhere(shown(url)))?;
    // Server-side request forgery: a remote host must not make us call services of this machine.
    if is_loopback(&next) && !is_loopback(url) {
        return Err(WebError::Inwards { from: shown(url), to: shown(&next) });
    }
    Ok(next)
}

/// Refuses a connection that others on the network could read and change.
pub(crate) fn check(url: &Url) -> Result<(), WebError> {
    if url.host_str().is_none_or(str::is_empty) {
        return Err(WebError::NoHost(shown(url)));
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(url) => Ok(()),
        _ => Err(WebError::NotEncrypted(shown(url))),
    }
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || address.is_some_and(|address| address.to_canonical().is_loopback())
}

/// Returns an address without the parts that may be secret: login, query and fragment.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // These fail for addresses that cannot have a login.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// Returns the same for a text that may not be a URL at all.
pub(crate) fn without_secrets(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) => shown(&url),
        Err(_) => "this URL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn led(from: &str, to: &str) -> Result<String, WebError> {
        let headers = HeaderMap::from_iter([(LOCATION, to.parse().unwrap())]);
        next(&Url::parse(from).unwrap(), &headers).map(|url| url.to_string())
    }

    #[test]
    fn a_host_elsewhere_cannot_lead_us_to_this_machine() {
        let from = "https://host.example/a/b";
        assert_eq!(led(from, "../c").unwrap(), "https://host.example/c");
        assert_eq!(led(from, "https://other.example/").unwrap(), "https://other.example/");
        for to in [
            "http://127.0.0.1:8080/",
            "https://localhost/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://2130706433/",
        ] {
            assert!(matches!(led(from, to), Err(WebError::Inwards { .. })), "{to}");
        }
        // The control: a host on this machine may redirect to this machine.
        assert!(led("http://localhost:1/", "http://127.0.0.1:2/").is_ok());
    }
}
