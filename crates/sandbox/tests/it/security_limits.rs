//! A program against what it may use up: each of these ends, with the limit that ended it, and
//! the sandbox runs the next program.

use std::time::Duration;

use narrows_model::{Ending, LimitKind, Limits, Outcome};
use narrows_sandbox::RunOptions;
use serde_json::json;

use crate::support::{
    PATIENCE, TestHost, failure, limit, patient, run, run_with, run_within, value,
};

/// Little processor time and much of the other: it is the loop that is ended.
fn little_cpu() -> Limits {
    Limits {
        wall_time: PATIENCE,
        cpu_time: Duration::from_millis(250),
        memory_bytes: 128 << 20,
        ..Limits::default()
    }
}

/// Little time and enough of the processor: it is the waiting that is ended.
fn little_time() -> Limits {
    Limits {
        wall_time: Duration::from_millis(700),
        cpu_time: Duration::from_secs(30),
        memory_bytes: 128 << 20,
        ..Limits::default()
    }
}

/// Enough time to run into the limit of memory or of the stack.
fn little_memory() -> Limits {
    Limits { memory_bytes: 128 << 20, ..patient() }
}

/// Checks that the sandbox is as it was.
async fn assert_unharmed() {
    assert_eq!(*value(&run("result = sum(range(10))").await), json!(45));
}

/// What the interpreter notices of its stack is an exception. What it does not, the host ends;
/// where the one comes before the other depends on the size of the stack.
#[track_caller]
fn assert_deep(outcome: &Outcome, expected: &str, name: &str) {
    let ended = ended(outcome);
    let noticed = expected == "Stack limit" && ended == "RecursionError";
    assert!(ended == expected || noticed, "{name}: {ended} instead of {expected}");
}

#[track_caller]
fn assert_stopped(outcome: &Outcome, kind: LimitKind) {
    assert_eq!(limit(outcome), kind);
    assert_eq!(failure(outcome).kind, "LimitExceeded");
    assert!(failure(outcome).message.starts_with("the program was stopped at the "));
}

/// Returns how a run ended in one word: the limit, or else the type of the failure.
pub(crate) fn ended(outcome: &Outcome) -> String {
    match &outcome.ending {
        Ending::Success => "success".into(),
        Ending::Limit(hit, _) => format!("{:?} limit", hit.name),
        Ending::Failed(failure) | Ending::Cancelled(failure) => failure.kind.clone(),
    }
}

#[tokio::test]
async fn memory_is_not_filled_by_any_kind_of_value() {
    for (name, source) in [
        ("list", "x = []\nwhile True: x.append([0] * 100_000)"),
        ("str", "x = 'a'\nwhile True: x += x"),
        ("one str", "x = 'a' * 10**9"),
        ("bytes", "x = [bytes([1]) * (1 << 20) for _ in range(10**6)]"),
        ("bytearray", "x = bytearray()\nwhile True: x.extend(bytes(1 << 20))"),
        ("int", "x = 1 << 8 * (200 << 20)"),
        ("dict", "x = {}\nwhile True: x[len(x)] = [0] * 100_000"),
        (
            "deque",
            "import collections\nx = collections.deque()\nwhile True: x.append(bytes(100_000))",
        ),
        ("bytesio", "import io\nx = io.BytesIO()\nwhile True: x.write(bytes(1 << 20))"),
        ("format", "x = f'{1:>{10**9}}'"),
        ("array", "import array\nx = array.array('q', [1]) * 10**8"),
        (
            "zlib",
            "import zlib\nx = zlib.decompress(zlib.compress(bytes(20 << 20)) , bufsize=10**9)",
        ),
        (
            "sqlite",
            "import sqlite3\nx = sqlite3.connect(':memory:').execute('select zeroblob(900000000)').fetchone()",
        ),
    ] {
        let outcome = run_within(source, little_memory()).await;
        let stopped = outcome.limit().map(|hit| hit.name);
        assert_eq!(stopped, Some(LimitKind::Memory), "{name}: {:?}", outcome.ending);
        assert!(failure(&outcome).message.contains("reached the memory limit of 128 MB"), "{name}");
        assert!(outcome.peak_memory_bytes <= 128 << 20, "{name}: {}", outcome.peak_memory_bytes);
    }
    // Half of it is no problem.
    let outcome = run_within("x = bytes(60 << 20)\nresult = len(x)", little_memory()).await;
    assert_eq!(*value(&outcome), json!(60 << 20));
}

/// Even where not so much as the description of the error fits into memory any more.
#[tokio::test]
async fn memory_that_is_full_to_the_last_byte_is_named_as_the_limit() {
    for source in [
        "x = {}\nwhile True: x[len(x)] = 'x' * 10_000",
        "x = []\nwhile True: x.append('x' * 1000)",
        "x = None\nwhile True: x = {'next': x, 'fill': bytes(300)}",
    ] {
        let limits = Limits { memory_bytes: 80 << 20, ..Limits::default() };
        let outcome = run_within(source, limits).await;
        let stopped = outcome.limit().map(|hit| hit.name);
        assert_eq!(stopped, Some(LimitKind::Memory), "{source}: {:?}", outcome.ending);
    }
    let outcome = run_within("x = 'x' * 10**9", little_memory()).await;
    assert_eq!((limit(&outcome), failure(&outcome).line), (LimitKind::Memory, Some(1)));
}

#[tokio::test]
async fn a_refusal_of_memory_can_be_handled() {
    let source = r#"
refused = 0
for _ in range(1000):
    try:
        x = bytearray(1 << 30)
    except MemoryError:
        refused += 1
result = refused
"#;
    let outcome = run_within(source, little_memory()).await;
    assert_eq!(*value(&outcome), json!(1000));
    // And what then fails by itself did not fail by the limit.
    let outcome = run_within(&format!("{source}\n1 / 0"), little_memory()).await;
    assert!(outcome.limit().is_none());
    assert_eq!(failure(&outcome).kind, "ZeroDivisionError");
}

#[tokio::test]
async fn an_endless_loop_ends_at_the_cpu_time() {
    for source in [
        "while True: pass",
        "import itertools\nfor _ in itertools.count(): pass",
        "sum(iter(int, 1))",
        "x = 3\nfor _ in range(40): x = x * x",
        "import hashlib\nwhile True: hashlib.sha256(bytes(10_000)).digest()",
        "sorted(range(10**6), key=lambda n: 0)\nwhile True: sorted(range(10**5), reverse=True)",
        "async def f():\n    while True: pass\nawait f()",
        "import asyncio\nwhile True: await asyncio.sleep(0)",
    ] {
        let outcome = run_within(source, little_cpu()).await;
        assert_stopped(&outcome, LimitKind::CpuTime);
        assert!(outcome.cpu_time >= Duration::from_millis(250), "{source}");
        assert!(outcome.cpu_time < Duration::from_secs(2), "{source}: {:?}", outcome.cpu_time);
    }
    let outcome = run_within("result = sum(range(100_000))", little_cpu()).await;
    assert_eq!(*value(&outcome), json!(4_999_950_000_u64));
}

#[tokio::test]
async fn an_endless_loop_ends_at_the_wall_time() {
    let outcome = run_within("while True: pass", little_time()).await;
    assert_stopped(&outcome, LimitKind::WallTime);
    assert!(outcome.wall_time >= Duration::from_millis(700));
    assert_unharmed().await;
}

#[tokio::test]
async fn waiting_ends_at_the_wall_time() {
    for source in [
        "import time\ntime.sleep(1000)",
        "import asyncio\nawait asyncio.sleep(1000)",
        "import asyncio\nasyncio.run(asyncio.sleep(1000))",
        "import select\nselect.select([], [], [], 1000)",
        "from client import call_mcp_tool\nawait call_mcp_tool('never', {})",
        "import time\nwhile True:\n    try:\n        time.sleep(1000)\n    except BaseException: pass",
    ] {
        let outcome = run_within(source, little_time()).await;
        assert_stopped(&outcome, LimitKind::WallTime);
        assert!(outcome.cpu_time < Duration::from_millis(600), "{source}: waiting is not work");
    }
    let enough_time = Limits { wall_time: PATIENCE, ..little_time() };
    let outcome = run_within("import time\ntime.sleep(0.01)\nresult = 1", enough_time).await;
    assert_eq!(*value(&outcome), json!(1));
}

#[tokio::test]
async fn catching_everything_does_not_prevent_the_end() {
    for source in [
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "try:\n    while True: pass\nfinally:\n    while True: pass",
        "import contextlib\nwhile True:\n    with contextlib.suppress(BaseException):\n        while True: pass",
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsys.setswitchinterval(1000)\nwhile True: pass",
    ] {
        assert_stopped(&run_within(source, little_cpu()).await, LimitKind::CpuTime);
    }
    let caught = "try:\n    1 / 0\nexcept BaseException:\n    result = 'caught'";
    assert_eq!(*value(&run_within(caught, little_cpu()).await), json!("caught"));
}

#[tokio::test]
async fn a_regular_expression_that_backtracks_without_end_is_ended() {
    let source = r"import re; re.match(r'(a+)+$', 'a' * 60 + 'b')";
    assert_stopped(&run_within(source, little_cpu()).await, LimitKind::CpuTime);
    let source = r"import re; result = re.match(r'(a+)+$', 'a' * 60).end()";
    assert_eq!(*value(&run_within(source, little_cpu()).await), json!(60));
}

#[tokio::test]
async fn long_work_in_one_c_function_is_ended() {
    for source in [
        "pow(3, 10**8)",
        "9 ** 9 ** 8",
        "import sys; sys.set_int_max_str_digits(0); str(1 << 20_000_000)",
        "import hashlib; hashlib.pbkdf2_hmac('sha256', b'x', b'y', 10**9)",
        "('a' * 10**5 + 'b') in ('a' * 10**7); [1] * 10**6 == [1] * 10**6; import math; math.factorial(10**6)",
        "import sqlite3; sqlite3.connect(':memory:').execute('with recursive c(x) as (select 1 union all select x+1 from c) select count(*) from c').fetchone()",
        "import itertools; max(itertools.repeat(1))",
    ] {
        assert_stopped(&run_within(source, little_cpu()).await, LimitKind::CpuTime);
    }
    assert_eq!(*value(&run_within("pow(3, 10**8, 7)", little_cpu()).await), json!(4));
}

#[tokio::test]
async fn printing_without_end_is_ended() {
    let limits = Limits { output_bytes: 10_000, ..Limits::default() };
    for (stream, source) in [
        ("stdout", "while True: print('x' * 100)"),
        ("stderr", "import sys\nwhile True: print('x' * 100, file=sys.stderr)"),
        ("stdout", "import os\nwhile True: os.write(1, b'x')"),
        ("stdout", "for _ in range(10**5): print('x' * 50_000)"),
    ] {
        let outcome = run_within(source, limits.clone()).await;
        assert_stopped(&outcome, LimitKind::Output);
        let kept = if stream == "stdout" { &outcome.stdout } else { &outcome.stderr };
        assert_eq!(kept.len(), 10_000, "{source}");
        let dropped = outcome.dropped_bytes;
        let dropped = if stream == "stdout" { dropped.stdout } else { dropped.stderr };
        assert!(dropped > 0 && dropped <= 150_000, "{source}: {dropped}");
    }
    // More than is kept but less than the ceiling is cut and goes on.
    let outcome = run_within("print('x' * 50_000)\nresult = 1", limits).await;
    assert_eq!(*value(&outcome), json!(1));
    assert_eq!(outcome.stdout.len(), 10_000);
}

/// The system takes 64 KiB at once. A stream that takes a short write for a whole one loses the
/// rest of a single `print`, and it does not count towards the limit.
#[tokio::test]
async fn one_long_print_is_neither_lost_nor_past_the_limit() {
    let outcome = run("print('x' * 200_000 + 'end')\nresult = 1").await;
    assert_eq!(*value(&outcome), json!(1));
    let kept = outcome.stdout.len();
    assert!(outcome.stdout.ends_with("end\n"), "only {kept} bytes of 200004 arrived");
    let limits = Limits { output_bytes: 10_000, ..Limits::default() };
    let outcome = run_within("print('x' * 10**7)", limits).await;
    assert_stopped(&outcome, LimitKind::Output);
}

#[tokio::test]
async fn a_huge_result_is_refused() {
    let limits = Limits { result_bytes: 10_000, ..Limits::default() };
    for source in [
        "'x' * 20_000",
        "'x' * (30 << 20)",
        "[0] * 20_000",
        "{n: n for n in range(5_000)}",
        "'\\x00' * 3_000",
        "[[[]] * 100] * 100",
    ] {
        let outcome = run_within(&format!("result = {source}"), limits.clone()).await;
        assert_eq!(limit(&outcome), LimitKind::Result, "{source}");
        assert!(failure(&outcome).message.contains("over the result limit of 9.8 KB"));
    }
    let outcome = run_within("result = 'x' * 9_000", limits).await;
    assert_eq!(value(&outcome).as_str().unwrap().len(), 9_000);
}

/// There is a note for each type that is not JSON, and its name may have any length.
#[tokio::test]
async fn notes_do_not_carry_what_the_result_may_not() {
    let limits = Limits { result_bytes: 10_000, ..Limits::default() };
    for source in [
        "result = [type('T' * 90_000, (), {})()]\nresult[0].__class__.__repr__ = lambda self: 'x'",
        "result = [type(f'T{n}', (), {'__repr__': lambda self: ''})() for n in range(2_000)]",
        "import asyncio\nasync def f(): await asyncio.sleep(9)\nf.__qualname__ = 'x' * 90_000\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)",
    ] {
        let outcome = run_within(source, limits.clone()).await;
        let bytes: usize = outcome.notes.iter().map(String::len).sum();
        assert!(bytes <= 20_000, "{bytes} bytes of notes: {}", &source[..40]);
    }
    let outcome = run_within("import uuid\nresult = uuid.UUID(int=0)", limits).await;
    assert_eq!(outcome.notes, ["result: a UUID became text"]);
}

#[tokio::test]
async fn a_huge_exception_message_is_shortened() {
    let outcome = run("raise ValueError('x' * 10**7)").await;
    let Ending::Failed(failure) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert_eq!(failure.kind, "ValueError");
    assert!(failure.message.len() < 70_000 && failure.traceback.len() < 70_000);
    assert!(failure.message.contains(" bytes left out]\n"));
    let outcome = run("raise ValueError('short')").await;
    assert_eq!(outcome.failure().unwrap().message, "short");
}

#[tokio::test]
async fn a_huge_exception_type_is_shortened() {
    let outcome = run("raise type('E' * 10**6, (Exception,), {})('x')").await;
    let failure = failure(&outcome);
    assert!(failure.kind.starts_with("EEEE"));
    assert!(failure.traceback.len() < 70_000);
    assert!(failure.kind.len() < 70_000, "{} bytes of type", failure.kind.len());
}

#[tokio::test]
async fn a_flood_of_tool_calls_is_refused() {
    let source = r#"
from client import call_mcp_tool
import asyncio
await asyncio.gather(*[call_mcp_tool("echo", {"n": n}) for n in range(500)])
"#;
    let host = TestHost::new();
    let limits = Limits { tool_calls: 20, ..Limits::default() };
    let options = RunOptions { limits: limits.clone(), workspace: None, ..RunOptions::default() };
    let outcome = run_with(source, &host, options).await;
    assert_eq!(limit(&outcome), LimitKind::ToolCalls);
    assert_eq!(failure(&outcome).kind, "LimitError");
    assert_eq!((outcome.tool_calls, host.calls.lock().unwrap().len()), (20, 20));
    let fine = source.replace("500", "20");
    let outcome = run_with(
        &fine,
        &TestHost::new(),
        RunOptions { limits, workspace: None, ..RunOptions::default() },
    )
    .await;
    assert!(outcome.is_success());
}

#[tokio::test]
async fn calls_in_flight_are_bounded() {
    let source = r#"
from client import call_mcp_tool
import asyncio
result = len(await asyncio.gather(*[call_mcp_tool("wait", {"ms": 1}) for n in range(100)]))
"#;
    let host = TestHost::new();
    let limits = Limits { calls_in_flight: 5, ..Limits::default() };
    let outcome =
        run_with(source, &host, RunOptions { limits, workspace: None, ..RunOptions::default() })
            .await;
    assert_eq!(*value(&outcome), json!(100));
    assert_eq!(host.max_in_flight.lock().unwrap().1, 5);
}

/// An abandoned call counts until it is dropped, however fast new ones come.
#[tokio::test]
async fn calls_in_flight_are_bounded_when_the_program_abandons_them() {
    let source = r#"
from wit_world.imports import host
for _ in range(300):
    host.abandon(host.submit("never", "{}", []))
host.submit("echo", "7", [])
(answer,) = host.poll(None)
result = answer[2]
"#;
    let host = TestHost::new();
    let limits = Limits { calls_in_flight: 5, ..Limits::default() };
    let outcome =
        run_with(source, &host, RunOptions { limits, workspace: None, ..RunOptions::default() })
            .await;
    assert_eq!(*value(&outcome), json!("7"));
    let most = host.max_in_flight.lock().unwrap().1;
    assert!(most <= 5, "{most} calls were with the host at once");
}

/// The host keeps the arguments of calls that wait for their turn: a thousand calls of 16 MB
/// each (by hand 64 MB) would be more than it has.
#[tokio::test]
async fn arguments_of_waiting_calls_do_not_fill_the_memory_of_the_host() {
    assert_eq!(*value(&run("from client import call_mcp_tool\nresult = len(await call_mcp_tool('echo', 'x' * (8 << 20)))").await), json!(8 << 20));
    let limits = Limits { calls_in_flight: 1, ..little_memory() };
    for carried in ["text, []", "'1', [rows]"] {
        let source = format!(
            r#"
from wit_world.imports import host
rows = b"x" * (8 << 20)
text = '"' + "x" * (8 << 20) + '"'
sent = 0
for _ in range(100):
    host.submit("never", {carried})
    sent += 1
result = sent
"#
        );
        let outcome = run_within(&source, limits.clone()).await;
        let message = &failure(&outcome).message;
        assert!(message.contains("carry more than 64 MB of arguments"), "{message}");
        assert!(outcome.tool_calls <= 8, "{} calls were taken", outcome.tool_calls);
    }
}

#[tokio::test]
async fn a_huge_transfer_to_the_host_is_refused() {
    let source = r#"
from client import call_mcp_tool
try:
    await call_mcp_tool("echo", {"x": "x" * (20 << 20)})
except ValueError as error:
    result = str(error)
"#;
    let refused = "the arguments of echo have 20971528 bytes; a call can carry 16777216";
    assert_eq!(*value(&run(source).await), json!(refused));
    // By hand, past the guest's own check.
    let source = "from wit_world.imports import host\nhost.submit('x' * (70 << 20), '{}', [])";
    let host = TestHost::new();
    let outcome = run_with(source, &host, RunOptions::default()).await;
    assert_eq!(failure(&outcome).kind, "Crashed");
    assert!(host.calls.lock().unwrap().is_empty());
    assert_unharmed().await;
}

#[tokio::test]
async fn recursion_inside_the_interpreter_ends_in_an_outcome() {
    const NESTED: &str =
        "def nested(n):\n    x = []\n    for _ in range(n): x = [x]\n    return x\n";
    for (name, expected, action) in [
        ("repr", "RecursionError", "x = nested(45_000)\nrepr(x)"),
        ("json.dumps", "RecursionError", "import json\nx = nested(45_000)\njson.dumps(x)"),
        ("json.loads", "Stack limit", "import json\njson.loads('[' * 1_000_000)"),
        ("pickle.dumps", "RecursionError", "import pickle\nx = nested(45_000)\npickle.dumps(x)"),
        (
            "pickle.loads",
            "Stack limit",
            "import pickle\npickle.loads(b'(' * 1_000_000 + b't' * 1_000_000 + b'.')",
        ),
        ("copy.deepcopy", "RecursionError", "import copy\nx = nested(45_000)\ncopy.deepcopy(x)"),
        ("marshal.dumps", "ValueError", "import marshal\nx = nested(45_000)\nmarshal.dumps(x)"),
        (
            "marshal.loads",
            "ValueError",
            "import marshal\nmarshal.loads(b'[\\1\\0\\0\\0' * 1_000_000)",
        ),
        ("compare", "Stack limit", "x, y = nested(1_000_000), nested(1_000_000)\nx == y"),
        ("freeing", "Stack limit", "x = nested(1_000_000)\ndel x"),
        ("result", "Stack limit", "result = nested(1_000_000)"),
        ("parentheses", "MemoryError", "compile('(' * 100_000 + ')' * 100_000, 'x', 'eval')"),
        ("minus", "MemoryError", "eval('-' * 1_000_000 + '1')"),
        ("attributes", "Stack limit", "compile('a' + '.b' * 1_000_000, 'x', 'eval')"),
        ("sum", "Stack limit", "compile('+'.join(['a'] * 1_000_000), 'x', 'eval')"),
        (
            "indents",
            "IndentationError",
            "compile('\\n'.join(' ' * n + 'if 1:' for n in range(5000)) + ' pass', 'x', 'exec')",
        ),
        ("pattern", "RecursionError", "import re\nre.compile('(' * 100_000 + ')' * 100_000)"),
        (
            "xml",
            "RecursionError",
            "import xml.etree.ElementTree as e\nx = e.fromstring('<a>' * 100_000 + '</a>' * 100_000)\ne.tostring(x)",
        ),
        ("literal", "MemoryError", "import ast\nast.literal_eval('[' * 100_000 + ']' * 100_000)"),
        (
            "map",
            "Stack limit",
            "x = iter([1])\nfor _ in range(1_000_000): x = map(int, x)\nnext(x)",
        ),
        (
            "chain",
            "Stack limit",
            "import itertools\nx = iter([1])\nfor _ in range(1_000_000): x = itertools.chain(x)\nnext(x)",
        ),
        (
            "isinstance",
            "Stack limit",
            "t = (int,)\nfor _ in range(1_000_000): t = (t, int)\nisinstance('', t)",
        ),
        ("hash", "Stack limit", "x = ()\nfor _ in range(1_000_000): x = (x,)\nhash(x)"),
    ] {
        let outcome = run_within(&format!("{NESTED}{action}"), Limits::default()).await;
        assert_deep(&outcome, expected, name);
        assert_unharmed().await;
    }
    let fine = "x = []\nfor _ in range(50): x = [x]\nresult = len(repr(x))";
    assert_eq!(*value(&run(fine).await), json!(102));
}

#[tokio::test]
async fn recursion_of_the_program_is_an_exception() {
    for (name, source) in [
        ("function", "def f(): f()\nf()"),
        ("__eq__", "class A:\n    def __eq__(s, o): return s == o\nA() == A()"),
        ("__repr__", "class A:\n    def __repr__(s): return repr(s)\nrepr(A())"),
        ("__getattr__", "class A:\n    def __getattr__(s, n): return getattr(s, n)\nA().x"),
        ("__hash__", "class A:\n    def __hash__(s): return hash(s)\nhash(A())"),
        ("__del__ chain", "def f(): return [f() for _ in (1,)]\nf()"),
        ("generator", "def f(): yield from f()\nlist(f())"),
        ("await", "async def f(): await f()\nawait f()"),
    ] {
        let outcome = run_within(source, Limits::default()).await;
        let Ending::Failed(failure) = &outcome.ending else {
            panic!("{name}: {:?}", outcome.ending)
        };
        assert_eq!(failure.kind, "RecursionError", "{name}");
        assert!(failure.traceback.len() < 70_000);
    }
    let fine = "def f(n): return n and 1 + f(n - 1)\nresult = f(900)";
    assert_eq!(*value(&run(fine).await), json!(900));
}

#[tokio::test]
async fn a_raised_recursion_limit_does_not_exhaust_the_host() {
    const RAISED: &str = "import sys\nsys.setrecursionlimit(2**31 - 1)\n";
    for (name, expected, source) in [
        ("__repr__", "RecursionError", "class A:\n    def __repr__(s): return repr(s)\nrepr(A())"),
        ("sort", "RecursionError", "def f(x): return sorted([1, 2], key=f)\nf(0)"),
        ("list", "Stack limit", "x = []\nfor _ in range(200_000): x = [x]\nrepr(x)"),
    ] {
        let outcome = run_within(&format!("{RAISED}{source}"), little_memory()).await;
        assert_deep(&outcome, expected, name);
        assert_unharmed().await;
    }
    // Frames of Python functions fill memory; the long traceback of that may then be too deep.
    let source = format!("{RAISED}def f(n): return f(n + 1)\nf(0)");
    let stopped = limit(&run_within(&source, little_memory()).await);
    assert!(matches!(stopped, LimitKind::Memory | LimitKind::Stack), "{stopped:?}");
    assert_unharmed().await;
    let fine = format!("{RAISED}def f(n): return n and 1 + f(n - 1)\nresult = f(5000)");
    assert_eq!(*value(&run(&fine).await), json!(5000));
}

#[tokio::test]
async fn a_program_that_ends_itself_at_once_ends_only_itself() {
    for (source, kind) in [
        ("import os\nos._exit(7)", "SystemExit"),
        ("import os\nos._exit(0)", "SystemExit"),
        ("import os\nos.abort()", "Aborted"),
        ("import sys\nsys.exit(3)", "SystemExit"),
        (
            "import asyncio, sys\nasync def f(): sys.exit(5)\nt = asyncio.create_task(f())\nawait asyncio.sleep(9)",
            "SystemExit",
        ),
        ("import faulthandler\nfaulthandler._sigsegv()", "Aborted"),
        ("import faulthandler\nfaulthandler._sigabrt()", "Aborted"),
        ("import faulthandler\nfaulthandler._fatal_error_c_thread()", "RuntimeError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("f = lambda: 0\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 100)\nf()", "Aborted"),
    ] {
        let outcome = run_within(source, little_time()).await;
        let Ending::Failed(failure) = &outcome.ending else {
            panic!("{source}: {:?}", outcome.ending)
        };
        assert_eq!(failure.kind, kind, "{source}");
        assert_unharmed().await;
    }
    assert!(run("import sys\nsys.exit(0)").await.is_success());
}

#[tokio::test]
async fn a_deep_chain_of_exceptions_ends_in_an_outcome() {
    for (expected, source) in [
        (
            "ValueError",
            "e = None\nfor i in range(30_000):\n    x = ValueError(i); x.__cause__ = e; e = x\nraise e",
        ),
        (
            "ValueError",
            "e = None\nfor i in range(30_000):\n    x = ValueError(i); x.__context__ = e; e = x\nraise e",
        ),
        (
            "ExceptionGroup",
            "e = ValueError(1)\nfor i in range(30_000): e = ExceptionGroup('g', [e])\nraise e",
        ),
        (
            "ValueError",
            "a, b = ValueError(1), ValueError(2)\na.__cause__, b.__cause__ = b, a\nraise a",
        ),
        ("ValueError", "e = ValueError(1)\ne.__notes__ = ['x' * 10**6] * 20\nraise e"),
        ("E", "class E(Exception):\n    def __str__(self): raise self\nraise E()"),
        ("E", "class E(Exception):\n    __str__ = None\nraise E()"),
    ] {
        let outcome = run_within(source, Limits::default()).await;
        assert_eq!(ended(&outcome), expected, "{source}");
        let failure = failure(&outcome);
        assert!(failure.message.len() < 70_000 && failure.traceback.len() < 70_000);
        assert_unharmed().await;
    }
    let outcome = run("raise ValueError('outer') from KeyError('inner')").await;
    assert!(failure(&outcome).traceback.contains("KeyError: 'inner'"));
}

#[tokio::test]
async fn what_runs_at_the_end_is_within_the_limits_too() {
    for source in [
        "import atexit\n@atexit.register\ndef f():\n    while True: pass\nresult = 1",
        "class A:\n    def __del__(self):\n        while True: pass\na = A()\nresult = 1",
        "def g():\n    try: yield\n    finally:\n        while True: pass\nx = g(); next(x)\nresult = 1",
        "class R:\n    def __repr__(self):\n        while True: pass\nresult = R()",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
        "import sys\nclass S:\n    def write(self, t): return 0\n    def flush(self):\n        while True: pass\nsys.stdout = S()",
        "class D(dict):\n    def items(self):\n        while True: yield ('k', 1)\n    def keys(self): return iter(int, 1)\nimport collections\nclass M(collections.abc.Mapping):\n    def __getitem__(s, k): return 1\n    def __iter__(s):\n        n = 0\n        while True: yield 1\n    def __len__(s): return 1\nresult = M()",
        "import asyncio\nasync def g():\n    try: yield 1\n    finally:\n        while True: await asyncio.sleep(0)\nx = g(); await anext(x)",
    ] {
        let outcome = run_within(source, little_cpu()).await;
        assert_stopped(&outcome, LimitKind::CpuTime);
        assert_unharmed().await;
    }
    // Not for ever is such a task waited for; on a busy machine that is over first.
    let source = "import asyncio\nasync def f():\n    while True:\n        try: await asyncio.sleep(0)\n        except BaseException: pass\nt = asyncio.create_task(f()); await asyncio.sleep(0)";
    let outcome = run_within(source, little_cpu()).await;
    if outcome.is_success() {
        assert!(outcome.notes[0].starts_with("1 task was still running"), "{:?}", outcome.notes);
    } else {
        assert_stopped(&outcome, LimitKind::CpuTime);
    }
    assert_unharmed().await;
    let source = "import atexit\natexit.register(print, 'at the end')\nresult = 1";
    let outcome = run_within(source, little_cpu()).await;
    assert_eq!((value(&outcome), outcome.stdout.as_str()), (&json!(1), "at the end\n"));
}

#[tokio::test]
async fn a_task_that_refuses_to_be_cancelled_does_not_hold_the_run() {
    let source = r#"
import asyncio
async def stubborn():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass
task = asyncio.create_task(stubborn())
await asyncio.sleep(0)
result = "done"
"#;
    let outcome = run_within(source, little_cpu()).await;
    assert_eq!(*value(&outcome), json!("done"));
    let note = "1 task was still running when the program ended and was cancelled: stubborn";
    assert!(outcome.notes[0].starts_with(note), "{:?}", outcome.notes);
    assert_unharmed().await;
}

#[tokio::test]
async fn a_generator_that_ignores_its_end_does_not_hold_the_run() {
    let source = r#"
def stubborn():
    while True:
        try:
            yield 1
        except GeneratorExit:
            pass
held = [stubborn() for _ in range(100)]
result = sum(next(one) for one in held)
"#;
    let outcome = run_within(source, little_cpu()).await;
    assert_eq!(*value(&outcome), json!(100));
    assert!(outcome.stderr.contains("generator ignored GeneratorExit"), "{}", outcome.stderr);
}

#[tokio::test]
async fn much_randomness_at_once_does_not_hurt_the_host() {
    let outcome =
        run_within("import os\nresult = len(set(os.urandom(10**6)))", little_memory()).await;
    assert_eq!(*value(&outcome), json!(256));
    let outcome = run_within("import os\nos.urandom(2**31 - 100)", little_memory()).await;
    assert_eq!(limit(&outcome), LimitKind::Memory);
    assert_unharmed().await;
}

#[tokio::test]
async fn endless_questions_to_the_host_end() {
    for source in [
        "from client import query\nwhile True: query('double', {'n': 1})",
        "from wit_world.imports import host\nwhile True: host.module_source('skills.x')",
        "from wit_world.imports import host\nwhile True: host.abandon(7)",
        "from wit_world.imports import host\nwhile True: host.poll(0)",
        "import os\nwhile True: os.listdir('/')",
        "import time\nwhile True: time.time()",
    ] {
        let limits = Limits { wall_time: Duration::from_secs(3), ..little_cpu() };
        let outcome = run_within(source, limits).await;
        let stopped = limit(&outcome);
        // Waiting for an answer is not work; which of the two comes first is the host's pace.
        assert!(matches!(stopped, LimitKind::CpuTime | LimitKind::WallTime), "{source}");
    }
    assert_eq!(
        *value(&run("from client import query\nresult = query('double', {'n': 4})").await),
        json!(8)
    );
}

#[tokio::test]
async fn many_runs_that_are_stopped_leave_the_sandbox_whole() {
    let limits = Limits { cpu_time: Duration::from_millis(50), ..little_memory() };
    let runs = (0..16).map(|number| {
        let source = match number % 4 {
            0 => "while True: pass",
            1 => "x = []\nwhile True: x.append([0] * 100_000)",
            2 => "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
            _ => "import os\nos.abort()",
        };
        run_within(source, limits.clone())
    });
    for outcome in futures::future::join_all(runs).await {
        assert!(!outcome.is_success());
    }
    for _ in 0..10 {
        assert_unharmed().await;
    }
}
