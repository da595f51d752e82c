//! `narrows servers` and servers that are watched while they start, switched off, restarted, read.
#![cfg(target_os = "linux")] // Processes are observed in /proc.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::Output,
};

use serde_json::Value;

use crate::support::dead::{Place, assert_good_works, assert_has, is_running, until};

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned()).concat()
}

#[track_caller]
fn succeeds(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    said(&output)
}

#[track_caller]
fn fails(place: &Place, arguments: &[&str], code: i32) -> String {
    let output = place.run(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
    said(&output)
}

// Status.

#[test]
fn a_server_that_has_answered_is_told_while_another_is_waited_for() {
    let place = Place::with_good().server("bad", "hang", "start_timeout = 600");
    let mut command = place.narrows(&["servers", "status"]);
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    // It would come never if all were waited for.
    let first = lines.next().unwrap().unwrap();
    assert_has(&first, &["good: ready"]);
    assert!(process.try_wait().unwrap().is_none(), "it still waits for the other");
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn errors_of_servers_say_where_they_are_and_what_they_printed() {
    let place = Place::new()
        .command("dead", "sh", &["-c", "echo usage: dead FILE; exit 3"], "")
        .toml("[servers.gone]\nurl = \"http://127.0.0.1:9/mcp?key=s3cret-key\"\n");
    let status = fails(&place, &["servers", "status"], 1);
    assert_has(&status, &["sh (and 2 arguments): it ended", "usage: dead FILE"]);
    assert_has(&status, &["cannot connect to http://127.0.0.1:9/mcp: Connection refused"]);
    assert!(!status.contains("s3cret"), "{status}");
}

/// What a command says beside its result is its own.
#[test]
fn no_library_says_a_word_when_commands_start() {
    let place = Place::with_good().server("noisy", "garbage", "");
    for command in [&["servers", "status"][..], &["tools", "list"]] {
        let output = place.run(command);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command:?}");
    }
    let mut gateway = place.legacy();
    assert_good_works(&mut gateway);
    gateway.close_stdin();
    let (_, stderr) = gateway.wait_for_end();
    assert_eq!(stderr, "");
}

// Switched off.

#[test]
fn a_server_that_is_switched_off_is_told_of_and_not_started() {
    let place = Place::with_good().server("other", "good", "");
    assert_has(&succeeds(&place, &["servers", "disable", "other"]), &["\"other\" is disabled in"]);
    assert_has(&succeeds(&place, &["servers", "disable", "other"]), &["disabled already"]);
    assert_has(&fails(&place, &["servers", "disable", "othr"], 1), &["did you mean other?"]);
    assert_has(&succeeds(&place, &["servers", "ls"]), &["\tdisabled"]);
    assert_has(&succeeds(&place, &["servers", "status"]), &["good: ready", "other: disabled"]);
    let enable = "narrows servers enable other";
    for command in [
        &["servers", "status", "other"][..],
        &["servers", "restart", "other"],
        &["tools", "list", "other"],
        &["tools", "call", "other.echo", "text=x"],
        &["run", "-c", "import servers.other"],
        &["run", "-c", "from servers import other"],
        &["run", "-c", "from servers.other import echo"],
        &["run", "-c", "import importlib\nimportlib.import_module('servers.' + 'other')"],
        &["run", "-c", "import servers\ngetattr(servers, 'oth' + 'er')"],
        &["run", "-c", "import client\nawait client.call_mcp_tool('mcp__other__echo', {})"],
    ] {
        assert_has(&fails(&place, command, 1), &["disabled", enable]);
    }
    assert_eq!(place.pids("other"), [0; 0]);
    succeeds(&place, &["servers", "enable", "other"]);
    assert_has(&succeeds(&place, &["servers", "status", "other"]), &["other: ready"]);
}

// Logs.

#[test]
fn what_a_server_printed_can_be_read_later_by_its_owner() {
    let place = Place::with_good().command(
        "dead",
        "sh",
        &["-c", "echo failed with $TOKEN >&2; exit 3"],
        "env = { TOKEN = \"a-token-that-nobody-may-see\" }",
    );
    assert_has(&succeeds(&place, &["servers", "logs", "dead"]), &["nothing was printed"]);
    assert_has(&fails(&place, &["servers", "logs", "ded"], 1), &["did you mean dead?"]);
    place.run(&["servers", "status"]);
    let log = succeeds(&place, &["servers", "logs", "dead"]);
    assert_has(&log, &[" stderr  failed with ***", " narrows did not start: sh (and 2 arguments)"]);
    let log: Value = serde_json::from_slice(
        &place.run(&["servers", "logs", "dead", "--lines", "1", "--json"]).stdout,
    )
    .unwrap();
    assert_eq!(log["lines"].as_array().unwrap().len(), 1, "{log}");
    let file = log["path"].as_str().unwrap();
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(file).unwrap().contains("nobody-may-see"));
}

#[test]
fn a_log_is_followed() {
    let place = Place::new().command("dead", "sh", &["-c", "echo it is late >&2; exit 3"], "");
    let mut command = place.narrows(&["servers", "logs", "dead", "--follow"]);
    let mut process = command.spawn().unwrap();
    let mut errors = BufReader::new(process.stderr.take().unwrap()).lines();
    assert_has(&errors.next().unwrap().unwrap(), &["nothing was printed"]);
    place.run(&["servers", "status"]);
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("it is late")));
    process.kill().unwrap();
    process.wait().unwrap();
}

// Restarts.

#[test]
fn a_running_gateway_restarts_a_server_when_it_is_asked() {
    let place = Place::with_good().server("bad", "crash", "");
    let mut gateway = place.legacy();
    assert_good_works(&mut gateway);
    let before = *place.wait_for_pids("good", 1).last().unwrap();
    let restarted = until("the gateway can be asked", || {
        let output = place.run(&["servers", "restart", "good"]);
        output.status.success().then(|| said(&output)).filter(|said| said.contains("process id"))
    });
    assert_has(&restarted, &["good: restarted in the gateway", &gateway.id().to_string()]);
    let after = *place.wait_for_pids("good", 2).last().unwrap();
    assert_ne!(before, after);
    assert!(is_running(after) && !is_running(before));
    assert_good_works(&mut gateway);

    let failed = fails(&place, &["servers", "restart", "bad", "--json"], 1);
    let failed: Value = serde_json::from_str(&failed).unwrap();
    assert_has(failed["gateways"][0]["error"].as_str().unwrap(), &["crashed at the start"]);
    assert_has(&fails(&place, &["servers", "restart", "god"], 1), &["did you mean good?"]);
}

#[test]
fn without_a_gateway_a_restart_says_so_and_tries_the_server() {
    let place = Place::with_good().server("bad", "crash", "");
    let told = succeeds(&place, &["servers", "restart", "good"]);
    assert_has(&told, &["no gateway is running", "good: ready"]);
    let told = fails(&place, &["servers", "restart", "bad"], 1);
    assert_has(&told, &["no gateway is running", "bad: failed", "crashed at the start"]);
}

// Adding.

#[test]
fn servers_are_added_as_other_clients_have_it() {
    let place = Place::new().toml("");
    succeeds(&place, &["servers", "add", "a", "https://a.example/mcp", "-H", "X-Key: k"]);
    succeeds(&place, &["servers", "add", "-t", "sse", "b", "https://b.example/sse"]);
    succeeds(&place, &["servers", "add", "c", "-e", "K=v", "npx", "-y", "server", "--flag"]);
    succeeds(&place, &["servers", "add", "d", "--", "run", "--", "x"]);
    let expected = "\
[servers.a]
url = \"https://a.example/mcp\"
headers = { X-Key = \"k\" }

[servers.b]
url = \"https://b.example/sse\"
transport = \"sse\"

[servers.c]
command = \"npx\"
args = [\"-y\", \"server\", \"--flag\"]
env = { K = \"v\" }

[servers.d]
command = \"run\"
args = [\"--\", \"x\"]
";
    assert_eq!(fs::read_to_string(place.file("narrows.toml")).unwrap(), expected);
    let told = fails(&place, &["servers", "add", "e", "-t", "http", "npx"], 2);
    assert_has(&told, &["write https:// before the host"]);
    succeeds(&place, &["servers", "rm", "d"]);
    assert!(!succeeds(&place, &["servers", "list"]).contains("run"));
}
