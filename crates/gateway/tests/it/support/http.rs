//! Clients of a gateway over HTTP that send what they like: requests as text, and connections that are
//! left open.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::{PATIENCE, real::HttpGateway};

const MODERN: &str = "2026-07-28";

/// Whoever shows a key to a gateway.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) gateway: &'a HttpGateway,
    pub(crate) key: &'static str,
}

/// An answer, or as much of it as was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn parse(text: String) -> Self {
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok());
        Self { status: status.unwrap_or_else(|| panic!("no HTTP: {text:?}")), text }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.text.split("\r\n\r\n").next()?.lines();
        lines.find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// Everything but the time of day.
    pub(crate) fn lasting(&self) -> String {
        let lines = self.text.lines().filter(|line| !line.starts_with("date: "));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The last message of an event stream.
    pub(crate) fn message(&self) -> Value {
        let data = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages = data.filter_map(|data| serde_json::from_str(data).ok());
        messages.next_back().unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// Reads until the server has said all of this, one after the other, or closes.
pub(crate) fn read_until(stream: &mut TcpStream, parts: &[&str]) -> String {
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
pub(crate) fn is_closed(mut stream: &TcpStream) {
    let mut rest = Vec::new();
    if let Err(error) = stream.read_to_end(&mut rest) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
}

pub(crate) fn connect(gateway: &HttpGateway) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn health(gateway: &HttpGateway) -> Answer {
    let mut stream = connect(gateway);
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    Answer::parse(text)
}

impl<'a> Caller<'a> {
    pub(crate) fn new(gateway: &'a HttpGateway, key: &'static str) -> Self {
        Self { gateway, key }
    }

    /// Sends a request of any kind, whose answer is still to be read.
    pub(crate) fn open(self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
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

    pub(crate) fn send(self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = String::new();
        let _ = self.open(method, headers, body).read_to_string(&mut text);
        Answer::parse(text)
    }

    pub(crate) fn initialize(self) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}, "sampling": {}},
            "clientInfo": {"name": "raw", "version": "1"},
        }});
        self.send("POST", &[], &body.to_string())
    }

    /// A session that is ready for requests.
    #[track_caller]
    pub(crate) fn session(self) -> String {
        let answer = self.initialize();
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&session, &ready).status, 202);
        session
    }

    pub(crate) fn post(self, session: &str, message: &Value) -> Answer {
        self.send("POST", &[("mcp-session-id", session)], &message.to_string())
    }

    /// The event stream of a session, kept open.
    #[track_caller]
    pub(crate) fn listen(self, session: &str) -> TcpStream {
        let mut stream = self.open("GET", &[("mcp-session-id", session)], "");
        let head = read_until(&mut stream, &["\r\n\r\n"]);
        assert_eq!(Answer::parse(head).status, 200);
        stream
    }

    /// A call of the newer protocol, which has no sessions.
    pub(crate) fn call(self, tool: &str, extra: &Value) -> Value {
        let mut text = String::new();
        let _ = self.open_call(tool, extra).read_to_string(&mut text);
        let answer = Answer::parse(text);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.message()
    }

    /// Sends such a call, whose answer is still to be read.
    pub(crate) fn open_call(self, tool: &str, extra: &Value) -> TcpStream {
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
