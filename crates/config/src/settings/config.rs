//! The settings of the configuration, with defaults applied.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use narrows_model::{Expose, Limits, ServerSpec};

use super::{ConfigError, SafetyConfig, StorageConfig, tables};
use crate::{files::read_text, places::ConfigSource, syntax::Syntax};

/// The settings of a `narrows.toml`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The file that was read, if there was one.
    pub path: Option<PathBuf>,
    /// The servers to use, in the order of the file.
    pub servers: Vec<ServerSpec>,
    /// Servers with `enabled = false`.
    pub disabled: Vec<ServerSpec>,
    pub defaults: Defaults,
    /// The limits of a run.
    pub limits: Limits,
    /// The memory that large answers of all servers may take together.
    pub answer_bytes: Option<u64>,
    pub http: HttpSettings,
    pub discovery: DiscoveryConfig,
    pub keeping: StorageConfig,
    pub safety: SafetyConfig,
    pub analysis: AnalysisConfig,
}

/// The limits of one analysis; the code that runs it has defaults for those that are not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnalysisConfig {
    pub time: Option<Duration>,
    pub memory_bytes: Option<usize>,
    pub disk_bytes: Option<u64>,
    pub threads: Option<usize>,
}

/// The defaults for servers without settings of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    pub expose: Expose,
    pub start_timeout: Duration,
    pub call_timeout: Duration,
    pub recover: bool,
    /// Environment variables of the gateway that all servers get, beside the usual ones.
    pub inherit_env: Vec<String>,
}

/// The features that help models to write correct programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscoveryConfig {
    /// Whether tools that were used after a search rank higher in similar searches.
    pub learn: bool,
    /// Whether the types of results are inferred from results, for tools that declare none.
    pub observe: bool,
    /// Whether programs are checked before they run.
    pub check: bool,
}

impl Default for DiscoveryConfig {
    fn default() -> Self {
        Self { learn: true, observe: true, check: true }
    }
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            expose: Expose::default(),
            start_timeout: ServerSpec::START_TIMEOUT,
            call_timeout: ServerSpec::CALL_TIMEOUT,
            recover: true,
            inherit_env: Vec::new(),
        }
    }
}

/// The settings of `narrows serve --http`: its address, and who may call it.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpSettings {
    pub listen: SocketAddr,
    /// The origins of web pages that may call the gateway.
    pub allowed_origins: Vec<String>,
    /// Host names under which it may be called, beside those of the loopback.
    pub allowed_hosts: Vec<String>,
    /// The keys, of which callers send one as a bearer token.
    pub keys: Vec<narrows_model::Template>,
    /// Whether callers need no key. Only allowed on the loopback.
    pub no_key: bool,
    pub limits: HttpLimits,
}

/// The limits of a gateway over HTTP, so that no client can use all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Open connections; fewer if the process may open few files.
    pub max_connections: u32,
    /// Open connections of one address, or of one IPv6 network.
    pub max_connections_per_address: u32,
    /// Sessions of clients that speak the older protocol.
    pub max_sessions: u32,
    pub max_sessions_per_key: u32,
    /// How long an idle session is kept.
    pub session_idle: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_connections_per_address: 512,
            max_sessions: 1024,
            max_sessions_per_key: 256,
            session_idle: Duration::from_secs(3600),
        }
    }
}

impl HttpSettings {
    pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8321);
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            listen: Self::LISTEN,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            keys: Vec::new(),
            no_key: false,
            limits: HttpLimits::default(),
        }
    }
}

impl Config {
    /// Reads the chosen file. The user's own file may be missing; one that was named may not.
    pub fn load(source: &ConfigSource) -> Result<Self, ConfigError> {
        let path = source.path();
        match read_text(path) {
            Ok(text) => Self::parse(&text, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match source {
                ConfigSource::Named(path) => Err(ConfigError::Missing { path: path.clone() }),
                ConfigSource::WorkingDirectory(_) | ConfigSource::User(_) => Ok(Self::default()),
            },
            Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
        }
    }

    /// Parses a configuration. `path` is the file of the text: messages name it, relative paths start
    /// from it, and its extension distinguishes JSON from TOML.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let syntax = Self::syntax(text, path);
        let root = syntax.parse(text).map_err(|error| ConfigError::Malformed {
            path: path.to_owned(),
            syntax,
            error,
        })?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut problems = Vec::new();
        let config = match syntax {
            Syntax::Toml => tables::read_toml(&root, directory, &mut problems),
            Syntax::Json if root.get("mcpServers").is_none() => {
                return Err(ConfigError::NoServers { path: path.to_owned() });
            }
            Syntax::Json => tables::read_json(&root, directory, &mut problems),
        };
        if problems.is_empty() {
            Ok(Self { path: Some(path.to_owned()), ..config })
        } else {
            problems.sort_by_key(|problem| problem.at);
            Err(ConfigError::Invalid { path: path.to_owned(), problems })
        }
    }

    /// Tells JSON from TOML by the name of the file, or by the brace with which no TOML starts.
    pub(crate) fn syntax(text: &str, path: &Path) -> Syntax {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if matches!(extension, Some("json" | "jsonc")) || text.starts_with('{') {
            Syntax::Json
        } else {
            Syntax::Toml
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use narrows_model::{Connection, HttpTransport, Template};

    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("/etc/n/narrows.toml"))
    }

    /// Returns the mistakes in a configuration, one line each.
    fn mistakes(text: &str) -> Vec<String> {
        match parse(text) {
            Err(ConfigError::Invalid { problems, .. }) => {
                problems.iter().map(ToString::to_string).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_full_configuration_is_read() {
        let config = parse(
            r#"
[defaults]
expose = "auto"
call_timeout = 90

[servers.github]
command = "npx"
args = ["-y", "server-github"]
env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }
cwd = "work"
expose = "both"
start_timeout = 2.5

[servers.linear]
url = "https://mcp.linear.app/mcp"
headers = { Authorization = "Bearer ${LINEAR_TOKEN}" }
transport = "sse"
oauth = { client_id = "narrows", client_secret = "${S}", scopes = ["read"], redirect_port = 8123 }

[servers.old]
command = "old"
enabled = false

[limits]
timeout = 60
memory_mb = 1024
tool_calls = 10
calls_in_flight = 2
answers_mb = 64

[http]
listen = "localhost:9000"
allowed_origins = ["https://example.com"]
allowed_hosts = ["gateway.internal"]
keys = ["${NARROWS_KEY}"]
"#,
        )
        .unwrap();
        let [github, linear] = &config.servers[..] else { panic!("{:?}", config.servers) };
        assert_eq!((github.name.as_str(), github.expose), ("github", Expose::Both));
        assert_eq!(github.start_timeout, Duration::from_millis(2500));
        assert_eq!(github.call_timeout, Duration::from_secs(90));
        let Connection::Stdio(stdio) = &github.connection else { panic!() };
        assert_eq!(stdio.command, Template::new("npx"));
        assert_eq!(stdio.args, [Template::new("-y"), Template::new("server-github")]);
        assert_eq!(stdio.env["GITHUB_TOKEN"], Template::new("${GITHUB_TOKEN}"));
        assert_eq!(stdio.cwd.as_deref(), Some(Path::new("/etc/n/work")));
        let Connection::Http(http) = &linear.connection else { panic!() };
        assert_eq!((linear.expose, http.transport), (Expose::Auto, HttpTransport::Sse));
        assert_eq!(http.headers["Authorization"], Template::new("Bearer ${LINEAR_TOKEN}"));
        assert_eq!(http.oauth.redirect_port, Some(8123));
        assert_eq!(config.disabled.len(), 1);
        assert_eq!(config.limits.cpu_time, Duration::from_secs(60));
        assert_eq!(config.limits.memory_bytes, 1 << 30);
        assert_eq!((config.limits.tool_calls, config.limits.calls_in_flight), (10, 2));
        assert_eq!(config.answer_bytes, Some(64 << 20));
        assert_eq!(config.http.listen.to_string(), "127.0.0.1:9000");
        assert_eq!(config.http.keys, [Template::new("${NARROWS_KEY}")]);
    }

    #[test]
    fn nothing_is_a_configuration_too() {
        let config = parse("").unwrap();
        assert_eq!(Config { path: None, ..config }, Config::default());
    }

    #[test]
    fn all_mistakes_are_reported_at_once_with_line_key_and_advice() {
        let text = r#"
[server.github]
command = "npx"

[servers.github]
comand = "npx"
command = "npx"
args = "-y"
expose = "cdoe"
start_timeout = 0
call_timeout = "long"

[limits]
timeout = 121
memory_mb = 1.5
memory = 3
"#;
        assert_eq!(
            mistakes(text),
            [
                "line 2: server is not a known key; did you mean servers?",
                "line 6: servers.github.comand is not a known key; did you mean command?",
                "line 8: servers.github.args must be an array of strings, not a string",
                "line 9: servers.github.expose must be one of code, direct, both, auto, not \
                 \"cdoe\"; did you mean code?",
                "line 10: servers.github.start_timeout must be a number of seconds above 0 and \
                 up to 600, not 0",
                "line 11: servers.github.call_timeout must be a number of seconds above 0 and up \
                 to 3600, not a string",
                "line 14: limits.timeout must be a whole number from 1 to 120, not 121",
                "line 15: limits.memory_mb must be a whole number from 64 to 4096, not 1.5",
                "line 16: limits.memory is not a known key; did you mean memory_mb?",
            ]
        );
        let message = parse(text).unwrap_err().to_string();
        assert!(
            message.starts_with("/etc/n/narrows.toml has 9 mistakes:\n  line 2: "),
            "{message}"
        );
    }

    #[test]
    fn servers_are_given_the_variables_that_they_or_the_defaults_name() {
        let config = parse(
            "[defaults]\ninherit_env = [\"CORP_*\"]\n\
             [servers.a]\ncommand = \"x\"\ninherit_env = [\"TOKEN\"]\n\
             [servers.b]\ncommand = \"x\"",
        );
        let named = config.unwrap().servers.into_iter().map(|spec| match spec.connection {
            Connection::Stdio(stdio) => stdio.inherit_env,
            Connection::Http(_) => panic!(),
        });
        assert_eq!(named.collect::<Vec<_>>(), [vec!["TOKEN", "CORP_*"], vec!["CORP_*"]]);
        for wrong in ["A=b", "", "*_TOKEN", "${TOKEN}"] {
            let text = format!("[servers.a]\ncommand = \"x\"\ninherit_env = [{wrong:?}]");
            let [mistake] = &mistakes(&text)[..] else { panic!("{wrong}") };
            assert!(mistake.starts_with("line 3: servers.a.inherit_env has "), "{mistake}");
        }
        let [http] = &mistakes("[servers.a]\nurl = \"https://x\"\ninherit_env = []")[..] else {
            panic!()
        };
        assert!(http.contains("inherit_env belongs to a server with command"), "{http}");
    }

    #[test]
    fn a_server_has_either_a_command_or_an_address() {
        let [both] = &mistakes("[servers.a]\ncommand = \"x\"\nurl = \"https://x\"")[..] else {
            panic!()
        };
        assert!(both.starts_with("line 1: servers.a has both command and url; keep"), "{both}");
        let [neither] = &mistakes("[servers.a]\nenabled = true")[..] else { panic!() };
        assert!(neither.starts_with("line 1: servers.a has neither command nor url; add"));
        assert_eq!(
            mistakes("[servers.a]\ncommand = \"x\"\nheaders = {}"),
            ["line 3: servers.a.headers belongs to a server with url, and this one has command; \
              remove it"]
        );
        assert_eq!(
            mistakes("[servers.a]\nurl = \"x.example\"\ncwd = \"/\""),
            [
                "line 2: servers.a.url must start with http:// or https:// and the name of a host",
                "line 3: servers.a.cwd belongs to a server with command, and this one has url; \
                 remove it",
            ]
        );
    }

    #[test]
    fn a_misspelt_command_is_found_too() {
        let found = mistakes("[servers.a]\ncomand = \"x\"");
        assert!(found[0].contains("has neither command nor url"), "{found:?}");
        assert_eq!(found[1], "line 2: servers.a.comand is not a known key; did you mean command?");
        let found = mistakes("[servers.a]\ncommand = \"\"\ncwd = \"~/x\"");
        assert_eq!(found[0], "line 2: servers.a.command is empty; give it a value or remove it");
        assert!(found[1].starts_with("line 3: servers.a.cwd cannot have"), "{found:?}");
    }

    #[test]
    fn names_of_servers_are_checked() {
        for (name, reason) in [
            ("\"a b\"", "letters, digits"),
            ("a__b", "contains `__`"),
            ("\"\"", "is empty"),
            (&"x".repeat(65), "longer than 64"),
        ] {
            let found = mistakes(&format!("[servers.{name}]\ncommand = \"x\""));
            assert!(found.len() == 1 && found[0].contains(reason), "{found:?}");
            assert!(found[0].contains("call it "), "{found:?}");
        }
    }

    #[test]
    fn limits_of_http_are_read_and_have_ranges() {
        assert_eq!(parse("[http]").unwrap().http.limits, HttpLimits::default());
        let text = "[http]\nmax_connections = 64\nmax_connections_per_address = 8\n\
                    max_sessions = 32\nmax_sessions_per_key = 4\nsession_idle = 60";
        let expected = HttpLimits {
            max_connections: 64,
            max_connections_per_address: 8,
            max_sessions: 32,
            max_sessions_per_key: 4,
            session_idle: Duration::from_secs(60),
        };
        assert_eq!(parse(text).unwrap().http.limits, expected);
        for key in ["max_connections", "max_sessions", "session_idle"] {
            let found = mistakes(&format!("[http]\n{key} = 0"));
            assert!(found[0].starts_with(&format!("line 2: http.{key} must be")), "{found:?}");
        }
        let found = mistakes("[http]\nmax_conections = 5");
        assert!(found[0].contains("did you mean max_connections"), "{found:?}");
    }

    #[test]
    fn no_key_is_only_for_the_loopback() {
        assert!(parse("[http]\nno_key = true").unwrap().http.no_key);
        let found = mistakes("[http]\nlisten = \"0.0.0.0:8321\"\nno_key = true");
        assert!(found[0].starts_with("line 3: http.no_key is only for the loopback"), "{found:?}");
        for origin in ["*", "example.com", "https://example.com/path", "https://"] {
            let found = mistakes(&format!("[http]\nallowed_origins = [{origin:?}]"));
            assert!(found[0].contains("is not an origin"), "{found:?}");
        }
    }

    /// Values that may be secret are not shown, whatever is wrong around them.
    #[test]
    fn secrets_never_appear_in_errors() {
        for text in [
            "[servers.a]\ncommand = \"x\"\nargs = \"s3cret\"",
            "[servers.a]\ncommand = \"x\"\nargs = [\"s3cret\", 5]",
            "[servers.a]\ncommand = [\"s3cret\"]",
            "[servers.a]\ncommand = \"x\"\nenv = \"s3cret\"",
            "[servers.a]\ncommand = \"x\"\nenv = { A = [\"s3cret\"] }",
            "[servers.a]\ncommand = \"x\"\nenv = { A = 5, B = \"s3cret\" }",
            "[servers.a]\nurl = \"s3cret\"",
            "[servers.a]\nurl = \"https://a.example\"\nheaders = { A = \"s3cret\\n\" }",
            "[servers.a]\nurl = \"https://a.example\"\noauth = { client_secret = \"s3cret\" }",
            "[servers.a]\nurl = \"https://a.example\"\noauth = \"s3cret\"",
            "[servers.a]\ncommand = \"x\"\nevn = { A = \"s3cret\" }",
            "[http]\nkeys = \"s3cret\"",
            "[http]\nkeys = [\"\", \"s3cret\"]",
            "[http]\nkeys = [\"s3cret]",
            "[servers.a]\nenv = { TOKEN = s3cret }",
            "[servers.a]\nenv = { TOKEN \"s3cret\" }",
            "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": \"s3cret\"}}}",
            "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"A\": s3cret}}}}",
            "{\"mcpServers\": {\"a\": {\"url\": \"s3cret\"}}}",
        ] {
            let error = parse(text).unwrap_err();
            for shown in [error.to_string(), format!("{error:?}")] {
                assert!(!shown.contains("s3cret"), "{text}\n{shown}");
            }
        }
    }

    #[test]
    fn malformed_files_are_located() {
        let message = parse("[servers.a]\ncommand = \n").unwrap_err().to_string();
        assert!(message.starts_with("/etc/n/narrows.toml is not valid TOML: line 2, column "));
        let path = Path::new("/x/mcp.json");
        let message = Config::parse("{\n\"mcpServers\": {,}}", path).unwrap_err().to_string();
        assert!(
            message.starts_with("/x/mcp.json is not valid JSON: line 2, column 16: "),
            "{message}"
        );
    }

    #[test]
    fn the_json_of_clients_is_accepted_as_it_is() {
        let text = r#"{
  // what a client has beside it
  "globalShortcut": "",
  "mcpServers": {
    "My Files": {"command": "npx", "args": ["-y"], "env": {"PORT": 8080, "X": null},
                 "alwaysAllow": ["read"], "cwd": "sub"},
    "remote": {"type": "http", "url": "https://a.example/mcp", "timeout": 5000},
    "old": {"serverUrl": "https://b.example/sse", "type": "sse", "disabled": true},
  },
}"#;
        let config = Config::parse(text, Path::new("/x/some.json")).unwrap();
        let [files, remote] = &config.servers[..] else { panic!() };
        assert_eq!((files.name.as_str(), remote.name.as_str()), ("My-Files", "remote"));
        let Connection::Stdio(stdio) = &files.connection else { panic!() };
        assert_eq!(stdio.cwd.as_deref(), Some(Path::new("/x/sub")));
        assert_eq!(stdio.env["PORT"], Template::new("8080"));
        let Connection::Http(http) = &remote.connection else { panic!() };
        assert_eq!(http.transport, HttpTransport::Http);
        assert_eq!(config.disabled[0].name, "old");
        // JSON is recognised by its content too, whatever the file is called.
        assert_eq!(parse(text).unwrap().servers.len(), 2);
        assert!(matches!(parse("{\"servers\": {}}"), Err(ConfigError::NoServers { .. })));
    }

    #[test]
    fn a_named_file_must_be_there_and_the_users_own_need_not() {
        let directory = tempfile::tempdir().unwrap();
        let places = crate::AppDirs {
            config: directory.path().join("user"),
            data: directory.path().into(),
            cache: directory.path().into(),
        };
        let find = |named| ConfigSource::find(named, directory.path(), &places);
        assert_eq!(Config::load(&find(None)).unwrap(), Config::default());
        let named = find(Some(Path::new("x.toml")));
        assert!(matches!(Config::load(&named), Err(ConfigError::Missing { .. })));
        fs::create_dir(&places.config).unwrap();
        fs::write(places.config_file(), "[limits]\ntimeout = 7").unwrap();
        assert_eq!(Config::load(&find(None)).unwrap().limits.wall_time.as_secs(), 7);
        // The working directory comes first.
        fs::write(directory.path().join("narrows.toml"), "[limits]\ntimeout = 8").unwrap();
        assert_eq!(Config::load(&find(None)).unwrap().limits.wall_time.as_secs(), 8);
        fs::write(directory.path().join("x.toml"), "[limits]\ntimeout = 9").unwrap();
        assert_eq!(Config::load(&named).unwrap().limits.wall_time.as_secs(), 9);
    }
}
