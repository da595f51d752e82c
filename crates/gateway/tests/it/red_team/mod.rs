//! Programs and prompts that try to get planted values out, with the outcome of each stated for
//! each mode. The official Python client makes the attempts, and everything that it receives is
//! searched: results, errors, logs, progress, questions. `docs/SECURITY.md` tells the same.
//!
//! | table | `off` | `boundary` | `strict` |
//! |---|---|---|---|
//! | `PLAIN`: says the value as it is | gets out | held | held |
//! | `DIRECT`: a server that is passed through says it | gets out | held | held |
//! | `BY_TOKEN`: has tokens turned back | no tokens | held | held |
//! | `ENCODED`: changes the value on purpose | gets out | gets out | held |
//! | `CHANGED`: has a tool change it in a common way | | | held |
//! | `THROUGH_STRICT`: has a tool cut, encode or confirm it | | | gets out |
//! | `PUBLIC`: stands in a tool's definition | | gets out | gets out |
//!
//! `flows` shows the rules that stop the sending of what is encoded.
#![cfg(unix)]

use std::fmt::Write;

use serde_json::json;

use crate::support::real::{HttpGateway, Site, repository, stdio};

mod attempt;
mod direct;
mod encoded;
mod flows;
mod kept;
mod plain;
mod public;
mod through_strict;
mod tokens;
mod witness;

use attempt::{Attempt, Step, attempt};
use direct::DIRECT;
use encoded::ENCODED;
use plain::PLAIN;
use public::PUBLIC;
use through_strict::{CHANGED, THROUGH_STRICT};
use tokens::BY_TOKEN;
use witness::{Report, Witness};

/// No tool that changes what it is sent gets values, nor does the world outside.
const NOT_TO_ALL: &str = r#"
[[pii.reveal]]
tools = ["*.echo_base64", "*.echo_reversed", "*.echo_upper", "http.*"]
allow = false
"#;

/// Somebody with the planted values behind a gateway: in `crm`, and `http`, which sends things
/// out. Both are there for programs and passed through.
fn site(mode: &str, more: &str) -> Option<Site> {
    let site = Site::new()?;
    configure(&site, mode, more);
    Some(site)
}

fn configure(site: &Site, mode: &str, more: &str) {
    let server = |name: &str, script: &str, arguments: &[&str]| {
        let script = repository().join("tests/servers").join(script);
        let arguments = [&[script.to_str().unwrap()], arguments].concat();
        format!("{}expose = \"both\"\n", stdio(name, &site.tool("python/python"), &arguments))
    };
    let crm = server("crm", "planted.py", &[]);
    let http = server("http", "office.py", &["http"]);
    let received = json!(site.text("received.jsonl"));
    site.configure(&format!(
        "[pii]\nmode = \"{mode}\"\n{more}\n{crm}{http}env = {{ NARROWS_TEST_RECEIVED = {received} }}\n"
    ));
}

/// A gateway, and a client of it in each era of the protocol.
struct Target {
    witness: Witness,
    received: std::path::PathBuf,
    _gateway: HttpGateway,
    _site: Option<Site>,
}

impl Target {
    fn start(mode: &str, more: &str) -> Option<Self> {
        let site = site(mode, more)?;
        let target = Self::of(&site);
        Some(Self { _site: Some(site), ..target })
    }

    fn of(site: &Site) -> Self {
        let gateway = HttpGateway::start(site);
        gateway.wait_for_tools(site);
        let witness = Witness::start(site);
        for era in ["modern", "legacy"] {
            let target = [&["--era".into(), era.into()], &*gateway.over_http()].concat();
            witness.connect(era, &target);
        }
        Self { witness, received: site.path("received.jsonl"), _gateway: gateway, _site: None }
    }

    #[track_caller]
    fn attempts(&self, attempt: &Attempt) -> Report {
        self.witness.attempts("modern", attempt)
    }

    /// What the server `http` was sent.
    fn sent(&self) -> String {
        std::fs::read_to_string(&self.received).unwrap_or_default()
    }
}

/// What is to become of the attempts of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Held,
    GetsOut,
}
use Expected::{GetsOut, Held};

/// Makes all attempts of all tables, and tells of all that ended otherwise than is stated.
#[track_caller]
fn all_as_stated(target: &Target, tables: &[(&str, &[Attempt], Expected)]) {
    let mut wrong = String::new();
    for (era, table, expected) in tables {
        for attempt in *table {
            let Report { leaks, missing, received } = target.witness.attempts(era, attempt);
            let got = if leaks.is_empty() { Held } else { GetsOut };
            if got != *expected || !missing.is_empty() {
                let received: String = received.to_string().chars().take(600).collect();
                let _ = writeln!(wrong, "{} ({era}): {got:?} {leaks:?}", attempt.name);
                let _ = writeln!(wrong, "   received {received}; no tokens of {missing:?} came");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The control: none of these attempts is held because it does not work.
#[test]
fn without_protection_every_attempt_gets_a_value_out() {
    let Some(target) = Target::start("off", "") else { return };
    let tables = [("modern", PLAIN), ("modern", DIRECT), ("legacy", DIRECT), ("modern", ENCODED)];
    all_as_stated(&target, &tables.map(|(era, table)| (era, table, GetsOut)));
}

#[test]
fn at_the_boundary_no_value_gets_out_that_was_not_encoded() {
    let Some(target) = Target::start("boundary", NOT_TO_ALL) else { return };
    all_as_stated(
        &target,
        &[
            ("modern", PLAIN, Held),
            ("modern", DIRECT, Held),
            ("legacy", DIRECT, Held),
            ("modern", BY_TOKEN, Held),
            ("modern", PUBLIC, GetsOut),
        ],
    );
}

/// Known and documented. When one of these is held, SECURITY.md has to say so. They have a gateway
/// of their own: a value that a tool was given is recognised from then on.
#[test]
fn at_the_boundary_code_that_encodes_gets_values_out() {
    let Some(target) = Target::start("boundary", NOT_TO_ALL) else { return };
    all_as_stated(&target, &[("modern", ENCODED, GetsOut)]);
}

#[test]
fn in_strict_mode_no_value_gets_out_whatever_a_program_does() {
    let Some(target) = Target::start("strict", NOT_TO_ALL) else { return };
    let eras = ["modern", "legacy"].map(|era| [(era, DIRECT, Held), (era, BY_TOKEN, Held)]);
    let programs =
        [("modern", PLAIN, Held), ("modern", ENCODED, Held), ("modern", PUBLIC, GetsOut)];
    all_as_stated(&target, &[eras.concat(), programs.to_vec()].concat());
    // A tool that may not have a value is sent its token.
    let sent = target.sent();
    assert!(sent.contains("for [EMAIL_") && !sent.contains("quilla"), "{sent}");
}

/// What a server does to a value is beyond a gateway, and documented.
#[test]
fn what_tools_do_and_whoever_may_restore_gets_values_out_of_strict_mode_too() {
    let Some(target) = Target::start("strict", "restore = [\"local\"]") else { return };
    let tables = [("modern", THROUGH_STRICT, GetsOut), ("modern", CHANGED, Held)];
    all_as_stated(&target, &tables);
}

/// What programs kept where they had real values is protected, or not there, where they have none.
#[test]
fn what_was_kept_at_the_boundary_enters_strict_mode_as_tokens() {
    let Some(site) = site("boundary", "") else { return };
    {
        let target = Target::of(&site);
        let report = target.attempts(&attempt("keeps", kept::KEEPS));
        assert!(report.leaks.is_empty(), "{:?}", report.leaks);
        // The control: they are there.
        all_as_stated(&target, &[("modern", kept::READS, GetsOut)]);
    }
    configure(&site, "strict", "");
    all_as_stated(&Target::of(&site), &[("modern", kept::READS, Held)]);
}

#[test]
fn there_are_enough_attempts_and_each_has_its_own_name() {
    let tables = [PLAIN, DIRECT, BY_TOKEN, ENCODED, CHANGED, THROUGH_STRICT, PUBLIC, kept::READS];
    let all: Vec<&str> = tables.into_iter().flatten().map(|attempt| attempt.name).collect();
    let names: std::collections::BTreeSet<&&str> = all.iter().collect();
    assert!(all.len() >= 60 && names.len() == all.len(), "{} of {}", names.len(), all.len());
}
