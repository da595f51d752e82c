//! A program against other runs: what one leaves behind, no other finds.

use narrows_model::Program;
use narrows_sandbox::{RunOptions, Sandbox, SandboxConfig};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{TestHost, run, run_within, value};

/// Runs both programs one after the other, on fresh and on warm isolates, and gives the results
/// of the second. The sandbox has one place, so the second gets what the first gave back.
async fn after(first: &str, second: &str) -> Vec<Value> {
    let mut results = Vec::new();
    for warm_isolates in [0, 2] {
        let config = SandboxConfig { warm_isolates, live_sessions: 0, ..SandboxConfig::single() };
        let sandbox = Sandbox::new(config).unwrap();
        sandbox.warmed().await;
        let control = run_on(&sandbox, first).await;
        assert_eq!(control, json!("changed"), "the change itself is possible");
        for _ in 0..4 {
            results.push(run_on(&sandbox, second).await);
        }
    }
    results
}

async fn run_on(sandbox: &Sandbox, source: &str) -> Value {
    let (host, cancel) = (TestHost::new(), CancellationToken::new());
    let outcome = sandbox.run(Program::new(source), &host, RunOptions::default(), cancel).await;
    value(&outcome.unwrap()).clone()
}

/// Checks that all results of the second program are the same.
#[track_caller]
fn assert_all(results: &[Value], expected: &Value) {
    assert_eq!(results.len(), 8);
    for result in results {
        assert_eq!(result, expected);
    }
}

/// Checks that all results differ from one another.
#[track_caller]
fn assert_distinct(mut results: Vec<Value>) {
    let count = results.len();
    results.sort_by_key(Value::to_string);
    results.dedup();
    assert_eq!(results.len(), count, "a value came twice");
}

#[tokio::test]
async fn variables_of_another_run_are_gone() {
    let first = r#"
import builtins, sys
secret = "of the first run"
builtins.secret_builtin = secret
sys.secret = secret
def f():
    return secret
result = "changed" if secret_builtin == sys.secret == f() else "not changed"
"#;
    let second = r#"
import builtins, gc, sys
found = ["secret" in globals(), hasattr(builtins, "secret_builtin"), hasattr(sys, "secret")]
own = "own"
result = [found, globals()["own"], sys.modules["__main__"].own]
"#;
    assert_all(&after(first, second).await, &json!([[false, false, false], "own", "own"]));
}

#[tokio::test]
async fn builtins_that_another_run_replaced_are_whole() {
    let first = r#"
import builtins
builtins.len = lambda _: 42
builtins.print = builtins.open = builtins.isinstance = lambda *a, **k: None
builtins.ValueError = KeyError
del builtins.sorted
result = "changed" if len("abc") == 42 else "not changed"
"#;
    let second = r#"
print("shown")
try:
    int("x")
except ValueError:
    caught = True
result = [len("abc"), sorted("ba"), isinstance(1, int), caught, open.__module__]
"#;
    let expected = json!([3, ["a", "b"], true, true, "_io"]);
    assert_all(&after(first, second).await, &expected);
}

#[tokio::test]
async fn modules_that_another_run_replaced_are_whole() {
    let first = r#"
import json, sys, types
json.dumps = lambda *a, **k: '"stolen"'
json.encoder.JSONEncoder.default = lambda self, o: "stolen"
sys.modules["csv"] = types.ModuleType("csv")
sys.modules["planted"] = types.ModuleType("planted")
del sys.modules["decimal"]
sys.meta_path.clear()
sys.path.append("/tmp")
result = "changed" if json.dumps(1) == '"stolen"' else "not changed"
"#;
    let second = r#"
import csv, decimal, io, json, sys
class Thing: pass
try:
    json.JSONEncoder().encode(Thing())
except TypeError as error:
    refused = str(error)
result = [json.dumps([1]), next(csv.reader(io.StringIO("a,b"))), str(decimal.Decimal("1.5")),
          "planted" in sys.modules, len(sys.meta_path) > 1, sys.path, refused]
"#;
    let expected = json!([
        "[1]",
        ["a", "b"],
        "1.5",
        false,
        true,
        ["/workspace"],
        "Object of type Thing is not JSON serializable",
    ]);
    assert_all(&after(first, second).await, &expected);
}

/// All objects of the snapshot are immortal and shared as memory; a change of one is a copy.
#[tokio::test]
async fn classes_and_immortal_objects_that_another_run_changed_are_whole() {
    let first = r#"
import collections, datetime, decimal, fractions, gc, pathlib, string
collections.UserDict.planted = "stolen"
fractions.Fraction.__add__ = lambda self, other: "stolen"
pathlib.PurePath.name = "stolen"
string.Template.delimiter = "%"
# Behind the back of types that refuse a change: the dictionary of a built-in class.
gc.get_referents(str.__dict__)[0]["upper"] = lambda self: "stolen"
gc.get_referents(dict.__dict__)[0]["planted"] = "stolen"
import sys
sys._clear_type_cache() if hasattr(sys, "_clear_type_cache") else sys._clear_internal_caches()
decimal.getcontext().prec = 3
collections.namedtuple.__defaults__ = ()
kept = string.ascii_letters.__class__
result = "changed" if fractions.Fraction(1) + 1 == "stolen" and str.__dict__["upper"]("a") == "stolen" else "not changed"
"#;
    let second = r#"
import collections, decimal, fractions, pathlib, string
result = [hasattr(collections.UserDict, "planted"), str(fractions.Fraction(1) + 1), pathlib.PurePath("/a/b").name,
          string.Template("$x").substitute(x=1), "a".upper(), "planted" in dict.__dict__, decimal.getcontext().prec,
          collections.namedtuple("P", "x y")(1, 2).y]
"#;
    let expected = json!([false, "2", "b", "1", "A", false, 28, 2]);
    assert_all(&after(first, second).await, &expected);
}

#[tokio::test]
async fn the_environment_and_the_warnings_of_another_run_are_gone() {
    let first = r#"
import locale, os, signal, sys, time, warnings
os.environ["SECRET"] = "of the first run"
os.putenv("OTHER", "1")
warnings.simplefilter("error")
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.setrecursionlimit(77)
sys.argv.append("planted")
os.chdir("/tmp")
result = "changed" if os.environ["SECRET"] and os.getcwd() == "/tmp" else "not changed"
"#;
    let second = r#"
import os, signal, sys, warnings
warnings.warn("only a warning")
signals = signal.getsignal(signal.SIGINT) is signal.default_int_handler
result = ["SECRET" in os.environ, "OTHER" in os.environ, signals, sys.getrecursionlimit(), sys.argv, os.getcwd()]
"#;
    let expected = json!([false, false, true, 1000, ["main.py"], "/"]);
    assert_all(&after(first, second).await, &expected);
}

#[tokio::test]
async fn contexts_handlers_and_hooks_of_another_run_are_gone() {
    let first = r#"
import atexit, asyncio, contextvars, gc, logging, sys, threading, weakref, decimal
planted = contextvars.ContextVar("planted")
planted.set("secret")
logging.getLogger().addHandler(logging.NullHandler())
logging.getLogger("planted").setLevel(7)
sys.settrace(lambda *a: None)
sys.excepthook = sys.displayhook = sys.unraisablehook = lambda *a: None
sys.addaudithook(lambda *a: None)
gc.callbacks.append(lambda *a: None)
threading.current_thread().planted = "secret"
local = asyncio.__dict__.setdefault("planted", {})
result = "changed" if planted.get() == "secret" else "not changed"
atexit.register(print, "later")
"#;
    let second = r#"
import atexit, asyncio, contextvars, gc, logging, sys, threading
own = contextvars.ContextVar("own"); own.set(1)
names = sorted(variable.name for variable in contextvars.copy_context())
result = [names, logging.getLogger().handlers, "planted" in logging.root.manager.loggerDict, sys.gettrace() is None,
          sys.excepthook is sys.__excepthook__, sys.unraisablehook is sys.__unraisablehook__, len(gc.callbacks),
          hasattr(threading.current_thread(), "planted"), hasattr(asyncio, "planted"), atexit._ncallbacks()]
"#;
    let expected = json!([["own"], [], false, true, true, true, 0, false, false]);
    for result in after(first, second).await {
        let (handlers, rest) = result.as_array().unwrap().split_last().unwrap();
        assert_eq!(json!(rest), expected);
        // The library has handlers of its own; the planted one would be one more.
        assert_eq!(*handlers, run("import atexit\nresult = atexit._ncallbacks()").await.result);
    }
}

#[tokio::test]
async fn files_in_tmp_of_another_run_are_gone() {
    let first = r#"
import os, sqlite3, tempfile
open("/tmp/secret", "w").write("of the first run")
sqlite3.connect("/tmp/data.db").execute("create table secret (x)")
os.makedirs("/tmp/deep/er")
left_open = tempfile.NamedTemporaryFile(delete=False)
result = "changed" if len(os.listdir("/tmp")) == 4 else "not changed"
"#;
    let second = r#"
import os
before = os.listdir("/tmp")
open("/tmp/own", "w").write("mine")
result = [before, os.listdir("/tmp"), open("/tmp/own").read()]
"#;
    assert_all(&after(first, second).await, &json!([[], ["own"], "mine"]));
}

#[tokio::test]
async fn random_numbers_do_not_repeat_between_runs() {
    // Within a run, a seed still makes them repeat.
    let same = "import random\nrandom.seed(7)\nresult = random.random()";
    assert_eq!(value(&run(same).await), value(&run(same).await));
    let first = "import random\nrandom.seed(7)\nresult = 'changed'";
    for source in [
        "import random\nresult = random.random()",
        "import random\nresult = random.Random().getrandbits(64)",
        "import random\nresult = random.SystemRandom().getrandbits(64)",
        "import os\nresult = os.urandom(16).hex()",
        "import secrets\nresult = secrets.token_hex()",
        "import uuid\nresult = str(uuid.uuid4())",
        "import uuid\nresult = uuid.uuid1().node",
        "import uuid\nresult = str(uuid.uuid7())[19:]",
        "import tempfile\nresult = tempfile.mkdtemp()",
        "import tempfile\nresult = tempfile.NamedTemporaryFile().name",
        "import email.utils\nresult = email.utils.make_msgid('x').split('.')[2]",
    ] {
        assert_distinct(after(first, source).await);
    }
}

/// SQLite takes its seed from `/dev/urandom` and, where there is none, from what all runs have in
/// common; programs use its numbers as keys and tokens.
#[tokio::test]
async fn random_numbers_of_sqlite_do_not_repeat_between_runs() {
    let source = r#"
import sqlite3
result = list(sqlite3.connect(":memory:").execute("select hex(randomblob(16)), random()").fetchone())
"#;
    let own = r#"
import sqlite3
one, other = sqlite3.connect(":memory:").execute("select random(), random()").fetchone()
result = "changed" if one != other else "the same"
"#;
    assert_distinct(after(own, source).await);
}

/// A program that makes itself a `bytearray` over all of its memory, with byte code that refers
/// to an object built by hand: the interpreter does not check byte code.
pub(crate) const WHOLE_MEMORY: &str = r#"
import opcode, struct, types
kept = []
def whole_memory(size):
    fake = struct.pack("<7I", 1 << 29, id(bytearray), size, size + 1, 0, 0, 0)
    pointer = struct.pack("<I", id(fake) + 16)
    constants = ("a", "b")
    kept.append((fake, pointer, constants))
    index = (id(pointer) - id(constants)) // 4 % (1 << 32)
    more, load = opcode.opmap["EXTENDED_ARG"], opcode.opmap["LOAD_CONST"]
    steps = [(opcode.opmap["RESUME"], 0), (more, index >> 24), (more, index >> 16 & 255), (more, index >> 8 & 255),
             (load, index & 255), (opcode.opmap["RETURN_VALUE"], 0)]
    code = (lambda: 0).__code__.replace(co_code=bytes(sum(steps, ())), co_consts=constants, co_stacksize=4)
    return types.FunctionType(code, {})()
def occurrences(memory, needle):
    count, place = 0, memory.find(needle)
    while place >= 0:
        count, place = count + 1, memory.find(needle, place + 1)
    return count
"#;

#[tokio::test]
async fn memory_of_another_run_is_gone_to_the_last_byte() {
    // Far more than what is put back by hand when an isolate ends, so both ways are covered.
    let first = r#"
texts = [("SECRET-" + "MARKER-%06d " % n) * 20 for n in range(300_000)]
result = occurrences(whole_memory(150 << 20), b"SECRET-MARKER-000007")
"#;
    // A buffer that is taken but not cleared: below it is all that the first run had.
    let second = r#"
import io
buffer = io.BufferedWriter(io.BytesIO(), 160 << 20)
needle = "-".join(["SECRET", "MARKER", ""]).encode()
result = occurrences(whole_memory(190 << 20), needle)
"#;
    for warm_isolates in [0, 2] {
        let config = SandboxConfig { warm_isolates, live_sessions: 0, ..SandboxConfig::single() };
        let sandbox = Sandbox::new(config).unwrap();
        sandbox.warmed().await;
        // The search sees what is there.
        let found = run_on(&sandbox, &format!("{WHOLE_MEMORY}{first}")).await;
        assert!(found.as_u64().unwrap() >= 20, "{found}");
        for _ in 0..3 {
            // Only what it looks for itself.
            let found = run_on(&sandbox, &format!("{WHOLE_MEMORY}{second}")).await;
            assert_eq!(found, json!(1));
        }
    }
}

#[tokio::test]
async fn fresh_memory_is_zero() {
    let first = r#"
marker = bytes(range(1, 65)) * 16
kept = [bytearray(marker * 1024) for _ in range(40)]
result = "changed" if kept[-1].count(marker) == 1024 else "not changed"
"#;
    let second = r#"
zero = bytes(1 << 20)
fresh = [bytearray(1 << 20) for _ in range(40)]
dirty = sum(part != zero for part in fresh)
fresh[7][9] = 1
result = [dirty, sum(part != zero for part in fresh)]
"#;
    assert_all(&after(first, second).await, &json!([0, 1]));
}

#[tokio::test]
async fn runs_at_the_same_time_do_not_see_one_another() {
    let config = SandboxConfig { warm_isolates: 2, live_sessions: 0, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config).unwrap();
    // Each waits for the host in between, so that all have changed before any of them looks.
    let programs = (0..24).map(|number| {
        let source = format!(
            r#"
import asyncio, builtins, collections, fractions, json, os, sys
from client import call_mcp_tool
before = [hasattr(builtins, "planted"), hasattr(json, "planted"), "PLANTED" in os.environ,
          hasattr(fractions.Fraction, "planted"), os.listdir("/tmp")]
builtins.planted = json.planted = fractions.Fraction.planted = sys.planted = {number}
os.environ["PLANTED"] = "{number}"
open("/tmp/planted", "w").write("{number}")
await call_mcp_tool("wait", {{"ms": 20}})
after = {{builtins.planted, json.planted, fractions.Fraction.planted, sys.planted,
          int(os.environ["PLANTED"]), int(open("/tmp/planted").read())}}
result = [before, sorted(after)]
"#
        );
        let sandbox = &sandbox;
        async move { (number, run_on(sandbox, &source).await) }
    });
    for (number, result) in futures::future::join_all(programs).await {
        assert_eq!(result, json!([[false, false, false, false, []], [number]]));
    }
}

#[tokio::test]
async fn a_run_that_was_killed_leaves_nothing_behind() {
    let limits = narrows_model::Limits {
        cpu_time: std::time::Duration::from_millis(300),
        ..narrows_model::Limits::default()
    };
    let killed = r#"
import builtins, json
builtins.planted = json.planted = "secret"
open("/tmp/planted", "w").write("secret")
while True: pass
"#;
    let look = r#"
import builtins, json, os
result = [hasattr(builtins, "planted"), hasattr(json, "planted"), os.listdir("/tmp")]
"#;
    let outcome = run_within(killed, limits).await;
    assert_eq!(crate::support::limit(&outcome), narrows_model::LimitKind::CpuTime);
    for _ in 0..3 {
        assert_eq!(*value(&run(look).await), json!([false, false, []]));
    }
    let own = format!("{}\n{look}", killed.replace("while True: pass", ""));
    assert_eq!(*value(&run(&own).await), json!([true, true, ["planted"]]));
}
