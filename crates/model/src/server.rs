//! An upstream MCP server as the user configured it.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// The configuration of one upstream server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    /// The key in the configuration: what `mcp__NAME__tool` begins with.
    pub name: String,
    pub connection: Connection,
    pub expose: Expose,
    /// How long the server may take to initialize and to list its tools.
    pub start_timeout: Duration,
    /// How long one call may take.
    pub call_timeout: Duration,
    /// Its category; guessed from its tools if none is configured.
    pub category: Option<String>,
    /// Whether tables and JSON in its texts become values.
    pub recover: bool,
}

impl ServerSpec {
    pub const START_TIMEOUT: Duration = Duration::from_secs(30);
    pub const CALL_TIMEOUT: Duration = Duration::from_secs(60);

    pub fn new(name: impl Into<String>, connection: Connection) -> Self {
        Self {
            name: name.into(),
            connection,
            expose: Expose::default(),
            start_timeout: Self::START_TIMEOUT,
            call_timeout: Self::CALL_TIMEOUT,
            category: None,
            recover: true,
        }
    }
}

/// The way to connect to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Connection {
    /// A child process that speaks over its standard input and output.
    Stdio(StdioSpec),
    Http(HttpSpec),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StdioSpec {
    pub command: Template,
    pub args: Vec<Template>,
    /// Variables that are added to those which every server gets from the gateway's environment.
    pub env: BTreeMap<String, Template>,
    /// Names of further variables of the gateway's environment that it gets, or prefixes with a `*`
    /// behind them.
    pub inherit_env: Vec<String>,
    pub cwd: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpSpec {
    pub url: Template,
    pub headers: BTreeMap<String, Template>,
    pub transport: HttpTransport,
    pub oauth: OAuthSpec,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpTransport {
    /// Streamable HTTP, and HTTP+SSE if the server does not know it.
    #[default]
    Auto,
    #[serde(alias = "streamable-http", alias = "streamable_http")]
    Http,
    Sse,
}

/// OAuth settings for a server, where the defaults do not fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OAuthSpec {
    /// A client that was registered beforehand; otherwise one is registered on the first login.
    pub client_id: Option<Template>,
    pub client_secret: Option<Template>,
    /// The scopes to request instead of those that the server suggests.
    pub scopes: Vec<String>,
    /// The port of the loopback redirect, where the registration names one.
    pub redirect_port: Option<u16>,
}

/// The way in which agents reach the tools of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expose {
    /// Only from code.
    #[default]
    Code,
    /// Only as tools of the gateway.
    Direct,
    /// Both ways.
    Both,
    /// `both` while the server's tools are few, else `code`.
    Auto,
}

/// A setting with `${NAME}` or `${NAME:-default}` for environment variables. Its value may be a secret,
/// so it has no `Display`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(String);

/// The error for a variable that a setting names and the environment does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {0} is not set")]
pub struct MissingVariable(pub String);

impl Template {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the setting as it is written. It may contain a secret that is written out.
    pub fn as_written(&self) -> &str {
        &self.0
    }

    /// Expands the variables. `$${` is a literal `${`.
    pub fn expand(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<String, MissingVariable> {
        let mut expanded = String::with_capacity(self.0.len());
        let mut rest = self.0.as_str();
        while let Some(start) = rest.find("${") {
            let (before, after) = (&rest[..start], &rest[start + 2..]);
            let Some(end) = after.find('}') else { break };
            rest = &after[end + 1..];
            if let Some(literal) = before.strip_suffix('$') {
                expanded.push_str(literal);
                expanded.push_str("${");
                expanded.push_str(&after[..=end]);
                continue;
            }
            expanded.push_str(before);
            let (name, default) = match after[..end].split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (&after[..end], None),
            };
            // VS Code and Cursor write `${env:NAME}`.
            let name = name.strip_prefix("env:").unwrap_or(name);
            match (variable(name), default) {
                (Some(value), Some(default)) if value.is_empty() => expanded.push_str(default),
                (Some(value), _) => expanded.push_str(&value),
                (None, Some(default)) => expanded.push_str(default),
                (None, None) => return Err(MissingVariable(name.to_owned())),
            }
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

impl From<&str> for Template {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Template(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> Result<String, MissingVariable> {
        Template::new(text).expand(|name| match name {
            "TOKEN" => Some("t0ken".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn variables_are_replaced_and_everything_else_stays() {
        for (written, expanded) in [
            ("plain", "plain"),
            ("Bearer ${TOKEN}", "Bearer t0ken"),
            ("${env:TOKEN}/${TOKEN}", "t0ken/t0ken"),
            ("${NONE:-fallback}", "fallback"),
            ("${EMPTY:-fallback}", "fallback"),
            ("[${EMPTY}]", "[]"),
            ("$TOKEN costs $5", "$TOKEN costs $5"),
            ("$${TOKEN} ${TOKEN}", "${TOKEN} t0ken"),
            ("an open ${TOKEN", "an open ${TOKEN"),
        ] {
            assert_eq!(expand(written).as_deref(), Ok(expanded), "{written}");
        }
    }

    #[test]
    fn a_missing_variable_is_named() {
        assert_eq!(expand("${TOKEN}${NONE}"), Err(MissingVariable("NONE".into())));
    }

    #[test]
    fn a_setting_is_not_shown_by_accident() {
        assert_eq!(format!("{:?}", Template::new("secret")), "Template(…)");
    }
}
