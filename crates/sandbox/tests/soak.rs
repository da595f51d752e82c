//! What a process holds after many runs. Ten thousand, a tenth of them into each limit: memory,
//! descriptors and threads stay where they were, and the last run works like the first. Many at once:
//! the memory of most of them goes back to the system.
//!
//! A test binary of its own, so that nothing else runs in the process that is measured.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    time::{Duration, Instant},
};

use futures::{
    StreamExt,
    future::{BoxFuture, join_all},
    stream,
};
use narrows_model::{LimitKind, Limits, Program};
use narrows_sandbox::{
    NoTools, RunOptions, Sandbox, SandboxConfig, ToolAnswer, ToolCall, ToolFailure, ToolHost,
    Workspace, WorkspaceMount,
};
use serde_json::value::RawValue;
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

const RUNS: usize = 10_000;
const AT_ONCE: usize = 4;
const MIB: u64 = 1 << 20;
/// What may stay: the allocator's own reserves, not something that grows with every run.
const MEMORY_SLACK_BYTES: u64 = 64 * MIB;
/// How long is waited for what has to happen: nothing takes nearly as long on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// How long a program may run that has little time, in nanoseconds.
const LITTLE_TIME: u64 = 5_000_000;

/// A program for each limit that ends it, and the little that it is given of it.
const PROGRAMS: [(LimitKind, u64, &str); 10] = [
    (LimitKind::WallTime, LITTLE_TIME, "import time\ntime.sleep(100)"),
    (LimitKind::CpuTime, LITTLE_TIME, "while True: pass"),
    (LimitKind::Memory, 64 * MIB, "x = bytearray(10**9)"),
    (LimitKind::Output, 1_000, "while True: print('x' * 1000)"),
    (LimitKind::Result, 1_000, "result = 'x' * 10_000"),
    (
        LimitKind::ToolCalls,
        3,
        "from _narrows.calls import call\n\
         while True:\n    try:\n        await call('none', {})\n    except ToolError:\n        pass",
    ),
    (LimitKind::Stack, Limits::STACK_BYTES, "x = ()\nfor _ in range(300_000): x = (x,)\nhash(x)"),
    (LimitKind::WorkspaceBytes, 1_000, "with open('big', 'wb') as file: file.write(bytes(5000))"),
    (LimitKind::WorkspaceFiles, 3, "import os\nfor n in range(100): os.mkdir(f'folder-{n}')"),
    (LimitKind::TmpBytes, 1_000, "with open('/tmp/big', 'wb') as file: file.write(bytes(5000))"),
];

fn limits(kind: LimitKind, amount: u64) -> Limits {
    let mut limits = Limits { wall_time: PATIENCE, ..Limits::default() };
    // The stack is the same for all.
    if let Some(spec) = Limits::spec(kind) {
        spec.set(&mut limits, amount);
    }
    limits
}

/// What the process holds.
#[derive(Debug)]
struct Holdings {
    memory_bytes: u64,
    descriptors: usize,
    threads: usize,
}

impl Holdings {
    fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let rss = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let kilobytes: u64 = rss.trim().trim_end_matches(" kB").parse().unwrap();
        Self {
            memory_bytes: kilobytes * 1024,
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            threads: fs::read_dir("/proc/self/task").unwrap().count(),
        }
    }

    fn is_within(&self, before: &Self) -> bool {
        self.memory_bytes < before.memory_bytes + MEMORY_SLACK_BYTES
            && self.descriptors <= before.descriptors
            && self.threads <= before.threads
    }

    /// What the process holds when it is no more than before. An isolate is taken apart after its
    /// outcome was told, which takes a moment; what still stays after a while is told as it is.
    async fn settled(before: &Self) -> Self {
        let start = Instant::now();
        loop {
            let now = Self::now();
            if now.is_within(before) || start.elapsed() > PATIENCE {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn one_of_each(sandbox: &Sandbox, number: usize) {
    let (kind, amount, source) = PROGRAMS[number % PROGRAMS.len()];
    let limits = limits(kind, amount);
    let directory = tempfile::tempdir().unwrap();
    let workspace = matches!(kind, LimitKind::WorkspaceBytes | LimitKind::WorkspaceFiles)
        .then(|| WorkspaceMount::writable(Workspace::open(directory.path(), &limits).unwrap()));
    let options = RunOptions { limits, workspace, ..RunOptions::default() };
    let outcome = sandbox
        .run(Program::new(source), &NoTools, options, CancellationToken::new())
        .await
        .unwrap();
    let hit = outcome.limit().unwrap_or_else(|| panic!("{kind:?}: {:?}", outcome.ending));
    assert_eq!(hit.name, kind);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_runs_into_every_limit_leave_nothing_behind() {
    let config = SandboxConfig {
        max_running: AT_ONCE,
        max_open: AT_ONCE,
        max_open_per_caller: AT_ONCE,
        ..SandboxConfig::default()
    };
    let sandbox = Sandbox::new(config).unwrap();
    let run = |numbers: std::ops::Range<usize>| {
        stream::iter(numbers).for_each_concurrent(AT_ONCE, |number| one_of_each(&sandbox, number))
    };
    // The first rounds fill pools and caches that are meant to stay.
    run(0..PROGRAMS.len() * 20).await;
    sandbox.warmed().await;
    let before = Holdings::now();

    run(0..RUNS).await;

    sandbox.warmed().await;
    let after = Holdings::settled(&before).await;
    assert!(after.is_within(&before), "{before:?} {after:?}");
    let program = Program::new("result = 1 + 1");
    let outcome = sandbox
        .run(program, &NoTools, RunOptions::default(), CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(outcome.result, 2);
}

/// Programs that are in memory at the same time.
const CROWD: usize = 24;
/// Isolates whose memory is kept.
const KEPT: usize = 2;
/// What every isolate writes to, at least; small programs write to 4 MB, others to 17.
const MIN_ISOLATE_BYTES: u64 = 2 * MIB;

/// A tool that answers when all programs of a crowd have called it.
struct Meeting(Barrier);

impl ToolHost for Meeting {
    fn call(&self, _call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async {
            self.0.wait().await;
            Ok(RawValue::from_string("1".to_owned()).unwrap().into())
        })
    }
}

/// Runs programs that are all open at the same time, and then some that are not.
async fn run_crowd(sandbox: &Sandbox) {
    let meeting = Meeting(Barrier::new(CROWD));
    let run = async |source: &str| {
        let limits = Limits { wall_time: PATIENCE, ..Limits::default() };
        let options = RunOptions { limits, ..RunOptions::default() };
        let program = Program::new(source);
        let outcome = sandbox.run(program, &meeting, options, CancellationToken::new()).await;
        assert_eq!(outcome.unwrap().result, 1);
    };
    let source = "from _narrows.calls import call\nresult = await call('meet', {})";
    join_all((0..CROWD).map(|_| run(source))).await;
    for _ in 0..CROWD {
        run("result = 1").await;
    }
}

/// Returns by how much the memory of the process has grown after crowds, as soon as that is within a bound.
async fn growth_after_crowds(kept_isolates: usize, bound: u64) -> u64 {
    let config = SandboxConfig {
        max_open: CROWD,
        max_open_per_caller: CROWD,
        warm_isolates: 0,
        kept_isolates,
        live_sessions: 0,
        ..SandboxConfig::default()
    };
    let before = Holdings::now().memory_bytes;
    let sandbox = Sandbox::new(config).unwrap();
    for _ in 0..2 {
        run_crowd(&sandbox).await;
    }
    let start = Instant::now();
    // An isolate is taken apart after its outcome was told.
    while Holdings::now().memory_bytes > before + bound && start.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Holdings::now().memory_bytes.saturating_sub(before)
}

/// Runs what is measured as a process of its own: what other tests took and freed would be part of it.
#[test]
fn many_programs_at_once_give_their_memory_back() {
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", "memory_after_many_programs_at_once", "--ignored"]);
    let output = alone.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "another test runs it"]
async fn memory_after_many_programs_at_once() {
    let before = Holdings::now().memory_bytes;
    // The control: isolates whose memory is kept do keep it.
    let kept = growth_after_crowds(CROWD, u64::MAX / 2).await;
    assert!(kept > CROWD as u64 * MIN_ISOLATE_BYTES, "{kept}");
    // That sandbox ends with its threads.
    let start = Instant::now();
    while Holdings::now().memory_bytes > before + kept / 4 && start.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let returned = growth_after_crowds(KEPT, kept / 2).await;
    assert!(returned <= kept / 2, "{returned} of {kept}");
}
