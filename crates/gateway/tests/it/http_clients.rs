//! Clients of one gateway over HTTP, who do not meet, and cannot make it deaf for each other.
#![cfg(unix)]

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{
    PATIENCE,
    real::{HttpGateway, Site, repository, says, stdio, wait_for},
};

const KEYS: &str = "keys = [\"the-first-key-of-two\", \"the-second-key-of-two\"]";
const UNKNOWN_SESSION: &str = "3f0c1a52-0000-4000-8000-000000000000";
const MODERN: &str = "2026-07-28";

/// Whoever shows a key to a gateway.
#[derive(Clone, Copy)]
struct Caller<'a> {
    gateway: &'a HttpGateway,
    key: &'static str,
}

/// An answer, or as much of it as was read.
#[derive(Debug)]
struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    fn parse(text: String) -> Self {
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
        Self { status: status.unwrap_or_else(|| panic!("no HTTP: {text:?}")), text }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.text.split("\r\n\r\n").next()?.lines();
        lines.find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// Everything but the time of day.
    fn lasting(&self) -> String {
        let lines = self.text.lines().filter(|line| !line.starts_with("date: "));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The last message of an event stream.
    fn message(&self) -> Value {
        let data = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages = data.filter_map(|data| serde_json::from_str(data).ok());
        messages.next_back().unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// Reads until the server has said all of this, one after the other, or closes.
fn read_until(stream: &mut TcpStream, parts: &[&str]) -> String {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    let is_said = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        parts
            .iter()
            .try_fold(0, |at, part| Some(at + text[at..].find(part)? + part.len()))
            .is_some()
    };
    while !is_said(&text) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => text.extend_from_slice(&piece[..length]),
        }
    }
    String::from_utf8(text).unwrap()
}

/// Waits until the server has closed a connection.
fn is_closed(mut stream: &TcpStream) {
    let mut rest = Vec::new();
    if let Err(error) = stream.read_to_end(&mut rest) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
}

fn connect(gateway: &HttpGateway) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn health(gateway: &HttpGateway) -> Answer {
    let mut stream = connect(gateway);
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    Answer::parse(text)
}

impl<'a> Caller<'a> {
    fn new(gateway: &'a HttpGateway, key: &'static str) -> Self {
        Self { gateway, key }
    }

    /// Sends a request of any kind, whose answer is still to be read.
    fn open(self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut request = format!("{method} /mcp HTTP/1.1\r\nConnection: close\r\n");
        let bearer = format!("Bearer {}", self.key);
        let host = format!("127.0.0.1:{}", self.gateway.port);
        let usual = [
            ("Host", host.as_str()),
            ("Authorization", &bearer),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
        ];
        for (name, value) in usual.iter().chain(headers) {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = connect(self.gateway);
        // It may be refused before all of it was sent.
        let _ = stream.write_all(request.as_bytes());
        stream
    }

    fn send(self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = String::new();
        let _ = self.open(method, headers, body).read_to_string(&mut text);
        Answer::parse(text)
    }

    fn initialize(self) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "raw", "version": "1"},
        }});
        self.send("POST", &[], &body.to_string())
    }

    /// A session that is ready for requests.
    #[track_caller]
    fn session(self) -> String {
        let answer = self.initialize();
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&session, &ready).status, 202);
        session
    }

    fn post(self, session: &str, message: &Value) -> Answer {
        self.send("POST", &[("mcp-session-id", session)], &message.to_string())
    }

    /// The event stream of a session, kept open.
    #[track_caller]
    fn listen(self, session: &str) -> TcpStream {
        let mut stream = self.open("GET", &[("mcp-session-id", session)], "");
        let head = read_until(&mut stream, &["\r\n\r\n"]);
        assert_eq!(Answer::parse(head).status, 200);
        stream
    }

    /// A call of the newer protocol, which has no sessions.
    fn call(self, tool: &str, extra: &Value) -> Value {
        let mut text = String::new();
        let _ = self.open_call(tool, extra).read_to_string(&mut text);
        let answer = Answer::parse(text);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.message()
    }

    /// Sends such a call, whose answer is still to be read.
    fn open_call(self, tool: &str, extra: &Value) -> TcpStream {
        let mut params = json!({"name": tool, "arguments": {"text": "called"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        }});
        for (name, value) in extra.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers =
            [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
        self.open("POST", &headers, &body.to_string())
    }
}

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
}

/// A server of which each call of `echo` needs a person.
fn asking_server() -> String {
    let script = repository().join("tests/servers/misbehave.py");
    let server = stdio("good", "python3", &[script.to_str().unwrap(), "good"]);
    let rule = "[[policy.rules]]\nname = \"ask\"\ntools = [\"good.echo\"]\naction = \"confirm\"\n";
    format!("{server}expose = \"both\"\n{rule}")
}

fn accept(asks: &Value) -> Value {
    let questions = asks["result"]["inputRequests"].as_object().unwrap();
    let answer = json!({"action": "accept", "content": {"allow": "once"}});
    let answers: serde_json::Map<_, _> =
        questions.keys().map(|key| (key.clone(), answer.clone())).collect();
    json!({"requestState": asks["result"]["requestState"], "inputResponses": answers})
}

// Whose it is.

#[test]
fn for_another_key_a_session_is_not_there() {
    let Some(site) = Site::new() else { return };
    let agent = "[agents.eve]\nkey = \"the-key-of-eve-alone\"\n";
    site.configure(&format!("[http]\n{KEYS}\n{agent}"));
    let gateway = HttpGateway::start(&site);
    let ours = Caller::new(&gateway, "the-first-key-of-two");
    let session = ours.session();
    let answer = json!({"jsonrpc": "2.0", "id": 0, "result": {"action": "accept"}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": 7}});
    for key in ["the-second-key-of-two", "the-key-of-eve-alone"] {
        let other = Caller::new(&gateway, key);
        let bodies =
            [list(), answer.clone(), cancel.clone()].map(|body| ("POST", body.to_string()));
        for (method, body) in
            bodies.into_iter().chain([("GET", String::new()), ("DELETE", String::new())])
        {
            let refused = other.send(method, &[("mcp-session-id", &session)], &body);
            let unknown = other.send(method, &[("mcp-session-id", UNKNOWN_SESSION)], &body);
            assert_eq!(refused.status, 404, "{method}: {refused:?}");
            assert_eq!(refused.lasting(), unknown.lasting(), "{method}");
        }
    }
    // For us it is, and all of that works.
    assert_eq!(ours.post(&session, &answer).status, 202);
    assert_eq!(ours.post(&session, &list()).message()["id"], 7);
    drop(ours.listen(&session));
    // Clients of the SDKs take 200 and 204 for an end, and warn of anything else.
    let of_session = [("mcp-session-id", session.as_str())];
    assert_eq!(ours.send("DELETE", &of_session, "").status, 204);
    assert_eq!(ours.post(&session, &list()).status, 404);
    for method in ["GET", "DELETE"] {
        assert_eq!(ours.send(method, &of_session, "").status, 404, "{method}");
    }
}

#[test]
fn a_question_is_answered_by_the_key_that_was_asked_and_lost_to_no_other() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n{}", asking_server()));
    let gateway = HttpGateway::start(&site);
    gateway.wait_for_tools(&site);
    let ours = Caller::new(&gateway, "the-first-key-of-two");
    let other = Caller::new(&gateway, "the-second-key-of-two");
    let asks = ours.call("echo", &json!({}));
    assert!(asks["result"]["requestState"].is_string(), "{asks:#}");
    let stolen = other.call("echo", &accept(&asks));
    says(&stolen["error"]["message"], &["nothing waits for this requestState"]);
    // As many as one key may have.
    let questions: Vec<Value> = (0..64).map(|_| other.call("echo", &json!({}))).collect();
    for question in &questions {
        assert!(question["result"]["requestState"].is_string(), "{question:#}");
    }
    let refused = other.call("echo", &json!({}));
    says(&refused["error"]["message"], &["64 questions wait for your answers", "answer one"]);
    for (caller, asks) in [(ours, &asks), (other, &questions[0])] {
        let done = caller.call("echo", &accept(asks));
        assert_eq!(done["result"]["content"][0]["text"], "called", "{done:#}");
    }
}

// Clients that leave.

#[test]
fn a_write_comes_to_its_end_when_its_client_closes_the_connection() {
    let Some(site) = Site::new() else { return };
    let script = repository().join("tests/servers/misbehave.py");
    let server = stdio("slow", "python3", &[script.to_str().unwrap(), "slow"]);
    let environment = format!("env = {{ NARROWS_TEST_BEGUN = {:?} }}\n", site.text("begun"));
    site.configure(&format!("[http]\n{KEYS}\n{server}{environment}"));
    let gateway = HttpGateway::start(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let code = format!(
        "from servers.slow import slow_write\n\
         for _ in range(2): await slow_write(seconds=2, file={:?})",
        site.text("written")
    );
    let lines = |name: &str| {
        let text = std::fs::read_to_string(site.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let arguments = json!({"arguments": {"code": code, "timeout": 60}});
    let answer = caller.open_call("execute_code", &arguments);
    wait_for("the call at the server", || (lines("begun").len() == 1).then_some(()));
    drop(answer);

    wait_for("the end of the write", || (lines("written") == ["ended"]).then_some(()));
    let search = ["audit", "search", "--json", "--target", "slow.slow_write"];
    let entries = wait_for("the entry of the write", || {
        let entries = site.json(&search)["entries"].as_array().unwrap().clone();
        (!entries.is_empty()).then_some(entries)
    });
    assert_eq!(entries.len(), 1, "{entries:#?}");
    assert_eq!(entries[0]["outcome"], "ok", "{entries:#?}");
    // The program ended with its client: nothing is left to be waited for, and no second write began.
    gateway.end();
    assert_eq!(lines("begun").len(), 1);
}

// Sessions.

#[test]
fn a_key_has_so_many_sessions_and_those_that_nobody_uses_end() {
    let Some(site) = Site::new() else { return };
    let limits = "max_sessions_per_key = 2\nmax_sessions = 3\nsession_idle = 1\n";
    site.configure(&format!("[http]\n{KEYS}\n{limits}"));
    let gateway = HttpGateway::start(&site);
    let one = Caller::new(&gateway, "the-first-key-of-two");
    let other = Caller::new(&gateway, "the-second-key-of-two");
    // A session whose events somebody reads is in use.
    let listening = |caller: Caller<'_>| {
        let session = caller.session();
        let stream = caller.listen(&session);
        (session, stream)
    };
    let (first, stream) = listening(one);
    let (second, _kept) = listening(one);
    let full = one.initialize();
    assert_eq!(full.status, 429, "{full:?}");
    assert!(full.text.contains("this key has 2 sessions"), "{full:?}");
    assert!(full.header("retry-after").unwrap().parse::<u32>().unwrap() > 0, "{full:?}");
    // Others have room, until all have too many.
    let _third = listening(other);
    let full = other.initialize();
    assert_eq!(full.status, 503, "{full:?}");
    assert!(full.text.contains("there are 3 sessions"), "{full:?}");
    assert!(full.header("retry-after").is_some(), "{full:?}");

    drop(stream);
    wait_for("an idle session to end", || (one.initialize().status == 200).then_some(()));
    assert_eq!(one.post(&first, &list()).status, 404);
    assert_eq!(one.post(&second, &list()).message()["id"], 7);
}

#[test]
fn a_session_lives_as_long_as_a_question_to_a_person() {
    let Some(site) = Site::new() else { return };
    let limits = "max_sessions_per_key = 2\nsession_idle = 1\n";
    site.configure(&format!("[http]\n{KEYS}\n{limits}{}", asking_server()));
    let gateway = HttpGateway::start(&site);
    gateway.wait_for_tools(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let session = caller.session();
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                      "params": {"name": "echo", "arguments": {"text": "called"}}});
    let header = [("mcp-session-id", session.as_str())];
    let mut stream = caller.open("POST", &header, &call.to_string());
    let asked = Answer::parse(read_until(&mut stream, &["elicitation/create", "\n\n"]));
    let question = asked.message()["id"].clone();
    let event = asked.text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back();
    let event = event.unwrap().to_owned();
    // The client is gone, and comes back after other sessions were idle for too long.
    drop(stream);
    let idle = caller.session();
    wait_for("another session to end", || (caller.initialize().status == 200).then_some(()));
    assert_eq!(caller.post(&idle, &list()).status, 404);
    let resume = [("mcp-session-id", session.as_str()), ("last-event-id", event.as_str())];
    let mut stream = caller.open("GET", &resume, "");
    assert_eq!(Answer::parse(read_until(&mut stream, &["\r\n\r\n"])).status, 200);
    let answer = json!({"jsonrpc": "2.0", "id": question,
                        "result": {"action": "accept", "content": {"allow": "once"}}});
    assert_eq!(caller.post(&session, &answer).status, 202);
    let done = read_until(&mut stream, &["\"id\":5"]);
    assert!(done.contains("\"id\":5"), "{done}");
}

#[test]
fn a_second_request_with_an_id_that_is_in_use_is_refused() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n{}", asking_server()));
    let gateway = HttpGateway::start(&site);
    gateway.wait_for_tools(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let session = caller.session();
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                      "params": {"name": "echo", "arguments": {"text": "called"}}});
    let header = [("mcp-session-id", session.as_str())];
    let mut stream = caller.open("POST", &header, &call.to_string());
    let asked = Answer::parse(read_until(&mut stream, &["elicitation/create", "\n\n"]));
    // Its id is that of the call, which waits for a person.
    let refusal = caller.post(&session, &list()).message();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!(7), &json!(-32600)));
    says(&refusal["error"]["message"], &["id 7", "give each request an id of its own"]);
    // In another session the id is free, and so it is here when the call is answered.
    let other = caller.session();
    assert!(caller.post(&other, &list()).message()["result"]["tools"].is_array());
    let answer = json!({"jsonrpc": "2.0", "id": asked.message()["id"],
                        "result": {"action": "accept", "content": {"allow": "once"}}});
    assert_eq!(caller.post(&session, &answer).status, 202);
    let done = read_until(&mut stream, &["\"id\":7"]);
    assert!(done.contains("called"), "{done}");
    assert!(caller.post(&session, &list()).message()["result"]["tools"].is_array());
}

/// The attacks as they were made. `/health` waited for up to 85 s, and `1 + 1` for 107 s.
#[test]
#[ignore = "sends a hundred megabytes and measures times; for the release build on an idle machine"]
#[allow(clippy::print_stdout)]
fn no_request_of_full_size_keeps_others_waiting() {
    let Some(site) = Site::new() else { return };
    let agent = |name: &str, key: &str| format!("[agents.{name}]\nkey = \"{key}\"\n");
    let agents = agent("a", "the-first-key-of-two") + &agent("b", "the-second-key-of-two");
    site.configure(&agents);
    let gateway = HttpGateway::start(&site);
    let attacker = Caller::new(&gateway, "the-first-key-of-two");
    let other = Caller::new(&gateway, "the-second-key-of-two");
    let (attacking, calm) = (attacker.session(), other.session());
    let call = |id: usize, tool: &str, arguments: &Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": tool, "arguments": arguments}})
    };
    let sum = || other.post(&calm, &call(1, "execute_code", &json!({"code": "1 + 1"}))).message();
    assert_eq!(sum()["result"]["structuredContent"]["result"], 2);
    let name = "x".repeat(2 << 20);
    let lines = |count: usize, line: &dyn Fn(usize) -> String| -> String {
        (0..count).map(|number| line(number) + "\n").collect()
    };
    let functions = lines(25_000, &|n| format!("def f{n}(a): return f{}(a)", n + 1));
    let calls = lines(20_000, &|n| format!("await servers.many.tol_{n}()"));
    for (tool, arguments) in [
        (name.as_str(), json!({})),
        ("get_tool_definition", json!({ "name": name })),
        ("search_tools", json!({"query": "create issue ".repeat(1 << 20)})),
        ("execute_code", json!({"code": "x=1\n".repeat(3_500_000)})),
        ("execute_code", json!({ "code": functions })),
        ("execute_code", json!({ "code": calls })),
        ("execute_code", json!({"code": "['u%d@example.com' % i for i in range(700_000)]"})),
        ("execute_code", json!({"code": "[[] for _ in range(5_000_000)]"})),
        ("sanitize_pii", json!({"text": "a.b@c.co 4556737586899855 ".repeat(550_000)})),
        ("sanitize_pii", json!({"text": "1".repeat(15_000_000)})),
        ("list_workspace_files", json!({"pattern": "*a".repeat(20_000)})),
    ] {
        let header = [("mcp-session-id", attacking.as_str())];
        let requests = (2..4).map(|id| call(id, tool, &arguments).to_string());
        let streams: Vec<_> = requests.map(|body| attacker.open("POST", &header, &body)).collect();
        let reading = streams.into_iter().map(|mut stream| {
            std::thread::spawn(move || stream.read_to_string(&mut String::new()).is_ok())
        });
        let reading: Vec<_> = reading.collect();
        let (mut health_time, mut sum_time) = (Duration::ZERO, Duration::ZERO);
        while !reading.iter().all(std::thread::JoinHandle::is_finished) {
            let begun = Instant::now();
            health(&gateway);
            health_time = health_time.max(begun.elapsed());
            let begun = Instant::now();
            sum();
            sum_time = sum_time.max(begun.elapsed());
        }
        let shown = &tool[..tool.len().min(20)];
        println!("{shown}: /health within {health_time:?}, 1 + 1 within {sum_time:?}");
        assert!(health_time < Duration::from_millis(100), "{shown}: {health_time:?}");
        assert!(sum_time < Duration::from_millis(250), "{shown}: {sum_time:?}");
    }
}

// Connections.

#[test]
fn connections_without_requests_make_room_and_health_always_answers() {
    let Some(site) = Site::new() else { return };
    let limits = "max_connections = 8\nmax_connections_per_address = 8\n";
    site.configure(&format!("[http]\n{KEYS}\n{limits}"));
    let gateway = HttpGateway::start(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let half = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n";
    let idle: Vec<TcpStream> = (0..40)
        .map(|number| {
            let mut stream = connect(&gateway);
            if number % 2 == 0 {
                let _ = stream.write_all(half);
            }
            stream
        })
        .collect();
    assert_eq!(health(&gateway).status, 200);
    let session = caller.session();
    idle[..32].iter().for_each(is_closed);
    // Nobody needs the places of the last ones, which get no longer for their requests.
    idle[32..].iter().for_each(is_closed);

    // Those that are in use stay, and whoever comes then is told.
    let mut streams: Vec<TcpStream> = (0..8).map(|_| caller.listen(&session)).collect();
    let full = caller.initialize();
    assert_eq!(full.status, 503, "{full:?}");
    assert!(full.text.contains("too many connections are open"), "{full:?}");
    assert!(full.header("retry-after").is_some(), "{full:?}");
    let answer = health(&gateway);
    assert!(answer.status == 200 && answer.text.ends_with("ok\n"), "{answer:?}");
    let _waiting: Vec<TcpStream> = (0..40).map(|_| connect(&gateway)).collect();
    assert_eq!(health(&gateway).status, 200);
    streams.pop();
    wait_for("a place", || (caller.initialize().status == 200).then_some(()));
}

#[cfg(target_os = "linux")]
#[test]
fn the_limit_of_open_files_is_raised_and_connections_stay_below_it() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n"));
    let limits = |gateway: &HttpGateway| {
        let limits = format!("/proc/{}/limits", gateway.process_id());
        let limits = std::fs::read_to_string(limits).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
        (numbers.next().unwrap(), numbers.next().unwrap())
    };
    let gateway = HttpGateway::start_after(&site, "ulimit -Sn 200");
    // Once it answers, it has started.
    assert_eq!(health(&gateway).status, 200);
    let (soft, hard) = limits(&gateway);
    assert_eq!(soft, hard.min(1 << 16));
    drop(gateway);

    let gateway = HttpGateway::start_after(&site, "ulimit -n 200");
    assert_eq!(limits(&gateway), (200, 200));
    let idle: Vec<TcpStream> = (0..300).map(|_| connect(&gateway)).collect();
    assert_eq!(health(&gateway).status, 200);
    assert_eq!(Caller::new(&gateway, "the-first-key-of-two").initialize().status, 200);
    is_closed(&idle[0]);
}

// Requests.

#[test]
fn a_request_that_names_two_hosts_or_origins_is_refused() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n"));
    let gateway = HttpGateway::start(&site);
    let port = gateway.port;
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let own = format!("http://localhost:{port}");
    let send = |target: &str, headers: &str| {
        let mut stream = connect(&gateway);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }});
        let body = body.to_string();
        let request = format!(
            "POST {target} HTTP/1.1\r\nConnection: close\r\n{headers}\
             Authorization: Bearer {}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            caller.key,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        Answer::parse(text).status
    };
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    assert_eq!(send("/mcp", &host), 200);
    assert_eq!(send("/mcp", &format!("{host}Origin: {own}\r\n")), 200);
    assert_eq!(send(&format!("http://127.0.0.1:{port}/mcp"), &host), 200);
    for (target, headers) in [
        ("/mcp", format!("{host}Host: evil.example\r\n")),
        ("/mcp", format!("Host: evil.example\r\n{host}")),
        ("/mcp", format!("{host}Origin: {own}\r\nOrigin: https://evil.example\r\n")),
        ("http://evil.example/mcp", host.clone()),
    ] {
        assert_eq!(send(target, &headers), 400, "{target} {headers}");
    }
    assert_eq!(send("http://evil.example/mcp", "Host: evil.example\r\n"), 403);
}

#[test]
fn a_request_of_millions_of_values_is_not_parsed() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n"));
    let gateway = HttpGateway::start(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let session = caller.session();
    let header = [("mcp-session-id", session.as_str())];
    let request = |values: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{{\"name\":\
             \"execute_code\",\"arguments\":{{\"code\":\"len(x)\",\"context\":{{\"x\":{values}}}}}}}}}"
        )
    };
    let many = format!("[{}[]]", "[],".repeat(600_000));
    let keys = format!("{{{}\"a\":1}}", "\"a\":1,".repeat(600_000));
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let large = format!("\"{}\"", "x".repeat(17 << 20));
    for (values, status, reason) in [
        (many, 413, "more than 1000000 JSON values and keys"),
        (keys, 413, "more than 1000000 JSON values and keys"),
        (deep, 400, "nested more than 127 deep"),
        (large, 413, "larger than 16 MB"),
    ] {
        let refused = caller.send("POST", &header, &request(&values));
        assert_eq!(refused.status, status, "{refused:?}");
        let body = refused.text.split("\r\n\r\n").nth(1).unwrap();
        let error: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{refused:?}"));
        says(&error["error"]["message"], &[reason]);
    }
    // One that is large, and harmless.
    let text = format!("\"{}\"", "[,".repeat(1 << 20));
    let done = caller.send("POST", &header, &request(&text)).message();
    assert_eq!(done["result"]["structuredContent"]["result"], 2 << 20, "{done:#}");
}

/// Returns the memory that a process has now, in megabytes.
fn memory(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// Each flood takes hundreds of megabytes, and all of it is back within a minute.
#[test]
#[ignore = "takes minutes and a gigabyte of memory"]
fn what_floods_took_goes_back_to_the_system() {
    let Some(site) = Site::new() else { return };
    site.configure(&format!("[http]\n{KEYS}\n"));
    let gateway = HttpGateway::start(&site);
    let caller = Caller::new(&gateway, "the-first-key-of-two");
    let run = |code: &str, context: &str| {
        let arguments = json!({"code": code, "timeout": 100, "context": {"text": context}});
        let params = json!({"name": "execute_code", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
        let answer = caller.post(&caller.session(), &call).message();
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    };
    let rows = |side: &str| {
        format!("(select value as k, repeat('{side}', 900) as s from generate_series(1, 300000))")
    };
    let (a, b) = (rows("x"), rows("y"));
    let join = format!(
        "select count(*), sum(length(b.s)) from {a} a join {b} b on a.k = b.k and a.s < b.s"
    );
    let analysis = format!("result = await sql({join:?})");
    let text = "x".repeat(12 << 20);
    run("result = await sql('select 1')", "");
    let process = gateway.process_id();
    let before = memory(process);
    let floods: [(&str, usize, &str, &str); 3] = [
        ("programs", 24, "import asyncio\nawait asyncio.sleep(3)", ""),
        ("analyses", 3, analysis.as_str(), ""),
        ("large requests", 12, "result = len(text)", text.as_str()),
    ];
    for (name, count, code, context) in floods {
        std::thread::scope(|scope| {
            for _ in 0..count {
                scope.spawn(|| run(code, context));
            }
        });
        let most = before + before / 5;
        wait_for(&format!("the memory of {name} to go back"), || {
            (memory(process) <= most).then_some(())
        });
    }
    let peak = crate::support::dead::peak_memory(process);
    assert!(peak < 1_000 + before, "{peak} MB at most, {before} before");
}
