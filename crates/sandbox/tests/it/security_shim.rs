//! A program against the sandbox's own Python: whatever it does there, it changes only what is
//! said of itself.

use std::time::Duration;

use narrows_model::{Ending, LimitKind, Limits, Outcome};
use narrows_sandbox::RunOptions;
use serde_json::json;

use crate::{
    security_host::attempting,
    security_isolation::WHOLE_MEMORY,
    security_limits::ended,
    support::{TestHost, failure, limit, patient, run, run_with, run_within, value},
};

/// Enough for anything honest, and soon over for what works without end.
fn short() -> Limits {
    Limits { cpu_time: Duration::from_secs(5), ..patient() }
}

async fn run_on(host: &TestHost, source: &str) -> Outcome {
    run_with(source, host, RunOptions { limits: short(), workspace: None, ..RunOptions::default() })
        .await
}

/// Checks that the next program runs as if nothing had been.
async fn assert_unharmed() {
    let source = r#"
import json
from client import call_mcp_tool
print("shown")
result = json.loads(json.dumps([await call_mcp_tool("echo", {"a": [1]}), len("abc")]))
"#;
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), json!([{ "a": [1] }, 3]));
    assert_eq!(outcome.stdout, "shown\n");
    assert_eq!(outcome.tool_calls, 1);
}

#[tokio::test]
async fn a_replaced_json_module_does_not_change_the_outcome() {
    let source = r#"
import json, json.decoder, json.encoder
from client import call_mcp_tool
json.dumps = lambda *a, **k: "no json"
json.loads = lambda *a, **k: {"stolen": True}
json.encoder.encode_basestring_ascii = json.encoder.py_encode_basestring = lambda s: '"stolen"'
json.decoder.JSONDecoder.decode = lambda *a: "replaced"
result = [json.loads("1"), await call_mcp_tool("echo", {"a": 1})]
"#;
    let host = TestHost::new();
    let outcome = run_on(&host, source).await;
    // What it replaced is replaced for itself; its call went out as it was.
    assert_eq!(value(&outcome)[0], json!({ "stolen": true }));
    assert_eq!(*host.calls.lock().unwrap(), ["echo"]);
    assert_eq!(outcome.tool_calls, 1);
    assert_unharmed().await;
}

#[tokio::test]
async fn an_encoder_that_writes_no_json_is_a_corrupt_outcome() {
    let source = r#"
import json
from json import JSONEncoder
JSONEncoder.encode = lambda self, value: "this is not JSON"
result = {"a": 1}
"#;
    let outcome = run(source).await;
    assert_eq!(failure(&outcome).kind, "CorruptOutcome");
    assert!(failure(&outcome).message.starts_with("the program's outcome is not valid: "));
    assert_eq!(outcome.result, json!(null));
    let honest = run("import json\nresult = {'a': 1}").await;
    assert_eq!(*value(&honest), json!({ "a": 1 }));
}

#[tokio::test]
async fn replaced_builtins_hurt_only_the_program_itself() {
    // Its own result, or its own end where the shim cannot do without.
    for (name, replacement, expected) in [
        ("print", "lambda *a, **k: None", "success"),
        ("eval", "lambda *a: 'stolen'", "success"),
        ("compile", "lambda *a, **k: 'stolen'", "success"),
        ("isinstance", "lambda *a: True", "Aborted"),
        ("isinstance", "lambda *a: False", "success"),
        // A length that it lies about is the size that its result is said to have.
        ("len", "lambda _: 10**12", "Result limit"),
        ("str", "lambda *a: 7", "Aborted"),
        ("getattr", "lambda *a: None", "success"),
        ("BaseException", "KeyError", "success"),
        ("__import__", "None", "success"),
    ] {
        let source = format!("import builtins\nbuiltins.{name} = {replacement}\nresult = [1]");
        let outcome = run_within(&source, short()).await;
        assert_eq!(ended(&outcome), expected, "{name} = {replacement}");
        let result = if expected == "success" { json!([1]) } else { json!(null) };
        assert_eq!(outcome.result, result, "{name} = {replacement}");
        assert_eq!(outcome.tool_calls, 0);
        // The same program without the replacement.
        assert_eq!(*value(&run("import builtins\nresult = [1]").await), json!([1]));
    }
    assert_unharmed().await;
}

#[tokio::test]
async fn removed_or_replaced_shim_modules_hurt_only_the_program_itself() {
    let source = r#"
import sys, types
for name in list(sys.modules):
    if name.startswith("_narrows") or name.startswith("wit_world") or name in ("app", "componentize_py_types"):
        sys.modules[name] = types.ModuleType(name)
sys.modules["asyncio"] = sys.modules["json"] = types.ModuleType("stolen")
result = "still here"
"#;
    assert_eq!(*value(&run(source).await), json!("still here"));
    let source = r#"
import sys
sys.modules.clear()
result = "still here"
"#;
    assert_eq!(*value(&run(source).await), json!("still here"));
    let source = r#"
import sys, _narrows.program, _narrows.encode, _narrows.errors, _narrows.calls
for module in (_narrows.program, _narrows.encode, _narrows.errors, _narrows.calls):
    module.__dict__.clear()
result = "lost"
"#;
    let outcome = run(source).await;
    assert_eq!(failure(&outcome).kind, "Aborted");
    assert_eq!((outcome.result, outcome.tool_calls), (json!(null), 0));
    assert_unharmed().await;
}

#[tokio::test]
async fn a_replaced_event_loop_hurts_only_the_program_itself() {
    let replace = r#"
import asyncio, _narrows.loop, _narrows.program
class Broken:
    def __getattr__(self, name):
        raise ValueError("broken")
"#;
    let source = format!(
        "{replace}asyncio.EventLoop = _narrows.loop.HostEventLoop = _narrows.program.HostEventLoop = Broken\n\
         result = 1"
    );
    assert_eq!(*value(&run(&source).await), json!(1));
    let source = format!(
        "{replace}_narrows.program._run_async = lambda main, notes: main.close()\nawait asyncio.sleep(0)\nresult = 1"
    );
    // The loop was running already; nothing that it replaced is used in this run again.
    assert_eq!(*value(&run(&source).await), json!(1));
    let source = format!(
        "{replace}asyncio.get_running_loop()._selector = Broken()\nawait asyncio.sleep(0.01)\nresult = 1"
    );
    let outcome = run(&source).await;
    assert_eq!(
        (failure(&outcome).kind.as_str(), failure(&outcome).message.as_str()),
        ("ValueError", "broken")
    );
    assert_unharmed().await;
}

#[tokio::test]
async fn replaced_standard_streams_reach_nothing() {
    let source = r#"
import io, os, sys
print("first")
sys.stdout.flush()
sys.stdout = sys.stderr = io.StringIO()
print("into the string")
sys.__stdout__.write("second\n")
sys.__stdout__.flush()
os.write(1, b"third\n")
os.close(1)
try:
    os.write(1, b"lost")
except OSError as error:
    result = str(error)
class Endless:
    def write(self, text): return len(text)
    def flush(self): raise KeyboardInterrupt
sys.stdout = Endless()
"#;
    let outcome = run(source).await;
    assert_eq!(*value(&outcome), json!("[Errno 8] Bad file descriptor"));
    assert_eq!(outcome.stdout, "first\nsecond\nthird\n");
    assert_unharmed().await;
}

#[tokio::test]
async fn calls_by_hand_are_counted_and_limited_by_the_host() {
    let source = r#"
from wit_world.imports import host
from componentize_py_types import Err
numbers, refused = [], []
for _ in range(8):
    try:
        numbers.append(host.submit("echo", "{}", []))
    except Err as error:
        refused.append(error.value)
result = [numbers, refused]
"#;
    let host = TestHost::new();
    let limits = Limits { tool_calls: 5, ..short() };
    let outcome =
        run_with(source, &host, RunOptions { limits, workspace: None, ..RunOptions::default() })
            .await;
    let refused = "the program reached the limit of 5 tool calls; make fewer calls, or split the \
                   work into several runs";
    assert_eq!(*value(&outcome), json!([[1, 2, 3, 4, 5], [refused, refused, refused]]));
    assert_eq!(outcome.tool_calls, 5);
    assert_eq!(host.calls.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn arguments_that_are_no_json_never_reach_a_tool() {
    let source = r#"
from wit_world.imports import host
from componentize_py_types import Err
texts = ["", "{", "not json", "{} {}", "NaN", '"' + chr(10) + '"', "[1,]", "\x00"]
numbers = [host.submit("echo", text, []) for text in texts]
good = host.submit("echo", ' {"a": 1}', [])
done = {}
while len(done) < len(texts) + 1:
    for number, succeeded, text in host.poll(None):
        done[number] = [succeeded, text]
try:
    query = host.query("double", "not json")
except Err as error:
    query = error.value
result = [[done[number] for number in numbers], done[good], query]
"#;
    let host = TestHost::new();
    let outcome = run_on(&host, source).await;
    let found = value(&outcome);
    for refused in found[0].as_array().unwrap() {
        assert_eq!(refused[0], json!(false));
        let text = refused[1].as_str().unwrap();
        assert!(text.starts_with(r#"{"message":"the arguments are not JSON: "#), "{text}");
    }
    assert_eq!(found[0].as_array().unwrap().len(), 8);
    assert_eq!(found[1][0], json!(true));
    assert!(found[2].as_str().unwrap().contains("the arguments are not JSON"));
    assert_eq!(*host.calls.lock().unwrap(), ["echo"], "only the one that is JSON");
}

#[tokio::test]
async fn bogus_numbers_and_times_do_nothing() {
    let source = r#"
from wit_world.imports import host
from client import call_mcp_tool
for number in (0, 1, 7, 2**63, 2**64 - 1):
    host.abandon(number)
empty = [host.poll(0), host.poll(1)]
call = host.submit("echo", "[]", [])
host.abandon(call + 1)
(answer,) = host.poll(2**64 - 1)
result = [empty, list(answer), await call_mcp_tool("echo", {"a": 1})]
"#;
    let outcome = run_on(&TestHost::new(), source).await;
    assert_eq!(*value(&outcome), json!([[[], []], [1, true, "[]"], { "a": 1 }]));
    // What is no number at all does not even leave the guest.
    for wrong in ["-1", "2**64", "'x'", "None"] {
        let source = format!("from wit_world.imports import host\nhost.abandon({wrong})");
        let outcome = run_within(&source, short()).await;
        assert_eq!(failure(&outcome).kind, "Aborted", "{wrong}");
    }
    assert_unharmed().await;
}

#[tokio::test]
async fn waiting_for_nothing_by_hand_ends_at_the_wall_time() {
    let source = "from wit_world.imports import host\nhost.poll(None)";
    let limits = Limits { wall_time: Duration::from_millis(500), ..short() };
    assert_eq!(limit(&run_within(source, limits).await), LimitKind::WallTime);
    let source = "from wit_world.imports import host\nhost.submit('echo', '1', [])\nresult = len(host.poll(None))";
    assert_eq!(*value(&run(source).await), json!(1));
}

#[tokio::test]
async fn forged_answers_are_seen_only_by_the_program_that_forged_them() {
    let source = r#"
import asyncio, _narrows.calls as calls
from client import call_mcp_tool
honest = calls._poll
def forged(timeout):
    return [(number, True, '"forged"') for number, _, _ in honest(timeout)]
calls._poll = forged
first = await call_mcp_tool("fail", {})
calls._poll = honest
task = asyncio.create_task(call_mcp_tool("never", {}))
await asyncio.sleep(0)
(number,) = calls.pending
calls.pending.pop(number).set_result("forged too")
second = await task
calls.pending["no number"] = calls.pending[-5] = asyncio.get_running_loop().create_future()
third = await call_mcp_tool("echo", {"a": 1})
calls.pending.clear()
result = [first, second, third]
"#;
    let host = TestHost::new();
    let outcome = run_on(&host, source).await;
    assert_eq!(*value(&outcome), json!(["forged", "forged too", { "a": 1 }]));
    // The host knows what was called, whatever the program was told.
    assert_eq!(*host.calls.lock().unwrap(), ["fail", "never", "echo"]);
    assert_eq!(outcome.tool_calls, 3);
    assert_eq!(*host.dropped.lock().unwrap(), 1, "the call that it forgot ended with the run");
    assert_unharmed().await;
}

/// Makes the guest hand over an outcome of the program's choice.
fn forging(outcome: &str) -> String {
    let fields = &outcome[1..outcome.len() - 1];
    let comma = if fields.is_empty() { "" } else { "," };
    format!(
        r#"
import _narrows.program
from client import call_mcp_tool
await call_mcp_tool("echo", {{}})
# What `run` puts its text together from.
_narrows.program._ending = lambda *a: {fields:?} + {comma:?}
_narrows.program._result = lambda *a: ("null", [])
"#
    )
}

#[tokio::test]
async fn a_forged_limit_is_not_believed() {
    for cause in ["memory", "files", "tool_calls"] {
        let error = json!({
            "type": "MemoryError", "message": "forged", "line": null, "traceback": "", "cause": cause,
        });
        let forged = json!({ "ok": false, "error": error }).to_string();
        let outcome = run_on(&TestHost::new(), &forging(&forged)).await;
        let Ending::Failed(failure) = &outcome.ending else { panic!("{:?}", outcome.ending) };
        assert_eq!((failure.kind.as_str(), failure.message.as_str()), ("MemoryError", "forged"));
        assert_eq!(outcome.tool_calls, 1, "counted by the host");
    }
    // The same cause, when the host refused something, is a limit.
    let honest = run_within("x = 'a' * 10**9", short()).await;
    assert_eq!(limit(&honest), LimitKind::Memory);
    assert_eq!(failure(&honest).kind, "MemoryError");
}

#[tokio::test]
async fn a_forged_outcome_cannot_change_what_the_host_measured() {
    let forged = json!({
        "ok": true, "tool_calls": 99, "limit": { "name": "memory", "value": 1 }, "wall_time": 0,
        "cpu_time": -1, "peak_memory_bytes": 1, "stdout": "forged", "stderr": "forged",
    });
    let outcome = run_on(&TestHost::new(), &forging(&forged.to_string())).await;
    assert_eq!(outcome.ending, Ending::Success);
    assert_eq!(outcome.tool_calls, 1);
    assert!(outcome.limit().is_none());
    assert!(outcome.peak_memory_bytes > 1 << 20);
    assert!(outcome.cpu_time > Duration::ZERO && outcome.wall_time > Duration::ZERO);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
}

#[tokio::test]
async fn a_forged_outcome_of_the_wrong_shape_is_corrupt() {
    for forged in [
        "{}",
        r#"{"ok":"yes"}"#,
        r#"{"ok":false,"error":{"type":7,"message":"","line":null,"traceback":""}}"#,
        r#"{"ok":false,"error":{"type":"","message":"","line":-1,"traceback":""}}"#,
        r#"{"ok":false,"error":{"type":"","message":"","line":null,"traceback":"","cause":"cpu_time"}}"#,
        r#"{"ok":false}"#,
        r#"{"ok":true,"result":}"#,
        r#"{"ok":true,"ok":true}"#,
        r#"{"ok":true,"result_too_large":-1}"#,
    ] {
        let outcome = run_on(&TestHost::new(), &forging(forged)).await;
        let Ending::Failed(failure) = &outcome.ending else {
            panic!("{forged}: {:?}", outcome.ending)
        };
        assert_eq!(failure.kind, "CorruptOutcome", "{forged}");
    }
    let outcome = run_on(&TestHost::new(), &forging(r#"{"ok":true}"#)).await;
    assert_eq!(outcome.ending, Ending::Success);
}

#[tokio::test]
async fn a_result_that_is_not_json_is_corrupt() {
    let depth = "[".repeat(100_000) + &"]".repeat(100_000);
    for text in ["nonsense", "", "1 2", "NaN", "[1,", "\"\\ud800\"", depth.as_str()] {
        let source = format!(
            "import _narrows.encode\n_narrows.encode.to_json = lambda value: ({text:?}, [])\nresult = 1"
        );
        let outcome = run_within(&source, short()).await;
        assert_eq!(failure(&outcome).kind, "CorruptOutcome", "{}", &text[..text.len().min(20)]);
        assert!(outcome.limit().is_none());
    }
    let source = "import _narrows.encode\n_narrows.encode.to_json = lambda value: ('[1, 2]', [])\nresult = 1";
    assert_eq!(*value(&run(source).await), json!([1, 2]));
}

#[tokio::test]
async fn a_replaced_entry_point_changes_only_its_own_outcome() {
    let source = r#"
import _narrows.program, app
forged = lambda *a: '{"ok":true,"result":"forged","notes":[]}'
_narrows.program.run = forged
app.WitWorld.run = forged
import _narrows.fresh
_narrows.fresh.begin = None
result = "honest"
"#;
    // It is running already, so the replacement comes too late even for itself.
    assert_eq!(*value(&run(source).await), json!("honest"));
    assert_eq!(*value(&run("result = 'next'").await), json!("next"));
    assert_unharmed().await;
}

#[tokio::test]
async fn the_host_is_asked_for_its_own_modules_only() {
    let host = TestHost::new().with_module("skills", "").with_module("skills.good", "x = 7");
    let source = r#"
import importlib, sys
def load(name):
    return importlib.import_module(name)
names = ["os.secret", "secret", "_narrows.secret", "Servers", "server", "serversx", "etc.passwd", "json.secret"]
refused = [attempt(load, name) for name in names]
provided = [attempt(load, name) for name in ("servers.x", "skills.x", "tool_discovery", "skills.good.deep")]
import skills.good, client
result = [len(refused), [text for text in refused + provided if not text.startswith("ModuleNotFoundError: ")], skills.good.x]
"#;
    let outcome = run_on(&host, &attempting(source)).await;
    assert_eq!(*value(&outcome), json!([8, [], 7]));
    let asked = host.asked.lock().unwrap();
    assert!(asked.contains(&"skills.good".to_owned()));
    let tops = ["servers", "skills", "client", "tool_discovery"];
    for name in asked.iter() {
        let top = name.split('.').next().unwrap();
        assert!(tops.contains(&top), "asked for {name}");
    }
}

/// By hand, a program can ask for any name; it is a name and nothing more.
#[tokio::test]
async fn odd_names_reach_the_host_as_plain_data() {
    let odd = [
        "../../etc/passwd",
        "",
        "a\0b",
        "<script>",
        "'; drop table",
        "\u{202e}x",
        "echo\n",
        "ECHO",
        "💥",
        "%s{0}",
    ];
    let source = r#"
from wit_world.imports import host
from client import call_mcp_tool
def told(name):
    return host.module_source(name)
async def call(name):
    try:
        return ["allowed", await call_mcp_tool(name, {})]
    except ToolError as error:
        return str(error)
result = [[await call(name) for name in names], [told(name) for name in names], await call("echo"),
          list(told("client"))[1]]
"#;
    let host = TestHost::new();
    // A list of texts is written in Python as it is in JSON.
    let source = format!("names = {}\n{source}", json!(odd));
    let outcome = run_on(&host, &source).await;
    let found = value(&outcome);
    let refused: Vec<String> = odd.iter().map(|name| format!("no tool {name:?}")).collect();
    assert_eq!(found[0], json!(refused));
    assert_eq!(found[1], json!(vec![json!(null); odd.len()]));
    assert_eq!(found[2], json!(["allowed", {}]));
    assert_eq!(found[3], json!(false));
    let calls = host.calls.lock().unwrap();
    assert_eq!(calls[..odd.len()], odd.map(str::to_owned));
}

#[tokio::test]
async fn text_that_is_no_text_is_refused_before_it_leaves() {
    let source = r#"
from wit_world.imports import host
from client import call_mcp_tool
async def call(*arguments):
    try:
        return ["allowed", await call_mcp_tool(*arguments)]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
itself = {}
itself["x"] = itself
result = [await call("echo", {"x": "\ud800"}), await call("echo", {"x": float("nan")}),
          await call("echo", {"x": object()}), await call("echo", itself), await call("echo", {"x": "é"})]
"#;
    let host = TestHost::new();
    let outcome = run_on(&host, source).await;
    let found = value(&outcome);
    for refused in &found.as_array().unwrap()[..4] {
        let text = refused.as_str().unwrap();
        let start = "TypeError: the arguments of echo cannot be sent as JSON: ";
        assert!(text.starts_with(start), "{text}");
    }
    assert_eq!(found[4], json!(["allowed", { "x": "é" }]));
    assert_eq!(*host.calls.lock().unwrap(), ["echo"]);
    assert_eq!(outcome.tool_calls, 1);
}

/// A program that reads and writes any address is still inside its own memory.
#[tokio::test]
async fn reading_and_writing_any_address_ends_at_the_edge_of_the_guest() {
    let inside = format!("{WHOLE_MEMORY}\nmemory = whole_memory(1 << 20)\nresult = len(memory)");
    assert_eq!(*value(&run(&inside).await), json!(1 << 20));
    for action in
        ["memory[0x7fff0000]", "memory.__setitem__(0x7fff0000, 1)", "memory.count(b'x' * 99)"]
    {
        let source =
            format!("{WHOLE_MEMORY}\nmemory = whole_memory((1 << 31) - 2)\nresult = {action}");
        let outcome = run_within(&source, short()).await;
        assert_eq!(failure(&outcome).kind, "Crashed", "{action}");
        let message = "the program crashed the interpreter: wasm trap: out of bounds memory access";
        assert_eq!(failure(&outcome).message, message);
        assert!(outcome.limit().is_none());
    }
    assert_unharmed().await;
}

/// All of the interpreter overwritten, its functions' table indices included.
#[tokio::test]
async fn a_scrambled_interpreter_hurts_only_itself() {
    for byte in [0, 1, 255] {
        let source = format!(
            "{WHOLE_MEMORY}\nmemory = whole_memory(40 << 20)\nview = memoryview(memory)\n\
             filler = bytes([{byte}]) * (30 << 20)\nview[1 << 20:31 << 20] = filler\nresult = 1"
        );
        let outcome = run_within(&source, short()).await;
        assert_eq!(failure(&outcome).kind, "Crashed", "{byte}");
        assert_eq!(outcome.tool_calls, 0);
        assert_unharmed().await;
    }
}
