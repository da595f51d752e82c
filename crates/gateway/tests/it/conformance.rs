//! The official conformance suite against Narrows, which passes a fixture server through.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use narrows_testkit::{Tools, repository};
use serde_json::Value;

use crate::support::real::wait_for;

struct Gateway {
    process: Child,
    url: String,
    _home: tempfile::TempDir,
}

impl Gateway {
    fn start(tools: &Tools) -> Self {
        let home = tempfile::tempdir().unwrap();
        let fixture = repository().join("tests/fixture/server.py");
        let config = home.path().join("narrows.toml");
        let text = format!(
            "[servers.fixture]\ncommand = {:?}\nargs = [{:?}]\nexpose = \"direct\"\n\
             start_timeout = 300\n[http]\nno_key = true\n",
            tools.python(),
            fixture
        );
        std::fs::write(&config, text).unwrap();
        let narrows = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
            command
                .arg("--config")
                .arg(&config)
                .args(arguments)
                .env("NARROWS_CONFIG_DIR", home.path().join("config"))
                .env("NARROWS_DATA_DIR", home.path().join("data"))
                .env("NARROWS_CACHE_DIR", home.path().join("cache"))
                .stdin(Stdio::null());
            command
        };
        let mut serve = narrows(&["serve", "--http", "127.0.0.1:0"]);
        let mut process = serve.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = loop {
            let line = lines.next().expect("the gateway says where it listens").unwrap();
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.to_owned();
            }
        };
        // Its standard error is read to the end, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        // Lists wait some seconds only for a server of which nothing is known.
        wait_for("the tools of the fixture", || {
            let status = narrows(&["servers", "status", "--json"]).output().unwrap();
            let status: Value = serde_json::from_slice(&status.stdout).unwrap();
            status["gateways"][0]["servers"][0]["tools"].is_number().then_some(())
        });
        Self { process, url, _home: home }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the server scenarios of one revision, and gives how many checks passed.
fn passed(revision: &str) -> Option<usize> {
    let tools = Tools::find()?;
    let gateway = Gateway::start(&tools);
    let said = tools.conformance(revision, &["server", "--url", &gateway.url]);
    let total = said.lines().find_map(|line| line.strip_prefix("Total: ")).expect("a total");
    Some(total.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn the_older_protocol_is_served_as_the_suite_demands() {
    if let Some(passed) = passed("2025-11-25") {
        assert!(passed >= 83, "only {passed} checks passed");
    }
}

#[test]
fn the_newer_protocol_is_served_as_the_suite_demands() {
    if let Some(passed) = passed("2026-07-28") {
        assert!(passed >= 163, "only {passed} checks passed");
    }
}
