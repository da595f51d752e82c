//! Real servers and real clients: where they are installed, and how to start and end them.
#![allow(clippy::print_stderr)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Output, Stdio},
    sync::{Mutex, mpsc},
    time::{Duration, Instant},
};

use narrows_testkit::Tools;
pub(crate) use narrows_testkit::repository;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::MAX_PROGRAM_TIME;
pub(crate) use super::PATIENCE;

/// A user with a home, a configuration and the test tools.
pub(crate) struct Site {
    dir: TempDir,
    tools: PathBuf,
}

impl Site {
    pub(crate) fn new() -> Option<Self> {
        let tools = Tools::find()?.directory().to_owned();
        let dir = TempDir::new().unwrap();
        for name in ["home", "data", "cache", "config", "files"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let site = Self { dir, tools };
        site.configure("");
        Some(site)
    }

    /// With a server of each of these kinds; see [`Site::server`].
    pub(crate) fn with(kinds: &[&str]) -> Option<Self> {
        let site = Self::new()?;
        let servers: Vec<String> = kinds.iter().map(|kind| site.server(kind)).collect();
        site.configure(&servers.concat());
        Some(site)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A program of the test tools: `node/NAME`, `python/NAME`, or `python-mcp1/NAME` for those on the
    /// older SDK.
    pub(crate) fn tool(&self, name: &str) -> String {
        let path = match name.split_once('/') {
            Some(("node", name)) => self.tools.join("node_modules/.bin").join(name),
            Some(("python", name)) => self.tools.join("venv/bin").join(name),
            Some(("python-mcp1", name)) => self.tools.join("venv-mcp1/bin").join(name),
            _ => panic!("{name} is neither of Node nor of Python"),
        };
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.path("narrows.toml"), text).unwrap();
    }

    /// The table of a real server over stdio, under the name of its kind.
    pub(crate) fn server(&self, kind: &str) -> String {
        let fixture = repository().join("tests/fixture/server.py");
        let fixture = fixture.to_str().unwrap();
        let python = self.tool("python/python");
        match kind {
            "everything" => stdio(kind, &self.tool("node/mcp-server-everything"), &["stdio"]),
            "files" => {
                let dir = self.text("files");
                stdio(kind, &self.tool("node/mcp-server-filesystem"), &[&dir])
            }
            "memory" => {
                let server = stdio(kind, &self.tool("node/mcp-server-memory"), &[]);
                let file = self.text("memory.jsonl");
                format!("{server}env = {{ MEMORY_FILE_PATH = {} }}\n", json!(file))
            }
            "git" => {
                let arguments = ["--repository", &self.text("repository")];
                stdio(kind, &self.tool("python/mcp-server-git"), &arguments)
            }
            "time" => {
                let arguments = ["--local-timezone", "UTC"];
                stdio(kind, &self.tool("python/mcp-server-time"), &arguments)
            }
            "both" | "legacy" | "modern" => stdio(kind, &python, &[fixture, "--era", kind]),
            _ => panic!("there is no server {kind}"),
        }
    }

    /// A command that sees this site only.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let mut path = std::ffi::OsString::from(self.tools.join("node_modules/.bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command
            .env("PATH", path)
            .env("HOME", self.path("home"))
            .env("NARROWS_DATA_DIR", self.path("data"))
            .env("NARROWS_CACHE_DIR", self.path("cache"))
            .env("NARROWS_CONFIG_DIR", self.path("config"))
            .env("NARROWS_TEST_TOOLS", &self.tools)
            .env_remove("XDG_CONFIG_HOME")
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn narrows(&self) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_narrows"));
        command.arg("--config").arg(self.path("narrows.toml"));
        command
    }

    /// What `narrows` with these arguments says.
    pub(crate) fn says(&self, arguments: &[&str]) -> Output {
        self.narrows().args(arguments).output().unwrap()
    }

    /// The JSON that `narrows` prints with these arguments.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        document(&self.says(arguments))
    }

    /// The outcome of a program.
    #[track_caller]
    pub(crate) fn outcome(&self, code: &str) -> Value {
        self.outcome_with(&[], code)
    }

    /// The outcome of a program that is run with more options.
    #[track_caller]
    pub(crate) fn outcome_with(&self, options: &[&str], code: &str) -> Value {
        let seconds = MAX_PROGRAM_TIME.as_secs().to_string();
        let run = ["run", "--json", "--timeout", &seconds, "-c", code];
        self.json(&[&run[..], options].concat())
    }

    /// The result of a program, which must not fail.
    #[track_caller]
    pub(crate) fn run(&self, code: &str) -> Value {
        succeeded(self.outcome(code))
    }

    /// A client's script with its runtime.
    pub(crate) fn client(&self, script: &str) -> Command {
        let runtime = match script {
            "langchain_agent.py" => "python-mcp1/python",
            _ if script.ends_with(".py") => "python/python",
            _ => "node/node",
        };
        let mut command = self.command(&self.tool(runtime));
        command.arg(repository().join("tests/clients").join(script));
        command
    }

    /// The last arguments of a client: start a gateway over stdio.
    pub(crate) fn over_stdio(&self) -> Vec<String> {
        let config = self.text("narrows.toml");
        ["stdio", env!("CARGO_BIN_EXE_narrows"), "serve", "--config", &config]
            .map(str::to_owned)
            .into()
    }
}

/// The table of a server over stdio, which may be slow to start and to answer.
pub(crate) fn stdio(name: &str, command: &str, arguments: &[&str]) -> String {
    let seconds = PATIENCE.as_secs();
    // Strings of JSON are strings of TOML.
    format!(
        "[servers.{name}]\ncommand = {}\nargs = {}\n\
         start_timeout = {seconds}\ncall_timeout = {seconds}\n",
        json!(command),
        json!(arguments)
    )
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
pub(crate) fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}\n{}", text(&output.stdout), text(&output.stderr))
    })
}

#[track_caller]
pub(crate) fn succeeded(mut outcome: Value) -> Value {
    assert_eq!(outcome["success"], true, "{outcome:#}");
    outcome["result"].take()
}

/// What a client reports in its one line of JSON.
#[track_caller]
pub(crate) fn report(mut client: Command) -> Value {
    let output = client.output().unwrap();
    let said = text(&output.stderr);
    // Python tells the reason last.
    let last = said.lines().skip(said.lines().count().saturating_sub(12)).collect::<Vec<_>>();
    assert!(output.status.success(), "{}{}", text(&output.stdout), last.join("\n"));
    document(&output)
}

/// A process that does not outlive its test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Waits until it has ended, and fails when it takes longer.
    #[track_caller]
    pub(crate) fn ends_within(&mut self, limit: Duration) {
        let start = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < limit, "it still runs after {limit:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Asks again and again until there is an answer.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The server `everything` over HTTP, in its mode `streamableHttp` or `sse`.
pub(crate) struct Everything {
    pub(crate) url: String,
    _process: Running,
}

impl Everything {
    pub(crate) fn start(site: &Site, mode: &str) -> Self {
        // Another process may take the port in between: then it is tried again.
        for _ in 0..5 {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let mut command = site.command(&site.tool("node/mcp-server-everything"));
            command.arg(mode).env("PORT", port.to_string());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut process = Running(command.spawn().unwrap());
            let listens = wait_for("the server everything", || {
                if process.0.try_wait().unwrap().is_some() {
                    return Some(false);
                }
                TcpStream::connect(("127.0.0.1", port)).is_ok().then_some(true)
            });
            if listens {
                let path = if mode == "sse" { "sse" } else { "mcp" };
                return Self { url: format!("http://127.0.0.1:{port}/{path}"), _process: process };
            }
        }
        panic!("the server everything does not start in the mode {mode}");
    }
}

/// A gateway over HTTP.
pub(crate) struct HttpGateway {
    pub(crate) port: u16,
    pub(crate) key: Option<String>,
    pub(crate) data: PathBuf,
    /// What it wrote to standard error until it listened.
    pub(crate) started: Vec<String>,
    stderr: Mutex<mpsc::Receiver<String>>,
    process: Running,
    /// What a leased gateway lives by.
    _lease: Option<ChildStdin>,
}

/// Starts a process, and ends it and removes its files when standard input closes. So what all
/// tests of a binary share ends with the binary, however that ends.
const LEASE: &str =
    r#"dir=$1; shift; "$@" & pid=$!; read -r _; kill $pid; wait $pid; rm -rf "$dir""#;

impl HttpGateway {
    pub(crate) fn start(site: &Site) -> Self {
        let mut command = site.narrows();
        command.args(["serve", "--http", "127.0.0.1:0"]);
        Self::of(command, site.path("data"))
    }

    /// The gateway over HTTP that a command starts.
    pub(crate) fn of(mut command: Command, data: PathBuf) -> Self {
        Self::wait(Running(command.spawn().unwrap()), data)
    }

    /// Starts one by a shell that sets its limits before.
    pub(crate) fn start_after(site: &Site, limits: &str) -> Self {
        let mut command = site.command("sh");
        command.arg("-c").arg(format!("{limits}; exec \"$@\"")).arg("sh");
        command.arg(env!("CARGO_BIN_EXE_narrows")).arg("--config").arg(site.path("narrows.toml"));
        command.args(["serve", "--http", "127.0.0.1:0"]);
        Self::of(command, site.path("data"))
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.0.id()
    }

    /// One for all tests of this binary.
    pub(crate) fn lease(site: Site) -> Self {
        let mut command = site.command("sh");
        command.arg("-c").arg(LEASE).arg("sh").arg(site.dir.path());
        command.arg(env!("CARGO_BIN_EXE_narrows")).arg("--config").arg(site.path("narrows.toml"));
        command.args(["serve", "--http", "127.0.0.1:0"]).stdin(Stdio::piped());
        let process = Running(command.spawn().unwrap());
        let data = site.path("data");
        let _ = site.dir.keep();
        Self::wait(process, data)
    }

    fn wait(mut process: Running, data: PathBuf) -> Self {
        let lease = process.0.stdin.take();
        let stderr = lines(process.0.stderr.take().unwrap());
        let mut said = Vec::new();
        loop {
            let line = stderr.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{said:?}"));
            said.push(line);
            // In a note, or in a line of a log as JSON.
            let url = said.last().and_then(|line| line.split_once("http://127.0.0.1:"));
            if let Some((port, _)) = url.and_then(|(_, rest)| rest.split_once("/mcp")) {
                let port = port.parse().unwrap();
                // The key that was made, if one was, is in the next line.
                let key = std::fs::read_to_string(data.join("http-key")).ok();
                let key = key.map(|key| key.trim().to_owned());
                return Self {
                    port,
                    key,
                    data,
                    started: said,
                    stderr: Mutex::new(stderr),
                    process,
                    _lease: lease,
                };
            }
        }
    }

    /// Waits until it knows the tools of all its servers. Lists and calls of direct tools wait some
    /// seconds only for a server of which nothing is known.
    pub(crate) fn wait_for_tools(&self, site: &Site) {
        wait_for("the tools of all servers", || {
            let status = site.json(&["servers", "status", "--json"]);
            let mut gateways = status["gateways"].as_array()?.iter();
            let this = gateways.find(|gateway| gateway["process_id"] == self.process.0.id())?;
            let mut servers = this["servers"].as_array()?.iter();
            servers.all(|server| server["tools"].is_number()).then_some(())
        });
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The last arguments of a client.
    pub(crate) fn over_http(&self) -> Vec<String> {
        let mut arguments = vec!["http".to_owned(), self.url()];
        arguments.extend(self.key.clone());
        arguments
    }

    /// Asks it to end, and gives what it wrote to standard error since it listens.
    pub(crate) fn end(mut self) -> Vec<String> {
        let id = self.process.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.process.ends_within(PATIENCE);
        self.stderr.into_inner().unwrap().iter().collect()
    }

    /// Opens a request, whose answer is still to be read.
    pub(crate) fn open(&self, headers: &[(&str, &str)], body: &Value) -> TcpStream {
        let body = body.to_string();
        let mut request = String::from("POST /mcp HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += "Content-Type: application/json\r\n";
        request += "Accept: application/json, text/event-stream\r\n";
        request += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The status line, the headers and the body of an answer.
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
        let mut stream = self.open(headers, body);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        let _ = stream.shutdown(Shutdown::Both);
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.unwrap_or_else(|| panic!("no HTTP: {answer:?}")), answer)
    }
}

/// The lines of a stream, read by a thread of its own.
pub(crate) fn lines(stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            // Read on when nobody listens, so that the process never waits for us.
            let _ = sender.send(line);
        }
    });
    receiver
}

/// A gateway over stdio, message by message: what no client library lets one see is their order.
pub(crate) struct Wire {
    stdin: Option<ChildStdin>,
    messages: mpsc::Receiver<String>,
    last_id: u64,
    pub(crate) process: Running,
}

impl Wire {
    pub(crate) fn start(site: &Site) -> Self {
        let mut command = site.narrows();
        command.arg("serve").stdin(Stdio::piped()).stderr(Stdio::null());
        let mut process = Running(command.spawn().unwrap());
        let messages = lines(process.0.stdout.take().unwrap());
        Self { stdin: process.0.stdin.take(), messages, last_id: 0, process }
    }

    /// As a client of the older protocol that answers questions of its own user.
    pub(crate) fn initialized(site: &Site) -> Self {
        let mut wire = Self::start(site);
        let answer = wire.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"elicitation": {}, "sampling": {}},
                "clientInfo": {"name": "wire", "version": "1"},
            }),
        );
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        wire
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request and gives its id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The next message that fits; those before it are given up.
    #[track_caller]
    pub(crate) fn next(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut others = Vec::new();
        loop {
            let Ok(line) = self.messages.recv_timeout(PATIENCE) else {
                panic!("no {what} came, but: {others:#?}")
            };
            let message: Value = serde_json::from_str(&line).unwrap();
            if fits(&message) {
                return message;
            }
            others.push(message);
        }
    }

    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.next("answer", |message| message["id"] == id && message.get("method").is_none())
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// The client leaves.
    pub(crate) fn leave(&mut self) {
        self.stdin = None;
    }
}

/// The sentence must say all of this.
#[track_caller]
pub(crate) fn says(sentence: &Value, parts: &[&str]) {
    let sentence = sentence.as_str().unwrap_or_else(|| panic!("{sentence} is no sentence"));
    for part in parts {
        assert!(sentence.contains(part), "{sentence:?} does not say {part:?}");
    }
}

/// What git says of a repository.
pub(crate) fn git(repository: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).args(["-c", "user.name=Tester"]);
    command.args(["-c", "user.email=tester@example.invalid", "-c", "commit.gpgsign=false"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}
