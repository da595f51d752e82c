//! Programs that hold places, save without end, and analyse more than fits into memory.

use std::{fs::DirEntry, net::TcpStream, path::Path, thread};

use narrows_testkit::{report_figures, size};
use serde_json::{Value, json};

use super::{
    ATTACKER, ATTACKERS, Bystander, Caller, OTHER, all_at_once, rest_of, start, start_after,
    with_agents, with_attackers,
};
use crate::support::{
    bystander::program,
    dead::{Place, until},
};

/// Programs that have begun, each of which has left a file.
pub(super) fn begun(place: &Place, name: &str) -> usize {
    let workspaces = std::fs::read_dir(place.file("data/workspaces")).into_iter().flatten();
    let files = workspaces.flatten().flat_map(|entry| std::fs::read_dir(entry.path()).unwrap());
    files.flatten().filter(|file| file.file_name().to_string_lossy().starts_with(name)).count()
}

/// Programs of one caller that have begun, at most.
fn places() -> usize {
    10 * thread::available_parallelism().unwrap().get()
}

/// Eight that waited held all places, for as long as they liked.
#[test]
fn programs_that_wait_for_a_person_or_a_timer_leave_places_to_others() {
    for (name, waiting) in [
        ("person", "from servers.good import echo\nawait echo(text='x')"),
        ("timer", "import asyncio\nawait asyncio.sleep(100)"),
        ("sleep", "import time\ntime.sleep(100)"),
    ] {
        programs_that_wait(name, &format!("write_file(f'{name}-{{n}}', '')\n{waiting}"));
    }
}

fn programs_that_wait(name: &str, code: &str) {
    let rule = "[[policy.rules]]\nname = \"ask\"\ntools = [\"good.echo\"]\naction = \"confirm\"\n";
    let place = with_agents(Place::with_good().toml(rule));
    let gateway = start(&place);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let bystander = Bystander::new(&gateway, OTHER);
    let header = [("mcp-session-id", session.as_str())];
    let count = size(12, 150);
    let open = |n: usize| {
        let arguments = json!({"code": code, "timeout": 110, "context": {"n": n}});
        attacker.open("POST", &header, &program(n, &arguments).to_string())
    };
    let streams: Vec<TcpStream> = bystander.during(&format!("programs that wait: {name}"), || {
        let streams = (0..count).map(open).collect();
        // The control: they have begun, as many as may.
        until("programs that wait", || (begun(&place, name) >= count.min(places())).then_some(()));
        streams
    });
    // All of them wait now.
    bystander.during(&format!("programs that have begun to wait: {name}"), || ());
    assert_eq!(attacker.send("DELETE", &header, "").status, 204);
    streams.into_iter().map(rest_of).for_each(drop);
    bystander.memory_goes_back(&format!("programs that wait: {name}"));
}

/// Two agents with forty programs each held all places, and another agent waited for 17 s.
#[test]
fn programs_of_several_agents_that_wait_leave_a_place_to_another_one() {
    let place = with_attackers(Place::new());
    let gateway = start(&place);
    let bystander = Bystander::new(&gateway, OTHER);
    let attackers = ATTACKERS.map(|key| Caller::new(&gateway, key));
    let sessions = attackers.map(Caller::session);
    let code = "write_file(f'waits-{n}', '')\nimport time\ntime.sleep(100)";
    let name = "programs of several agents that wait";
    let streams: Vec<TcpStream> = bystander.during(name, || {
        let mut streams = Vec::new();
        let mut expected = 0;
        for (number, (attacker, session)) in attackers.iter().zip(&sessions).enumerate() {
            for n in 0..places() + size(2, 20) {
                let arguments = json!({"code": code, "timeout": 110, "context": {"n": n}});
                let header = [("mcp-session-id", session.as_str())];
                streams.push(attacker.open("POST", &header, &program(n, &arguments).to_string()));
            }
            // The control: the first has all that one agent may have, and each of the others some.
            expected += if number == 0 { places() } else { 1 };
            until("programs that wait", || (begun(&place, "waits") >= expected).then_some(()));
        }
        streams
    });
    // All of them wait now.
    bystander.during(&format!("{name}, all of them"), || ());
    for (attacker, session) in attackers.iter().zip(&sessions) {
        assert_eq!(attacker.send("DELETE", &[("mcp-session-id", session)], "").status, 204);
    }
    streams.into_iter().map(rest_of).for_each(drop);
    bystander.memory_goes_back(name);
}

/// Each took ten seconds beyond its limit of one, and could not be interrupted.
#[test]
fn sessions_that_are_saved_without_end_keep_nobody_waiting() {
    let place = with_agents(Place::new());
    let gateway = start(&place);
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let bystander = Bystander::new(&gateway, OTHER);
    let saves = |how: &str, id: usize, timeout: u32| {
        let code =
            format!("class S:\n    def __reduce__(self):\n        {how}\nx = S()\nresult = 1");
        let arguments = json!({"code": code, "timeout": timeout, "session_id": format!("s{id}")});
        program(id, &arguments).to_string()
    };
    // The control: what can be saved is there for the next program.
    let done = all_at_once(attacker, &session, &[saves("return (int, (5,))", 100, 100)]);
    assert_eq!(done[0].message()["result"]["structuredContent"]["result"], 1, "{done:?}");
    let next = json!({"code": "type(x).__name__", "session_id": "s100"});
    assert!(attacker.post(&session, &program(101, &next)).text.contains("\"success\":true"));
    for (name, how) in [("spins", "while True: pass"), ("sleeps", "import time; time.sleep(100)")] {
        let bodies: Vec<String> = (0..size(2, 8)).map(|id| saves(how, id, 1)).collect();
        let answers = bystander
            .during(&format!("saving that {name}"), || all_at_once(attacker, &session, &bodies));
        for answer in answers {
            // On a busy machine its time may be over before it is saved.
            let is_told = ["session: ", "wall time"].iter().any(|part| answer.text.contains(part));
            assert!(is_told, "{name}: {answer:?}");
        }
    }
    bystander.memory_goes_back("sessions that are saved");
}

/// Twelve took 5.8 GB, twenty-four 9.2 GB, and kept it.
#[test]
fn analyses_at_once_share_one_budget_and_give_it_back() {
    let place = with_agents(Place::new());
    let gateway = start(&place);
    let attacker = Caller::new(&gateway, ATTACKER);
    let bystander = Bystander::new(&gateway, OTHER);
    let rows = |text: &str| {
        let count = size(2_000, 400_000);
        format!("(select value as k, {text} as s from generate_series(1, {count}))")
    };
    let (a, b) = (rows("repeat('x', 900)"), rows("repeat('y', 900) || value"));
    let query = format!(
        "select a.k, count(*), sum(length(b.s)) from {a} a join {b} b on a.k = b.k and a.s < b.s \
         group by a.k order by 3 desc limit 1"
    );
    for count in size(&[4][..], &[12, 24]) {
        let code = format!(
            "import asyncio\nasync def one():\n    try: return len(await sql({query:?}))\n    \
             except Exception as error: return str(error)[:80]\n\
             result = await asyncio.gather(*[one() for _ in range({count})])"
        );
        let session = attacker.session();
        let call = program(2, &json!({"code": code, "timeout": 110}));
        let name = format!("{count} analyses");
        let answer = bystander.during(&name, || attacker.post(&session, &call)).message();
        let outcome = &answer["result"]["structuredContent"];
        let told = outcome["result"].as_array().map_or(&[][..], Vec::as_slice);
        let done = told.iter().filter(|one| **one == 1).count();
        report_figures(&format!("{name}: {done} were done, the others: {:?}", refusals(told)));
        // The control: some are done, at this size all.
        assert!(done >= size(*count, 1), "{answer}");
        bystander.memory_goes_back(&name);
    }
}

/// Every reason that was told, once.
fn refusals(told: &[Value]) -> Vec<&str> {
    let mut reasons: Vec<&str> = told.iter().filter_map(Value::as_str).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// The bytes of all files below a directory.
fn bytes_below(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let bytes = |entry: DirEntry| match entry.metadata().unwrap() {
        metadata if metadata.is_dir() => bytes_below(&entry.path()),
        metadata => metadata.len(),
    };
    entries.map(bytes).sum()
}

/// With more folders than descriptors nothing was counted, and 2.4 GB lay in a workspace of 1 GB.
#[test]
fn a_workspace_of_many_folders_holds_no_more_than_it_may() {
    let megabytes = size(16, 1_024);
    let limit = format!("[limits]\nworkspace_mb = {megabytes}\n");
    let place = with_agents(Place::new().toml(&limit));
    let gateway = start_after(&place, &format!("ulimit -n {}", size(200, 1_024)));
    let attacker = Caller::new(&gateway, ATTACKER);
    let session = attacker.session();
    let bystander = Bystander::new(&gateway, OTHER);
    // Files that take no place on the disk. What is refused is tried again when it may be counted again.
    let (folders, kilobytes) = (size(130, 1_200), size(50, 400));
    for round in 0..3 {
        let first = round * folders;
        let code = format!(
            "import os, time\nrefused = 0\nfor n in range({first}, {first} + {folders}):\n    try:\n        \
             os.mkdir(f'/workspace/d{{n}}')\n        \
             with open(f'/workspace/d{{n}}/x', 'wb') as file: file.truncate({kilobytes} << 10)\n    \
             except OSError:\n        refused += 1\n        time.sleep(1.05)\n        \
             if refused > 3: break\nresult = refused"
        );
        let call = program(2, &json!({"code": code, "timeout": 110}));
        let answer = bystander.during("many folders", || attacker.post(&session, &call)).message();
        let refused = answer["result"]["structuredContent"]["result"].as_u64();
        let refused = refused.unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(refused > 0, round == 2, "{round}: {answer}");
    }
    // The control: nearly all of it could be used.
    let bytes = bytes_below(&place.file("data/workspaces"));
    report_figures(&format!("many folders: {} MB in a workspace of {megabytes} MB", bytes >> 20));
    let all = megabytes << 20;
    assert!(bytes <= all && bytes > all / 10 * 9, "{bytes} of {all}");
}
