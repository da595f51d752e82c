//! Reads the tables of a configuration: `[servers]`, `[defaults]`, `[limits]`, `[http]`,
//! `[discovery]`, `[analysis]`; those for stored data are in `storage`, those for safety in `safety`.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use narrows_model::{LimitSpec, Limits};

use super::{
    AgentEntry, AnalysisConfig, Config, Defaults, DiscoveryConfig, HttpLimits, HttpSettings,
    SafetyConfig, ServerEntry, StorageConfig,
    entry::{EXPOSE, MAX_CALL_SECONDS, MAX_START_SECONDS, inherited},
    limits,
    name::valid_name,
    standard,
};
use crate::syntax::{Field, Node, Position, Problem, Section, UnknownKeys, key_path};

const START: Position = Position { line: 1, column: 1 };

/// Reads the format of Narrows. Mistakes are added to `problems`, and reading goes on.
pub(crate) fn read_toml(root: &Node, directory: &Path, problems: &mut Vec<Problem>) -> Config {
    let mut config = Config::default();
    let mut entries = Vec::new();
    if let Some(mut file) = Section::open(root, String::new(), START, UnknownKeys::Strict, problems)
    {
        config.defaults = defaults(&mut file);
        (config.limits, config.answer_bytes) = limits(&mut file);
        config.http = http(&mut file);
        config.discovery = discovery(&mut file);
        config.analysis = analysis(&mut file);
        config.keeping = StorageConfig::read(&mut file);
        config.safety = SafetyConfig::read(&mut file, directory);
        // This marks both tables as known; their entries are read below.
        file.section("servers");
        file.section("agents");
        file.finish();
    }
    for field in fields_of(root, "servers") {
        entries.extend(ServerEntry::read(field, directory, problems));
    }
    let agents = fields_of(root, "agents").iter();
    config.keeping.agents = agents.filter_map(|field| AgentEntry::read(field, problems)).collect();
    config.with(entries)
}

/// Reads the `mcpServers` of a client's file, and ignores its other settings.
pub(crate) fn read_json(root: &Node, directory: &Path, problems: &mut Vec<Problem>) -> Config {
    let mut entries: Vec<ServerEntry> = Vec::new();
    if let Some(mut file) =
        Section::open(root, String::new(), START, UnknownKeys::Lenient, problems)
    {
        file.section("mcpServers");
    }
    for field in fields_of(root, "mcpServers") {
        let path = key_path("mcpServers", &field.name);
        // Clients accept any name, so it is made valid.
        let name = valid_name(&field.name);
        if entries.iter().any(|known| known.name == name) {
            let message = format!("would be called {name} here, as another one is; rename it");
            problems.push(Problem { at: field.at, key: path, message });
            continue;
        }
        let section = Section::open(&field.node, path, field.at, UnknownKeys::Lenient, problems);
        let Some(mut section) = section else { continue };
        let Some(mut connection) = standard::connection(&mut section) else { continue };
        if let narrows_model::Connection::Stdio(stdio) = &mut connection {
            stdio.cwd = stdio.cwd.take().map(|cwd| directory.join(cwd));
        }
        let enabled = !standard::is_disabled(&mut section);
        entries.push(ServerEntry { enabled, ..ServerEntry::new(name, connection) });
    }
    Config::default().with(entries)
}

fn fields_of<'a>(root: &'a Node, name: &str) -> &'a [Field] {
    root.get(name).and_then(Node::fields).unwrap_or_default()
}

impl Config {
    fn with(mut self, entries: Vec<ServerEntry>) -> Self {
        for entry in entries {
            let list = if entry.enabled { &mut self.servers } else { &mut self.disabled };
            list.push(entry.into_spec(&self.defaults));
        }
        self
    }
}

fn defaults(file: &mut Section<'_>) -> Defaults {
    let standard = Defaults::default();
    let Some(mut section) = file.section("defaults") else { return standard };
    let defaults = Defaults {
        expose: section.choice("expose", &EXPOSE).unwrap_or(standard.expose),
        start_timeout: section
            .seconds("start_timeout", MAX_START_SECONDS)
            .unwrap_or(standard.start_timeout),
        call_timeout: section
            .seconds("call_timeout", MAX_CALL_SECONDS)
            .unwrap_or(standard.call_timeout),
        recover: section.boolean("recover").unwrap_or(standard.recover),
        inherit_env: inherited(&mut section),
    };
    section.finish();
    defaults
}

fn limits(file: &mut Section<'_>) -> (Limits, Option<u64>) {
    let mut limits = Limits::default();
    let Some(mut section) = file.section("limits") else { return (limits, None) };
    let answers = section.count("answers_mb", 16..=1_000_000);
    let settings = limits::read(&mut section, LimitSpec::is_in_table);
    section.finish();
    for limit in Limits::ALL {
        if let Some(amount) = settings.get(limit) {
            limit.set(&mut limits, amount);
        }
    }
    (limits, answers.map(|megabytes| u64::from(megabytes) << 20))
}

fn discovery(file: &mut Section<'_>) -> DiscoveryConfig {
    let standard = DiscoveryConfig::default();
    let Some(mut section) = file.section("discovery") else { return standard };
    let discovery = DiscoveryConfig {
        learn: section.boolean("learn").unwrap_or(standard.learn),
        observe: section.boolean("observe").unwrap_or(standard.observe),
        check: section.boolean("check").unwrap_or(standard.check),
    };
    section.finish();
    discovery
}

fn analysis(file: &mut Section<'_>) -> AnalysisConfig {
    let Some(mut section) = file.section("analysis") else { return AnalysisConfig::default() };
    let analysis = AnalysisConfig {
        time: section.count("timeout", 1..=3600).map(|seconds| Duration::from_secs(seconds.into())),
        memory_bytes: section.count("memory_mb", 16..=1_000_000).map(|mb| (mb as usize) << 20),
        disk_bytes: section.count("disk_mb", 0..=10_000_000).map(|mb| u64::from(mb) << 20),
        threads: section.count("threads", 1..=256).map(|threads| threads as usize),
    };
    section.finish();
    analysis
}

fn http(file: &mut Section<'_>) -> HttpSettings {
    let standard = HttpSettings::default();
    let Some(mut section) = file.section("http") else { return standard };
    let http = HttpSettings {
        listen: listen(&mut section).unwrap_or(standard.listen),
        allowed_origins: section.strings("allowed_origins"),
        allowed_hosts: section.strings("allowed_hosts"),
        keys: section.templates("keys"),
        no_key: section.boolean("no_key").unwrap_or(standard.no_key),
        limits: http_limits(&mut section),
    };
    if let Some(origin) = http.allowed_origins.iter().find(|origin| !is_origin(origin)) {
        let message = format!(
            "has {origin:?}, which is not an origin; write scheme and host, such as \
             \"https://example.com\""
        );
        section.complain("allowed_origins", message);
    }
    if let Some(host) = http.allowed_hosts.iter().find(|host| !is_host(host)) {
        let message = format!(
            "has {host:?}, which is not the name of a host; write it without scheme and path, \
             such as \"gateway.internal\""
        );
        section.complain("allowed_hosts", message);
    }
    if http.keys.iter().any(|key| key.as_written().trim().is_empty()) {
        section.complain("keys", "has an empty key; remove it");
    }
    if http.no_key && !http.listen.ip().is_loopback() {
        section.complain(
            "no_key",
            "is only for the loopback, and listen is another address; set keys instead, or \
             listen on 127.0.0.1",
        );
    }
    section.finish();
    http
}

fn http_limits(section: &mut Section<'_>) -> HttpLimits {
    let standard = HttpLimits::default();
    let mut count = |key, max, standard| section.count(key, 1..=max).unwrap_or(standard);
    HttpLimits {
        max_connections: count("max_connections", 60_000, standard.max_connections),
        max_connections_per_address: count(
            "max_connections_per_address",
            60_000,
            standard.max_connections_per_address,
        ),
        max_sessions: count("max_sessions", 100_000, standard.max_sessions),
        max_sessions_per_key: count("max_sessions_per_key", 100_000, standard.max_sessions_per_key),
        session_idle: section
            .count("session_idle", 1..=30 * 24 * 3600)
            .map_or(standard.session_idle, |seconds| Duration::from_secs(seconds.into())),
    }
}

fn listen(section: &mut Section<'_>) -> Option<SocketAddr> {
    let text = section.string("listen")?;
    let port = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let address = match port {
        Some(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        None => text.parse().ok(),
    };
    if address.is_none() {
        let message =
            format!("must be an address and a port, such as \"127.0.0.1:8321\", not {text:?}");
        section.complain("listen", message);
    }
    address
}

/// Tells whether a text is an origin: `scheme://host` or `scheme://host:port`. `*` is refused, because
/// it would let any web page use the gateway.
fn is_origin(origin: &str) -> bool {
    let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    rest.is_some_and(is_host)
}

fn is_host(host: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-:[]_".contains(letter);
    !host.is_empty() && host.chars().all(allowed)
}
