//! A user with a browser, a configuration of their own, and a server that wants a login.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread::JoinHandle,
    time::Instant,
};

use narrows_testkit::{Tools, repository};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{MAX_PROGRAM_TIME, PATIENCE};

/// Longer than anybody here waits: who is answered has not waited for the end of it.
pub(crate) const ENDLESS_SECONDS: u64 = 2 * PATIENCE.as_secs();

const CALL: &str = "from servers.guarded import whoami\nprint(await whoami())";
const CLIENT_SECRET: &str = "fake-client-secret";
const STATIC_KEY: &str = "fake-static-key";

pub(crate) struct World {
    directory: TempDir,
    port: u16,
}

impl World {
    /// None where the test tools are not installed. The setting is added to the server's section.
    pub(crate) fn new(setting: &str) -> Option<Self> {
        let port = new_server()?;
        let world = Self { directory: tempfile::tempdir().unwrap(), port };
        world.configure(&format!("url = \"{}\"\n{setting}", world.url()));
        Some(world)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The server for clients of the older transport.
    pub(crate) fn sse_url(&self) -> String {
        format!("http://127.0.0.1:{}/sse", self.port)
    }

    pub(crate) fn configure(&self, section: &str) {
        let text = format!("[servers.guarded]\n{section}\n");
        fs::write(self.directory.path().join("narrows.toml"), text).unwrap();
    }

    pub(crate) fn point_at(&self, other: &Self) {
        self.configure(&format!("url = \"{}\"", other.url()));
    }

    pub(crate) fn logins_dir(&self) -> PathBuf {
        self.directory.path().join("data/logins")
    }

    pub(crate) fn login_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.logins_dir()) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
    }

    /// Changes how the server behaves.
    pub(crate) fn control(&self, settings: Value) {
        let answer = http(self.port, "POST", "/control", "", &settings.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    fn record(&self) -> Value {
        serde_json::from_str(&http(self.port, "GET", "/control", "", "").body).unwrap()
    }

    /// How often the server was asked for something.
    pub(crate) fn asked(&self, what: &str) -> u64 {
        self.record()["asked"][what].as_u64().unwrap_or(0)
    }

    /// Where browsers were sent back to.
    pub(crate) fn redirects(&self) -> Vec<String> {
        serde_json::from_value(self.record()["redirects"].clone()).unwrap()
    }

    /// What scopes logins asked for.
    pub(crate) fn scopes(&self) -> Vec<Option<String>> {
        serde_json::from_value(self.record()["scopes"].clone()).unwrap()
    }

    pub(crate) fn wait_for(&self, what: &str, count: u64) {
        let deadline = Instant::now() + PATIENCE;
        while self.asked(what) < count {
            assert!(Instant::now() < deadline, "the server was not asked for {what}");
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let home = self.directory.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        command
            .args(["--config", "narrows.toml"])
            .args(arguments)
            .current_dir(home)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("NARROWS_CONFIG_DIR", home.join("config"))
            .env("NARROWS_DATA_DIR", home.join("data"))
            .env("NARROWS_CACHE_DIR", home.join("cache"))
            .env("NARROWS_LOG", "debug")
            .env("OAUTH_SECRET", CLIENT_SECRET)
            .env("STATIC_KEY", STATIC_KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    #[track_caller]
    pub(crate) fn narrows(&self, arguments: &[&str]) -> Said {
        Running::start(self.command(arguments)).end()
    }

    /// As `narrows`, without the environment variables that hold secrets.
    #[track_caller]
    pub(crate) fn call_without_secrets(&self) -> Said {
        let mut command = self.call_command();
        command.env_remove("OAUTH_SECRET").env_remove("STATIC_KEY");
        Running::start(command).end()
    }

    fn call_command(&self) -> Command {
        let seconds = MAX_PROGRAM_TIME.as_secs().to_string();
        self.command(&["run", "--timeout", &seconds, "-c", CALL])
    }

    pub(crate) fn begin_call(&self) -> Running {
        Running::start(self.call_command())
    }

    #[track_caller]
    pub(crate) fn call(&self) -> Said {
        self.begin_call().end()
    }

    /// A new process calls the tool of the server.
    #[track_caller]
    pub(crate) fn assert_calls(&self) {
        let call = self.call();
        assert_eq!((call.code, call.stdout.as_str()), (0, "ada\n"), "{call:?}");
    }

    #[track_caller]
    pub(crate) fn begin_login(&self) -> PendingLogin {
        let command = self.command(&["servers", "login", "guarded", "--no-browser"]);
        let running = Running::start(command);
        let start = format!("http://127.0.0.1:{}/as/authorize?", self.port);
        let line = running.wait_for_line(&start);
        let url = &line[line.find(&start).unwrap()..];
        PendingLogin { url: url.to_owned(), running }
    }

    #[track_caller]
    pub(crate) fn log_in(&self) {
        let login = self.begin_login();
        browse(&login.url);
        let login = login.end();
        assert_eq!(login.code, 0, "{login:?}");
    }
}

/// What a command said. Never a secret: that is checked wherever one ends.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

/// A process of ours. Killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    lines: Receiver<String>,
    stderr: Mutex<String>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().map(|mut stdout| {
            std::thread::spawn(move || {
                let mut text = String::new();
                stdout.read_to_string(&mut text).unwrap();
                text
            })
        });
        Self::watch(child, stdout)
    }

    fn watch(mut child: Child, stdout: Option<JoinHandle<String>>) -> Self {
        let lines = lines_of(child.stderr.take().unwrap());
        Self { child, stdout, lines, stderr: Mutex::default() }
    }

    /// The next line of standard error. None: it ended.
    #[track_caller]
    fn next_line(&self, deadline: Instant) -> Option<String> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok(line) => {
                let mut stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
                *stderr += &line;
                stderr.push('\n');
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("it stalls after: {:?}", self.stderr),
        }
    }

    #[track_caller]
    fn wait_for_line(&self, part: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.next_line(deadline);
            let line = line.unwrap_or_else(|| panic!("{part:?} is not in {:?}", self.stderr));
            if line.contains(part) {
                return line;
            }
        }
    }

    #[track_caller]
    pub(crate) fn end(mut self) -> Said {
        let deadline = Instant::now() + PATIENCE;
        while self.next_line(deadline).is_some() {}
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let stdout = self.stdout.take().map(|reader| reader.join().unwrap()).unwrap_or_default();
        let stderr = std::mem::take(&mut *self.stderr.lock().unwrap());
        let said = Said { code, stdout, stderr };
        assert!(!said.stdout.contains("fake-"), "a secret is on standard output: {said:?}");
        assert!(!said.stderr.contains("fake-"), "a secret is on standard error: {said:?}");
        said
    }
}

fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A login that waits for the browser.
pub(crate) struct PendingLogin {
    pub(crate) url: String,
    running: Running,
}

impl PendingLogin {
    /// The port that the browser is sent back to.
    pub(crate) fn callback_port(&self) -> u16 {
        let (_, rest) = self.url.split_once("redirect_uri=http%3A%2F%2F127.0.0.1%3A").unwrap();
        rest.split('%').next().unwrap().parse().unwrap()
    }

    /// What Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let id = self.running.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    #[track_caller]
    pub(crate) fn end(self) -> Said {
        self.running.end()
    }
}

/// `narrows serve` with a client.
pub(crate) struct Gateway {
    running: Running,
    stdin: Option<ChildStdin>,
    answers: Receiver<String>,
    last_id: u64,
}

impl Gateway {
    pub(crate) fn start(world: &World) -> Self {
        Self::start_with_log(world, "debug")
    }

    pub(crate) fn start_with_log(world: &World, level: &str) -> Self {
        let mut command = world.command(&["serve"]);
        command.env("NARROWS_LOG", level).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let answers = lines_of(child.stdout.take().unwrap());
        let running = Running::watch(child, None);
        let mut gateway = Self { running, stdin, answers, last_id: 0 };
        gateway.request(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        gateway.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        gateway
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params);
        loop {
            let line = self.answers.recv_timeout(PATIENCE).expect("the gateway does not answer");
            assert!(!line.contains("fake-"), "a secret is in an answer: {line}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.last_id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Calls the tool and does not wait for the answer.
    #[must_use]
    pub(crate) fn begin_call(mut self) -> Self {
        self.ask("tools/call", execute(CALL));
        self
    }

    /// The answer to a program that calls the tool.
    pub(crate) fn call(&mut self) -> String {
        self.run(CALL)
    }

    pub(crate) fn run(&mut self, code: &str) -> String {
        self.request("tools/call", execute(code)).to_string()
    }

    #[track_caller]
    pub(crate) fn assert_calls(&mut self) {
        let answer = self.call();
        assert!(answer.contains("ada"), "{answer}");
    }

    /// Ends it, and returns its log.
    pub(crate) fn end(mut self) -> String {
        drop(self.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while self.running.next_line(deadline).is_some() {}
        std::mem::take(&mut *self.running.stderr.lock().unwrap())
    }
}

/// What runs a program.
fn execute(code: &str) -> Value {
    let arguments = json!({ "code": code, "timeout": MAX_PROGRAM_TIME.as_secs() });
    json!({ "name": "execute_code", "arguments": arguments })
}

/// Does what a browser does: follows where it is sent. The last page.
#[track_caller]
pub(crate) fn browse(url: &str) -> String {
    browse_with(url, "")
}

/// The same with more headers, each with its end of line.
#[track_caller]
pub(crate) fn browse_with(url: &str, headers: &str) -> String {
    let mut url = url.to_owned();
    for _ in 0..5 {
        let rest = url.strip_prefix("http://127.0.0.1:").unwrap();
        let (port, path) = rest.split_once('/').unwrap();
        let answer = http(port.parse().unwrap(), "GET", &format!("/{path}"), headers, "");
        match answer.location {
            Some(location) => url = location,
            None => {
                assert_eq!(answer.status, 200, "{answer:?}");
                return answer.body;
            }
        }
    }
    panic!("it was sent on and on, to {url}");
}

#[derive(Debug)]
struct Answer {
    status: u16,
    location: Option<String>,
    body: String,
}

fn http(port: u16, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    // In one piece, as browsers do it.
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         {headers}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    let read = stream.read_to_string(&mut text);
    assert!(read.is_ok(), "no answer from port {port}: {read:?}");
    let _ = stream.shutdown(Shutdown::Both);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.to_owned())
    });
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, location, body: body.to_owned() }
}

/// One process for all servers of this test run. It ends with its input, and so with us.
struct Servers {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    _child: Child,
}

fn new_server() -> Option<u16> {
    static SERVERS: OnceLock<Mutex<Servers>> = OnceLock::new();
    // Each time, so that each test that is skipped says so.
    let python = Tools::find()?.python();
    let servers = SERVERS.get_or_init(|| {
        let script = repository().join("tests/servers/oauth_server.py");
        let mut command = Command::new(python);
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Mutex::new(Servers { stdin, stdout, _child: child })
    });
    let mut servers = servers.lock().unwrap();
    servers.stdin.write_all(b"\n").unwrap();
    let mut line = String::new();
    servers.stdout.read_line(&mut line).unwrap();
    Some(line.trim().parse().unwrap_or_else(|_| panic!("the server did not start: {line:?}")))
}

pub(crate) const LOGIN_COMMAND: &str = "narrows servers login guarded";

/// Ends the test early where the test tools are not installed.
macro_rules! world {
    ($($setting:literal)?) => {
        match $crate::support::oauth::World::new(concat!($($setting)?)) {
            Some(world) => world,
            None => return,
        }
    };
}
pub(crate) use world;
