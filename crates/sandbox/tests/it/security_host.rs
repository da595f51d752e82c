//! A program against the machine that it runs on: its files, its environment, its network, its
//! processes, and what the building machine may have left behind.

use std::{
    io::ErrorKind,
    net::{TcpListener, TcpStream},
};

use narrows_model::{Limits, Outcome};
use narrows_sandbox::RunOptions;
use serde_json::json;

use crate::support::{TestHost, failure, run, run_in, run_with, value};

/// `attempt(action)` is the refusal of an action in words, or `["allowed", value]`: no refusal
/// looks like a value, and no value like a refusal.
pub(crate) const ATTEMPT: &str = r#"
def attempt(action, *arguments, **options):
    try:
        return ["allowed", repr(action(*arguments, **options))]
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
"#;

/// A program that can `attempt` things.
pub(crate) fn attempting(source: &str) -> String {
    format!("{ATTEMPT}{source}")
}

/// Runs a program that knows the port of a listener on this machine, and makes sure that the
/// listener could have been reached and was not.
async fn run_beside_a_listener(source: &str) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let outcome = run(&attempting(&format!("PORT = {port}\n{source}"))).await;
    let nobody = listener.accept().expect_err("the program reached the network");
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
    // The port was open all the time: this very process gets through.
    let visitor = TcpStream::connect(("127.0.0.1", port)).unwrap();
    listener.set_nonblocking(false).unwrap();
    let (_, address) = listener.accept().unwrap();
    assert_eq!(address, visitor.local_addr().unwrap());
    outcome
}

const NO_NETWORK: &str = "there is no network in the sandbox; call a tool of an MCP server \
                          instead (search_tools finds one)";
const NO_PROCESSES: &str = "there are no processes in the sandbox; do it in Python, or call a \
                            tool of an MCP server";
const NO_THREADS: &str = "there are no threads in the sandbox; use asyncio.gather, \
                          asyncio.TaskGroup or asyncio.to_thread";

#[tokio::test]
async fn a_file_of_the_host_does_not_exist_by_any_way_of_opening_it() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for path in ["/etc/passwd", manifest] {
        assert!(std::fs::exists(path).unwrap(), "the host has {path}");
        let source = format!(
            r#"
import io, os, pathlib, shutil
path = {path:?}
open("/tmp/own.txt", "w").write("mine")
result = {{
    "open": attempt(lambda: open(path).read()),
    "write": attempt(open, path, "r+"),
    "os.open": attempt(os.open, path, os.O_RDONLY),
    "pathlib": attempt(lambda: pathlib.Path(path).read_text()),
    "open_code": attempt(io.open_code, path),
    "stat": attempt(os.stat, path),
    "copy": attempt(shutil.copy, path, "/tmp/copy"),
    "remove": attempt(os.remove, path),
    "own": [open("/tmp/own.txt").read(), os.read(os.open("/tmp/own.txt", os.O_RDONLY), 9).decode(),
            pathlib.Path("/tmp/own.txt").read_text(), io.open_code("/tmp/own.txt").read().decode()],
}}
"#
        );
        let refused = format!("FileNotFoundError: [Errno 44] No such file or directory: '{path}'");
        assert_eq!(
            *value(&run(&attempting(&source)).await),
            json!({
                "open": refused, "write": refused, "os.open": refused, "pathlib": refused,
                "open_code": refused, "stat": refused, "copy": refused, "remove": refused,
                "own": ["mine", "mine", "mine", "mine"],
            })
        );
        assert!(std::fs::exists(path).unwrap(), "{path} is still there");
    }
}

#[tokio::test]
async fn a_file_of_the_host_is_not_reached_by_a_relative_path() {
    let source = r#"
import os
open("/tmp/own.txt", "w").write("mine")
os.chdir("/tmp")
result = [attempt(open, "../" * n + "etc/passwd") for n in range(1, 8)]
result.append(attempt(open, "/tmp/../../../etc/passwd"))
result.append(open("../tmp/./own.txt").read())
"#;
    let outcome = run(&attempting(source)).await;
    let (own, refusals) = value(&outcome).as_array().unwrap().split_last().unwrap();
    assert_eq!(own, "mine");
    assert_eq!(refusals.len(), 8);
    for refusal in refusals {
        let refusal = refusal.as_str().unwrap();
        assert!(refusal.starts_with("FileNotFoundError: [Errno 44]"), "{refusal}");
    }
}

#[tokio::test]
async fn the_root_lists_nothing_of_the_host() {
    let source = r#"
import os
missing = [attempt(os.listdir, path) for path in ("/etc", "/proc", "/dev", "/home", "/root", "/python", "/0")]
os.mkdir("/tmp/own")
result = {"/": sorted(os.listdir("/")), "missing": missing, "tmp": os.listdir("/tmp"),
          "walk": sorted(path for path, _, _ in os.walk("/"))}
"#;
    let missing = ["/etc", "/proc", "/dev", "/home", "/root", "/python", "/0"]
        .map(|path| format!("FileNotFoundError: [Errno 44] No such file or directory: '{path}'"));
    let expected = json!({
        "/": ["tmp"], "missing": missing, "tmp": ["own"], "walk": ["/", "/tmp", "/tmp/own"],
    });
    assert_eq!(*value(&run(&attempting(source)).await), expected);
    // With a workspace there is one folder more, and that is all.
    let workspace = tempfile::tempdir().unwrap();
    let outcome = run_in(workspace.path(), "import os\nresult = sorted(os.listdir('/'))").await;
    assert_eq!(*value(&outcome), json!(["tmp", "workspace"]));
}

#[tokio::test]
async fn the_environment_of_the_host_is_not_visible() {
    let secret = std::env::var("CARGO_MANIFEST_DIR").expect("the test has an environment");
    assert!(std::env::var("PATH").is_ok());
    let source = r#"
import os, posix
os.environ["OWN"] = "mine"
result = {
    "of the host": sorted(name for name in os.environ if name not in ("LANG", "TZ", "HOME", "TMPDIR", "OWN")),
    "posix": sorted(name.decode() for name in posix.environ if name not in (b"LANG", b"TZ", b"HOME", b"TMPDIR", b"OWN")),
    "getenv": [os.getenv(name) for name in ("PATH", "USER", "CARGO_MANIFEST_DIR", "CARGO_HOME")],
    "values": "\n".join(os.environ.values()),
    "own": os.getenv("OWN"),
}
"#;
    let outcome = run(source).await;
    let found = value(&outcome);
    assert_eq!(found["of the host"], json!([]));
    assert_eq!(found["posix"], json!([]));
    assert_eq!(found["getenv"], json!([null, null, null, null]));
    assert!(!found["values"].as_str().unwrap().contains(&secret));
    assert_eq!(found["own"], "mine");
}

#[tokio::test]
async fn a_socket_of_python_does_not_connect() {
    let source = r#"
import io, socket
result = [attempt(lambda: socket.socket().connect(("127.0.0.1", PORT))),
          attempt(socket.create_connection, ("127.0.0.1", PORT)),
          attempt(socket.create_server, ("127.0.0.1", 0)),
          attempt(socket.socketpair),
          socket.inet_ntoa(socket.inet_aton("127.0.0.1"))]
"#;
    let refused = format!("OSError: {NO_NETWORK}");
    let outcome = run_beside_a_listener(source).await;
    // The module itself is there: what needs no network works.
    let expected = json!([refused, refused, refused, refused, "127.0.0.1"]);
    assert_eq!(*value(&outcome), expected);
}

/// Below Python's own refusal, the host refuses too.
#[tokio::test]
async fn a_raw_socket_is_denied_by_the_host() {
    let source = r#"
import _socket, socket
kinds = [(_socket.AF_INET, _socket.SOCK_STREAM), (_socket.AF_INET, _socket.SOCK_DGRAM),
         (_socket.AF_INET6, _socket.SOCK_STREAM), (_socket.AF_INET6, _socket.SOCK_DGRAM)]
def connect(kind):
    _socket.socket(*kind, 0).connect(("127.0.0.1", PORT))
result = [attempt(connect, kind) for kind in kinds]
base = socket.socket.__mro__[1]
result.append(attempt(lambda: base(_socket.AF_INET, _socket.SOCK_STREAM).connect(("127.0.0.1", PORT))))
result.append(_socket.htons(1))
"#;
    let refused = "PermissionError: [Errno 2] Permission denied";
    let outcome = run_beside_a_listener(source).await;
    assert_eq!(*value(&outcome), json!([refused, refused, refused, refused, refused, 256]));
}

#[tokio::test]
async fn an_url_is_not_fetched() {
    let source = r#"
import http.client, urllib.parse, urllib.request
url = f"http://127.0.0.1:{PORT}/"
open("/tmp/page", "w").write("mine")
result = [attempt(urllib.request.urlopen, url),
          attempt(lambda: http.client.HTTPConnection("127.0.0.1", PORT).request("GET", "/")),
          attempt(urllib.request.urlopen, "file:///etc/passwd"),
          urllib.request.urlopen("data:,mine").read().decode(),
          urllib.parse.urlsplit(url).port == PORT]
"#;
    let outcome = run_beside_a_listener(source).await;
    let expected = json!([
        format!("URLError: <urlopen error {NO_NETWORK}>"),
        format!("OSError: {NO_NETWORK}"),
        "URLError: <urlopen error [Errno 44] No such file or directory: '/etc/passwd'>",
        "mine",
        true,
    ]);
    assert_eq!(*value(&outcome), expected);
}

#[tokio::test]
async fn asyncio_neither_connects_nor_listens() {
    let source = r#"
import asyncio
async def caught(awaitable):
    try:
        return ["allowed", repr(await awaitable)]
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
loop = asyncio.get_running_loop()
result = [await caught(asyncio.open_connection("127.0.0.1", PORT)),
          await caught(asyncio.start_server(print, "127.0.0.1", 0)),
          await caught(loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=("127.0.0.1", PORT))),
          await caught(loop.getaddrinfo("localhost", PORT)),
          await caught(asyncio.sleep(0, "mine"))]
"#;
    let outcome = run_beside_a_listener(source).await;
    let refused = format!("OSError: {NO_NETWORK}");
    let expected = json!([refused, refused, refused, refused, ["allowed", "'mine'"]]);
    assert_eq!(*value(&outcome), expected);
}

#[tokio::test]
async fn a_name_is_not_looked_up() {
    let source = r#"
import _socket, socket
result = {
    "python": [attempt(socket.getaddrinfo, "localhost", PORT), attempt(socket.gethostbyname, "localhost")],
    "raw": [attempt(_socket.getaddrinfo, "localhost", PORT), attempt(_socket.gethostbyname, "localhost")],
    "own": socket.inet_pton(socket.AF_INET6, "::1")[-1],
}
"#;
    let outcome = run_beside_a_listener(source).await;
    let python = format!("OSError: {NO_NETWORK}");
    let raw = "gaierror: [Errno -4] Non-recoverable error";
    let expected = json!({ "python": [python, python], "raw": [raw, raw], "own": 1 });
    assert_eq!(*value(&outcome), expected);
}

#[tokio::test]
async fn no_process_is_started() {
    let target = tempfile::tempdir().unwrap();
    let mark = target.path().join("mark");
    let mark = mark.to_str().unwrap();
    let touch = format!("touch {mark}");
    let source = format!(
        r#"
import asyncio, os, subprocess
command = {touch:?}
async def spawn():
    return await asyncio.create_subprocess_shell(command)
result = {{
    "run": attempt(subprocess.run, command, shell=True),
    "check_output": attempt(subprocess.check_output, command.split()),
    "Popen": attempt(subprocess.Popen, command.split()),
    "system": attempt(os.system, command),
    "popen": attempt(os.popen, command),
    "fork": attempt(os.fork),
    "asyncio": attempt(asyncio.run, spawn()),
    "absent": [name for name in ("posix_spawn", "posix_spawnp", "execv", "execve", "forkpty")
               if name in dir(__import__("posix"))],
    "own": [os.getpid() > 0, subprocess.list2cmdline(["a", "b c"])],
}}
"#
    );
    let refused = format!("OSError: {NO_PROCESSES}");
    let outcome = run(&attempting(&source)).await;
    assert_eq!(
        *value(&outcome),
        json!({
            "run": refused, "check_output": refused, "Popen": refused, "system": refused,
            "popen": refused, "fork": refused, "asyncio": refused,
            "absent": [], "own": [true, "a \"b c\""],
        })
    );
    assert!(!std::fs::exists(mark).unwrap());
    // The command itself is one that works here.
    let status = std::process::Command::new("sh").args(["-c", &touch]).status().unwrap();
    assert!(status.success() && std::fs::exists(mark).unwrap());
}

#[tokio::test]
async fn no_process_is_signalled() {
    // A process that is there to be signalled, and that would not survive it.
    let mut bystander = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let source = format!(
        r#"
import os, signal
result = [attempt(os.kill, {bystander}, signal.SIGKILL), attempt(os.kill, {this}, signal.SIGKILL),
          hasattr(os, "killpg"), hasattr(signal, "alarm"), hasattr(signal, "pthread_kill")]
seen = []
signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
signal.raise_signal(signal.SIGINT)
result.append(seen)
"#,
        bystander = bystander.id(),
        this = std::process::id(),
    );
    let outcome = run(&attempting(&source)).await;
    let refused = format!("OSError: {NO_PROCESSES}");
    // A program can still signal itself, as a test of its own handler does.
    assert_eq!(*value(&outcome), json!([refused, refused, false, false, false, [2]]));
    assert!(bystander.try_wait().unwrap().is_none(), "it was ended");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

/// A deadly signal to itself ends the program and nothing else.
#[tokio::test]
async fn a_signal_to_itself_ends_only_the_program() {
    for signal in ["SIGTERM", "SIGSEGV", "SIGABRT"] {
        let outcome = run(&format!("import signal\nsignal.raise_signal(signal.{signal})")).await;
        assert_eq!(failure(&outcome).kind, "Aborted", "{signal}");
        assert!(outcome.limit().is_none());
    }
    assert_eq!(*value(&run("1 + 1").await), json!(2));
}

#[tokio::test]
async fn no_thread_is_started() {
    let source = r#"
import _thread, asyncio, concurrent.futures, threading
ran = []
def pool():
    with concurrent.futures.ThreadPoolExecutor() as executor:
        return executor.submit(ran.append, 1).result()
result = [attempt(threading.Thread(target=ran.append, args=(1,)).start),
          attempt(_thread.start_new_thread, ran.append, (1,)),
          attempt(_thread.start_joinable_thread, lambda: ran.append(1)),
          attempt(threading.Timer(0, ran.append, (1,)).start),
          attempt(pool), ran, threading.active_count(),
          await asyncio.to_thread(lambda: "mine")]
"#;
    let outcome = run(&attempting(source)).await;
    let refused = format!("RuntimeError: {NO_THREADS}");
    let expected = json!([refused, refused, refused, refused, refused, [], 1, "mine"]);
    assert_eq!(*value(&outcome), expected);
}

#[tokio::test]
async fn there_is_no_native_code_to_call() {
    let source = r#"
import importlib, struct
def load(name):
    return importlib.import_module(name)
open("/tmp/native.so", "wb").write(b"\x7fELF")
import sys
sys.path.insert(0, "/tmp")
result = [attempt(load, name) for name in ("ctypes", "_ctypes", "mmap", "native")]
result.append(hasattr(__import__("_imp"), "create_dynamic"))
result.append(struct.pack("<I", 7).hex())
"#;
    let refused = |name| {
        format!(
            "ModuleNotFoundError: No module named '{name}': there is no native code in the \
             sandbox; use the standard library, or a tool of an MCP server"
        )
    };
    let outcome = run(&attempting(source)).await;
    let found = value(&outcome);
    for (place, name) in ["ctypes", "_ctypes", "mmap"].into_iter().enumerate() {
        assert_eq!(found[place], refused(name));
    }
    let native = found[3].as_str().expect("a shared library was loaded");
    assert!(native.starts_with("ModuleNotFoundError: ") || native.starts_with("ImportError: "));
    assert_eq!(found[5], "07000000");
}

/// The snapshot is the memory of an interpreter that ran on the building machine.
#[tokio::test]
async fn nothing_of_the_building_machine_is_in_the_settings_of_the_guest() {
    let source = r#"
import getpass, os, platform, site, socket, sys, sysconfig
names = {
    "path": sys.path, "prefix": [sys.prefix, sys.exec_prefix, sys.base_prefix], "executable": sys.executable,
    "argv": [sys.argv, sys.orig_argv], "site": [str(site.PREFIXES), str(site.USER_BASE), str(site.USER_SITE)],
    "sysconfig": [str(sysconfig.get_paths()), str(sysconfig.get_config_vars())],
    "node": [platform.node(), socket.gethostname(), os.uname().nodename], "platform": platform.platform(),
    "home": os.path.expanduser("~"), "cwd": os.getcwd(), "version": sys.version,
    "cache": list(sys.path_importer_cache), "files": sorted({str(getattr(m, "__file__", "")) for m in sys.modules.values()}),
}
result = {"all": repr(names), "user": attempt(getpass.getuser), "node": names["node"], "path": sys.path, "prefix": sys.prefix}
"#;
    let outcome = run(&attempting(source)).await;
    let found = value(&outcome);
    assert_eq!(found["node"], json!(["(none)", "(none)", "(none)"]));
    assert_eq!(found["path"], json!(["/workspace"]));
    assert_eq!(found["prefix"], "/python");
    let user = found["user"].as_str().unwrap();
    assert!(user.starts_with("OSError: "), "{user}");
    let all = found["all"].as_str().unwrap();
    for secret in secrets_of_the_builder() {
        assert!(!all.contains(&secret), "{secret:?} is visible");
    }
}

/// Values of this machine that are long enough not to stand anywhere by chance.
fn secrets_of_the_builder() -> Vec<String> {
    let variables = ["CARGO_MANIFEST_DIR", "CARGO_HOME", "HOME", "PATH", "HOSTNAME"];
    let values = variables.iter().filter_map(|name| std::env::var(name).ok());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut secrets: Vec<String> = values.chain([host.trim().to_owned()]).collect();
    secrets.push(env!("CARGO_MANIFEST_DIR").into());
    secrets.push(".cargo/registry/src".into());
    secrets.retain(|secret| secret.len() > 7);
    secrets
}

/// The program gets the texts backwards, so that its own source is not what it finds.
#[tokio::test]
async fn no_object_of_the_guest_names_the_building_machine() {
    let backwards = |text: &String| text.chars().rev().collect::<String>();
    let secrets: Vec<String> = secrets_of_the_builder().iter().map(backwards).collect();
    assert!(secrets.len() >= 3);
    let source = format!(
        r#"
import gc, json.decoder, sys, types
needles = [text[::-1] for text in {secrets:?}]
needles.append("lortnoc 8261"[::-1])
json.decoder.control = types.SimpleNamespace(inner=[{{"deep": (needles[-1] + " here")}}])
CODE = ("co_consts", "co_names", "co_varnames", "co_filename", "co_name", "co_qualname")
seen, waiting, found, texts = set(), [sys.modules, *gc.get_objects()], set(), 0
mine = {{id(needles), id(seen), id(waiting), id(found)}} | {{id(needle) for needle in needles}}
while waiting:
    item = waiting.pop()
    if id(item) in seen or id(item) in mine:
        continue
    seen.add(id(item))
    kind = type(item)
    if kind is str or kind is bytes:
        texts += 1
        text = item if kind is str else item.decode("latin-1")
        found.update(place for place, needle in enumerate(needles) if needle in text)
    elif kind is types.CodeType:
        waiting.extend(getattr(item, name) for name in CODE)
    elif kind is not types.FrameType and item is not globals():
        waiting.extend(gc.get_referents(item))
result = [sorted(found), texts > 50_000]
"#
    );
    let limits = Limits::default();
    let options = RunOptions { limits, workspace: None, ..RunOptions::default() };
    let outcome = run_with(&source, &TestHost::new(), options).await;
    // Only the control, which is hidden as deep as anything: so the walk finds what is there.
    assert_eq!(*value(&outcome), json!([[secrets.len()], true]));
}

#[tokio::test]
async fn functions_of_the_library_do_not_name_files_of_the_host() {
    let source = r#"
import sys, types
prefixes, wrong = set(), []
for module in list(sys.modules.values()):
    for thing in list(vars(module).values()):
        if isinstance(thing, types.FunctionType):
            name = thing.__code__.co_filename
            if name.startswith("/"):
                prefixes.add("/" + name.split("/")[1] + "/")
            elif not name.startswith("<"):
                wrong.append(name)
result = [sorted(prefixes), sorted(set(wrong))[:5]]
"#;
    let outcome = run(source).await;
    let found = value(&outcome);
    let prefixes: Vec<&str> =
        found[0].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(prefixes.contains(&"/python/"), "{prefixes:?}");
    let guest = ["/python/", "/0/", "/world/", "/bundled/"];
    assert!(prefixes.iter().all(|prefix| guest.contains(prefix)), "{prefixes:?}");
    // Names without a folder are those of code that was never in a file.
    let others = found[1].as_array().unwrap();
    assert!(others.iter().all(|name| !name.as_str().unwrap().contains('/')), "{others:?}");
}

#[tokio::test]
async fn standard_input_of_the_host_is_not_read() {
    let source = r#"
import os, sys
result = [attempt(input), attempt(sys.stdin.read), attempt(os.read, 0, 10), attempt(os.isatty, 0)]
print("out")
"#;
    let outcome = run(&attempting(source)).await;
    let expected = json!([
        "EOFError: EOF when reading a line",
        ["allowed", "''"],
        ["allowed", "b''"],
        ["allowed", "False"],
    ]);
    assert_eq!(*value(&outcome), expected);
    assert_eq!(outcome.stdout, "out\n");
}
