//! `narrows demo`, the first thing that a new user runs.

use std::process::Command;

#[test]
fn the_demo_shows_three_workflows_and_the_sandbox() {
    let output = Command::new(env!("CARGO_BIN_EXE_narrows")).arg("demo").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("of 10000 expenses are over 5,000"), "{shown}");
    assert!(shown.contains("build b-7 is done after 4 polls"), "{shown}");
    assert!(shown.contains("times less"), "{shown}");
    assert!(shown.contains("ValueError: could not convert string to float"), "{shown}");
    // By the clock or by its processor time: it does nothing but run.
    assert!(shown.contains("time limit of 1 s"), "{shown}");
    assert!(shown.contains("Now your own"), "{shown}");
}

#[test]
fn the_demo_can_be_one_document_and_saves_tokens_everywhere() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_narrows")).args(["demo", "--json"]).output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let workflows = shown["workflows"].as_array().unwrap();
    assert_eq!(workflows.len(), 3);
    for workflow in workflows {
        let tokens = |way: &str| workflow[way].as_u64().unwrap();
        assert!(tokens("tokens_direct") > tokens("tokens_narrows"), "{workflow}");
    }
    assert!(workflows[0]["tokens_direct"].as_u64().unwrap() > 100_000, "{}", workflows[0]);
    let stops = shown["stops"].as_array().unwrap().iter();
    let successes: Vec<_> = stops.map(|stop| stop["outcome"]["success"].as_bool()).collect();
    assert_eq!(successes, [Some(true), Some(false), Some(false)]);
}
