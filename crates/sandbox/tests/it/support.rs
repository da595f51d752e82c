//! A sandbox to test with, and a host that remembers what happened.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use narrows_model::{Failure, LimitKind, Limits, Outcome, OutputStream, Program};
use narrows_sandbox::{
    ModuleSource, Query, RunOptions, Sandbox, SandboxConfig, ToolAnswer, ToolCall, ToolFailure,
    ToolHost, Workspace, WorkspaceMount,
};
use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;

/// How long a test waits for what has to happen. Whatever takes longer hangs: nothing takes nearly
/// as long on the busiest machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// What programs may use that are not about limits: as by default, but on a busy machine too.
pub fn patient() -> Limits {
    Limits { wall_time: PATIENCE, ..Limits::default() }
}

/// One sandbox for all tests of a process.
pub static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    // Tests that use up the memory of a program run at the same time, all for one caller.
    let max_memory_bytes = 16 << 30;
    let config = SandboxConfig {
        max_memory_bytes,
        max_memory_bytes_per_caller: max_memory_bytes,
        warm_isolates: 0,
        ..SandboxConfig::default()
    };
    Sandbox::new(config).expect("the sandbox starts")
});

/// A host with modules to import and tools that tests understand.
#[derive(Debug, Default)]
pub struct TestHost {
    pub modules: HashMap<String, ModuleSource>,
    /// What was printed, in order.
    pub printed: Mutex<Vec<(OutputStream, String)>>,
    /// The tools that were called, in order.
    pub calls: Mutex<Vec<String>>,
    /// Calls of `never` that were dropped before they were done.
    pub dropped: Arc<Mutex<u32>>,
    /// The modules that were asked for.
    pub asked: Mutex<Vec<String>>,
    /// The calls that are in flight, and the most that were at once.
    pub max_in_flight: Arc<Mutex<(u32, u32)>>,
    /// How many calls of `turn` were answered.
    pub turns: Arc<Mutex<u64>>,
}

impl TestHost {
    /// Returns a host with which `from client import call_mcp_tool, query` works.
    pub fn new() -> Self {
        Self::default().with_module(
            "client",
            "from _narrows.calls import call as call_mcp_tool, query, ToolError",
        )
    }

    pub fn with_module(mut self, name: &str, source: &str) -> Self {
        let is_package = matches!(name, "servers" | "skills");
        let source = ModuleSource { source: source.into(), is_package };
        self.modules.insert(name.into(), source);
        self
    }

    pub fn stdout(&self) -> String {
        let printed = self.printed.lock().unwrap();
        let stdout = printed.iter().filter(|(stream, _)| *stream == OutputStream::Stdout);
        stdout.map(|(_, text)| text.as_str()).collect()
    }
}

struct InFlight(Arc<Mutex<(u32, u32)>>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.lock().unwrap().0 -= 1;
    }
}

struct CountDrop(Arc<Mutex<u32>>, bool);

impl Drop for CountDrop {
    fn drop(&mut self) {
        if !self.1 {
            *self.0.lock().unwrap() += 1;
        }
    }
}

impl ToolHost for TestHost {
    /// `echo` gives its arguments back, `fail` fails, `wait` answers after `ms` milliseconds, `meet`
    /// when `of` calls are in flight, `turn` then too, if it is the `n`th, `never` does not answer,
    /// anything else does not exist.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        self.calls.lock().unwrap().push(call.tool.clone());
        {
            let mut flight = self.max_in_flight.lock().unwrap();
            flight.0 += 1;
            flight.1 = flight.1.max(flight.0);
        }
        let flight = InFlight(self.max_in_flight.clone());
        let (flights, turns) = (self.max_in_flight.clone(), self.turns.clone());
        // Also if it is dropped before it has begun.
        let count = (call.tool == "never").then(|| CountDrop(self.dropped.clone(), false));
        Box::pin(async move {
            let _flight = flight;
            match call.tool.as_str() {
                "echo" => Ok(call.arguments.into()),
                "reverse" => {
                    let data = call.data.concat().into_iter().rev().collect::<Vec<u8>>();
                    Ok(ToolAnswer { value: call.arguments, data: Some(data.into()) })
                }
                "large" => {
                    let data = vec![b'x'; 40 << 20].into();
                    Ok(ToolAnswer { value: call.arguments, data: Some(data) })
                }
                "fail" => {
                    let mut failure = ToolFailure::new("the tool failed as it was told");
                    failure.details.insert("code".into(), 7.into());
                    Err(failure)
                }
                "wait" => {
                    let arguments: Value = serde_json::from_str(call.arguments.get()).unwrap();
                    let ms = arguments["ms"].as_u64().unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                    Ok(call.arguments.into())
                }
                tool @ ("meet" | "turn") => {
                    let arguments: Value = serde_json::from_str(call.arguments.get()).unwrap();
                    let of = arguments["of"].as_u64().unwrap_or(0);
                    let n = arguments["n"].as_u64().unwrap_or(0);
                    let is_next = || {
                        let have_met = u64::from(flights.lock().unwrap().1) >= of;
                        have_met && (tool == "meet" || *turns.lock().unwrap() == n)
                    };
                    while !is_next() {
                        tokio::task::yield_now().await;
                    }
                    *turns.lock().unwrap() += 1;
                    Ok(call.arguments.into())
                }
                "never" => {
                    let _count = count;
                    std::future::pending::<()>().await;
                    Err(ToolFailure::new("unreachable"))
                }
                other => Err(ToolFailure::new(format!("no tool {other:?}"))),
            }
        })
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        Box::pin(async move {
            match query.name.as_str() {
                "double" => {
                    let arguments: Value = serde_json::from_str(query.arguments.get()).unwrap();
                    let answer = arguments["n"].as_i64().unwrap() * 2;
                    Ok(RawValue::from_string(answer.to_string()).unwrap())
                }
                other => Err(ToolFailure::new(format!("no query {other:?}"))),
            }
        })
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        let source = self.modules.get(&name).cloned();
        self.asked.lock().unwrap().push(name);
        Box::pin(std::future::ready(source))
    }

    fn output(&self, stream: OutputStream, text: &str) {
        self.printed.lock().unwrap().push((stream, text.into()));
    }
}

/// Runs a program with everything at its default, and with enough time.
pub async fn run(source: &str) -> Outcome {
    run_within(source, patient()).await
}

pub async fn run_within(source: &str, limits: Limits) -> Outcome {
    run_with(
        source,
        &TestHost::new(),
        RunOptions { limits, workspace: None, ..RunOptions::default() },
    )
    .await
}

/// Runs a program with a directory as its workspace.
pub async fn run_in(directory: &Path, source: &str) -> Outcome {
    run_in_within(directory, source, patient()).await
}

pub async fn run_in_within(directory: &Path, source: &str, limits: Limits) -> Outcome {
    let workspace = Workspace::open(directory, &limits).expect("a workspace");
    let workspace = Some(WorkspaceMount::writable(workspace));
    run_with(source, &TestHost::new(), RunOptions { limits, workspace, ..RunOptions::default() })
        .await
}

pub async fn run_with(source: &str, host: &TestHost, options: RunOptions) -> Outcome {
    SANDBOX
        .run(Program::new(source), host, options, CancellationToken::new())
        .await
        .expect("the program is run")
}

/// Returns the result of a program that must succeed.
#[track_caller]
pub fn value(outcome: &Outcome) -> &Value {
    assert!(outcome.is_success(), "{:?}\n{}", outcome.ending, outcome.stderr);
    &outcome.result
}

/// Returns the failure of a program that must fail.
#[track_caller]
pub fn failure(outcome: &Outcome) -> &Failure {
    outcome.failure().unwrap_or_else(|| panic!("it succeeded with {}", outcome.result))
}

/// Returns the limit that must have ended a program.
#[track_caller]
pub fn limit(outcome: &Outcome) -> LimitKind {
    outcome.limit().unwrap_or_else(|| panic!("no limit: {:?}", outcome.ending)).name
}
