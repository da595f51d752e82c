//! Writes a server as `[servers.NAME]`.

use std::{collections::BTreeMap, path::Path};

use narrows_model::{Connection, HttpSpec, HttpTransport, StdioSpec, Template};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use crate::settings::{Config, ConfigError, EXPOSE, ServerEntry, TRANSPORTS};

impl ServerEntry {
    /// Checks that the configuration would accept the server; the error says why not.
    pub fn check(&self) -> Result<(), String> {
        let mut servers = Table::new();
        servers.insert(&self.name, Item::Table(server_table(self)));
        let mut document = DocumentMut::new();
        document.insert("servers", Item::Table(servers));
        match Config::parse(&document.to_string(), Path::new("/")) {
            Ok(_) => Ok(()),
            Err(ConfigError::Invalid { problems, .. }) => {
                // There is no file, so line numbers would mean nothing.
                let reasons = problems.iter().map(|problem| {
                    let key = problem.key.strip_prefix("servers.").unwrap_or(&problem.key);
                    format!("{key} {}", problem.message)
                });
                Err(reasons.collect::<Vec<_>>().join("; "))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns a server as `[servers.NAME]`, without defaults.
pub(super) fn server_table(server: &ServerEntry) -> Table {
    let mut table = Table::new();
    match &server.connection {
        Connection::Stdio(stdio) => write_stdio(stdio, &mut table),
        Connection::Http(http) => write_http(http, &mut table),
    }
    if !server.enabled {
        table.insert("enabled", false.into());
    }
    if let Some(category) = &server.category {
        table.insert("category", category.as_str().into());
    }
    if let Some(recover) = server.recover {
        table.insert("recover", recover.into());
    }
    if let Some(expose) = server.expose {
        table.insert("expose", word(&EXPOSE, expose).into());
    }
    let timeouts = [("start_timeout", server.start_timeout), ("call_timeout", server.call_timeout)];
    for (name, timeout) in timeouts {
        let Some(timeout) = timeout else { continue };
        let value = match i64::try_from(timeout.as_secs()) {
            Ok(seconds) if timeout.subsec_nanos() == 0 => Value::from(seconds),
            _ => Value::from(timeout.as_secs_f64()),
        };
        table.insert(name, value.into());
    }
    table
}

fn write_stdio(stdio: &StdioSpec, table: &mut Table) {
    table.insert("command", stdio.command.as_written().into());
    if !stdio.args.is_empty() {
        let args: Array = stdio.args.iter().map(Template::as_written).collect();
        table.insert("args", args.into());
    }
    write_map("env", &stdio.env, table);
    if !stdio.inherit_env.is_empty() {
        let names: Array = stdio.inherit_env.iter().map(String::as_str).collect();
        table.insert("inherit_env", names.into());
    }
    if let Some(cwd) = &stdio.cwd {
        table.insert("cwd", cwd.to_string_lossy().as_ref().into());
    }
}

fn write_http(http: &HttpSpec, table: &mut Table) {
    table.insert("url", http.url.as_written().into());
    write_map("headers", &http.headers, table);
    if http.transport != HttpTransport::default() {
        table.insert("transport", word(&TRANSPORTS, http.transport).into());
    }
    let mut oauth = InlineTable::new();
    for (name, value) in
        [("client_id", &http.oauth.client_id), ("client_secret", &http.oauth.client_secret)]
    {
        if let Some(value) = value {
            oauth.insert(name, value.as_written().into());
        }
    }
    if !http.oauth.scopes.is_empty() {
        oauth.insert("scopes", http.oauth.scopes.iter().collect::<Array>().into());
    }
    if let Some(port) = http.oauth.redirect_port {
        oauth.insert("redirect_port", i64::from(port).into());
    }
    if !oauth.is_empty() {
        table.insert("oauth", oauth.into());
    }
}

fn write_map(name: &str, map: &BTreeMap<String, Template>, table: &mut Table) {
    if !map.is_empty() {
        let map: InlineTable =
            map.iter().map(|(name, value)| (name.as_str(), value.as_written())).collect();
        table.insert(name, map.into());
    }
}

fn word<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}
