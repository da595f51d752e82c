//! Sessions: variables that outlast their program, the memory of a gateway, and the gateway.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{
    MAX_PROGRAM_TIME,
    real::{self, HttpGateway, Site, Wire, says, text},
    state::{Client, Clients, each},
};

/// What a notebook keeps: values that share parts, functions, classes, imports.
const BEGIN: &str = r#"
import json as j
from collections import Counter
total = 41
shared_list = [1, 2]
both = {"list": shared_list}

def plus(n):
    return total + n

class Point:
    def __init__(self, x):
        self.x = x

    def doubled(self):
        return Point(self.x * 2)

point = Point(4)

def counter():
    count = 0
    def step():
        nonlocal count
        count += 1
        return count
    return step

step = counter()
step()
"#;

const GO_ON: &str = r#"
total += 1
both["list"].append(3)
result = [plus(0), shared_list, point.doubled().x, isinstance(point, Point), step(),
          j.dumps({"a": 1}), Counter("aab")["a"]]
"#;

#[track_caller]
fn went_on(result: &Value) {
    assert_eq!(*result, json!([42, [1, 2, 3], 8, true, 2, "{\"a\": 1}", 2]));
}

/// What the answer says of the session, beside its result.
#[track_caller]
fn notes(answer: &Value) -> String {
    assert_eq!(answer["structuredContent"]["success"], true, "{answer:#}");
    answer["structuredContent"]["notes"].to_string()
}

#[test]
fn a_program_sees_what_those_before_it_in_the_session_made() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.go_on("notebook", BEGIN);
    went_on(&client.go_on("notebook", GO_ON));
    // Neither without a session nor in another one.
    says(&client.error("total"), &["total", "not defined"]);
    let other = client.answer("execute_code", json!({"code": "total", "session_id": "other"}));
    assert_eq!(other["structuredContent"]["error"]["type"], "CheckError", "{other}");
    // A program that fails has come as far as it came.
    let failing = json!({"code": "total = 7\nraise ValueError('x')", "session_id": "notebook"});
    assert_eq!(client.answer("execute_code", failing)["isError"], true);
    assert_eq!(client.go_on("notebook", "plus(0)"), 7);
}

#[test]
fn variables_are_there_after_a_restart_and_what_is_not_is_named() {
    let Some(site) = Site::new() else { return };
    let clients = Clients::start(&site);
    let gateway = HttpGateway::start(&site);
    let client = clients.connect(&gateway.over_http());
    client.go_on("s", BEGIN);
    client.go_on("s", "stream = (n for n in range(9))\nfile = open('/workspace/f', 'w')");
    assert_eq!(client.go_on("s", "next(stream)"), 0, "in memory all of it is there");
    gateway.end();

    let gateway = HttpGateway::start(&site);
    let client = clients.connect(&gateway.over_http());
    let answer = client.begin_in("s", GO_ON).answer();
    let notes = notes(&answer);
    for part in ["brought back", "stream (a generator", "file (an open file"] {
        assert!(notes.contains(part), "{notes}");
    }
    went_on(&answer["structuredContent"]["result"]);
    // It is told once.
    assert_eq!(client.begin_in("s", "1").answer()["structuredContent"].get("notes"), None);
}

#[test]
fn a_killed_gateway_loses_no_variables() {
    let Some(site) = Site::new() else { return };
    let clients = Clients::start(&site);
    let gateway = HttpGateway::start(&site);
    let client = clients.connect(&gateway.over_http());
    client.go_on("s", BEGIN);
    // By SIGKILL.
    drop(gateway);
    let gateway = HttpGateway::start(&site);
    let client = clients.connect(&gateway.over_http());
    went_on(&client.go_on("s", GO_ON));
    let kept = client.go_on("s", "import inspect\nresult = inspect.getsource(plus)");
    says(&kept, &["return total + n"]);
}

#[test]
fn calls_at_once_in_one_session_wait_for_each_other() {
    let Some(site) = Site::new() else { return };
    let gateway = HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let two = [clients.connect(&gateway.over_http()), clients.connect(&gateway.over_http())];
    two[0].go_on("s", "import asyncio\ncount = 0");
    // Read, wait, write: two at once would lose one.
    let step = "seen = count\nawait asyncio.sleep(0.05)\ncount = seen + 1\nresult = count";
    let pending: Vec<_> = (0..6).map(|number| two[number % 2].begin_in("s", step)).collect();
    let mut results: Vec<u64> =
        pending.into_iter().map(|one| one.result().as_u64().unwrap()).collect();
    results.sort_unstable();
    assert_eq!(results, [1, 2, 3, 4, 5, 6]);
    assert_eq!(two[1].go_on("s", "count"), 6);
}

/// What is not in memory comes from the store, again and again.
#[test]
fn more_sessions_than_fit_in_memory_are_all_right() {
    let Some(site) = Site::new() else { return };
    site.configure("[sessions]\nlive = 1\n");
    let client = Client::alone(&site);
    let ids: Vec<String> = (0..8).map(|number| format!("session-{number}")).collect();
    for (number, id) in ids.iter().enumerate() {
        let begin = format!("mine = [{number}]\nalias = mine\ndef last(): return mine[-1]");
        client.go_on(id, &begin);
    }
    for round in 1..=3 {
        let add = format!("alias.append({round})\nresult = [mine[0], len(mine), last()]");
        let pending: Vec<_> = ids.iter().map(|id| client.begin_in(id, &add)).collect();
        for (number, one) in pending.into_iter().enumerate() {
            assert_eq!(one.result(), json!([number, round + 1, round]));
        }
    }
    let listed = site.json(&["sessions", "list", "--json"]);
    assert_eq!(each(&listed["sessions"], "id"), ids);
}

#[test]
fn a_program_that_is_stopped_leaves_the_variables_as_they_were() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.go_on("s", BEGIN);
    let endless = "total = 0\nshared_list.clear()\nnew = 1\nwhile True: pass";
    let stopped =
        client.answer("execute_code", json!({"code": endless, "session_id": "s", "timeout": 1}));
    assert_eq!(stopped["structuredContent"]["error"]["limit"]["name"], "wall_time", "{stopped}");
    says(&stopped["structuredContent"]["notes"][0], &["as they were before"]);
    assert_eq!(client.go_on("s", "'new' in globals()"), false);
    went_on(&client.go_on("s", GO_ON));
}

/// A client that hangs up in the midst of a program gives the session free.
#[test]
fn a_client_that_leaves_in_the_midst_keeps_nobody_waiting() {
    let Some(site) = Site::new() else { return };
    let gateway = HttpGateway::start(&site);
    let clients = Clients::start(&site);
    let client = clients.connect(&gateway.over_http());
    client.go_on("s", "x = 1");
    let leaver = Clients::start(&site);
    let leaving = leaver.connect(&gateway.over_http());
    let pending = leaving
        .begin_in("s", "import asyncio\nwrite_file('begun', '')\nawait asyncio.sleep(600)\nx = 2");
    let begun = site.path("data/workspaces/default/begun");
    real::wait_for("the program", || begun.exists().then_some(()));
    drop((pending, leaving, leaver));
    let start = std::time::Instant::now();
    assert_eq!(client.go_on("s", "x"), 1);
    // Not only when the time of the other program was over.
    assert!(start.elapsed() < MAX_PROGRAM_TIME / 2, "{:?}", start.elapsed());
}

#[test]
fn names_that_are_none_are_refused() {
    let Some(site) = Site::new() else { return };
    let mut wire = Wire::initialized(&site);
    let long = "x".repeat(65);
    for (id, is_right) in [
        ("../other", false),
        ("a b", false),
        (long.as_str(), false),
        ("a-B_9", true),
        (&long[1..], true),
    ] {
        let arguments = json!({"code": "1", "session_id": id});
        let answer =
            wire.ask("tools/call", json!({"name": "execute_code", "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], !is_right, "{answer}");
        if !is_right {
            says(&answer["result"]["content"][0]["text"], &[id, "letters, digits, - and _"]);
        }
    }
}

#[test]
fn the_command_line_begins_lists_and_forgets_sessions() {
    let Some(site) = Site::new() else { return };
    let run = |code: &str| site.json(&["run", "--session", "cli", "--json", "-c", code]);
    assert_eq!(run(BEGIN)["success"], true);
    went_on(&run(GO_ON)["result"]);
    // The gateway goes on with it, and the command line after the gateway.
    let client = Client::alone(&site);
    assert_eq!(client.go_on("cli", "total += 1\nplus(0)"), 43);
    assert_eq!(run("plus(0)")["result"], 43);
    assert_eq!(client.go_on("cli", "plus(0)"), 43);
    run("total = 1");
    assert_eq!(client.go_on("cli", "plus(0)"), 1, "what is in memory is no longer true");

    run("stream = (n for n in [])");
    let listed = site.json(&["sessions", "list", "--json"]);
    let [session] = &listed["sessions"].as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&session["id"], &session["holder"]), (&json!("cli"), &Value::Null));
    says(&session["lost"]["stream"], &["generator"]);
    assert!(session["bytes"].as_u64().unwrap() > 500, "{session}");
    let shown = text(&site.says(&["sessions", "list"]).stdout);
    let fields: Vec<&str> = shown.trim_end().split('\t').collect();
    assert_eq!((fields[0], &fields[4..]), ("cli", &["no", "stream"][..]), "{shown}");

    assert!(site.says(&["sessions", "rm", "cli"]).status.success());
    let again = site.says(&["sessions", "rm", "cli"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("no session \"cli\""), "{again:?}");
    assert_eq!(run("total")["error"]["type"], "CheckError");
    let gone = client.answer("execute_code", json!({"code": "total", "session_id": "cli"}));
    assert_eq!(gone["structuredContent"]["error"]["type"], "CheckError", "{gone}");
}

/// The gateway has the variables of the one before in memory, and both were saved as often.
#[test]
fn a_session_that_was_removed_does_not_come_back_in_the_place_of_a_new_one() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    client.go_on("s", "old = 1");
    assert!(site.says(&["sessions", "rm", "s"]).status.success());
    let run = |code: &str| site.json(&["run", "--session", "s", "--json", "-c", code]);
    assert_eq!(run("new = 2")["success"], true);
    assert_eq!(client.go_on("s", "['old' in globals(), new]"), json!([false, 2]));
}
