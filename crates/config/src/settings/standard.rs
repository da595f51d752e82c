//! Servers in the JSON that most clients share: `"mcpServers": {"name": {"command": …}}`.
//!
//! Clients add keys of their own, so unknown ones are ignored.

use std::path::PathBuf;

use narrows_model::{Connection, HttpSpec, HttpTransport, OAuthSpec, StdioSpec};

use super::entry;
use crate::syntax::Section;

/// Reads the connection of a server as a client wrote it: variables are in the client's syntax, and
/// the working directory may be relative.
pub(crate) fn connection(section: &mut Section<'_>) -> Option<Connection> {
    if section.has("command") {
        return Some(Connection::Stdio(StdioSpec {
            command: section.needed("command")?,
            args: section.templates("args"),
            env: entry::variables(section),
            inherit_env: entry::inherited(section),
            cwd: section.string("cwd").map(PathBuf::from),
        }));
    }
    // Windsurf writes serverUrl, and Gemini CLI httpUrl.
    let Some(name) = ["url", "serverUrl", "httpUrl"].into_iter().find(|name| section.has(name))
    else {
        section.complain_here("has neither command nor url; add one of them");
        return None;
    };
    section.needed(name)?;
    Some(Connection::Http(HttpSpec {
        url: entry::address(section, name)?,
        headers: entry::headers(section),
        transport: transport(section),
        oauth: OAuthSpec::default(),
    }))
}

/// Reads `type` or `transport` in the spellings of the clients. An unknown one means that the gateway
/// tries the transports.
pub(crate) fn transport(section: &mut Section<'_>) -> HttpTransport {
    let kind = section.string("type").or_else(|| section.string("transport"));
    match kind.map(|kind| kind.to_ascii_lowercase().replace(['-', '_'], "")).as_deref() {
        Some("sse") => HttpTransport::Sse,
        Some("http" | "streamablehttp") => HttpTransport::Http,
        _ => HttpTransport::Auto,
    }
}

/// Tells whether the client has switched the server off, with `disabled` or `enabled`.
pub(crate) fn is_disabled(section: &mut Section<'_>) -> bool {
    section.boolean("disabled") == Some(true) || section.boolean("enabled") == Some(false)
}
