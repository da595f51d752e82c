//! Twenty-four servers, started and ended in every order, five hundred times: nothing of them is
//! left. A program of its own, because it counts what belongs to its process; started with
//! `serve` it is one of the servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

use std::{
    io::{BufRead, Write},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use narrows_model::{Connection, ServerSpec, StdioSpec, Template};
use narrows_upstream::{
    ChildReaper, Fleet, LoginStore, ServerLogs, catalog::Catalog, fakes::PlainNaming,
};
use serde_json::{Value, json};

const CHILDREN: usize = 24;
const ROUNDS: u64 = 500;
/// What a round may leave in memory, in bytes: nothing, but allocators are not exact.
const SLACK: u64 = 16 << 20;
/// How long is waited for what has to happen: nothing takes nearly as long on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() {
    // `cargo test -- --list` and filters are for tests that have names.
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "serve") {
        return serve();
    }
    if args.iter().any(|arg| arg == "--list") {
        println!("children_leave_nothing: test");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(children_leave_nothing());
    println!("test children_leave_nothing ... ok");
}

async fn children_leave_nothing() {
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    round(&mut next).await;
    let descriptors = descriptors();
    let mut early_memory = 0;
    for number in 1..=ROUNDS {
        round(&mut next).await;
        if number == ROUNDS / 5 {
            early_memory = memory();
        }
    }
    wait_until("descriptors are closed", || self::descriptors() <= descriptors).await;
    let late_memory = memory();
    assert!(
        late_memory <= early_memory + SLACK,
        "memory grew from {early_memory} to {late_memory} bytes"
    );
}

/// Starts all, ends some by killing them, in some order, and the others by asking.
async fn round(next: &mut impl FnMut(usize) -> usize) {
    let program = std::env::current_exe().unwrap();
    let specs: Vec<ServerSpec> = (0..CHILDREN)
        .map(|number| {
            let stdio = StdioSpec {
                command: Template::new(program.to_str().unwrap()),
                args: vec!["serve".into()],
                ..StdioSpec::default()
            };
            let spec = ServerSpec::new(format!("s{number}"), Connection::Stdio(stdio));
            ServerSpec { start_timeout: PATIENCE, ..spec }
        })
        .collect();
    let catalog = Arc::new(Catalog::new(&specs, None, &PlainNaming));
    let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
    let logins = LoginStore::new(std::env::temp_dir().join("narrows-no-logins"));
    let fleet = Fleet::new(specs, catalog, logins, ChildReaper::none(), ServerLogs::none());
    let started = futures::future::join_all(names.iter().map(|name| fleet.start(name))).await;
    assert!(started.iter().all(Result::is_ok), "{started:?}");
    let mut processes: Vec<u32> =
        fleet.statuses().into_iter().filter_map(|status| status.process_id).collect();
    assert_eq!(processes.len(), CHILDREN);
    assert!(processes.iter().all(|id| exists(*id)), "a server that runs can be seen");
    for last in (1..processes.len()).rev() {
        processes.swap(last, next(last + 1));
    }
    for process in processes.iter().take(next(CHILDREN + 1)) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(*process).unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    fleet.shut_down().await;
    drop(fleet);
    wait_until("processes are gone", || !processes.iter().any(|id| exists(*id))).await;
}

async fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "it does not come to pass that {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn exists(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}

/// The smallest server that there can be.
fn serve() {
    for line in std::io::stdin().lock().lines() {
        let Ok(request) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else { return };
        let answer = match request["method"].as_str() {
            Some("initialize") => json!({"result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "smallest", "version": "1"},
            }}),
            Some("tools/list") => json!({"result": {"tools": []}}),
            _ if request["id"].is_null() => continue,
            _ => json!({"error": {"code": -32601, "message": "no"}}),
        };
        let mut answer = answer;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = request["id"].clone();
        let mut stdout = std::io::stdout().lock();
        if writeln!(stdout, "{answer}").and_then(|()| stdout.flush()).is_err() {
            return;
        }
    }
}
