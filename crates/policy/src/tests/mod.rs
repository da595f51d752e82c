#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod arguments;
mod flows;
mod levels;
mod quotas;
mod rules;

use serde_json::{Map, Value};

use super::*;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn policy(rules: Vec<Rule>) -> Policy {
    Policy::new(PolicySettings { rules, ..PolicySettings::default() }).unwrap()
}

/// Returns the decision on a call without arguments by `agent`.
fn decide(policy: &Policy, server: &str, tool: &str, hints: Hints) -> Decision {
    let arguments = Map::new();
    policy.decide(&Ask { principal: "agent", server, tool, hints, arguments: &arguments })
}

const READS: Hints = Hints { read_only: Some(true), destructive: None };
const DESTROYS: Hints = Hints { read_only: Some(false), destructive: Some(true) };
const SILENT: Hints = Hints { read_only: None, destructive: None };
