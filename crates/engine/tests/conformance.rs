//! The client scenarios of the official conformance suite, with our client as
//! `examples/conformance_client.rs` drives it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::PathBuf;

use narrows_testkit::Tools;

/// Cargo builds examples beside the tests.
fn driver() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/conformance_client")
}

/// Runs the client scenarios of one revision, and gives how many passed.
fn passed(revision: &str) -> Option<usize> {
    let tools = Tools::find()?;
    let driver = driver();
    let said = tools.conformance(
        revision,
        &["client", "--timeout", "300000", "--command", driver.to_str().unwrap()],
    );
    Some(said.lines().filter(|line| line.trim_start().starts_with('✓')).count())
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
