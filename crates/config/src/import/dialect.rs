//! The dialects in which clients write servers.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use narrows_model::{Connection, HttpSpec, HttpTransport, OAuthSpec, StdioSpec, Template};

use super::{
    ClientApp, ClientFile, Home,
    client_file::Container,
    fate::{Directory, FoundServer, Skip},
    variables::{self, Translator, VariableSyntax},
};
use crate::{
    settings::{MAX_CALL_SECONDS, MAX_START_SECONDS, standard},
    syntax::{Field, Node, Problem, Section, UnknownKeys, Value, key_path},
};

/// Reads one entry of a client's file.
pub(crate) fn read(
    file: &ClientFile,
    container: &Container,
    field: &Field,
    home: &Home,
) -> Result<FoundServer, Skip> {
    let client = file.location.client;
    let above = container.path.iter().fold(String::new(), |above, key| key_path(&above, key));
    let path = key_path(&above, &field.name);
    // An older format of goose has the settings one level deeper.
    let node = match field.node.get("config") {
        Some(inner) if client == ClientApp::Goose => inner,
        _ => &field.node,
    };
    let mut problems = Vec::new();
    let Some(mut section) =
        Section::open(node, path, field.at, UnknownKeys::Lenient, &mut problems)
    else {
        return Err(unusable(&problems));
    };
    if is_builtin(client, node) {
        return Err(Skip::Builtin);
    }
    let disabled = standard::is_disabled(&mut section)
        || field.node.get("enabled").and_then(Node::as_bool) == Some(false)
        || is_excluded(file, container, &field.name);
    let mut notes = Vec::new();
    let connection = connection(client, node, &mut section, &mut notes);
    if disabled {
        return Err(Skip::Disabled);
    }
    if connection.as_ref().is_some_and(|connection| is_narrows(&field.name, connection)) {
        return Err(Skip::Narrows);
    }
    let Some(mut connection) = connection.filter(|_| problems.is_empty()) else {
        return Err(unusable(&problems));
    };
    let (start_timeout, call_timeout) = timeouts(client, node);
    let project = container.scope.project();
    let mut translator = Translator { syntax: syntax(client), home, project, notes };
    each_text(&mut connection, |text| {
        *text = Template::new(translator.translate(text.as_written()));
    });
    let mut directory = Directory::Written;
    if let Connection::Stdio(stdio) = &mut connection {
        (stdio.cwd, directory) = working_directory(stdio.cwd.take(), &mut translator);
    }
    Ok(FoundServer { connection, start_timeout, call_timeout, notes: translator.notes, directory })
}

fn unusable(problems: &[Problem]) -> Skip {
    let reasons: Vec<_> = problems.iter().map(ToString::to_string).collect();
    Skip::Unusable(if reasons.is_empty() {
        "it says nothing about how to reach a server".to_owned()
    } else {
        reasons.join("; ")
    })
}

fn is_builtin(client: ClientApp, node: &Node) -> bool {
    let text = |name| node.get(name).and_then(Node::as_str);
    match client {
        ClientApp::Goose => {
            matches!(text("type"), Some("builtin" | "platform" | "frontend" | "inline_python"))
        }
        // A Zed extension starts its server itself, and has only settings in the file.
        ClientApp::Zed => {
            text("source") == Some("extension")
                || (node.get("command").is_none() && node.get("url").is_none())
        }
        _ => false,
    }
}

/// Tells whether a server is switched off in a list beside the servers.
fn is_excluded(file: &ClientFile, container: &Container, name: &str) -> bool {
    let listed = |node: Option<&Node>| match node.map(|node| &node.value) {
        Some(Value::Array(items)) => Some(items.iter().any(|item| item.as_str() == Some(name))),
        _ => None,
    };
    match file.location.client {
        ClientApp::Gemini => {
            let mcp = file.root.get("mcp");
            let list = |name| listed(mcp.and_then(|mcp| mcp.get(name)));
            list("excluded") == Some(true) || list("allowed") == Some(false)
        }
        ClientApp::ClaudeCode if container.path.len() > 1 => {
            let project = file.root.at_path(&container.path[..container.path.len() - 1]);
            listed(project.and_then(|project| project.get("disabledMcpServers"))) == Some(true)
        }
        _ => false,
    }
}

fn is_narrows(name: &str, connection: &Connection) -> bool {
    match connection {
        Connection::Stdio(stdio) => {
            let words = std::iter::once(&stdio.command).chain(&stdio.args);
            let mut words = words.map(Template::as_written);
            // The program may have been renamed; then its path identifies it, which `--apply` writes.
            let this = std::env::current_exe().ok();
            let is_program = |word: &str| {
                let file = word.rsplit(['/', '\\']).next().unwrap_or(word);
                file.trim_end_matches(".exe") == "narrows"
                    || this.as_deref() == Some(Path::new(word))
            };
            words.any(is_program) && words.any(|word| word == "serve")
        }
        Connection::Http(_) => name == "narrows",
    }
}

fn connection(
    client: ClientApp,
    node: &Node,
    section: &mut Section<'_>,
    notes: &mut Vec<String>,
) -> Option<Connection> {
    match client {
        ClientApp::ClaudeDesktop | ClientApp::Windsurf => standard::connection(section),
        ClientApp::ClaudeCode => {
            if section.has("headersHelper") {
                notes.push("its headersHelper is not used here: write the headers out".into());
            }
            let connection = standard::connection(section)?;
            Some(with_oauth(connection, section, ["oauth", "clientId", "clientSecret"]))
        }
        ClientApp::Cursor | ClientApp::VsCode => {
            if section.has("envFile") {
                notes.push("its envFile is not read here: put the variables into env".into());
            }
            let connection = standard::connection(section)?;
            Some(with_oauth(connection, section, ["auth", "CLIENT_ID", "CLIENT_SECRET"]))
        }
        ClientApp::Zed => zed(node, section),
        ClientApp::Codex => codex(node, section),
        ClientApp::Gemini => gemini(section),
        ClientApp::Opencode => opencode(section),
        ClientApp::Goose => goose(section, notes),
    }
}

/// Reads an entry of Zed, which formerly had program and arguments in a table.
fn zed(node: &Node, section: &mut Section<'_>) -> Option<Connection> {
    if node.get("command").is_none_or(|command| command.fields().is_none()) {
        return standard::connection(section);
    }
    let mut command = section.section("command")?;
    Some(Connection::Stdio(StdioSpec {
        command: command.needed("path")?,
        args: command.templates("args"),
        env: command.map("env"),
        ..StdioSpec::default()
    }))
}

/// Reads an entry of Codex, which has no variables, but lists the environment variables that become
/// headers, and those that a program gets.
fn codex(node: &Node, section: &mut Section<'_>) -> Option<Connection> {
    let mut connection = standard::connection(section)?;
    if let Connection::Stdio(stdio) = &mut connection
        && let Some(Value::Array(names)) = node.get("env_vars").map(|names| &names.value)
    {
        stdio.inherit_env = names.iter().filter_map(Node::as_str).map(str::to_owned).collect();
    }
    if let Connection::Http(http) = &mut connection {
        http.transport = HttpTransport::Http;
        http.headers.extend(section.map("http_headers"));
        http.oauth.scopes = section.strings("scopes");
    }
    each_text(&mut connection, as_literal);
    if let Connection::Http(http) = &mut connection {
        for (header, variable) in section.map("env_http_headers") {
            http.headers.insert(header, variable_of(variable.as_written(), ""));
        }
        if let Some(variable) = section.string("bearer_token_env_var") {
            http.headers.insert("Authorization".into(), variable_of(&variable, "Bearer "));
        }
    }
    Some(connection)
}

fn variable_of(name: &str, before: &str) -> Template {
    Template::new(format!("{before}${{{name}}}"))
}

fn as_literal(text: &mut Template) {
    *text = Template::new(variables::escape(text.as_written()));
}

fn gemini(section: &mut Section<'_>) -> Option<Connection> {
    let mut connection = standard::connection(section)?;
    if let Connection::Http(http) = &mut connection {
        http.transport = match (section.has("httpUrl"), http.transport) {
            (true, _) => HttpTransport::Http,
            // `url` is for SSE, unless `type` says otherwise.
            (false, HttpTransport::Auto) => HttpTransport::Sse,
            (false, written) => written,
        };
        // `httpUrl` takes precedence over `url`.
        if section.has("httpUrl") {
            http.url = section.needed("httpUrl")?;
        }
    }
    Some(with_oauth(connection, section, ["oauth", "clientId", "clientSecret"]))
}

fn opencode(section: &mut Section<'_>) -> Option<Connection> {
    if section.has("command") {
        let mut words = section.templates("command").into_iter();
        let Some(command) = words.next() else {
            section.complain("command", "is empty; name a program");
            return None;
        };
        return Some(Connection::Stdio(StdioSpec {
            command,
            args: words.collect(),
            env: section.map("environment"),
            cwd: section.string("cwd").map(PathBuf::from),
            ..StdioSpec::default()
        }));
    }
    if !section.has("url") {
        section.complain_here("has neither command nor url here, so it is defined elsewhere");
        return None;
    }
    let connection = Connection::Http(HttpSpec {
        url: section.needed("url")?,
        headers: section.map("headers"),
        ..HttpSpec::default()
    });
    Some(with_oauth(connection, section, ["oauth", "clientId", "clientSecret"]))
}

/// Reads an entry of goose, which has variables only in headers; they mean the extension's own
/// environment first.
fn goose(section: &mut Section<'_>, notes: &mut Vec<String>) -> Option<Connection> {
    let mut env = section.map("envs");
    env.values_mut().for_each(as_literal);
    for key in section.strings("env_keys") {
        if !env.contains_key(&key) {
            notes.push(format!("set the environment variable {key}: goose keeps it elsewhere"));
            env.insert(key.clone(), variable_of(&key, ""));
        }
    }
    let kind = section.string("type").unwrap_or_default();
    match kind.as_str() {
        "stdio" => {
            let mut command = section.needed("cmd")?;
            let mut args = section.templates("args");
            args.iter_mut().chain([&mut command]).for_each(as_literal);
            Some(Connection::Stdio(StdioSpec { command, args, env, ..StdioSpec::default() }))
        }
        "sse" | "streamable_http" => {
            let with_variables = |text: &Template| {
                let text = variables::from_shell(text.as_written());
                let known = env.iter().fold(text, |text, (name, value)| {
                    text.replace(&format!("${{{name}}}"), value.as_written())
                });
                Template::new(known)
            };
            let mut headers = section.map("headers");
            headers.values_mut().for_each(|value| *value = with_variables(value));
            let url = with_variables(&section.needed("uri")?);
            let transport = if kind == "sse" { HttpTransport::Sse } else { HttpTransport::Http };
            Some(Connection::Http(HttpSpec { url, headers, transport, ..HttpSpec::default() }))
        }
        _ => {
            section.complain("type", "is not one of stdio, sse and streamable_http");
            None
        }
    }
}

/// Adds the OAuth settings. `[table, id, secret]` are the client's names for them.
fn with_oauth(
    mut connection: Connection,
    section: &mut Section<'_>,
    [table, id, secret]: [&'static str; 3],
) -> Connection {
    // Some clients write `false` to switch OAuth off.
    if section.has_table(table)
        && let Connection::Http(http) = &mut connection
        && let Some(mut oauth) = section.section(table)
    {
        let mut scopes = oauth.strings("scopes");
        if oauth.has("scope") {
            scopes.extend(
                oauth.string("scope").iter().flat_map(|scope| {
                    scope.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
                }),
            );
        }
        let client_id = oauth.template(id);
        http.oauth = OAuthSpec {
            // A secret is useless without its client id.
            client_secret: oauth.template(secret).filter(|_| client_id.is_some()),
            client_id,
            scopes,
            redirect_port: None,
        };
    }
    connection
}

/// Returns the time limits for the start and for a call, if the client sets them.
fn timeouts(client: ClientApp, node: &Node) -> (Option<Duration>, Option<Duration>) {
    let time = |name: &str, per_second: f64, max: u32| {
        let number = match node.get(name)?.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => return None,
        };
        let seconds = (number / per_second).min(f64::from(max));
        Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())
    };
    let (start, call) = (MAX_START_SECONDS, MAX_CALL_SECONDS);
    match client {
        ClientApp::Codex => (
            time("startup_timeout_sec", 1.0, start)
                .or_else(|| time("startup_timeout_ms", 1000.0, start)),
            time("tool_timeout_sec", 1.0, call),
        ),
        ClientApp::Gemini => (None, time("timeout", 1000.0, call)),
        ClientApp::Goose => (None, time("timeout", 1.0, call)),
        ClientApp::Opencode => (time("timeout", 1000.0, start), None),
        _ => (None, None),
    }
}

/// Applies `change` to every text that can have variables.
fn each_text(connection: &mut Connection, mut change: impl FnMut(&mut Template)) {
    match connection {
        Connection::Stdio(stdio) => {
            change(&mut stdio.command);
            stdio.args.iter_mut().for_each(&mut change);
            stdio.env.values_mut().for_each(&mut change);
        }
        Connection::Http(http) => {
            change(&mut http.url);
            http.headers.values_mut().for_each(&mut change);
            let oauth = &mut http.oauth;
            oauth.client_id.iter_mut().chain(&mut oauth.client_secret).for_each(&mut change);
        }
    }
}

fn syntax(client: ClientApp) -> VariableSyntax {
    match client {
        ClientApp::ClaudeDesktop | ClientApp::Zed => VariableSyntax::None,
        ClientApp::Cursor | ClientApp::VsCode | ClientApp::Windsurf => VariableSyntax::Editor,
        ClientApp::Gemini => VariableSyntax::Shell,
        ClientApp::Opencode => VariableSyntax::Braces,
        // The texts of Codex and goose are translated when they are read.
        ClientApp::ClaudeCode | ClientApp::Codex | ClientApp::Goose => VariableSyntax::Same,
    }
}

fn working_directory(
    written: Option<PathBuf>,
    translator: &mut Translator<'_>,
) -> (Option<PathBuf>, Directory) {
    let project = translator.project;
    let Some(written) = written else {
        // The client starts a project's servers in the project.
        return (project.map(Into::into), Directory::Implied);
    };
    let text = translator.translate(&written.to_string_lossy());
    let text = match text.strip_prefix("~/") {
        Some(rest) => translator.home.directory.join(rest),
        None => PathBuf::from(text),
    };
    let directory = project.map_or(text.clone(), |project| project.join(&text));
    if directory.is_absolute() && !directory.to_string_lossy().contains("${") {
        return (Some(directory), Directory::Written);
    }
    translator.note("its working directory is only known to the client: set cwd if needed".into());
    (None, Directory::Written)
}
