//! One dead server never stops the others.
#![cfg(target_os = "linux")] // Processes are observed in /proc.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dead::{
    self, ECHO, Gateway, Place, assert_good_works, assert_has, failing_call, failure_beside_good,
    is_running, peak_memory, until,
};

// On the command line.

#[test]
fn a_known_tool_is_shown_without_starting_another_server() {
    let place = Place::with_good().server("bad", "hang", "start_timeout = 600");
    assert!(place.run(&["tools", "list", "good"]).status.success());
    for name in ["good.echo", "echo"] {
        let shown = place.run(&["tools", "show", name]);
        assert!(shown.status.success(), "{shown:?}");
        assert_has(&String::from_utf8_lossy(&shown.stdout), &["from servers.good import echo"]);
    }
    assert_eq!(place.pids("bad"), [0; 0]);
}

// Many servers.

/// Twenty servers: twelve work, five never answer, three crash.
fn twenty() -> Place {
    let mut place = Place::new();
    for number in 0..12 {
        place = place.server(&format!("good{number}"), "good", "");
    }
    for number in 0..5 {
        place = place.server(&format!("hang{number}"), "hang", "start_timeout = 600");
    }
    for number in 0..3 {
        place = place.server(&format!("crash{number}"), "crash", "");
    }
    place
}

const ASK_ALL_GOOD: &str = "
import asyncio, importlib
modules = [importlib.import_module(f'servers.good{n}') for n in range(12)]
texts = await asyncio.gather(*(m.echo(text=f'from {n}') for n, m in enumerate(modules)))
assert texts == [f'from {n}' for n in range(12)], texts
print('all')";

fn assert_twenty_servers_work(place: &Place, mut gateway: Gateway) {
    let hanging = gateway.start_code("from servers.hang0 import echo\nawait echo(text='x')");
    assert!(gateway.tool_names().contains(&"execute_code".to_owned()));
    assert_eq!(gateway.run(ASK_ALL_GOOD), "all");
    let crashed = gateway.failure("from servers.crash1 import echo\nawait echo(text='x')");
    assert_has(&crashed, &["\"crash1\"", "crashed at the start"]);
    // All of this happened while the servers hung.
    assert!(!gateway.has_answered(hanging));
    for number in 0..5 {
        let pids = place.wait_for_pids(&format!("hang{number}"), 1);
        assert!(pids.iter().all(|pid| is_running(*pid)), "hang{number} does not hang any more");
    }
}

#[test]
fn a_client_of_the_older_protocol_works_with_twenty_servers_of_which_eight_are_dead() {
    let place = twenty();
    let gateway = place.legacy();
    assert_twenty_servers_work(&place, gateway);
}

#[test]
fn a_client_of_the_newer_protocol_works_with_twenty_servers_of_which_eight_are_dead() {
    let place = twenty();
    let gateway = place.modern();
    assert_twenty_servers_work(&place, gateway);
}

#[test]
fn tools_of_direct_servers_are_listed_although_another_hangs() {
    let place = Place::new().server("good", "good", "expose = \"direct\"").server(
        "bad",
        "hang",
        "expose = \"direct\"\nstart_timeout = 600",
    );
    let mut gateway = place.legacy();
    gateway.tool_names_with("echo");
    let answer = gateway.call("echo", json!({ "text": "direct" }));
    assert_eq!(answer["result"]["content"][0]["text"], "direct", "{answer}");
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        let answer = gateway.ask(method, json!({}));
        assert!(answer["result"].is_object(), "{method}: {answer}");
    }
}

#[test]
fn programs_that_wait_for_a_dead_server_do_not_keep_others_from_running() {
    let place = Place::with_good().server("bad", "hang", "start_timeout = 600");
    // Each gateway is asked while its sandbox is getting ready, and again when it is.
    for _ in 0..3 {
        let mut gateway = place.legacy();
        for _ in 0..3 {
            let waiting = gateway.start_code(&failing_call("echo(text='x')"));
            assert_good_works(&mut gateway);
            assert!(!gateway.has_answered(waiting));
        }
    }
}

#[test]
fn calls_of_one_program_fail_alone() {
    let place = Place::with_good().server("bad", "crash-on-call", "");
    let mut gateway = place.legacy();
    let output = gateway.run(
        "import asyncio
from servers import good, bad
calls = [good.echo(text='a'), bad.echo(text='b'), good.echo(text='c')]
for each in await asyncio.gather(*calls, return_exceptions=True):
    print(each if isinstance(each, str) else type(each).__name__)",
    );
    assert_eq!(output, "a\nToolError\nc");
}

// Servers that do not start.

#[test]
fn a_server_that_never_answers_fails_within_its_start_timeout() {
    let place = Place::with_good().server("bad", "hang", "start_timeout = 3");
    let mut gateway = place.legacy();
    let message = failure_beside_good(&mut gateway, "echo(text='x')");
    assert_has(&message, &["not available", "did not answer within 3 s"]);
    assert_has(&place.last_error_in_gateway("bad"), &["did not answer within 3 s"]);
    // On a busy machine it may have been given up before it noted its id.
    let process = until("a process that never answers", || {
        let noted = place.pids("bad").first().copied();
        if noted.is_none() {
            gateway.failure(&failing_call("echo(text='x')"));
        }
        noted
    });
    until("the end of the process that never answered", || (!is_running(process)).then_some(()));
}

#[test]
fn a_server_that_is_silent_after_the_handshake_fails_within_its_start_timeout() {
    let place = Place::with_good().server("bad", "silent-after-init", "start_timeout = 3");
    let mut gateway = place.legacy();
    let message = failure_beside_good(&mut gateway, "echo(text='x')");
    assert_has(&message, &["not available", "did not answer within 3 s"]);
    assert_has(&place.last_error_in_gateway("bad"), &["did not answer within 3 s"]);
}

#[test]
fn a_server_that_crashes_at_the_start_is_explained_by_its_last_words() {
    let place = Place::with_good().server("bad", "crash", "");
    let mut gateway = place.legacy();
    let message = failure_beside_good(&mut gateway, "echo(text='x')");
    assert_has(&message, &["not available", "exit status: 2", "misbehave: crashed at the start"]);
    let told = place.last_error_in_gateway("bad");
    assert_has(&told, &["exit status: 2", "misbehave: crashed at the start"]);
    // The status that starts the servers itself says the same.
    let status = place.status();
    let servers = status["servers"].as_array().unwrap();
    let bad = servers.iter().find(|server| server["server"] == "bad").unwrap();
    assert_has(bad["last_error"].as_str().unwrap(), &["misbehave: crashed at the start"]);
    let good = servers.iter().find(|server| server["server"] == "good").unwrap();
    assert_eq!((&good["health"], &good["last_error"]), (&json!("ready"), &Value::Null));
}

#[test]
fn a_server_that_cannot_be_started_is_explained() {
    let place = Place::with_good()
        .command("bad", "narrows-test-no-such-command", &[], "")
        .command("lost", "python3", &[], "cwd = \"/narrows/no/such/directory\"")
        .command("poor", "python3", &["${NARROWS_TEST_NO_SUCH_VARIABLE}"], "");
    let mut gateway = place.legacy();
    let message = failure_beside_good(&mut gateway, "echo(text='x')");
    assert_has(&message, &["narrows-test-no-such-command", "not in PATH"]);
    let message = gateway.failure("from servers.lost import x\nawait x()");
    assert_has(&message, &["\"lost\"", "/narrows/no/such/directory", "does not exist"]);
    let message = gateway.failure("from servers.poor import x\nawait x()");
    assert_has(&message, &["\"poor\"", "NARROWS_TEST_NO_SUCH_VARIABLE"]);
}

/// Calls `bad` until it was started three times and a call was told to wait for the next attempt.
/// Each call has to fail. Says how long the starts took.
fn three_starts(place: &Place) -> Duration {
    let begun = Instant::now();
    let mut gateway = place.legacy();
    let mut told_to_wait = false;
    until("three starts, and a call between them", || {
        assert_good_works(&mut gateway);
        let message = gateway.failure(&failing_call("echo(text='x')"));
        told_to_wait |= message.contains("the next attempt is in");
        (told_to_wait && place.pids("bad").len() >= 3).then_some(())
    });
    begun.elapsed()
}

#[test]
fn a_server_that_does_not_start_is_not_tried_all_the_time() {
    let place = Place::with_good().server("bad", "crash", "");
    let took = three_starts(&place);
    // The pauses before the second and the third start are 1 and 2 seconds.
    assert!(took >= Duration::from_secs(3), "{took:?}");
}

// Servers that die during a call.

/// Calls a server that dies from each call until it died so many times. Says each reason.
fn deaths(place: &Place, gateway: &mut Gateway, count: usize) -> Vec<String> {
    let mut reasons = vec![failure_beside_good(gateway, "echo(text='x')")];
    while reasons.len() < count {
        let so_far = place.pids("bad").len();
        let message = gateway.failure(&failing_call("echo(text='x')"));
        assert_has(&message, &["\"bad\""]);
        if message.contains("not available") {
            assert_has(&message, &["next attempt is in"]);
            place.wait_for_pids("bad", so_far.max(reasons.len() + 1));
        } else {
            reasons.push(message);
        }
    }
    reasons
}

#[test]
fn a_server_that_crashes_during_a_call_is_explained_and_started_again() {
    let place = Place::with_good().server("bad", "crash-on-call", "");
    let mut gateway = place.legacy();
    for reason in deaths(&place, &mut gateway, 3) {
        assert_has(&reason, &["ended during the call", "misbehave: crashed on call"]);
    }
    assert_good_works(&mut gateway);
    assert_eq!(place.pids("good").len(), 1, "the other server was started again");
    let told = place.last_error_in_gateway("bad");
    assert_has(&told, &["exit status: 3", "misbehave: crashed on call"]);
}

#[test]
fn a_server_that_ends_within_an_answer_is_explained_and_started_again() {
    let place = Place::with_good().server("bad", "exit-mid-call", "");
    let mut gateway = place.modern();
    for reason in deaths(&place, &mut gateway, 2) {
        assert!(!reason.contains("not available"), "{reason}");
    }
    assert_has(&place.last_error_in_gateway("bad"), &["exit status: 0"]);
}

#[test]
fn a_server_that_dies_from_every_call_is_not_started_all_the_time() {
    let place = Place::with_good().server("bad", "crash-on-call", "");
    let took = three_starts(&place);
    // A call that comes before its death is noticed starts it again without a pause.
    assert!(took >= Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_server_that_was_killed_is_started_again_for_the_next_call() {
    let place = Place::with_good();
    let mut gateway = place.legacy();
    assert_good_works(&mut gateway);
    let first = place.pids("good")[0];
    dead::signal("KILL", first);
    place.wait_for_pids("good", 2);
    until("an answer of the new process", || {
        let id = gateway.start_code(ECHO);
        let answer = gateway.answer(id);
        (answer["result"]["structuredContent"]["stdout"] == "hello\n").then_some(())
    });
}

/// Its process is gone, but something that it started has its pipes.
#[test]
fn a_server_that_was_killed_and_whose_child_lives_on_is_started_again() {
    let place = Place::with_good().server("bad", "ignores-eof", "call_timeout = 30");
    let mut gateway = place.legacy();
    let call = "from servers.bad import echo\nprint(await echo(text='x'))";
    assert_eq!(gateway.run(call), "x");
    let pids = place.pids("bad");
    assert_eq!(pids.len(), 2, "a server and its child");
    dead::signal("KILL", pids[0]);
    until("an answer of the new process", || {
        let id = gateway.start_code(call);
        assert_good_works(&mut gateway);
        let answer = gateway.answer(id);
        (answer["result"]["structuredContent"]["stdout"] == "x\n").then_some(())
    });
    assert_eq!(place.pids("bad").len(), 4);
    until("the end of the child of the dead server", || (!is_running(pids[1])).then_some(()));
}

// Servers that are slow.

#[test]
fn a_call_that_takes_too_long_fails_and_is_cancelled_at_its_server() {
    let place = Place::with_good().server("bad", "slow 600", "call_timeout = 2");
    let mut gateway = place.legacy();
    let message = failure_beside_good(&mut gateway, "slow()");
    assert_has(&message, &["did not answer within 2 s", "call_timeout"]);
    until("the cancellation at the server", || (place.cancelled("bad") == 1).then_some(()));
    // The server itself is well.
    let call = "from servers.bad import echo\nprint(await echo(text='still here'))";
    assert_eq!(gateway.run_until_success(call), "still here");
    assert_eq!(place.pids("bad").len(), 1);
}

#[test]
fn a_server_that_is_stopped_fails_its_calls_and_works_when_it_goes_on() {
    let place = Place::with_good().server("bad", "good", "call_timeout = 2");
    let mut gateway = place.legacy();
    let call = "from servers.bad import echo\nprint(await echo(text='x'))";
    assert_eq!(gateway.run_until_success(call), "x");
    let process = place.pids("bad")[0];
    dead::signal("STOP", process);
    let message = failure_beside_good(&mut gateway, "echo(text='x')");
    assert_has(&message, &["did not answer within 2 s"]);
    dead::signal("CONT", process);
    assert_eq!(gateway.run_until_success(call), "x");
    assert_eq!(place.pids("bad").len(), 1);
}

/// What is written to it stays in the pipe, until the pipe is full.
#[test]
fn a_server_that_does_not_read_fails_its_calls_within_their_time() {
    let place = Place::with_good().server("bad", "good", "call_timeout = 2");
    let mut gateway = place.legacy();
    let call = "from servers.bad import echo\nprint(len(await echo(text='x' * 1_000_000)))";
    assert_eq!(gateway.run_until_success(call), "1000000");
    dead::signal("STOP", place.pids("bad")[0]);
    for _ in 0..2 {
        let message = failure_beside_good(&mut gateway, "echo(text='x' * 1_000_000)");
        assert_has(&message, &["did not answer within 2 s"]);
    }
    dead::signal("CONT", place.pids("bad")[0]);
    assert_eq!(gateway.run_until_success(call), "1000000");
}

/// From the first call on it says, as fast as it can, that its tools changed.
const RESTLESS: &str = r#"
import json, sys, threading
def send(message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0"} | message), flush=True)
lock = threading.Lock()
def flood():
    while True:
        send({"method": "notifications/tools/list_changed"})
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                  "serverInfo": {"name": "restless", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        if threading.active_count() == 1:
            threading.Thread(target=flood, daemon=True).start()
        result = {"content": [{"type": "text", "text": "hello"}]}
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
        continue
    send({"id": message["id"], "result": result})
"#;

#[test]
fn a_server_that_tells_of_changes_all_the_time_does_not_stop_the_others() {
    let place = Place::with_good().program("bad", RESTLESS, &[], "");
    let mut gateway = place.legacy();
    assert_eq!(gateway.run("from servers.bad import hello\nprint(await hello())"), "hello");
    let before = peak_memory(gateway.id());
    // However slow the machine is, this often, and for long enough that memory could grow.
    let (begun, mut rounds) = (Instant::now(), 0);
    while rounds < 20 || begun.elapsed() < Duration::from_secs(3) {
        assert_good_works(&mut gateway);
        rounds += 1;
    }
    let grown = peak_memory(gateway.id()) - before;
    assert!(grown < 200, "its memory grew by {grown} MB");
}

/// Starts a program that calls `slow`, and waits until the server has the call.
fn start_slow_call(place: &Place, gateway: &mut Gateway) -> u64 {
    let id = gateway.start_code(&failing_call("slow()"));
    until("the call at the server", || (place.begun("bad") == 1).then_some(()));
    id
}

fn assert_cancellation_reaches_the_server(place: &Place, mut gateway: Gateway) {
    let id = start_slow_call(place, &mut gateway);
    assert_eq!(place.cancelled("bad"), 0);
    let params = json!({ "requestId": id, "reason": "the user pressed escape" });
    let method = "notifications/cancelled";
    gateway.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    until("the cancellation at the server", || (place.cancelled("bad") == 1).then_some(()));
    assert_good_works(&mut gateway);
    assert_eq!(gateway.run("from servers.bad import echo\nprint(await echo(text='x'))"), "x");
    assert!(!gateway.has_answered(id), "a cancelled request was answered");
}

#[test]
fn a_client_of_the_older_protocol_cancels_calls_at_their_server() {
    let place = Place::with_good().server("bad", "slow 600", "");
    let gateway = place.legacy();
    assert_cancellation_reaches_the_server(&place, gateway);
}

#[test]
fn a_client_of_the_newer_protocol_cancels_calls_at_their_server() {
    let place = Place::with_good().server("bad", "slow 600", "");
    let gateway = place.modern();
    assert_cancellation_reaches_the_server(&place, gateway);
}

#[test]
fn a_direct_call_that_is_cancelled_is_cancelled_at_its_server() {
    let place = Place::with_good().server("bad", "slow 600", "expose = \"direct\"");
    let mut gateway = place.legacy();
    gateway.tool_names_with("slow");
    let id = gateway.request("tools/call", json!({ "name": "slow", "arguments": {} }));
    until("the call at the server", || (place.begun("bad") == 1).then_some(()));
    assert_eq!(place.cancelled("bad"), 0);
    let params = json!({ "requestId": id });
    gateway
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    until("the cancellation at the server", || (place.cancelled("bad") == 1).then_some(()));
}

#[test]
fn a_program_that_ends_by_its_time_limit_leaves_no_call_behind() {
    let place = Place::with_good().server("bad", "slow 600", "");
    let mut gateway = place.legacy();
    assert_good_works(&mut gateway);
    let arguments = json!({ "code": failing_call("slow()"), "timeout": 3 });
    // On a busy machine the time may be over before the server has the call.
    until("a program whose call reaches the server", || {
        let answer = gateway.call("execute_code", arguments.clone());
        let error = &answer["result"]["structuredContent"]["error"];
        assert_eq!(error["limit"]["name"], "wall_time", "{answer}");
        (place.begun("bad") > 0).then_some(())
    });
    until("the cancellation at the server", || {
        (place.cancelled("bad") == place.begun("bad")).then_some(())
    });
}

#[test]
fn a_client_that_leaves_during_a_call_ends_the_gateway_and_the_servers() {
    let place = Place::with_good().server("bad", "slow 600", "");
    let mut gateway = place.legacy();
    start_slow_call(&place, &mut gateway);
    gateway.close_stdin();
    let (status, errors) = gateway.wait_for_end();
    assert!(status.success(), "{status}: {errors}");
    for pid in [place.pids("bad"), place.pids("good")].concat() {
        until("the end of the servers", || (!is_running(pid)).then_some(()));
    }
}
