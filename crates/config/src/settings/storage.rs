//! The settings for stored data: `[store]`, `[workspace]`, `[skills]`, `[sessions]`, `[agents]`.

use std::time::Duration;

use narrows_model::{Access, Principal, Template, is_plain_name};

use crate::syntax::{Field, Problem, Section, UnknownKeys, key_path};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const ACCESS: [(&str, Access); 2] = [("read", Access::Read), ("write", Access::Write)];

/// The settings for stored data: where it is kept, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageConfig {
    /// A URL of PostgreSQL, or a file of SQLite; by default a file in the data directory.
    pub store: Option<Template>,
    pub output_age: Duration,
    pub output_bytes: u64,
    pub sessions: SessionsConfig,
    /// The registry of skills: a directory or a URL.
    pub registry: Option<String>,
    pub agents: Vec<AgentEntry>,
}

/// `[sessions]`; the engine has defaults for settings that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionsConfig {
    /// How many sessions are in memory.
    pub live: Option<usize>,
    /// How long an unused session stays in memory.
    pub idle: Option<Duration>,
    /// The memory of all unused sessions together.
    pub memory_bytes: Option<u64>,
    /// The time after which an unused session is deleted.
    pub age: Option<Duration>,
}

/// An agent with a name of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEntry {
    pub principal: Principal,
    /// The key that it sends over HTTP.
    pub key: Option<Template>,
    /// The isolation level of its programs.
    pub isolation: Option<String>,
}

impl Default for StorageConfig {
    fn default() -> Self {
        Self {
            store: None,
            output_age: 7 * DAY,
            output_bytes: 256 << 20,
            sessions: SessionsConfig::default(),
            registry: None,
            agents: Vec::new(),
        }
    }
}

impl StorageConfig {
    pub(crate) fn read(file: &mut Section<'_>) -> Self {
        let mut keeping = Self::default();
        if let Some(mut section) = file.section("store") {
            keeping.store = section.template("url");
            section.finish();
        }
        if let Some(mut section) = file.section("workspace") {
            if let Some(days) = section.count("output_days", 1..=3650) {
                keeping.output_age = days * DAY;
            }
            if let Some(megabytes) = section.count("output_mb", 1..=1_000_000) {
                keeping.output_bytes = u64::from(megabytes) << 20;
            }
            section.finish();
        }
        if let Some(mut section) = file.section("skills") {
            keeping.registry = section.string("registry");
            section.finish();
        }
        if let Some(mut section) = file.section("sessions") {
            keeping.sessions = SessionsConfig {
                live: section.count("live", 0..=1_000).map(|live| live as usize),
                idle: section.seconds("idle", 24 * 60 * 60),
                memory_bytes: section
                    .count("memory_mb", 0..=1_000_000)
                    .map(|megabytes| u64::from(megabytes) << 20),
                age: section.count("keep_days", 1..=3650).map(|days| days * DAY),
            };
            section.finish();
        }
        keeping
    }
}

impl AgentEntry {
    /// Reads an entry of `[agents]`.
    pub(crate) fn read(field: &Field, problems: &mut Vec<Problem>) -> Option<Self> {
        let path = key_path("agents", &field.name);
        if !is_plain_name(&field.name) {
            let message = "has a name with other letters than A-Z, a-z, 0-9, - and _; rename it";
            problems.push(Problem { at: field.at, key: path, message: message.into() });
            return None;
        }
        let mut section =
            Section::open(&field.node, path.clone(), field.at, UnknownKeys::Strict, problems)?;
        let key = section.template("key");
        let isolation = section.string("isolation");
        let home = section.string("home").unwrap_or_else(|| field.name.clone());
        let mut principal = Principal::new(field.name.clone(), home);
        for (namespace, access) in section.map("may") {
            let word = access.as_written();
            match ACCESS.iter().find(|(known, _)| *known == word) {
                Some((_, access)) => {
                    principal.others.insert(namespace, *access);
                }
                None => section
                    .complain("may", format!("says {word:?} of {namespace}; say read or write")),
            }
        }
        if let Some(wrong) = principal.namespaces().find(|name| !is_plain_name(name)) {
            let message = format!("names the namespace {wrong:?}; use letters, digits, - and _");
            section.complain_here(message);
        }
        section.finish();
        Some(Self { principal, key, isolation })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Config, ConfigError};

    fn parse(text: &str) -> Result<StorageConfig, ConfigError> {
        Config::parse(text, Path::new("/etc/n/narrows.toml")).map(|config| config.keeping)
    }

    #[test]
    fn all_that_lasts_can_be_said() {
        let keeping = parse(
            r#"
[store]
url = "postgres://narrows:${PASSWORD}@db/narrows"

[workspace]
output_days = 2
output_mb = 10

[skills]
registry = "https://skills.example.com/"

[sessions]
live = 4
idle = 90
memory_mb = 64
keep_days = 1

[agents.planner]
key = "${PLANNER_KEY}"
home = "team"
may = { library = "read", plan = "write" }

[agents.worker]
"#,
        )
        .unwrap();
        assert_eq!((keeping.output_age, keeping.output_bytes), (2 * DAY, 10 << 20));
        let sessions = SessionsConfig {
            live: Some(4),
            idle: Some(Duration::from_secs(90)),
            memory_bytes: Some(64 << 20),
            age: Some(DAY),
        };
        assert_eq!(keeping.sessions, sessions);
        let [planner, worker] = &keeping.agents[..] else { panic!("{keeping:?}") };
        assert!(planner.principal.may(Access::Write, "plan"));
        assert!(!planner.principal.may(Access::Write, "library"));
        assert_eq!((worker.principal.home.as_str(), &worker.key), ("worker", &None));
    }

    #[test]
    fn mistakes_are_told_without_secrets() {
        for (text, said) in [
            ("[agents.\"a/b\"]", "rename it"),
            ("[agents.a]\nhome = \"../x\"", "letters, digits"),
            ("[agents.a]\nmay = { b = \"own\" }", "say read or write"),
            ("[agents.a]\nkye = \"s3cret\"", "did you mean key?"),
            ("[store]\nurl = [\"s3cret\"]", "must be a string"),
            ("[sessions]\nlive = -1", "whole number"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("s3cret"), "{text}: {error}");
        }
    }
}
