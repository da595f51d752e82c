//! The entry of a server in the configuration, before defaults apply.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use narrows_model::{
    Connection, Expose, HttpSpec, HttpTransport, OAuthSpec, ServerSpec, StdioSpec, Template,
};

use super::{Defaults, name};
use crate::syntax::{Field, Problem, Section, UnknownKeys, key_path};

/// The longest start of a server that can be configured.
pub(crate) const MAX_START_SECONDS: u32 = 600;
/// The longest call that can be configured.
pub(crate) const MAX_CALL_SECONDS: u32 = 3600;

pub(crate) const EXPOSE: [(&str, Expose); 4] = [
    ("code", Expose::Code),
    ("direct", Expose::Direct),
    ("both", Expose::Both),
    ("auto", Expose::Auto),
];

pub(crate) const TRANSPORTS: [(&str, HttpTransport); 3] =
    [("auto", HttpTransport::Auto), ("http", HttpTransport::Http), ("sse", HttpTransport::Sse)];

/// The settings of one server that the user wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerEntry {
    pub name: String,
    pub connection: Connection,
    pub enabled: bool,
    pub expose: Option<Expose>,
    pub start_timeout: Option<Duration>,
    pub call_timeout: Option<Duration>,
    pub category: Option<String>,
    pub recover: Option<bool>,
}

impl ServerEntry {
    pub fn new(name: impl Into<String>, connection: Connection) -> Self {
        Self {
            name: name.into(),
            connection,
            enabled: true,
            expose: None,
            start_timeout: None,
            call_timeout: None,
            category: None,
            recover: None,
        }
    }

    /// Applies the defaults, and returns the server for the gateway.
    pub fn into_spec(self, defaults: &Defaults) -> ServerSpec {
        let mut connection = self.connection;
        if let Connection::Stdio(stdio) = &mut connection {
            stdio.inherit_env.extend_from_slice(&defaults.inherit_env);
        }
        ServerSpec {
            name: self.name,
            connection,
            expose: self.expose.unwrap_or(defaults.expose),
            start_timeout: self.start_timeout.unwrap_or(defaults.start_timeout),
            call_timeout: self.call_timeout.unwrap_or(defaults.call_timeout),
            category: self.category,
            recover: self.recover.unwrap_or(defaults.recover),
        }
    }

    /// Reads `[servers.NAME]`. A relative `cwd` is relative to `directory`.
    pub(crate) fn read(
        field: &Field,
        directory: &Path,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let path = key_path("servers", &field.name);
        let before = problems.len();
        if let Err(message) = name::check(&field.name) {
            problems.push(Problem { at: field.at, key: path.clone(), message });
        }
        let mut section =
            Section::open(&field.node, path, field.at, UnknownKeys::Strict, problems)?;
        let connection = connection(&mut section, directory);
        let entry = Self {
            enabled: section.boolean("enabled").unwrap_or(true),
            expose: section.choice("expose", &EXPOSE),
            start_timeout: section.seconds("start_timeout", MAX_START_SECONDS),
            call_timeout: section.seconds("call_timeout", MAX_CALL_SECONDS),
            category: section.string("category"),
            recover: section.boolean("recover"),
            ..Self::new(field.name.clone(), connection)
        };
        section.finish();
        (problems.len() == before).then_some(entry)
    }
}

/// The keys of servers that are started, and below those of servers that run elsewhere.
const OF_COMMANDS: &[&str] = &["command", "args", "env", "inherit_env", "cwd"];
const OF_URLS: &[&str] = &["url", "headers", "transport", "oauth"];

/// Reads the connection. The keys of both kinds of servers are read, so that none counts as unknown.
/// The result is only valid if there was no problem.
fn connection(section: &mut Section<'_>, directory: &Path) -> Connection {
    match (section.has("command"), section.has("url")) {
        (true, false) => refuse(section, OF_URLS),
        (false, true) => refuse(section, OF_COMMANDS),
        (true, true) => section.complain_here(
            "has both command and url; keep command for a program to start, or url for a server \
             that runs elsewhere",
        ),
        (false, false) => section.complain_here(
            "has neither command nor url; add command = \"…\" for a program to start, or \
             url = \"https://…\" for a server that runs elsewhere",
        ),
    }
    let stdio = StdioSpec {
        command: section.template("command").unwrap_or_default(),
        args: section.templates("args"),
        env: variables(section),
        inherit_env: inherited(section),
        cwd: working_directory(section, directory),
    };
    let http = HttpSpec {
        url: address(section, "url").unwrap_or_default(),
        headers: headers(section),
        transport: section.choice("transport", &TRANSPORTS).unwrap_or_default(),
        oauth: oauth(section),
    };
    if section.has("url") { Connection::Http(http) } else { Connection::Stdio(stdio) }
}

/// Reports keys that belong to the other kind of server.
fn refuse(section: &mut Section<'_>, names: &[&'static str]) {
    let (needed, has) = if names == OF_URLS { ("url", "command") } else { ("command", "url") };
    for name in names.iter().copied() {
        if section.has(name) {
            section.complain(
                name,
                format!("belongs to a server with {needed}, and this one has {has}; remove it"),
            );
        }
    }
}

/// Reads the environment variables of a server.
pub(crate) fn variables(section: &mut Section<'_>) -> BTreeMap<String, Template> {
    let variables = section.map("env");
    if variables.keys().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
        section.complain("env", "has a name that no environment variable can have; correct it");
    }
    variables
}

/// Reads the names of the gateway's environment variables that a server gets.
pub(crate) fn inherited(section: &mut Section<'_>) -> Vec<String> {
    let names = section.strings("inherit_env");
    let is_name = |name: &String| {
        let letters = name.strip_suffix('*').unwrap_or(name);
        !name.is_empty() && !letters.contains(['*', '=', '$', '\0'])
    };
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        let message = format!(
            "has {name:?}; write names of environment variables, or the start of names with a * \
             behind it, such as \"AWS_*\""
        );
        section.complain("inherit_env", message);
    }
    names
}

/// Reads the headers of HTTP requests.
pub(crate) fn headers(section: &mut Section<'_>) -> BTreeMap<String, Template> {
    let headers = section.map("headers");
    let token = |name: &str| {
        let mark = |letter: char| "!#$%&'*+-.^_`|~".contains(letter);
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || mark(letter))
    };
    if let Some(name) = headers.keys().find(|name| !token(name)) {
        section.complain("headers", format!("has {name:?}, which is not a name of an HTTP header"));
    }
    if headers.values().any(|value| value.as_written().chars().any(char::is_control)) {
        section
            .complain("headers", "has a value with a line break or control character; remove it");
    }
    headers
}

/// Reads the URL of a server. It may carry a key, so it is never shown.
pub(crate) fn address(section: &mut Section<'_>, name: &'static str) -> Option<Template> {
    let url = section.template(name)?;
    let written = url.as_written();
    let lower = written.to_ascii_lowercase();
    let known = ["http://", "https://"].iter().any(|scheme| {
        lower.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
    });
    // The value of a variable is checked when the server is connected.
    if known || written.starts_with("${") {
        return Some(url);
    }
    section.complain(name, "must start with http:// or https:// and the name of a host");
    None
}

fn working_directory(section: &mut Section<'_>, directory: &Path) -> Option<PathBuf> {
    let cwd = section.string("cwd")?;
    if cwd.contains("${") || cwd.starts_with('~') {
        section.complain("cwd", "cannot have variables or start with ~; write the directory out");
        return None;
    }
    Some(directory.join(cwd))
}

fn oauth(section: &mut Section<'_>) -> OAuthSpec {
    let Some(mut section) = section.section("oauth") else { return OAuthSpec::default() };
    let oauth = OAuthSpec {
        client_id: section.template("client_id"),
        client_secret: section.template("client_secret"),
        scopes: section.strings("scopes"),
        redirect_port: section
            .count("redirect_port", 1..=u32::from(u16::MAX))
            .and_then(|port| u16::try_from(port).ok()),
    };
    if oauth.client_secret.is_some() && oauth.client_id.is_none() && !section.has("client_id") {
        section.complain("client_secret", "needs client_id beside it; add it");
    }
    section.finish();
    oauth
}
