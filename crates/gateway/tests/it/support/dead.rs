//! A gateway in front of servers that misbehave, and a client that decides when what is sent.

use std::{
    collections::VecDeque,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio},
    sync::{
        OnceLock,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{MAX_PROGRAM_TIME, PATIENCE};

const MISBEHAVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/misbehave.py");

/// The interpreter itself: what `python3` names may be a script that takes its time.
fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let mut command = Command::new("python3");
        command.args(["-c", "import sys; print(sys.executable)"]);
        let output = command.output().expect("these tests need python3");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}

/// Asks again and again until there is something, and fails with `what` if there never is.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < end, "waited {} s for: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Directories and a configuration of their own.
pub(crate) struct Place {
    dir: TempDir,
    config: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), config: String::new() }
    }

    /// With one server that works, `good`.
    pub(crate) fn with_good() -> Self {
        Self::new().server("good", "good", "")
    }

    /// Adds a server that behaves as `mode` says. It notes its process ids.
    pub(crate) fn server(self, name: &str, mode: &str, settings: &str) -> Self {
        let mut args = vec![MISBEHAVE];
        args.extend(mode.split(' '));
        let pids = self.pid_file(name);
        let env = format!(
            "env = {{ NARROWS_TEST_PIDS = {pids:?}, NARROWS_TEST_BEGUN = {:?}, \
             NARROWS_TEST_CANCELLED = {:?} }}\n{settings}",
            self.file(&format!("{name}.begun")),
            self.file(&format!("{name}.cancelled"))
        );
        self.command(name, python(), &args, &env)
    }

    /// Adds a server that works, and starts when this shell command has ended.
    pub(crate) fn server_after(self, name: &str, command: &str) -> Self {
        let script = format!("{command}; exec {} {MISBEHAVE} good", python());
        self.command(name, "sh", &["-c", &script], "")
    }

    /// Adds a server that is this Python program.
    pub(crate) fn program(self, name: &str, source: &str, args: &[&str], settings: &str) -> Self {
        let path = self.file(&format!("{name}.py"));
        fs::write(&path, source).unwrap();
        let all: Vec<&str> =
            std::iter::once(path.to_str().unwrap()).chain(args.iter().copied()).collect();
        self.command(name, python(), &all, settings)
    }

    /// Adds a server. Where the settings do not say otherwise, it may be slow to start and to
    /// answer.
    pub(crate) fn command(self, name: &str, command: &str, args: &[&str], settings: &str) -> Self {
        let mut table =
            format!("[servers.{name}]\ncommand = {command:?}\nargs = {args:?}\n{settings}\n");
        for key in ["start_timeout", "call_timeout"] {
            if !settings.contains(key) {
                table += &format!("{key} = {}\n", PATIENCE.as_secs());
            }
        }
        self.toml(&table)
    }

    pub(crate) fn toml(mut self, text: &str) -> Self {
        self.config += text;
        fs::write(self.file("narrows.toml"), &self.config).unwrap();
        self
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn pid_file(&self, name: &str) -> PathBuf {
        self.file(&format!("{name}.pids"))
    }

    /// The processes that a server has started so far, in their order.
    pub(crate) fn pids(&self, name: &str) -> Vec<u32> {
        let text = fs::read_to_string(self.pid_file(name)).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// Waits until a server has started so many processes.
    pub(crate) fn wait_for_pids(&self, name: &str, count: usize) -> Vec<u32> {
        until(&format!("{count} processes of {name}"), || {
            Some(self.pids(name)).filter(|pids| pids.len() >= count)
        })
    }

    /// Whether a process has this place in its environment: its number may have been used again.
    fn is_of_here(&self, pid: &str) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let here = self.dir.path().as_os_str().as_encoded_bytes();
        environment.windows(here.len()).any(|part| part == here)
    }

    /// How many calls of `slow` a server has begun.
    pub(crate) fn begun(&self, name: &str) -> usize {
        self.lines(&format!("{name}.begun"))
    }

    /// How many calls of `slow` a server was told to cancel.
    pub(crate) fn cancelled(&self, name: &str) -> usize {
        self.lines(&format!("{name}.cancelled"))
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.file(name)).unwrap_or_default().lines().count()
    }

    pub(crate) fn narrows(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        command
            .arg("--config")
            .arg(self.file("narrows.toml"))
            .args(args)
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path())
            .env("NARROWS_CONFIG_DIR", self.file("config"))
            .env("NARROWS_DATA_DIR", self.file("data"))
            .env("NARROWS_CACHE_DIR", self.file("cache"))
            .env_remove("NARROWS_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The same for a user whose new files are open to others, as far as this umask lets them.
    pub(crate) fn narrows_with_umask(&self, umask: &str, args: &[&str]) -> Command {
        self.narrows_after(&format!("umask {umask}"), args)
    }

    /// The same, started by a shell that does something before, such as setting limits.
    pub(crate) fn narrows_after(&self, before: &str, args: &[&str]) -> Command {
        let narrows = self.narrows(args);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{before} && exec \"$@\""), "sh"])
            .arg(narrows.get_program())
            .args(narrows.get_args())
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in narrows.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.narrows(args).output().unwrap()
    }

    /// `narrows servers status --json`, whatever it says.
    pub(crate) fn status(&self) -> Value {
        let output = self.run(&["servers", "status", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// The last error of a server, as the status that was asked for tells it of the gateway.
    /// It starts all servers a second time, which shows in their process ids.
    pub(crate) fn last_error_in_gateway(&self, server: &str) -> String {
        until(&format!("the last error of {server} in the status"), || {
            let status = self.status();
            let gateway = &status["gateways"][0]["servers"];
            let found = gateway.as_array()?.iter().find(|entry| entry["server"] == server)?;
            found["last_error"].as_str().map(str::to_owned)
        })
    }

    pub(crate) fn gateway(&self) -> Gateway {
        Gateway::start(self.narrows(&["serve"]))
    }

    /// A gateway whose client speaks the older protocol and has been welcomed.
    pub(crate) fn legacy(&self) -> Gateway {
        let mut gateway = self.gateway();
        gateway.initialize();
        gateway
    }

    /// A gateway whose client speaks the newer protocol.
    pub(crate) fn modern(&self) -> Gateway {
        let mut gateway = self.gateway();
        gateway.discover();
        gateway
    }
}

/// Whatever a server has left, should Narrows have failed to end it.
impl Drop for Place {
    fn drop(&mut self) {
        let files = fs::read_dir(self.dir.path()).into_iter().flatten().flatten();
        for path in files.map(|entry| entry.path()) {
            let notes = path.extension().is_some_and(|extension| extension == "pids");
            let text = notes.then(|| fs::read_to_string(&path).unwrap_or_default());
            let left = text.iter().flat_map(|text| text.lines()).filter(|pid| self.is_of_here(pid));
            for pid in left {
                let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
            }
        }
    }
}

/// `narrows serve` and its client. Killed when dropped.
pub(crate) struct Gateway {
    process: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    stderr: Option<std::thread::JoinHandle<String>>,
    /// Messages that came while another was waited for.
    early: VecDeque<Value>,
    /// What the newer protocol wants in every request.
    meta: Option<Value>,
    requests: u64,
}

impl Gateway {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let mut errors = process.stderr.take().unwrap();
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // Whatever is no message on this stream is the client's problem: show it.
                let message = serde_json::from_str(&line).unwrap_or(json!({ "noise": line }));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = errors.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self {
            stdin: process.stdin.take(),
            process,
            messages,
            stderr: Some(stderr),
            early: VecDeque::new(),
            meta: None,
            requests: 0,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn initialize(&mut self) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let answer = self.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    pub(crate) fn discover(&mut self) -> Value {
        self.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "info",
        }));
        let answer = self.ask("server/discover", json!({}));
        let versions = &answer["result"]["supportedVersions"];
        assert!(versions.as_array().unwrap().contains(&json!("2026-07-28")), "{answer}");
        answer
    }

    pub(crate) fn send_line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes());
    }

    /// Sends a request and waits for nothing.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.requests += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.wait(&format!("the answer to request {id}"), |message| {
            message["id"] == id && message["method"].is_null()
        })
    }

    pub(crate) fn notification(&mut self, method: &str) -> Value {
        self.wait(method, |message| message["method"] == method)
    }

    /// Takes the first message that fits; the others stay for later.
    pub(crate) fn wait(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        if let Some(place) = self.early.iter().position(&fits) {
            return self.early.remove(place).unwrap();
        }
        loop {
            match self.messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) if fits(&message) => return message,
                Ok(message) => self.early.push_back(message),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("nothing came that is {what}; there was {:?}", self.early)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the gateway ended before {what}; there was {:?}", self.early)
                }
            }
        }
    }

    /// Whether a message that fits has come already.
    pub(crate) fn has(&mut self, fits: impl Fn(&Value) -> bool) -> bool {
        self.early.extend(self.messages.try_iter());
        self.early.iter().any(fits)
    }

    pub(crate) fn has_answered(&mut self, id: u64) -> bool {
        self.has(|message| message["id"] == id && message["method"].is_null())
    }

    /// Forgets what has come so far.
    pub(crate) fn forget(&mut self) {
        while self.messages.try_recv().is_ok() {}
        self.early.clear();
    }

    /// The names of all tools, when a direct server's tool is among them: a list does not wait for
    /// a server that is slow to start.
    pub(crate) fn tool_names_with(&mut self, tool: &str) -> Vec<String> {
        until(&format!("the tool {tool} in the list"), || {
            Some(self.tool_names()).filter(|names| names.iter().any(|name| name == tool))
        })
    }

    pub(crate) fn tool_names(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Sends a program of a session and waits for nothing.
    pub(crate) fn start_in(&mut self, session: &str, code: &str) -> u64 {
        let seconds = MAX_PROGRAM_TIME.as_secs();
        let arguments = json!({ "code": code, "session_id": session, "timeout": seconds });
        self.request("tools/call", json!({ "name": "execute_code", "arguments": arguments }))
    }

    /// Kills the process, and gives what it had said.
    pub(crate) fn kill(mut self) -> Vec<Value> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.early.extend(self.messages.iter());
        std::mem::take(&mut self.early).into()
    }

    /// Sends a program and waits for nothing.
    pub(crate) fn start_code(&mut self, code: &str) -> u64 {
        let arguments = json!({ "code": code, "timeout": MAX_PROGRAM_TIME.as_secs() });
        self.request("tools/call", json!({ "name": "execute_code", "arguments": arguments }))
    }

    /// What a program printed. It must succeed.
    pub(crate) fn run(&mut self, code: &str) -> String {
        let id = self.start_code(code);
        self.output(id)
    }

    /// What a program printed, when it succeeds: a call within it may take longer than it may
    /// while the machine is busy.
    pub(crate) fn run_until_success(&mut self, code: &str) -> String {
        until("a program that succeeds", || {
            let id = self.start_code(code);
            let outcome = self.answer(id)["result"]["structuredContent"].take();
            let stdout = outcome["stdout"].as_str().unwrap_or_default().trim_end().to_owned();
            (outcome["success"] == true).then_some(stdout)
        })
    }

    pub(crate) fn output(&mut self, id: u64) -> String {
        let answer = self.answer(id);
        let outcome = &answer["result"]["structuredContent"];
        assert_eq!(outcome["success"], true, "{answer}");
        outcome["stdout"].as_str().unwrap_or_default().trim_end().to_owned()
    }

    /// Why a program failed. It must fail.
    pub(crate) fn failure(&mut self, code: &str) -> String {
        let id = self.start_code(code);
        let answer = self.answer(id);
        let outcome = &answer["result"]["structuredContent"];
        assert_eq!(outcome["success"], false, "{answer}");
        outcome["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin.take();
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(name, self.id());
    }

    /// Waits for its end. Also says what it wrote to its standard error.
    pub(crate) fn wait_for_end(&mut self) -> (ExitStatus, String) {
        let status = wait_for_end(&mut self.process);
        (status, self.stderr.take().unwrap().join().unwrap())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits for the end of a process of ours.
pub(crate) fn wait_for_end(process: &mut Child) -> ExitStatus {
    until("the end of the process", || process.try_wait().unwrap())
}

/// Sends a signal to one process.
pub(crate) fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(sent.unwrap().success(), "{process} is not there to get a {name}");
}

/// What the kernel says of a process.
#[derive(Debug)]
pub(crate) struct Stat {
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) group: u32,
}

impl Stat {
    pub(crate) fn of(process: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name is in parentheses and may have anything in it.
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
        })
    }
}

/// Whether a process runs. One that only waits to be buried does not.
pub(crate) fn is_running(process: u32) -> bool {
    Stat::of(process).is_some_and(|stat| stat.state != 'Z')
}

/// The processes that a process has started.
pub(crate) fn children(process: u32) -> Vec<(u32, Stat)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, Stat::of(id)?)))
        .filter(|(_, stat)| stat.parent == process)
        .collect()
}

/// How many files a process has open.
pub(crate) fn open_files(process: u32) -> usize {
    fs::read_dir(Path::new("/proc").join(process.to_string()).join("fd")).unwrap().count()
}

/// The most memory that a process ever had, in megabytes.
pub(crate) fn peak_memory(process: u32) -> u64 {
    status_megabytes(process, "VmHWM:")
}

/// The memory that a process has now, in megabytes.
pub(crate) fn memory(process: u32) -> u64 {
    status_megabytes(process, "VmRSS:")
}

fn status_megabytes(process: u32, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

// A server `bad` beside a server `good`.

pub(crate) const ECHO: &str = "from servers.good import echo\nprint(await echo(text='hello'))";

/// Calls a tool of the server `bad` and prints why it fails.
pub(crate) fn failing_call(tool: &str) -> String {
    format!("from servers import bad\nawait bad.{tool}")
}

/// The server that works answers.
pub(crate) fn assert_good_works(gateway: &mut Gateway) {
    assert_eq!(gateway.run(ECHO), "hello");
}

/// A failing call of `bad`, during which `good` answers. Says why it failed.
pub(crate) fn failure_beside_good(gateway: &mut Gateway, call: &str) -> String {
    let bad = gateway.start_code(&failing_call(call));
    assert_good_works(gateway);
    let answer = gateway.answer(bad);
    let outcome = &answer["result"]["structuredContent"];
    assert_eq!(outcome["success"], false, "{answer}");
    let message = outcome["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("\"bad\""), "the server is not named: {message}");
    message
}

pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}
