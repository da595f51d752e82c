//! What a client was told is there, though the gateway is killed in the middle of its work.
#![cfg(unix)]

use std::{collections::HashMap, fs, path::Path};

use narrows_testkit::{Chance, report_figures, size};
use serde_json::Value;

use crate::support::dead::{Gateway, Place};

/// A program of a session: counts how many there were, and leaves a file as large as it likes.
const STEP: &str = "
n = globals().get('n', 0) + 1
write_file(f'file-{NAME}-{n}.txt', 'x' * 20_000)
result = n
";

fn step(session: &str) -> String {
    STEP.replace("{NAME}", session)
}

/// What a program gave, if it was told to be kept.
fn kept(answer: &Value) -> Option<i64> {
    let outcome = &answer["result"]["structuredContent"];
    let notes = outcome["notes"].to_string();
    outcome["result"].as_i64().filter(|_| !notes.contains("session: "))
}

/// Files that nobody will finish.
fn unfinished(workspace: &Path) -> Vec<String> {
    let entries = fs::read_dir(workspace).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".narrows-")).collect()
}

fn value_in(gateway: &mut Gateway, session: &str) -> i64 {
    let id = gateway.start_in(session, "globals().get('n', 0)");
    let answer = gateway.answer(id);
    kept(&answer).unwrap_or_else(|| panic!("{answer}"))
}

/// Kills gateways in the middle of many programs, and finds what their clients were told of.
fn kill_many(times: usize, sessions: usize) {
    let place = Place::new().toml("");
    let mut chance = Chance::new(25);
    let mut told: HashMap<String, i64> = HashMap::new();
    let sessions: Vec<String> = (0..sessions).map(|number| format!("s{number}")).collect();
    for round in 0..=times {
        let mut gateway = place.legacy();
        for session in &sessions {
            let value = value_in(&mut gateway, session);
            let before = told.get(session).copied().unwrap_or_default();
            assert!(value >= before, "round {round}: {session} was {before} and is {value}");
            for number in 1..=before {
                let file = format!("data/workspaces/default/file-{session}-{number}.txt");
                assert_eq!(fs::metadata(place.file(&file)).unwrap().len(), 20_000, "{file}");
            }
        }
        let workspace = place.file("data/workspaces/default");
        assert_eq!(unfinished(&workspace), [""; 0], "round {round}");
        if round == times {
            break;
        }
        let mut pending: HashMap<u64, String> = HashMap::new();
        for _ in 0..10 {
            for session in &sessions {
                pending.insert(gateway.start_in(session, &step(session)), session.clone());
            }
        }
        let mut messages: Vec<Value> = (0..1 + chance.below(5 * sessions.len()))
            .map(|_| gateway.wait("an answer", |message| message["id"].is_u64()))
            .collect();
        messages.extend(gateway.kill());
        for message in messages {
            let Some(session) = message["id"].as_u64().and_then(|id| pending.get(&id)) else {
                continue;
            };
            if let Some(value) = kept(&message) {
                let known = told.entry(session.clone()).or_default();
                *known = value.max(*known);
            }
        }
    }
    let writes = told.values().sum::<i64>();
    report_figures(&format!("{writes} acknowledged writes in {times} kills, none lost"));
    assert!(writes >= times as i64, "{told:?}");
}

#[test]
fn nothing_that_a_client_was_told_of_is_lost_when_the_gateway_is_killed() {
    kill_many(size(2, 25), size(4, 8));
}
