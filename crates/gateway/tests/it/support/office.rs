//! A gateway in front of an office (`tests/servers/office.py`): its mail, its way to the web and
//! its customers. What the servers received is on record.

use std::process::Command;

use serde_json::{Value, json};

use super::real::{self, HttpGateway, Site, document, report, repository, stdio, text};

/// What the servers know of people.
pub(crate) const SENDER: &str = "ada.lovelace@mail.example";
pub(crate) const CUSTOMER: &str = "grace.hopper@navy.example";
pub(crate) const PHONE: &str = "+1 212 555 0187";
pub(crate) const CARD: &str = "4111 1111 1111 1111";
pub(crate) const BADGE: &str = "EMP-40711";

pub(crate) const ANALYST: &str = "the-key-of-the-analyst";
pub(crate) const INTERN: &str = "the-key-of-the-intern";

/// Two people of the office.
pub(crate) const AGENTS: &str = r#"
[agents.analyst]
key = "the-key-of-the-analyst"
[agents.intern]
key = "the-key-of-the-intern"
"#;

pub(crate) struct Office {
    pub(crate) site: Site,
}

impl Office {
    /// All three servers, and this configuration.
    pub(crate) fn new(config: &str) -> Option<Self> {
        Self::exposing("code", config)
    }

    /// The same, with servers that clients see in this way.
    pub(crate) fn exposing(expose: &str, config: &str) -> Option<Self> {
        let office = Self { site: Site::new()? };
        office.configure(expose, config);
        Some(office)
    }

    /// Another configuration; a gateway that runs keeps its own.
    pub(crate) fn configure(&self, expose: &str, config: &str) {
        let script = repository().join("tests/servers/office.py");
        let received = self.site.text("received.jsonl");
        let server = |name| {
            let table = stdio(name, "python3", &[script.to_str().unwrap(), name]);
            let received = json!(received);
            format!(
                "{table}expose = \"{expose}\"\nenv = {{ NARROWS_TEST_RECEIVED = {received} }}\n"
            )
        };
        let servers = ["mail", "http", "crm"].map(server).concat();
        self.site.configure(&format!("{config}\n{servers}"));
    }

    pub(crate) fn serve(&self) -> HttpGateway {
        HttpGateway::start(&self.site)
    }

    /// The arguments of all calls of a tool, as its server got them.
    pub(crate) fn received(&self, tool: &str) -> Vec<Value> {
        let lines = std::fs::read_to_string(self.site.path("received.jsonl")).unwrap_or_default();
        let calls = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        calls.filter(|call| call["tool"] == tool).map(|call| call["arguments"].clone()).collect()
    }

    /// `narrows run` with more arguments: its outcome.
    #[track_caller]
    pub(crate) fn outcome(&self, code: &str, more: &[&str]) -> Value {
        self.site.json(&[&["run", "--json", "-c", code], more].concat())
    }

    /// Its result; it must not fail.
    #[track_caller]
    pub(crate) fn run(&self, code: &str, more: &[&str]) -> Value {
        let mut outcome = self.outcome(code, more);
        assert_eq!(outcome["success"], true, "{outcome:#}");
        outcome["result"].take()
    }

    /// What it fails with.
    #[track_caller]
    pub(crate) fn error(&self, code: &str, more: &[&str]) -> Value {
        let mut outcome = self.outcome(code, more);
        assert_eq!(outcome["success"], false, "{outcome:#}");
        outcome["error"]["message"].take()
    }

    /// What a command that must not fail prints.
    #[track_caller]
    pub(crate) fn said(&self, arguments: &[&str]) -> String {
        let output = self.site.says(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// What a command says that must fail.
    #[track_caller]
    pub(crate) fn refusal(&self, arguments: &[&str]) -> Value {
        failing(self.site.narrows().args(arguments))
    }

    /// What the audit has, newest first.
    #[track_caller]
    pub(crate) fn audit(&self, arguments: &[&str]) -> Vec<Value> {
        let search = [&["audit", "search", "--json", "--limit", "1000"], arguments].concat();
        self.site.json(&search)["entries"].as_array().unwrap().clone()
    }

    /// Waits until the audit has so many of these entries: they are written beside the answer.
    #[track_caller]
    pub(crate) fn entries(&self, count: usize, arguments: &[&str]) -> Vec<Value> {
        real::wait_for("entries of the audit", || {
            Some(self.audit(arguments)).filter(|entries| entries.len() >= count)
        })
    }

    /// What `python_elicit.py` reports of a call.
    #[track_caller]
    pub(crate) fn elicit(
        &self,
        gateway: &HttpGateway,
        options: &[&str],
        tool: &str,
        arguments: &Value,
    ) -> Value {
        let mut client = self.site.client("python_elicit.py");
        client.args(options).args(["--call", tool, &arguments.to_string()]);
        client.args(gateway.over_http());
        report(client)
    }

    /// The whole database as it lies on the disk.
    pub(crate) fn database(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for suffix in ["", "-wal"] {
            let file = self.site.path(&format!("data/narrows.db{suffix}"));
            all.extend(std::fs::read(file).unwrap_or_default());
        }
        assert!(!all.is_empty(), "there is no database");
        all
    }
}

/// What a command says on standard error, which must fail.
#[track_caller]
pub(crate) fn failing(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "it works: {}", text(&output.stdout));
    text(&output.stderr).into()
}

/// The JSON that a command prints.
#[track_caller]
pub(crate) fn printed(command: &mut Command) -> Value {
    document(&command.output().unwrap())
}

pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// The first token of a kind in a text: `[EMAIL_abcdefghijkl]`.
#[track_caller]
pub(crate) fn token(text: &str, kind: &str) -> String {
    let start = text.find(&format!("[{kind}_")).unwrap_or_else(|| panic!("no {kind} in {text:?}"));
    let end = text[start..].find(']').unwrap();
    text[start..=start + end].to_owned()
}

/// The id of the approval that a sentence names.
#[track_caller]
pub(crate) fn approval(sentence: &Value) -> String {
    super::real::says(sentence, &["needs a person's approval", "make the same call again"]);
    let (_, rest) = sentence.as_str().unwrap().split_once("narrows approvals allow ").unwrap();
    rest.split('`').next().unwrap().to_owned()
}
