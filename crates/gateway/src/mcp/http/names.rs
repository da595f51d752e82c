//! The host names by which requests may address the gateway, and the web pages that may send them.

use std::net::SocketAddr;

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::HttpAuth;

/// Returns the names that a request may call us by: those of loopback, the address that we listen on,
/// and those of the configuration.
pub(super) fn hosts(door: &HttpAuth, address: SocketAddr) -> Vec<String> {
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    if !address.ip().is_unspecified() {
        hosts.push(address.ip().to_string());
    }
    hosts.extend(door.allowed_hosts.iter().cloned());
    hosts
}

/// Returns the web pages that may call us: those that we serve ourselves, and those of the
/// configuration.
pub(super) fn origins(door: &HttpAuth, address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let own = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:{port}"));
    own.into_iter().chain(door.allowed_origins.iter().cloned()).collect()
}

/// Refuses requests that say twice where they go or come from. Whoever looks at one of two `Host` or
/// `Origin` headers, a proxy or the check against DNS rebinding, may have looked at the wrong one.
pub(super) async fn refuse_ambiguous(request: Request, next: Next) -> Response {
    match ambiguity(request.uri(), request.headers()) {
        Some(reason) => (StatusCode::BAD_REQUEST, format!("{reason}\n")).into_response(),
        None => next.run(request).await,
    }
}

fn ambiguity(uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    if headers.get_all(header::HOST).iter().nth(1).is_some() {
        return Some("the request has more than one Host header; send one");
    }
    if headers.get_all(header::ORIGIN).iter().nth(1).is_some() {
        return Some("the request has more than one Origin header; send one");
    }
    let (Some(named), Some(host)) = (uri.authority(), headers.get(header::HOST)) else {
        return None;
    };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    // Authorities are equal whatever the case of their letters is.
    (host.as_ref() != Some(named))
        .then_some("the request's address and its Host header name different hosts; send one host")
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_request_names_its_host_and_its_origin_once() {
        let check = |uri: &str, given: &[(header::HeaderName, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
            }
            ambiguity(&uri.parse().unwrap(), &headers)
        };
        let host = |value| (header::HOST, value);
        let origin = |value| (header::ORIGIN, value);
        assert_eq!(check("/mcp", &[host("a:1"), origin("http://a")]), None);
        assert_eq!(check("http://A:1/mcp", &[host("a:1")]), None);
        // HTTP/2 has it in the address alone.
        assert_eq!(check("http://a:1/mcp", &[]), None);
        for (uri, given, reason) in [
            ("/mcp", vec![host("a"), host("b")], "more than one Host"),
            ("/mcp", vec![host("a"), host("a")], "more than one Host"),
            ("/mcp", vec![origin("http://a"), origin("http://b")], "more than one Origin"),
            ("http://b:1/mcp", vec![host("a:1")], "different hosts"),
            ("http://a:2/mcp", vec![host("a:1")], "different hosts"),
            ("http://x@a:1/mcp", vec![host("a:1")], "different hosts"),
        ] {
            assert!(check(uri, &given).unwrap().contains(reason), "{uri} {given:?}");
        }
    }
}
