//! JSON that becomes gigabytes, sessions and connections without number.

use std::{io::Write, net::TcpStream};

use narrows_testkit::size;
use serde_json::json;

use super::{
    ATTACKER, ATTACKERS, Bystander, Caller, OTHER, all_at_once, programs::begun, rest_of, start,
    start_after, with_agents, with_attackers,
};
use crate::support::{
    bystander::program,
    dead::{Place, until},
    http::{connect, is_closed},
};

/// Sessions that one key has at most, by default.
const MAX_SESSIONS: usize = 256;

/// Four requests took 4.2 GB, and others waited for 11 s.
#[test]
fn json_of_millions_of_values_takes_no_memory() {
    let place = with_agents(Place::new());
    let gateway = start(&place);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let bystander = Bystander::new(&gateway, OTHER);
    let code = |value: &str| {
        program(3, &json!({"code": "len(x)", "context": {"x": "VALUE"}}))
            .to_string()
            .replace("\"VALUE\"", value)
    };
    let lists = format!("[{}[]]", "[],".repeat(size(600_000, 4_700_000)));
    let keys = "\"a\":1,".repeat(size(600_000, 2_400_000));
    let ping = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":{{{keys}\"b\":1}}}}"
    );
    for (name, body) in [("empty lists", code(&lists)), ("keys of one name", ping)] {
        let bodies = vec![body; 4];
        for refused in bystander.during(name, || all_at_once(attacker, &session, &bodies)) {
            assert_eq!(refused.status, 413, "{name}: {refused:?}");
            assert!(refused.text.contains("more than 1000000 JSON values and keys"), "{name}");
        }
    }
    // The control: as many bytes that are harmless, of which the program makes use.
    let length = size(1 << 20, 14 << 20);
    let text = code(&format!("\"{}\"", "[,".repeat(length / 2)));
    let bodies: Vec<String> =
        (0..size(4, 12)).map(|id| text.replace("\"id\":3", &format!("\"id\":{id}"))).collect();
    let answers = bystander.during("large texts", || all_at_once(attacker, &session, &bodies));
    for done in answers {
        let done = done.message();
        assert_eq!(done["result"]["structuredContent"]["result"], length, "{done}");
    }
    bystander.memory_goes_back("JSON");
}

/// Four agents, each with four programs that slept and had much context, kept the large requests of all
/// others waiting until they were refused.
#[test]
fn large_requests_of_several_agents_leave_a_place_to_another_one() {
    let place = with_attackers(Place::new());
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attackers = ATTACKERS.map(|key| Caller::new(&gateway, key));
    let sessions = attackers.map(Caller::session);
    let text = "x".repeat(size(300 << 10, 4 << 20));
    let code = "write_file(f'begun-{n}', '')\nimport time\ntime.sleep(100)";
    let name = "large requests of several agents";
    let count = size(4, 8);
    let streams: Vec<TcpStream> = bystander.during(name, || {
        let mut streams = Vec::new();
        for (attacker, session) in attackers.iter().zip(&sessions) {
            let header = [("mcp-session-id", session.as_str())];
            for n in 0..count {
                let context = json!({"n": n, "text": text});
                let arguments = json!({"code": code, "timeout": 110, "context": context});
                streams.push(attacker.open("POST", &header, &program(n, &arguments).to_string()));
            }
        }
        // The control: as many as there are places for have begun.
        until("large requests", || (begun(&place, "begun") >= 12).then_some(()));
        streams
    });
    let other = Caller::new(&gateway, OTHER);
    let session = other.session();
    let arguments = json!({"code": "len(text)", "context": {"text": text}});
    let answer = bystander.during(&format!("{name}, another one's"), || {
        other.post(&session, &program(1, &arguments)).message()
    });
    assert_eq!(answer["result"]["structuredContent"]["result"], text.len(), "{answer}");
    for (attacker, session) in attackers.iter().zip(&sessions) {
        assert_eq!(attacker.send("DELETE", &[("mcp-session-id", session)], "").status, 204);
    }
    streams.into_iter().map(rest_of).for_each(drop);
    bystander.memory_goes_back(name);
}

/// Ten thousand took 1.6 GB.
#[test]
fn a_key_opens_so_many_sessions_and_leaves_room_to_others() {
    let place = with_agents(Place::new());
    let gateway = start(&place);
    let attacker = Caller::new(&gateway, ATTACKER);
    let bystander = Bystander::new(&gateway, OTHER);
    let count = size(300, 10_000);
    let statuses: Vec<u16> =
        bystander.during("sessions", || (0..count).map(|_| attacker.initialize().status).collect());
    // The first are the control.
    let opened = statuses.iter().take_while(|status| **status == 200).count();
    assert_eq!(opened, MAX_SESSIONS);
    assert!(statuses[opened..].iter().all(|status| *status == 429), "{statuses:?}");
    assert_eq!(Caller::new(&gateway, OTHER).initialize().status, 200);
    bystander.memory_goes_back("sessions");
}

/// With as many as there were descriptors, nobody was answered ever again.
#[test]
fn connections_that_say_nothing_do_not_make_the_gateway_deaf() {
    let place = with_agents(Place::new());
    let descriptors = size(200, 1_024);
    let gateway = start_after(&place, &format!("ulimit -n {descriptors}"));
    let bystander = Bystander::new(&gateway, OTHER);
    let starts = [&b""[..], b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"];
    for (name, start) in ["idle connections", "half of a request"].iter().zip(starts) {
        let waiting = bystander.during(name, || {
            let open = |_| {
                let mut stream = connect(&gateway);
                let _ = stream.write_all(start);
                stream
            };
            let waiting: Vec<TcpStream> = (0..descriptors + 100).map(open).collect();
            is_closed(&waiting[0]);
            waiting
        });
        // None is left open, though nobody needs their places.
        bystander.during(&format!("{name}, closed"), || waiting.iter().for_each(is_closed));
    }
    bystander.memory_goes_back("connections");
}
