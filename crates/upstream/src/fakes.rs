//! Servers inside of this process and what they list, for tests of all that calls them. What such a
//! server says is written in the test; the connection to it and everything before that are the real
//! ones.

#![allow(clippy::unwrap_used, reason = "compiled for tests only, which may fail loudly")]
#![allow(missing_debug_implementations, reason = "nobody prints what is compiled for tests only")]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use narrows_model::{Connection, ServerSpec, StdioSpec, ToolName};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::{Notify, watch},
};
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::{Catalog, Listing, Tool, ToolNaming, UpstreamInfo},
    fleet::{self, Fleet},
    login::LoginStore,
    logs::server_log::ServerLogs,
    messages::{inbox::Inbox, raw::RawTools},
    stdio::child_reaper::ChildReaper,
};

/// The reaction of a server to a request.
#[derive(Clone, Debug)]
pub enum FakeReply {
    Result(Value),
    /// A JSON-RPC error with this message.
    Error(&'static str),
    /// The reply that is sent once the test notifies.
    When(Arc<Notify>, Box<FakeReply>),
    /// The request is never answered.
    Nothing,
    /// The server ends the connection.
    HangUp,
}

impl FakeReply {
    /// Returns the result of a tool that answers with text.
    pub fn text(text: &str) -> Self {
        Self::Result(json!({"content": [{"type": "text", "text": text}]}))
    }
}

/// A server of the older protocol that runs as a task.
#[derive(Clone)]
pub struct FakeServer {
    pub spec: ServerSpec,
    tools: Arc<Mutex<Vec<Value>>>,
    /// Whether it announces changes of its tools.
    tells: bool,
    /// Set until it has announced a change, before its next answer.
    has_changed: Arc<AtomicBool>,
    /// Methods and parameters of all messages that came.
    messages: Arc<watch::Sender<Vec<(String, Value)>>>,
    reply: Arc<dyn Fn(&Value) -> FakeReply + Send + Sync>,
}

impl FakeServer {
    /// Creates a server with these tools, which does with the parameters of a request what `reply`
    /// says.
    pub fn new(
        name: &str,
        tools: Vec<Value>,
        reply: impl Fn(&Value) -> FakeReply + Send + Sync + 'static,
    ) -> Self {
        Self {
            spec: spec(name),
            tools: Arc::new(Mutex::new(tools)),
            tells: false,
            has_changed: Arc::default(),
            messages: Arc::new(watch::Sender::new(Vec::new())),
            reply: Arc::new(reply),
        }
    }

    /// Makes the server announce changes of its tools.
    pub fn telling(self) -> Self {
        Self { tells: true, ..self }
    }

    /// Replaces its tools. It says so before its next answer if it announces changes.
    pub fn set_tools(&self, tools: Vec<Value>) {
        self.has_changed.store(self.tells, Ordering::SeqCst);
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = tools;
    }

    /// Returns the parameters of all messages of a method that came so far.
    pub fn received(&self, method: &str) -> Vec<Value> {
        let messages = self.messages.borrow();
        let of_method = messages.iter().filter(|(known, _)| known == method);
        of_method.map(|(_, params)| params.clone()).collect()
    }

    /// Returns the arguments of all tool calls that came so far.
    pub fn calls(&self) -> Vec<Value> {
        let calls = self.received("tools/call").into_iter();
        calls.map(|mut params| params["arguments"].take()).collect()
    }

    /// Waits until a message of this method has come.
    pub async fn receives(&self, method: &str) {
        let mut messages = self.messages.subscribe();
        let has_come = |messages: &Vec<(String, Value)>| {
            messages.iter().any(|(known, _)| known.as_str() == method)
        };
        messages.wait_for(has_come).await.unwrap();
    }

    fn answer(&self, method: &str, params: &Value) -> FakeReply {
        match method {
            "initialize" => FakeReply::Result(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": self.tells}},
                "serverInfo": {"name": "fake", "version": "1.0"},
            })),
            "tools/list" => {
                let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone();
                FakeReply::Result(json!({"tools": tools}))
            }
            _ => (self.reply)(params),
        }
    }

    async fn serve(self, stream: DuplexStream, raw: RawTools) {
        let (read, mut write) = tokio::io::split(stream);
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let Some(method) = message["method"].as_str() else { continue };
            let params = &message["params"];
            self.messages
                .send_modify(|messages| messages.push((method.to_owned(), params.clone())));
            let Some(id) = message.get("id") else { continue };
            let mut reply = self.answer(method, params);
            if let FakeReply::When(said, later) = reply {
                said.notified().await;
                reply = *later;
            }
            let answer = match reply {
                FakeReply::Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                FakeReply::Error(why) => {
                    let error = json!({"code": -32602, "message": why});
                    json!({"jsonrpc": "2.0", "id": id, "error": error})
                }
                FakeReply::Nothing | FakeReply::When(..) => continue,
                FakeReply::HangUp => return,
            };
            let has_changed = self.has_changed.swap(false, Ordering::SeqCst);
            let method = "notifications/tools/list_changed";
            let notice = has_changed.then(|| json!({"jsonrpc": "2.0", "method": method}));
            for message in notice.into_iter().chain([answer]) {
                let line = format!("{message}\n");
                // As the transports do with what they read.
                raw.see(line.as_bytes());
                if write.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Returns these servers, all of them running, with others that cannot be started.
pub async fn fleet(
    running: &[&FakeServer],
    others: &[ServerSpec],
    naming: &'static dyn ToolNaming,
) -> (Arc<Catalog>, Arc<Fleet>) {
    let specs = running.iter().map(|server| server.spec.clone()).chain(others.iter().cloned());
    let specs: Vec<ServerSpec> = specs.collect();
    let catalog = Arc::new(Catalog::new(&specs, None, naming));
    let logins = LoginStore::new("/nonexistent/logins".into());
    let fleet = Arc::new(Fleet::new(
        specs,
        Arc::clone(&catalog),
        logins,
        ChildReaper::none(),
        ServerLogs::none(),
    ));
    for running in running {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let (inbox, closed) = (Inbox::default(), CancellationToken::new());
        let serving = (*running).clone().serve(theirs, inbox.raw.clone());
        let alive = closed.clone().drop_guard();
        tokio::spawn(async move {
            serving.await;
            drop(alive);
        });
        fleet::start_in_process(&fleet, &running.spec.name, ours, inbox, closed).await;
    }
    (catalog, fleet)
}

/// Returns a server that cannot be started.
pub fn spec(name: &str) -> ServerSpec {
    let stdio = StdioSpec { command: "/nonexistent/server".into(), ..StdioSpec::default() };
    ServerSpec::new(name, Connection::Stdio(stdio))
}

/// Returns tools that take anything.
pub fn named(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect()
}

/// Returns the listing of a server that has these tools.
pub fn listing(tools: Vec<Value>) -> Listing {
    Listing { about: UpstreamInfo::default(), tools }
}

/// Returns a tool with this definition, the only one of a server `s`.
pub fn tool(definition: Value) -> Arc<Tool> {
    let spec = spec("s");
    let catalog = Catalog::new(std::slice::from_ref(&spec), None, &PlainNaming);
    catalog.replace(&spec, listing(vec![definition]));
    Arc::clone(&catalog.listing("s").unwrap().tools[0])
}

/// Names for code of no language: what is neither a letter nor a digit becomes an underscore, and a number
/// keeps apart what becomes equal.
#[derive(Debug)]
pub struct PlainNaming;

impl ToolNaming for PlainNaming {
    fn modules(&self, servers: &[&str]) -> BTreeMap<String, String> {
        plain_names(servers)
    }

    fn tools(&self, tools: &[&str]) -> BTreeMap<String, ToolName> {
        let name = |python: String| ToolName { class_prefix: python.clone(), python };
        plain_names(tools).into_iter().map(|(raw, plain)| (raw, name(plain))).collect()
    }

    fn is_deprecated(&self, definition: &Value) -> bool {
        let description = definition.get("description").and_then(Value::as_str);
        description.is_some_and(|text| text.starts_with("DEPRECATED"))
    }
}

fn plain_names(raw: &[&str]) -> BTreeMap<String, String> {
    let plain = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let (exact, changed): (BTreeSet<&str>, BTreeSet<&str>) =
        raw.iter().partition(|name| plain(name) == **name);
    let mut names: BTreeMap<String, String> =
        exact.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect();
    let mut taken: BTreeSet<String> = names.keys().cloned().collect();
    for name in changed {
        let base = plain(name);
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
        let free = free.unwrap();
        taken.insert(free.clone());
        names.insert(name.to_owned(), free);
    }
    names
}
