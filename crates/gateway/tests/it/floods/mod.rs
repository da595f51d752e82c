//! One agent, or one server, sends more than it may, and another agent notices nothing of it.
//!
//! In CI the floods are small, and what is tested is that each meets its bound and that everybody else is
//! answered. With `NARROWS_FULL_SIZE` (`make soak`) they are as large as those that once worked, and
//! times and memory are judged as well; see [`Bystander`].
//!
//! | file | who floods, with what |
//! |---|---|
//! | `requests` | a client, with names, queries, programs and texts |
//! | `clients` | a client, with JSON, sessions and connections |
//! | `programs` | programs, which wait, save, and analyse |
//! | `servers` | upstream servers, over both wires |
#![cfg(target_os = "linux")] // Memory is read from /proc.

mod clients;
mod programs;
mod requests;
mod servers;

use std::{io::Read, net::TcpStream, thread};

use crate::support::{
    bystander::Bystander,
    dead::Place,
    http::{Answer, Caller},
    real::HttpGateway,
};

const ATTACKER: &str = "the-key-of-the-attacker";
const OTHER: &str = "the-key-of-somebody-else";
/// Of agents who attack together.
const ATTACKERS: [&str; 4] =
    [ATTACKER, "the-second-attackers-key", "the-third-attackers-key", "the-fourth-attackers-key"];

/// Adds two agents, of whom one attacks.
fn with_agents(place: Place) -> Place {
    place.toml(&format!(
        "[agents.attacker]\nkey = \"{ATTACKER}\"\n[agents.other]\nkey = \"{OTHER}\"\n"
    ))
}

/// Adds several agents who attack, and one who does not.
fn with_attackers(place: Place) -> Place {
    let agent = |(number, key)| format!("[agents.attacker{number}]\nkey = {key:?}\n");
    let attackers: String = ATTACKERS.iter().skip(1).enumerate().map(agent).collect();
    with_agents(place).toml(&attackers)
}

fn start(place: &Place) -> HttpGateway {
    start_after(place, "true")
}

/// Starts a gateway by a shell that sets its limits before.
fn start_after(place: &Place, limits: &str) -> HttpGateway {
    let command = place.narrows_after(limits, &["serve", "--http", "127.0.0.1:0"]);
    HttpGateway::of(command, place.file("data"))
}

/// Sends requests at once in one session, and returns their answers.
fn all_at_once(caller: Caller<'_>, session: &str, bodies: &[String]) -> Vec<Answer> {
    let header = [("mcp-session-id", session)];
    thread::scope(|scope| {
        let send = |body: &String| {
            let mut text = String::new();
            let _ = caller.open("POST", &header, body).read_to_string(&mut text);
            Answer::parse(text)
        };
        let sending: Vec<_> = bodies.iter().map(|body| scope.spawn(move || send(body))).collect();
        sending.into_iter().map(|sending| sending.join().unwrap()).collect()
    })
}

/// Reads a stream to its end.
fn rest_of(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
