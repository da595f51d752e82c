//! `narrows demo`, the first thing that a new user runs.
#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn the_demo_runs_its_tour_to_the_end() {
    let output = Command::new(env!("CARGO_BIN_EXE_narrows")).arg("demo").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("> looked at 2400 invoices of 200 customers"), "{shown}");
    assert!(shown.contains("ValueError: could not convert string to float"), "{shown}");
    assert!(shown.contains("stopped at the wall time limit of 1 s"), "{shown}");
    assert!(shown.contains("Now your own"), "{shown}");
}

#[test]
fn the_demo_can_be_one_document() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_narrows")).args(["demo", "--json"]).output().unwrap();
    let stops: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let successes = stops.as_array().unwrap().iter().map(|stop| &stop["outcome"]["success"]);
    assert_eq!(successes.collect::<Vec<_>>(), [true, true, false, false]);
    assert_eq!(stops[0]["outcome"]["tool_calls"], 201);
}
