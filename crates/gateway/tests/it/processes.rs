//! The processes that Narrows starts: none outlives it, and none is left behind while it runs.
#![cfg(target_os = "linux")] // Processes are observed in /proc.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command},
};

use serde_json::json;

use crate::support::dead::{
    Gateway, Place, Stat, children, is_running, open_files, signal, until, wait_for_end,
};

/// A server that ends neither at the end of its input nor at a signal, with a child that does
/// not either, and a server that never gets ready.
fn stubborn() -> Place {
    Place::new()
        .server("stubborn", "ignores-eof", "")
        .server("starting", "hang", "start_timeout = 600")
        .server("good", "good", "")
}

const ECHO: &str = "from servers.stubborn import echo\nprint(await echo(text='x'))";

/// A running gateway and all processes of its servers.
fn running_gateway(place: &Place) -> (Gateway, Vec<u32>) {
    let mut gateway = place.legacy();
    assert_eq!(gateway.run_until_success(ECHO), "x");
    let mut pids = place.wait_for_pids("stubborn", 2);
    pids.extend(place.wait_for_pids("starting", 1));
    pids.extend(place.wait_for_pids("good", 1));
    assert!(pids.iter().all(|pid| is_running(*pid)), "not all of {pids:?} run");
    (gateway, pids)
}

fn assert_gone(pids: &[u32]) {
    until("the end of all processes of the servers", || {
        (!pids.iter().any(|pid| is_running(*pid))).then_some(())
    });
}

/// Also the process that guards the others must not be left.
fn guards(gateway: u32) -> Vec<u32> {
    let is_guard = |id: &u32| {
        let text = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        text.ends_with(b"\0guard\0")
    };
    children(gateway).into_iter().map(|(id, _)| id).filter(is_guard).collect()
}

#[test]
fn every_server_has_a_process_group_of_its_own() {
    let place = stubborn();
    let (gateway, _pids) = running_gateway(&place);
    let own = Stat::of(gateway.id()).unwrap().group;
    let groups = ["stubborn", "starting", "good"].map(|name| {
        let pids = place.pids(name);
        let groups: Vec<u32> = pids.iter().map(|pid| Stat::of(*pid).unwrap().group).collect();
        assert!(groups.iter().all(|group| *group == groups[0]), "{name}: {groups:?}");
        assert!(pids.contains(&groups[0]), "{name} does not lead its group");
        groups[0]
    });
    assert!(!groups.contains(&own));
    assert!(groups[0] != groups[1] && groups[1] != groups[2] && groups[0] != groups[2]);
}

#[test]
fn no_process_outlives_a_gateway_whose_client_leaves() {
    let place = stubborn();
    let (mut gateway, pids) = running_gateway(&place);
    let guards = guards(gateway.id());
    gateway.close_stdin();
    let (status, errors) = gateway.wait_for_end();
    assert!(status.success(), "{status}: {errors}");
    assert_gone(&pids);
    assert_gone(&guards);
}

#[test]
fn no_process_outlives_a_gateway_that_is_told_to_end() {
    for name in ["TERM", "INT"] {
        let place = stubborn();
        let (mut gateway, pids) = running_gateway(&place);
        gateway.signal(name);
        let (status, errors) = gateway.wait_for_end();
        assert!(status.success(), "{name}: {status}: {errors}");
        assert_gone(&pids);
    }
}

#[test]
fn no_process_outlives_a_gateway_that_is_told_to_end_at_its_start() {
    let place = Place::new().server("stubborn", "ignores-eof", "").server(
        "starting",
        "hang",
        "start_timeout = 600",
    );
    let mut gateway = place.gateway();
    // No client has said anything yet.
    let mut pids = place.wait_for_pids("stubborn", 2);
    pids.extend(place.wait_for_pids("starting", 1));
    gateway.signal("TERM");
    gateway.wait_for_end();
    assert_gone(&pids);
}

#[test]
fn no_process_outlives_a_gateway_that_is_killed() {
    let place = stubborn();
    let (mut gateway, pids) = running_gateway(&place);
    let guards = guards(gateway.id());
    assert_eq!(guards.len(), 1);
    gateway.signal("KILL");
    gateway.wait_for_end();
    assert_gone(&pids);
    assert_gone(&guards);
}

#[test]
fn no_process_outlives_a_gateway_that_is_killed_after_its_guard() {
    let place = stubborn();
    let (mut gateway, pids) = running_gateway(&place);
    signal("KILL", guards(gateway.id())[0]);
    // Whatever tells the guard something next finds it gone, and has to start another.
    let victim = place.pids("good")[0];
    signal("KILL", victim);
    place.wait_for_pids("good", 2);
    until("another guard", || (guards(gateway.id()).len() == 1).then_some(()));
    gateway.signal("KILL");
    gateway.wait_for_end();
    assert_gone(&pids);
}

#[test]
fn no_process_outlives_a_status_query() {
    let place = Place::new().server("stubborn", "ignores-eof", "").server(
        "starting",
        "hang",
        "start_timeout = 3",
    );
    // On a busy machine a server may be given up before it noted its id.
    let pids = until("a status query during which all processes run", || {
        let status = place.status();
        assert_eq!(status["servers"].as_array().unwrap().len(), 2, "{status}");
        let (stubborn, starting) = (place.pids("stubborn"), place.pids("starting"));
        (stubborn.len() >= 2 && !starting.is_empty()).then(|| [stubborn, starting].concat())
    });
    assert_gone(&pids);
}

#[test]
fn what_a_dead_server_started_is_ended_with_it() {
    let place = Place::new().server("stubborn", "ignores-eof", "");
    let mut gateway = place.legacy();
    assert_eq!(gateway.run(ECHO), "x");
    let pids = place.pids("stubborn");
    let leader = Stat::of(pids[0]).unwrap().group;
    signal("KILL", leader);
    assert_gone(&pids);
}

#[test]
fn two_gateways_on_the_same_directories_do_not_disturb_each_other() {
    let place = Place::new().server("stubborn", "ignores-eof", "");
    let mut first = place.legacy();
    assert_eq!(first.run(ECHO), "x");
    let of_first = place.wait_for_pids("stubborn", 2);
    let mut second = place.modern();
    assert_eq!(second.run(ECHO), "x");
    let of_second = place.wait_for_pids("stubborn", 4)[2..].to_vec();
    assert_eq!(first.run(ECHO), "x");
    // Each program has a workspace that the other gateway's programs see whole or not at all.
    first.run("open('/workspace/of_first.txt', 'w').write('first')");
    assert_eq!(second.run("print(open('/workspace/of_first.txt').read())"), "first");
    until("both gateways in the status", || {
        let status = place.status();
        let ids: Vec<_> =
            status["gateways"].as_array()?.iter().map(|it| it["process_id"].clone()).collect();
        (ids.contains(&json!(first.id())) && ids.contains(&json!(second.id()))).then_some(())
    });
    second.signal("KILL");
    second.wait_for_end();
    assert_gone(&of_second);
    assert_eq!(first.run(ECHO), "x");
    assert!(of_first.iter().all(|pid| is_running(*pid)), "the other gateway's server was ended");
    until("one gateway in the status", || {
        let status = place.status();
        (status["gateways"].as_array()?.len() == 1).then_some(())
    });
}

#[test]
fn crashing_servers_leave_neither_zombies_nor_open_files() {
    let servers = 10;
    let name = |number: usize| format!("bad{number}");
    let mut place = Place::new();
    for number in 0..servers {
        place = place.server(&name(number), "crash-on-call", "");
    }
    let mut gateway = place.legacy();
    let all_run = |round: usize| {
        for number in 0..servers {
            place.wait_for_pids(&name(number), round);
        }
        until("all servers to run", || {
            let running =
                |number| place.pids(&name(number)).last().is_some_and(|pid| is_running(*pid));
            (0..servers).all(running).then_some(())
        });
    };
    let call_all = format!(
        "import asyncio, importlib
modules = [importlib.import_module(f'servers.bad{{n}}') for n in range({servers})]
ended = await asyncio.gather(*(m.echo(text='x') for m in modules), return_exceptions=True)
print(sum('ended during the call' in str(each) for each in ended))"
    );
    all_run(1);
    let mut counts = Vec::new();
    // Pauses between starts grow; three rounds of ten servers are thirty deaths.
    for round in 1..=3 {
        until("every server to die", || {
            let died: usize = gateway.run(&call_all).parse().unwrap();
            (died > 0).then_some(())
        });
        until("every server to die", || {
            gateway.run(&call_all);
            let alive = (0..servers).filter(|number| place.pids(&name(*number)).len() <= round);
            (alive.count() == 0).then_some(())
        });
        all_run(round + 1);
        counts.push(until("files to be closed", || {
            let now = open_files(gateway.id());
            counts.first().is_none_or(|first| now <= first + 5).then_some(now)
        }));
    }
    until("dead children to be buried", || {
        let zombies = children(gateway.id()).into_iter().filter(|(_, stat)| stat.state == 'Z');
        (zombies.count() == 0).then_some(())
    });
}

/// `narrows run` of a program that prints a line and then waits for a stubborn server.
fn running_program(place: &Place) -> (Child, Vec<u32>) {
    let code = "import asyncio
from servers.stubborn import echo
from servers.slow import slow, echo as quick
await echo(text='x')
call = asyncio.create_task(slow())
await asyncio.sleep(0)
await quick(text='after it')
print('waiting')
await call";
    let mut command: Command = place.narrows(&["run", "--timeout", "120", "-c", code]);
    let mut process = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "waiting\n");
    let pids = [place.wait_for_pids("stubborn", 2), place.wait_for_pids("slow", 1)].concat();
    assert!(pids.iter().all(|pid| is_running(*pid)));
    (process, pids)
}

fn place_to_run() -> Place {
    Place::new().server("stubborn", "ignores-eof", "").server("slow", "slow 600", "")
}

// Clients that leave in the middle of a write.

/// Writes twice; each write takes longer than a client that left is waited for.
fn writes_twice(place: &Place) -> String {
    let file = place.file("written");
    format!(
        "from servers.slow import slow_write\n\
         for _ in range(2): await slow_write(seconds=4, file={:?})",
        file.to_str().unwrap()
    )
}

/// The first write came to its end and is written down so, and the second was not begun.
fn assert_written_once(place: &Place) {
    let written = place.file("written");
    until("the end of the write", || written.exists().then_some(()));
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "ended\n");
    let search = ["audit", "search", "--json", "--target", "slow.slow_write"];
    let entries = until("the entry of the write", || {
        let output = place.run(&search);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        Some(found["entries"].clone()).filter(|entries| entries[0].is_object())
    });
    assert_eq!(entries.as_array().unwrap().len(), 1, "{entries:#}");
    assert_eq!(entries[0]["outcome"], "ok", "{entries:#}");
    assert_eq!(place.begun("slow"), 1);
}

#[test]
fn a_write_comes_to_its_end_when_its_client_closes_our_input() {
    let place = Place::new().server("slow", "slow", "");
    let mut gateway = place.legacy();
    let code = json!({"code": writes_twice(&place), "timeout": 120});
    gateway.request("tools/call", json!({"name": "execute_code", "arguments": code}));
    until("the call at the server", || (place.begun("slow") == 1).then_some(()));
    gateway.close_stdin();
    let (status, errors) = gateway.wait_for_end();
    assert!(status.success(), "{status}: {errors}");
    assert_written_once(&place);
}

#[test]
fn a_write_comes_to_its_end_when_its_client_cancels_and_when_the_gateway_ends() {
    let place = Place::new().server("slow", "slow", "");
    let mut gateway = place.legacy();
    let code = json!({"code": writes_twice(&place), "timeout": 120});
    let id = gateway.request("tools/call", json!({"name": "execute_code", "arguments": code}));
    until("the call at the server", || (place.begun("slow") == 1).then_some(()));
    let params = json!({ "requestId": id });
    gateway
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    gateway.signal("TERM");
    let (status, errors) = gateway.wait_for_end();
    assert!(status.success(), "{status}: {errors}");
    assert_written_once(&place);
}

#[test]
fn a_direct_write_comes_to_its_end_when_its_client_leaves() {
    let place = Place::new().server("slow", "slow", "expose = \"direct\"");
    let mut gateway = place.legacy();
    gateway.tool_names_with("slow_write");
    let file = place.file("written");
    let arguments = json!({"seconds": 4, "file": file});
    gateway.request("tools/call", json!({"name": "slow_write", "arguments": arguments}));
    until("the call at the server", || (place.begun("slow") == 1).then_some(()));
    gateway.close_stdin();
    gateway.wait_for_end();
    assert_written_once(&place);
}

#[test]
fn a_write_comes_to_its_end_when_its_program_is_interrupted() {
    let place = Place::new().server("slow", "slow", "");
    let code = writes_twice(&place);
    let mut process = place.narrows(&["run", "--timeout", "120", "-c", &code]).spawn().unwrap();
    until("the call at the server", || (place.begun("slow") == 1).then_some(()));
    signal("INT", process.id());
    assert_eq!(wait_for_end(&mut process).code(), Some(130));
    assert_written_once(&place);
}

/// One write that takes longer than a command that is interrupted would wait for its servers.
#[track_caller]
fn assert_interrupted_after_the_write(place: &Place, arguments: &[&str]) {
    let mut process = place.narrows(arguments).spawn().unwrap();
    until("the call at the server", || (place.begun("slow") == 1).then_some(()));
    signal("INT", process.id());
    assert_eq!(wait_for_end(&mut process).code(), Some(130));
    assert_written_once(place);
}

#[test]
fn a_write_comes_to_its_end_when_a_call_from_the_command_line_is_interrupted() {
    let place = Place::new().server("slow", "slow", "");
    let file = format!("file={}", place.file("written").display());
    let call = ["tools", "call", "slow.slow_write", "seconds=4", &file];
    assert_interrupted_after_the_write(&place, &call);
}

#[test]
fn a_write_comes_to_its_end_when_an_analysis_of_it_is_interrupted() {
    let place = Place::new().server("slow", "slow", "");
    let arguments = json!({"seconds": 4, "file": place.file("written")}).to_string();
    let analyze = ["analyze", "describe", "--tool", "slow.slow_write", "--arguments", &arguments];
    assert_interrupted_after_the_write(&place, &analyze);
}

/// As many as it gets round to: the answer to what it asked last is still waited for.
#[test]
fn no_call_is_begun_for_a_client_that_has_closed_our_input() {
    let place = Place::new().server("slow", "slow", "");
    let mut gateway = place.legacy();
    let file = place.file("written");
    let code = format!(
        "from servers.slow import slow_write\n\
         for _ in range(100): await slow_write(seconds=0.2, file={:?})",
        file.to_str().unwrap()
    );
    let code = json!({"code": code, "timeout": 120});
    gateway.request("tools/call", json!({"name": "execute_code", "arguments": code}));
    until("the first calls at the server", || (place.begun("slow") >= 2).then_some(()));
    gateway.close_stdin();
    let begun = place.begun("slow");
    let (status, errors) = gateway.wait_for_end();
    assert!(status.success(), "{status}: {errors}");
    // Those that were on their way to the server; in the time that is left there would be seven.
    assert!(place.begun("slow") <= begun + 2, "{} after {begun}", place.begun("slow"));
}

#[test]
fn an_interrupted_program_leaves_no_process() {
    let place = place_to_run();
    let (mut process, pids) = running_program(&place);
    signal("INT", process.id());
    assert_eq!(wait_for_end(&mut process).code(), Some(130));
    assert_gone(&pids);
}

#[test]
fn a_program_whose_runner_is_killed_leaves_no_process() {
    for name in ["KILL", "TERM", "HUP"] {
        let place = place_to_run();
        let (mut process, pids) = running_program(&place);
        signal(name, process.id());
        wait_for_end(&mut process);
        assert_gone(&pids);
    }
}

#[test]
fn a_program_that_ends_leaves_no_process() {
    let place = place_to_run();
    let output = place.run(&["run", "--timeout", "120", "-c", ECHO]);
    assert!(output.status.success(), "{output:?}");
    let pids = place.pids("stubborn");
    assert_eq!(pids.len(), 2);
    assert_gone(&pids);
}
