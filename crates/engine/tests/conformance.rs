//! The client scenarios of the official conformance suite, with our client as
//! `examples/conformance_client.rs` drives it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{path::PathBuf, process::Command};

use narrows_testkit::{Tools, repository};

/// Cargo builds examples beside the tests.
fn driver() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/conformance_client")
}

/// Runs the client scenarios of one revision, and gives how many passed.
fn passed(revision: &str) -> Option<usize> {
    let tools = Tools::find()?;
    let out = tempfile::tempdir().unwrap();
    let baseline = repository().join("tests/conformance/expected-failures.yaml");
    let output = Command::new(tools.npm("conformance"))
        .args(["client", "--requirements", revision, "--timeout", "60000", "--command"])
        .arg(driver())
        .arg("-o")
        .arg(out.path())
        .arg("--expected-failures")
        .arg(baseline)
        .env("PATH", tools.path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(shown.lines().filter(|line| line.trim_start().starts_with('✓')).count())
}

#[test]
fn the_older_protocol_is_spoken_as_the_suite_demands() {
    if let Some(passed) = passed("2025-11-25") {
        assert!(passed >= 16, "only {passed} scenarios passed");
    }
}

#[test]
fn the_newer_protocol_is_spoken_as_the_suite_demands() {
    if let Some(passed) = passed("2026-07-28") {
        assert!(passed >= 28, "only {passed} scenarios passed");
    }
}
