//! Calls of tools, and how a run is admitted, limited and cancelled.

use std::{
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::{future::BoxFuture, poll};
use narrows_model::{Ending, LimitKind, Limits, Outcome, OutputStream, Program};
use narrows_sandbox::{
    ModuleSource, NoTools, PausedClock, Query, RunOptions, Sandbox, SandboxConfig, SandboxError,
    ToolAnswer, ToolCall, ToolFailure, ToolHost,
};
use serde_json::{Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use crate::support::{
    PATIENCE, SANDBOX, TestHost, failure, limit, patient, run, run_with, run_within, value,
};

const IMPORT: &str = "import asyncio\nfrom client import call_mcp_tool as call, query\n";

async fn run_calls(source: &str) -> (Outcome, TestHost) {
    let host = TestHost::new();
    let outcome = run_with(&format!("{IMPORT}{source}"), &host, RunOptions::default()).await;
    (outcome, host)
}

async fn run_calls_within(source: &str, limits: Limits) -> (Outcome, TestHost) {
    let host = TestHost::new();
    let options = RunOptions { limits, workspace: None, ..RunOptions::default() };
    let outcome = run_with(&format!("{IMPORT}{source}"), &host, options).await;
    (outcome, host)
}

/// A host that also tells the program how many of its calls were dropped so far.
struct Telling(TestHost);

impl ToolHost for Telling {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        if call.tool == "dropped" {
            let dropped = self.0.dropped.lock().unwrap().to_string();
            return Box::pin(async move { Ok(RawValue::from_string(dropped).unwrap().into()) });
        }
        self.0.call(call)
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        self.0.query(query)
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        self.0.module(name)
    }

    fn output(&self, stream: OutputStream, text: &str) {
        self.0.output(stream, text);
    }
}

fn small_sandbox(max_queued: usize) -> Sandbox {
    Sandbox::new(SandboxConfig { max_queued, live_sessions: 0, ..SandboxConfig::single() }).unwrap()
}

/// Runs a program until it has printed something, cancels it, and gives what came of it.
async fn cancelled_after_output(source: &str) -> (Outcome, TestHost) {
    let host = TestHost::new();
    let cancel = CancellationToken::new();
    let program = Program::new(format!("{IMPORT}{source}"));
    let running = SANDBOX.run(program, &host, RunOptions::default(), cancel.clone());
    let watching = async {
        while !host.stdout().ends_with("started\n") {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, watching);
    (outcome.unwrap(), host)
}

// Calls.

#[tokio::test]
async fn a_call_gives_what_the_tool_answers() {
    let (outcome, host) = run_calls("result = await call('echo', {'a': [1, {'b': None}]})").await;
    assert_eq!(*value(&outcome), json!({"a": [1, {"b": null}]}));
    assert_eq!(outcome.tool_calls, 1);
    assert_eq!(*host.calls.lock().unwrap(), ["echo"]);
}

#[tokio::test]
async fn bytes_go_beside_the_arguments_and_come_back_beside_the_value() {
    let source = r#"
both = await call('reverse', {'a': 1}, [b'abc', bytes(range(256))])
assert both == ({'a': 1}, (b'abc' + bytes(range(256)))[::-1]), both
assert await call('echo', {'a': 1}, []) == ({'a': 1}, None)
result = len((await call('reverse', {}, [b'x' * 20_000_000]))[1])
"#;
    let (outcome, _) = run_calls(source).await;
    assert_eq!(*value(&outcome), 20_000_000);
}

#[tokio::test]
async fn bytes_that_are_never_taken_do_not_fill_the_host() {
    // The answers come, but nobody takes their 40 MB.
    let source = r#"
from wit_world.imports import host
from _narrows import calls
host_take, host.take = host.take, lambda number: None
await call('large', {}, [])
try:
    await call('large', {}, [])
except ToolError as error:
    result = str(error)
"#;
    let (outcome, _) = run_calls(source).await;
    assert!(value(&outcome).as_str().is_some_and(|text| text.contains("64 MB")), "{outcome:?}");
    // Taken, they can be had again and again.
    let source = "for _ in range(3): result = len((await call('large', {}, []))[1])";
    let (outcome, _) = run_calls(source).await;
    assert_eq!(*value(&outcome), 40 << 20);
}

/// A host that answers at once, with a megabyte.
#[derive(Default)]
struct Generous {
    modules: TestHost,
    calls: AtomicUsize,
}

impl ToolHost for Generous {
    fn call(&self, _call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let text = format!("\"{}\"", "x".repeat(1 << 20));
        Box::pin(async move { Ok(RawValue::from_string(text).unwrap().into()) })
    }

    /// How many calls have begun, when no more do though there is nothing else to be done.
    fn query(&self, _query: Query) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        Box::pin(async {
            let (mut begun, mut rounds) = (0, 0);
            while rounds < 1_000 {
                tokio::task::yield_now().await;
                let now = self.calls.load(Ordering::Relaxed);
                rounds = if now == begun { rounds + 1 } else { 0 };
                begun = now;
            }
            Ok(RawValue::from_string(begun.to_string()).unwrap())
        })
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        self.modules.module(name)
    }
}

#[tokio::test]
async fn calls_whose_answers_are_never_taken_do_not_fill_the_host() {
    let host = Generous { modules: TestHost::new(), ..Generous::default() };
    let run = async |source: &str| {
        let limits = Limits { calls_in_flight: 4, ..patient() };
        let options = RunOptions { limits, ..RunOptions::default() };
        let program = Program::new(format!("{IMPORT}{source}"));
        SANDBOX.run(program, &host, options, CancellationToken::new()).await.unwrap()
    };
    let source = "from wit_world.imports import host\n\
                  for _ in range(200): host.submit('large', '{}', [])\n\
                  result = query('begun', {})";
    let outcome = run(source).await;
    let begun = value(&outcome).as_u64().unwrap();
    // 32 MB, and what was in flight when so much had come.
    assert!((32..=36).contains(&begun), "{begun}");
    // Those that are taken all come, and what an earlier program did not take is gone.
    let source = "texts = await asyncio.gather(*[call('large', {}) for _ in range(200)])\n\
                  result = sum(len(text) for text in texts) >> 20";
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), 200);
}

#[tokio::test]
async fn all_json_values_survive_the_way_there_and_back() {
    let source = r#"
values = [
    None, True, False, 0, -1, 2**53 + 1, 2**63, 2**64, -2**100, 10**300,
    0.0, -0.0, 0.1 + 0.2, 1e22, 1e-320, 1.7976931348623157e308, 5e-324, 1.0,
    "", "a", "ü", "日本", "😀", "\x00\x01\x1f\x7f", "\u2028\u2029", "\"\\/\b\f\n\r\t", "</x>",
    [], {}, [[[]]], {"": {"": [{}]}}, {"ключ": "значение", "😀": 1}, list(range(1000)),
]
for value in values:
    back = (await call("echo", {"value": value}))["value"]
    assert back == value and type(back) is type(value) and repr(back) == repr(value), value
result = len(values)
"#;
    let (outcome, _) = run_calls(source).await;
    assert_eq!(*value(&outcome), 33);
}

#[tokio::test]
async fn values_like_tuples_and_enumerations_are_sent_as_json_has_them() {
    let source = "
import enum
class Color(enum.StrEnum):
    RED = 'red'
result = await call('echo', {'tuple': (1, 2), 'enum': Color.RED, 3: True, None: 1})
";
    let (outcome, _) = run_calls(source).await;
    let expected = json!({"tuple": [1, 2], "enum": "red", "3": true, "null": 1});
    assert_eq!(*value(&outcome), expected);
}

#[tokio::test]
async fn a_call_that_fails_raises_tool_error() {
    let source = "
try:
    await call('fail', {})
except ToolError as error:
    result = [str(error), error.message, error.code]
";
    let (outcome, _) = run_calls(source).await;
    let message = "the tool failed as it was told";
    assert_eq!(*value(&outcome), json!([message, message, 7]));
    let (outcome, _) = run_calls("x = 1\nawait call('fail', {})").await;
    let failure = failure(&outcome);
    assert_eq!((&*failure.kind, &*failure.message), ("ToolError", message));
    assert_eq!(failure.line, Some(4));
}

#[tokio::test]
async fn the_tool_error_of_the_client_is_the_same() {
    let source = "
import client
try:
    await call('fail', {})
except client.ToolError as error:
    result = client.ToolError is ToolError
";
    let (outcome, _) = run_calls(source).await;
    assert_eq!(*value(&outcome), true);
}

#[tokio::test]
async fn an_unknown_tool_raises_tool_error() {
    let (outcome, _) = run_calls("await call('no such tool', {})").await;
    let failure = failure(&outcome);
    assert_eq!((&*failure.kind, &*failure.message), ("ToolError", "no tool \"no such tool\""));
}

#[tokio::test]
async fn a_host_without_tools_says_so() {
    let program = Program::new("from _narrows.calls import call\nawait call('files.read', {})");
    let options = RunOptions::default();
    let outcome = SANDBOX.run(program, &NoTools, options, CancellationToken::new()).await.unwrap();
    let expected = "there is no tool \"files.read\": no tools are available here";
    assert_eq!(failure(&outcome).message, expected);
}

#[tokio::test]
async fn a_query_is_answered_without_await() {
    let source = "
def ask(): return query('double', {'n': 21})
try:
    query('nope', {})
except ToolError as error:
    print(error)
result = ask()
";
    let (outcome, _) = run_calls(source).await;
    assert_eq!(*value(&outcome), 42);
    assert_eq!(outcome.stdout, "no query \"nope\"\n");
    assert_eq!(outcome.tool_calls, 0);
}

#[tokio::test]
async fn calls_run_at_once() {
    let source = "
order = []
async def turn(n):
    await call('turn', {'n': n, 'of': 3})
    order.append(n)
await asyncio.gather(turn(2), turn(0), turn(1))
result = order
";
    let (outcome, host) = run_calls(source).await;
    assert_eq!(*value(&outcome), json!([0, 1, 2]));
    assert_eq!(host.max_in_flight.lock().unwrap().1, 3);
}

#[tokio::test]
async fn a_call_works_wherever_there_is_a_loop() {
    let source = "
async def main(n): return (await call('echo', {'n': n}))['n']
task = asyncio.create_task(call('wait', {'ms': 20}))
await asyncio.sleep(0)
inner = [asyncio.run(main(1)), asyncio.run(main(2))]
with asyncio.Runner() as runner: inner.append(runner.run(main(3)))
result = [inner, await task]
";
    let (outcome, _) = run_calls(source).await;
    assert_eq!(*value(&outcome), json!([[1, 2, 3], {"ms": 20}]));
    let source = "
async def main(n): return (await call('echo', {'n': n}))['n']
result = [asyncio.run(main(1)), asyncio.run(main(2))]
";
    let (outcome, _) = run_calls(source).await;
    assert_eq!(*value(&outcome), json!([1, 2]));
}

#[tokio::test]
async fn a_thousand_calls_can_be_gathered() {
    let source = "
answers = await asyncio.gather(*[call('echo', {'n': n}) for n in range(1000)])
result = [answer['n'] for answer in answers] == list(range(1000))
";
    let (outcome, host) = run_calls(source).await;
    assert_eq!(*value(&outcome), true);
    assert_eq!(outcome.tool_calls, 1000);
    assert!(host.max_in_flight.lock().unwrap().1 <= 64);
}

#[tokio::test]
async fn only_so_many_calls_are_in_flight() {
    let source = "
answers = await asyncio.gather(*[call('meet', {'of': 4, 'n': n}) for n in range(40)])
result = [answer['n'] for answer in answers]
";
    let limits = Limits { calls_in_flight: 4, ..Limits::default() };
    let (outcome, host) = run_calls_within(source, limits).await;
    assert_eq!(*value(&outcome), json!((0..40).collect::<Vec<_>>()));
    assert_eq!(host.max_in_flight.lock().unwrap().1, 4);
}

#[tokio::test]
async fn abandoned_calls_make_room_for_others() {
    let source = "
for _ in range(5):
    try:
        async with asyncio.timeout(0.01):
            await asyncio.gather(*[call('never', {}) for _ in range(4)])
    except TimeoutError:
        pass
result = await call('echo', {})
";
    let limits = Limits { calls_in_flight: 2, ..Limits::default() };
    let (outcome, _) = run_calls_within(source, limits).await;
    assert_eq!(*value(&outcome), json!({}));
}

#[tokio::test]
async fn abandoned_calls_do_not_let_more_than_the_limit_be_in_flight() {
    let source = "
for _ in range(100):
    tasks = [asyncio.create_task(call('never', {})) for _ in range(2)]
    await asyncio.sleep(0)
    for task in tasks: task.cancel()
    await asyncio.sleep(0)
";
    let limits = Limits { calls_in_flight: 2, ..Limits::default() };
    let (outcome, host) = run_calls_within(source, limits).await;
    value(&outcome);
    assert_eq!(host.max_in_flight.lock().unwrap().1, 2);
}

#[tokio::test]
async fn more_calls_than_the_limit_end_the_program() {
    let limits = Limits { tool_calls: 3, ..Limits::default() };
    let (outcome, host) = run_calls_within(
        "for n in range(5):\n    print((await call('echo', {'n': n}))['n'])",
        limits,
    )
    .await;
    assert_eq!(limit(&outcome), LimitKind::ToolCalls);
    assert_eq!(outcome.stdout, "0\n1\n2\n");
    assert_eq!(outcome.tool_calls, 3);
    assert_eq!(host.calls.lock().unwrap().len(), 3);
    let failure = failure(&outcome);
    let expected = "the program reached the limit of 3 tool calls; make fewer calls, or split the \
                    work into several runs";
    assert_eq!(failure.message, expected);
    assert_eq!(failure.line, Some(4));
}

#[tokio::test]
async fn the_limit_of_calls_can_be_caught() {
    let source = "
done = []
try:
    for n in range(5): done.append((await call('echo', {'n': n}))['n'])
except RuntimeError as error:
    print(error)
result = done
";
    let limits = Limits { tool_calls: 3, ..Limits::default() };
    let (outcome, _) = run_calls_within(source, limits).await;
    assert_eq!(*value(&outcome), json!([0, 1, 2]));
    assert!(outcome.stdout.contains("limit of 3 tool calls"), "{}", outcome.stdout);
}

#[tokio::test]
async fn the_limit_of_calls_is_found_in_a_group_too() {
    let source = "
async with asyncio.TaskGroup() as group:
    for n in range(5): group.create_task(call('echo', {'n': n}))
";
    let limits = Limits { tool_calls: 3, ..Limits::default() };
    let (outcome, _) = run_calls_within(source, limits).await;
    assert_eq!(limit(&outcome), LimitKind::ToolCalls);
}

#[tokio::test]
async fn arguments_that_are_not_json_name_the_tool() {
    for (argument, reason) in [
        ("{1, 2}", "Object of type set is not JSON serializable"),
        ("object()", "Object of type object is not JSON serializable"),
        ("b'bytes'", "Object of type bytes is not JSON serializable"),
        ("__import__('datetime').date(2024, 1, 1)", "Object of type date is not JSON serializable"),
        ("float('nan')", "Out of range float values are not JSON compliant"),
        ("float('inf')", "Out of range float values are not JSON compliant"),
        ("'\\ud800'", "surrogates not allowed"),
        ("{(1, 2): 3}", "keys must be str, int, float, bool or None, not tuple"),
    ] {
        let (outcome, host) =
            run_calls(&format!("await call('echo', {{'a': [{argument}]}})")).await;
        let failure = failure(&outcome);
        assert_eq!(failure.kind, "TypeError", "{argument}");
        let start = "the arguments of echo cannot be sent as JSON: ";
        assert!(failure.message.starts_with(start), "{}", failure.message);
        assert!(failure.message.contains(reason), "{}", failure.message);
        assert_eq!(failure.line, Some(3), "{argument}");
        assert!(host.calls.lock().unwrap().is_empty());
        assert_eq!(outcome.tool_calls, 0);
    }
}

#[tokio::test]
async fn arguments_that_contain_themselves_or_are_too_deep_name_the_tool() {
    let (outcome, _) = run_calls("a = []\na.append(a)\nawait call('echo', {'a': a})").await;
    let expected = "the arguments of echo cannot be sent as JSON: Circular reference detected";
    assert_eq!(failure(&outcome).kind, "TypeError");
    assert_eq!(failure(&outcome).message, expected);
    let source = "a = []\nfor _ in range(20_000): a = [a]\nawait call('echo', {'a': a})";
    let (outcome, _) = run_calls(source).await;
    let message = &failure(&outcome).message;
    assert!(message.contains("the arguments of echo"), "{message}");
}

#[tokio::test]
async fn large_arguments_are_carried() {
    let source = "
text = 'x' * 8_000_000
for _ in range(10):
    assert (await call('echo', {'text': text}))['text'] == text
result = 'carried'
";
    let (outcome, _) = run_calls(source).await;
    assert_eq!(*value(&outcome), "carried");
}

#[tokio::test]
async fn huge_arguments_are_refused() {
    for text in ["'x' * 17_000_000", "'😀' * 10_000_000"] {
        let source = format!(
            "
try:
    await call('echo', {{'text': {text}}})
except ValueError as error:
    print(error)
result = 'went on'
"
        );
        let (outcome, host) = run_calls(&source).await;
        assert_eq!(*value(&outcome), "went on", "{text}");
        assert!(
            outcome.stdout.starts_with("the arguments of echo have "),
            "{text}: {}",
            outcome.stdout
        );
        assert!(host.calls.lock().unwrap().is_empty(), "{text}");
    }
}

// Calls that nobody waits for any more.

#[tokio::test]
async fn a_call_that_is_cancelled_is_dropped_at_once() {
    for cancelled in [
        "
try:
    async with asyncio.timeout(0.01): await call('never', {})
except TimeoutError: pass",
        "
task = asyncio.create_task(call('never', {}))
await asyncio.sleep(0.001)
task.cancel()
await asyncio.wait([task])",
        "
try:
    await asyncio.wait_for(call('never', {}), 0.01)
except TimeoutError: pass",
        "
try:
    async with asyncio.TaskGroup() as group:
        group.create_task(call('never', {}))
        group.create_task(call('fail', {}))
except* ToolError: pass",
    ] {
        let source = format!(
            "{IMPORT}{cancelled}
while await call('dropped', {{}}) != 1: await asyncio.sleep(0.001)
result = 'dropped'"
        );
        let host = Telling(TestHost::new());
        let run = SANDBOX.run(
            Program::new(source),
            &host,
            RunOptions::default(),
            CancellationToken::new(),
        );
        assert_eq!(*value(&run.await.unwrap()), "dropped", "{cancelled}");
    }
}

#[tokio::test]
async fn calls_that_are_pending_at_the_end_are_dropped() {
    let source = "
tasks = [asyncio.create_task(call('never', {})) for _ in range(3)]
await asyncio.sleep(0.001)
result = 1
";
    let (outcome, host) = run_calls(source).await;
    assert_eq!(*value(&outcome), 1);
    assert_eq!(*host.dropped.lock().unwrap(), 3);
    assert_eq!(host.max_in_flight.lock().unwrap().0, 0);
    assert!(outcome.notes[0].starts_with("3 tasks were still running"), "{:?}", outcome.notes);
}

#[tokio::test]
async fn a_call_that_never_ends_meets_the_time_limit() {
    let limits = Limits { wall_time: Duration::from_secs(3), ..Limits::default() };
    let (outcome, host) =
        run_calls_within("print('before')\nawait call('never', {})", limits).await;
    assert_eq!(limit(&outcome), LimitKind::WallTime);
    assert_eq!(outcome.stdout, "before\n");
    assert_eq!(*host.dropped.lock().unwrap(), 1);
    let message = &failure(&outcome).message;
    let expected = "the program was stopped at the wall time limit of 3 s; ";
    assert!(message.starts_with(expected), "{message}");
}

/// A host whose calls take longer than their program has, because somebody is asked, or because
/// they are slow.
struct Asking(TestHost, PausedClock);

impl ToolHost for Asking {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        let waiting = (call.tool == "ask").then(|| self.1.wait());
        Box::pin(async move {
            tokio::time::sleep(2 * TIME).await;
            drop(waiting);
            Ok(RawValue::from_string("1".to_owned()).unwrap().into())
        })
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        self.0.module(name)
    }

    fn patience(&self) -> PausedClock {
        self.1.clone()
    }
}

/// Enough for a program that does nothing but ask, on a busy machine too.
const TIME: Duration = Duration::from_secs(2);

#[tokio::test]
async fn the_time_of_a_person_does_not_count() {
    let limits = Limits { wall_time: TIME, ..Limits::default() };
    let run = async |source: &str| {
        let options = RunOptions { limits: limits.clone(), ..RunOptions::default() };
        let program = Program::new(format!("{IMPORT}{source}"));
        let host = Asking(TestHost::new(), PausedClock::default());
        SANDBOX.run(program, &host, options, CancellationToken::new()).await.unwrap()
    };
    let (asked, slow, after) = tokio::join!(
        run("result = await call('ask', {}) + await call('ask', {})"),
        run("await call('be slow', {})"),
        run("await call('ask', {})\nprint('asked')\nawait asyncio.sleep(100)"),
    );
    assert_eq!(*value(&asked), 2);
    assert!(asked.wall_time >= 4 * TIME, "{:?}", asked.wall_time);
    assert_eq!(limit(&slow), LimitKind::WallTime);
    // Its own time goes on afterwards.
    assert_eq!((limit(&after), after.stdout.as_str()), (LimitKind::WallTime, "asked\n"));
}

// Cancelling a run.

#[tokio::test]
async fn cancelling_ends_a_program_wherever_it_is() {
    for waiting in [
        "while True: pass",
        "import time\ntime.sleep(100)",
        "await asyncio.sleep(100)",
        "await call('never', {})",
        "sum(range(10**12))",
        "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
        "x = 10 ** (10 ** 8)",
        "while True:\n    try: await asyncio.sleep(100)\n    except BaseException: pass",
    ] {
        let (outcome, _) = cancelled_after_output(&format!("print('started')\n{waiting}")).await;
        assert!(matches!(outcome.ending, Ending::Cancelled(_)), "{waiting}: {:?}", outcome.ending);
        assert_eq!(outcome.stdout, "started\n", "{waiting}");
        let failure = failure(&outcome);
        assert_eq!((&*failure.kind, &*failure.message), ("Cancelled", "the run was cancelled"));
    }
}

#[tokio::test]
async fn cancelling_drops_the_calls() {
    let source = "print('started')\nawait asyncio.gather(*[call('never', {}) for _ in range(3)])";
    let host = TestHost::new();
    let cancel = CancellationToken::new();
    let program = Program::new(format!("{IMPORT}{source}"));
    let running = SANDBOX.run(program, &host, RunOptions::default(), cancel.clone());
    let watching = async {
        while host.calls.lock().unwrap().len() < 3 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, watching);
    let outcome = outcome.unwrap();
    assert!(matches!(outcome.ending, Ending::Cancelled(_)));
    assert_eq!(outcome.tool_calls, 3);
    assert_eq!(*host.dropped.lock().unwrap(), 3);
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_it_starts_does_nothing() {
    let host = TestHost::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let program = Program::new(format!("{IMPORT}print('ran')\nawait call('echo', {{}})"));
    let outcome = SANDBOX.run(program, &host, RunOptions::default(), cancel).await.unwrap();
    assert!(matches!(outcome.ending, Ending::Cancelled(_)));
    assert_eq!(outcome.stdout, "");
    assert!(host.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn dropping_the_run_cancels_it() {
    let sandbox = small_sandbox(1);
    let host = TestHost::new();
    // No limit ends the program while the next one is waited for.
    let limits = Limits { wall_time: 4 * PATIENCE, cpu_time: 4 * PATIENCE, ..Limits::default() };
    for source in
        ["print('started')\nwhile True: pass", "import time\nprint('started')\ntime.sleep(9999)"]
    {
        host.printed.lock().unwrap().clear();
        let program = Program::new(source);
        let options = RunOptions { limits: limits.clone(), ..RunOptions::default() };
        let running = sandbox.run(program, &host, options, CancellationToken::new());
        let started = async {
            while host.stdout().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = running => panic!("it ended by itself"),
            () = started => {}
        }
        // There is one thread only, and it is free again.
        let next = sandbox.run(
            Program::new("1 + 1"),
            &NoTools,
            RunOptions::default(),
            CancellationToken::new(),
        );
        let outcome = tokio::time::timeout(PATIENCE, next).await.unwrap().unwrap();
        assert_eq!(*value(&outcome), 2);
    }
}

// Admission.

#[tokio::test]
async fn a_full_sandbox_says_that_it_is_busy() {
    let sandbox = small_sandbox(1);
    let host = TestHost::new();
    let start = |source: &str, cancel: &CancellationToken| {
        let program = Program::new(format!("{IMPORT}{source}"));
        sandbox.run(program, &host, RunOptions::default(), cancel.clone())
    };
    let (first, second, third) =
        (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
    let mut running = pin!(start("await call('never', {})", &first));
    assert!(poll!(running.as_mut()).is_pending());
    let mut queued = pin!(start("'second'", &second));
    assert!(poll!(queued.as_mut()).is_pending());

    let refused = start("'third'", &third).await.unwrap_err();
    assert!(matches!(refused, SandboxError::Busy { open: 1, queued: 1 }), "{refused:?}");
    let expected = "busy: 1 of your programs have begun and 1 are waiting; try again in a moment";
    assert_eq!(refused.to_string(), expected);

    // The queued one goes ahead when the first one ends.
    first.cancel();
    let (ended, queued) = tokio::join!(running, queued);
    assert!(matches!(ended.unwrap().ending, Ending::Cancelled(_)));
    assert_eq!(*value(&queued.unwrap()), "second");
    assert_eq!(*value(&start("'third'", &third).await.unwrap()), "third");
}

/// Programs of `attacker` that never end by themselves, and one of another caller beside them.
async fn beside(attacker: &str, config: SandboxConfig, programs: usize) -> Outcome {
    let sandbox = Sandbox::new(config).unwrap();
    let host = TestHost::new();
    let stop = CancellationToken::new();
    let options = |caller: &str| RunOptions { caller: caller.into(), ..RunOptions::default() };
    let attack = (0..programs).map(|_| {
        let program = Program::new(format!("{IMPORT}print('started')\n{attacker}"));
        sandbox.run(program, &host, options("attacker"), stop.clone())
    });
    let other = async {
        let started = || host.stdout().matches("started").count();
        // As many as can begin have begun.
        while started() < programs {
            tokio::task::yield_now().await;
        }
        let program = Program::new("result = 1 + 1");
        let outcome = sandbox.run(program, &NoTools, options("other"), CancellationToken::new());
        let outcome = tokio::time::timeout(PATIENCE, outcome).await.unwrap().unwrap();
        stop.cancel();
        outcome
    };
    let (ended, outcome) = tokio::join!(futures::future::join_all(attack), other);
    assert!(
        ended.iter().all(|ended| matches!(&ended.as_ref().unwrap().ending, Ending::Cancelled(_)))
    );
    outcome
}

/// With one turn for the processor, whoever kept it while waiting would stop all others.
#[tokio::test]
async fn who_waits_for_a_tool_or_a_timer_lets_others_run() {
    let config = || SandboxConfig {
        max_running: 1,
        max_open: 8,
        max_open_per_caller: 7,
        ..SandboxConfig::single()
    };
    for waits in [
        "await call('never', {})",
        "import asyncio; await asyncio.sleep(100)",
        "import time; time.sleep(100)",
    ] {
        assert_eq!(*value(&beside(waits, config(), 7).await), 2, "{waits}");
    }
}

#[tokio::test]
async fn busy_programs_of_one_caller_share_the_processor_with_others() {
    let config = SandboxConfig {
        max_running: 1,
        max_open: 4,
        max_open_per_caller: 3,
        ..SandboxConfig::single()
    };
    assert_eq!(*value(&beside("while True: pass", config, 3).await), 2);
}

/// Two callers, each with as many programs that wait as it may have, held all places.
#[tokio::test]
async fn programs_of_several_callers_that_wait_leave_a_place_to_another_one() {
    let config = SandboxConfig {
        max_running: 1,
        max_open: 8,
        max_open_per_caller: 4,
        ..SandboxConfig::single()
    };
    let sandbox = Sandbox::new(config).unwrap();
    let host = TestHost::new();
    let stop = CancellationToken::new();
    // No limit ends them while another one waits for their places.
    let limits = Limits { wall_time: 4 * PATIENCE, ..Limits::default() };
    let options = |caller: &str| RunOptions {
        limits: limits.clone(),
        caller: caller.into(),
        ..RunOptions::default()
    };
    let attack = ["one", "two"].iter().flat_map(|caller| [*caller; 8]).map(|caller| {
        let program = Program::new(format!("{IMPORT}print('started')\nawait call('never', {{}})"));
        sandbox.run(program, &host, options(caller), stop.clone())
    });
    let other = async {
        // The control: the first has its full share, and the second half of the rest.
        while host.stdout().matches("started").count() < 6 {
            tokio::task::yield_now().await;
        }
        let outcome =
            sandbox.run(Program::new("1 + 1"), &NoTools, options("other"), stop.child_token());
        let outcome = tokio::time::timeout(PATIENCE, outcome).await;
        stop.cancel();
        outcome.unwrap().unwrap()
    };
    let (ended, outcome) = tokio::join!(futures::future::join_all(attack), other);
    assert_eq!(*value(&outcome), 2);
    assert_eq!(ended.len(), 16);
}

#[tokio::test]
async fn a_caller_who_fills_the_queue_is_the_one_who_is_refused() {
    let config = SandboxConfig {
        max_open: 2,
        max_open_per_caller: 1,
        max_queued: 1,
        ..SandboxConfig::single()
    };
    let sandbox = Sandbox::new(config).unwrap();
    let host = TestHost::new();
    let cancel = CancellationToken::new();
    let start = |caller: &str, source: &str| {
        let options = RunOptions { caller: caller.into(), ..RunOptions::default() };
        sandbox.run(Program::new(format!("{IMPORT}{source}")), &host, options, cancel.clone())
    };
    let mut running = pin!(start("greedy", "await call('never', {})"));
    assert!(poll!(running.as_mut()).is_pending());
    let mut queued = pin!(start("greedy", "await call('never', {})"));
    assert!(poll!(queued.as_mut()).is_pending());
    let refused = start("greedy", "1").await.unwrap_err();
    assert!(matches!(refused, SandboxError::Busy { open: 1, queued: 1 }), "{refused:?}");
    assert_eq!(*value(&start("modest", "1").await.unwrap()), 1);
    cancel.cancel();
    let _ = tokio::join!(running, queued);
}

#[tokio::test]
async fn a_run_can_be_cancelled_while_it_is_queued() {
    let sandbox = small_sandbox(1);
    let host = TestHost::new();
    let start = |source: &str, cancel: &CancellationToken| {
        let program = Program::new(format!("{IMPORT}{source}"));
        sandbox.run(program, &host, RunOptions::default(), cancel.clone())
    };
    let (first, second) = (CancellationToken::new(), CancellationToken::new());
    let mut running = pin!(start("await call('never', {})", &first));
    assert!(poll!(running.as_mut()).is_pending());
    {
        let mut queued = pin!(start("print('ran')", &second));
        assert!(poll!(queued.as_mut()).is_pending());
        second.cancel();
        let outcome = queued.await.unwrap();
        assert!(matches!(outcome.ending, Ending::Cancelled(_)));
        assert_eq!((outcome.stdout.as_str(), outcome.tool_calls), ("", 0));
    }
    // Its place in the queue is free again, also when it is simply dropped.
    for _ in 0..3 {
        let third = CancellationToken::new();
        let mut queued = pin!(start("print('ran')", &third));
        assert!(poll!(queued.as_mut()).is_pending());
    }
    first.cancel();
    assert!(matches!(running.await.unwrap().ending, Ending::Cancelled(_)));
}

#[tokio::test]
async fn without_a_queue_a_second_run_is_refused_at_once() {
    let sandbox = small_sandbox(0);
    let host = TestHost::new();
    let cancel = CancellationToken::new();
    let program = Program::new(format!("{IMPORT}await call('never', {{}})"));
    let mut running = pin!(sandbox.run(program, &host, RunOptions::default(), cancel.clone()));
    assert!(poll!(running.as_mut()).is_pending());
    let second = sandbox.run(Program::new("1"), &host, RunOptions::default(), cancel.clone());
    assert!(matches!(second.await, Err(SandboxError::Busy { open: 1, queued: 0 })));
    cancel.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn many_runs_at_once_do_not_mix() {
    let sandbox = &*SANDBOX;
    let runs = (0..30).map(|n: u32| async move {
        let host = TestHost::new();
        let program = Program {
            context: json!({"n": n}).as_object().unwrap().clone(),
            ..Program::new(format!(
                "{IMPORT}print(n)\nx = await call('echo', {{'n': n}})\nresult = [n, x['n']]"
            ))
        };
        let run = sandbox.run(program, &host, RunOptions::default(), CancellationToken::new());
        let outcome = run.await.unwrap();
        assert_eq!(*value(&outcome), json!([n, n]));
        assert_eq!(outcome.stdout, format!("{n}\n"));
    });
    futures::future::join_all(runs).await;
}

// What is measured and kept.

#[tokio::test]
async fn waiting_takes_no_processor_time() {
    let outcome = run("import asyncio\nawait asyncio.sleep(0.5)").await;
    value(&outcome);
    assert!(outcome.wall_time >= Duration::from_millis(500), "{:?}", outcome.wall_time);
    assert!(outcome.cpu_time < Duration::from_millis(250), "{:?}", outcome.cpu_time);
    let outcome = run("import time\ntime.sleep(0.5)").await;
    assert!(outcome.wall_time >= Duration::from_millis(500), "{:?}", outcome.wall_time);
    assert!(outcome.cpu_time < Duration::from_millis(250), "{:?}", outcome.cpu_time);
}

#[tokio::test]
async fn working_takes_processor_time() {
    let outcome = run("n = 0\nwhile n < 3_000_000: n += 1").await;
    value(&outcome);
    assert!(outcome.cpu_time > Duration::from_millis(10), "{:?}", outcome.cpu_time);
    assert!(outcome.cpu_time <= outcome.wall_time, "{:?}", outcome);
}

#[tokio::test]
async fn the_most_memory_is_measured() {
    let small = run("1").await;
    assert!(small.peak_memory_bytes > 0);
    assert!(small.peak_memory_bytes < 100 << 20, "{}", small.peak_memory_bytes);
    let large = run("x = bytearray(200_000_000)\ndel x").await;
    value(&large);
    assert!(large.peak_memory_bytes >= 200_000_000, "{}", large.peak_memory_bytes);
    assert!(large.peak_memory_bytes <= Limits::default().memory_bytes);
}

#[tokio::test]
async fn what_was_printed_before_a_limit_is_kept() {
    let base = patient();
    let (little_cpu, little_time) = (Duration::from_millis(300), Duration::from_secs(3));
    let cases = [
        ("while True: pass", Limits { cpu_time: little_cpu, ..base.clone() }, LimitKind::CpuTime),
        (
            "import time\ntime.sleep(100)",
            Limits { wall_time: little_time, ..base.clone() },
            LimitKind::WallTime,
        ),
        ("x = bytearray(10 ** 9)", base.clone(), LimitKind::Memory),
        (
            "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()",
            base.clone(),
            LimitKind::Stack,
        ),
        ("open('/tmp/x', 'wb').write(bytes(10 ** 8))", base.clone(), LimitKind::TmpBytes),
        ("result = 'x' * 2_000_000", base.clone(), LimitKind::Result),
    ];
    for (source, limits, kind) in cases {
        let source = format!("import sys\nprint('out')\nprint('err', file=sys.stderr)\n{source}");
        let outcome = run_within(&source, limits).await;
        assert_eq!(limit(&outcome), kind, "{source}");
        assert_eq!((&*outcome.stdout, &*outcome.stderr), ("out\n", "err\n"), "{source}");
        let message = &failure(&outcome).message;
        assert!(message.contains("limit of") && message.contains("; "), "{source}: {message}");
    }
}

#[tokio::test]
async fn a_memory_error_can_be_caught() {
    let source = "
try:
    x = bytearray(10 ** 9)
except MemoryError:
    print('caught')
result = len(bytearray(10 ** 6))
";
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), 1_000_000);
    assert_eq!(outcome.stdout, "caught\n");
}

#[tokio::test]
async fn the_outcome_tells_how_much_output_was_dropped() {
    let limits = Limits { output_bytes: 100, ..Limits::default() };
    let source = "import sys\nfor _ in range(30): print('x' * 9)\nprint('short', file=sys.stderr)\nresult = 1";
    let outcome = run_within(source, limits.clone()).await;
    assert_eq!(*value(&outcome), 1);
    assert_eq!(outcome.stdout.len(), 100);
    assert_eq!(outcome.stderr, "short\n");
    assert_eq!((outcome.dropped_bytes.stdout, outcome.dropped_bytes.stderr), (200, 0));
    // Characters are kept whole.
    let outcome = run_within("for _ in range(40): print('日', end='')", limits).await;
    value(&outcome);
    assert_eq!(outcome.stdout, "日".repeat(33));
    assert_eq!(outcome.dropped_bytes.stdout, 21);
}

#[tokio::test]
async fn the_host_sees_all_output_also_what_is_not_kept() {
    let host = TestHost::new();
    let limits = Limits { output_bytes: 100, ..Limits::default() };
    let options = RunOptions { limits, workspace: None, ..RunOptions::default() };
    let outcome = run_with("for n in range(50): print('x' * 9)", &host, options).await;
    assert_eq!(outcome.stdout.len(), 100);
    assert_eq!(host.stdout().len(), 500);
}

#[tokio::test]
async fn printing_without_end_is_ended() {
    let limits = Limits { output_bytes: 1000, ..Limits::default() };
    let outcome = run_within("while True: print('x' * 99)", limits).await;
    assert_eq!(limit(&outcome), LimitKind::Output);
    assert_eq!(outcome.stdout.len(), 1000);
}

#[tokio::test]
async fn the_outcome_is_a_document_with_ten_fields() {
    let outcome = run("print('x')\nresult = [1]").await;
    let document = serde_json::to_value(&outcome).unwrap();
    let Value::Object(fields) = &document else { panic!("an object") };
    let names: Vec<_> = fields.keys().map(String::as_str).collect();
    let expected = [
        "success",
        "result",
        "stdout",
        "stderr",
        "error",
        "execution_time_ms",
        "cpu_time_ms",
        "peak_memory_bytes",
        "tool_calls",
        "notes",
    ];
    assert_eq!(names, expected);
    assert_eq!(document["error"], Value::Null);
    assert_eq!(document["result"], json!([1]));
    let outcome = run("1 / 0").await;
    let document = serde_json::to_value(&outcome).unwrap();
    assert_eq!(document["success"], false);
    assert_eq!(document["error"]["type"], "ZeroDivisionError");
    assert_eq!(document["error"]["line"], 1);
}
