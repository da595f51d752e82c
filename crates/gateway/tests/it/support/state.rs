//! The official Python client, told call by call what to do. So a test can have several clients, of
//! several gateways and agents, and several calls at once.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    io::Write,
    process::{ChildStdin, Stdio},
    rc::Rc,
    sync::mpsc,
};

use serde_json::{Value, json};

use super::{
    MAX_PROGRAM_TIME, PATIENCE,
    real::{HttpGateway, Running, Site, lines, repository},
};

/// Reads one order in a line: a client to connect, or a call to make. Calls do not wait for one
/// another; each is answered with a line when it is done.
const SCRIPT: &str = r#"
import json, sys
from contextlib import AsyncExitStack
import anyio
from gateway import TIMEOUT_SECONDS, gateway, parser
from mcp.shared.exceptions import MCPError
from python_mcp import connect

def tell(number, **answer):
    print(json.dumps({"number": number, **answer}), flush=True)

async def call(client, number, tool, arguments):
    try:
        result = await client.call_tool(tool, arguments, read_timeout_seconds=TIMEOUT_SECONDS)
        tell(number, result=result.model_dump(by_alias=True, mode="json", exclude_none=True))
    except MCPError as error:
        tell(number, refusal=str(error))

async def main():
    clients = {}
    async with AsyncExitStack() as stack, anyio.create_task_group() as calls:
        async for line in anyio.wrap_file(sys.stdin):
            order = json.loads(line)
            if "target" in order:
                to = gateway(parser().parse_args(order["target"]))
                clients[order["client"]] = await connect(stack, to)
                tell(order["number"])
            else:
                client = clients[order["client"]]
                calls.start_soon(call, client, order["number"], order["tool"], order["arguments"])

anyio.run(main)
"#;

/// What `execute_code` is given to run a program, which may take its time.
pub(crate) fn program(code: &str) -> Value {
    json!({"code": code, "timeout": MAX_PROGRAM_TIME.as_secs()})
}

/// The process in which the clients are.
pub(crate) struct Clients(Rc<Wire>);

struct Wire {
    stdin: RefCell<ChildStdin>,
    lines: mpsc::Receiver<String>,
    errors: mpsc::Receiver<String>,
    /// Answers that came before they were asked for.
    early: RefCell<HashMap<u64, Value>>,
    last: Cell<u64>,
    _process: Running,
}

impl Wire {
    fn order(&self, mut order: Value) -> u64 {
        let number = self.last.get() + 1;
        self.last.set(number);
        order["number"] = number.into();
        let mut stdin = self.stdin.borrow_mut();
        writeln!(stdin, "{order}").unwrap();
        stdin.flush().unwrap();
        number
    }

    #[track_caller]
    fn answer(&self, number: u64) -> Value {
        loop {
            if let Some(answer) = self.early.borrow_mut().remove(&number) {
                return answer;
            }
            let Ok(line) = self.lines.recv_timeout(2 * PATIENCE) else {
                panic!("no answer came: {:#?}", self.errors.try_iter().collect::<Vec<_>>())
            };
            let answer: Value = serde_json::from_str(&line).unwrap();
            self.early.borrow_mut().insert(answer["number"].as_u64().unwrap(), answer);
        }
    }
}

impl Clients {
    pub(crate) fn start(site: &Site) -> Self {
        let mut command = site.command(&site.tool("python/python"));
        command.args(["-c", SCRIPT]).env("PYTHONPATH", repository().join("tests/clients"));
        let mut process = Running(command.stdin(Stdio::piped()).spawn().unwrap());
        Self(Rc::new(Wire {
            stdin: RefCell::new(process.0.stdin.take().unwrap()),
            lines: lines(process.0.stdout.take().unwrap()),
            errors: lines(process.0.stderr.take().unwrap()),
            early: RefCell::default(),
            last: Cell::default(),
            _process: process,
        }))
    }

    /// One more client, of the gateway that these arguments name.
    #[track_caller]
    pub(crate) fn connect(&self, target: &[String]) -> Client {
        let name = format!("client {}", self.0.last.get());
        let number = self.0.order(json!({"client": name, "target": target}));
        self.0.answer(number);
        Client { name, wire: Rc::clone(&self.0) }
    }

    /// One that shows this key.
    #[track_caller]
    pub(crate) fn with_key(&self, gateway: &HttpGateway, key: &str) -> Client {
        self.connect(&["http".to_owned(), gateway.url(), key.to_owned()])
    }
}

/// A client of a gateway.
pub(crate) struct Client {
    name: String,
    wire: Rc<Wire>,
}

/// A call that is not answered yet.
#[must_use]
pub(crate) struct Pending {
    number: u64,
    wire: Rc<Wire>,
}

impl Client {
    /// The only client of a gateway of its own, over stdio.
    #[track_caller]
    pub(crate) fn alone(site: &Site) -> Self {
        Clients::start(site).connect(&site.over_stdio())
    }

    /// Calls a tool without waiting.
    pub(crate) fn begin(&self, tool: &str, arguments: Value) -> Pending {
        let order = json!({"client": self.name, "tool": tool, "arguments": arguments});
        Pending { number: self.wire.order(order), wire: Rc::clone(&self.wire) }
    }

    /// What a tool answers, be it a failure or not.
    #[track_caller]
    pub(crate) fn answer(&self, tool: &str, arguments: Value) -> Value {
        self.begin(tool, arguments).answer()
    }

    /// What a tool answers, which must not fail.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.answer(tool, arguments);
        assert_ne!(answer["isError"], true, "{tool}: {answer:#}");
        answer
    }

    /// Why a tool does not do it.
    #[track_caller]
    pub(crate) fn refusal(&self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.answer(tool, arguments);
        assert_eq!(answer["isError"], true, "{tool}: {answer:#}");
        answer["content"][0]["text"].take()
    }

    /// The result of a program, which must not fail.
    #[track_caller]
    pub(crate) fn run(&self, code: &str) -> Value {
        self.begin("execute_code", program(code)).result()
    }

    /// The same in a session.
    #[track_caller]
    pub(crate) fn go_on(&self, session: &str, code: &str) -> Value {
        self.begin_in(session, code).result()
    }

    pub(crate) fn begin_in(&self, session: &str, code: &str) -> Pending {
        let mut arguments = program(code);
        arguments["session_id"] = session.into();
        self.begin("execute_code", arguments)
    }

    /// What a program fails with.
    #[track_caller]
    pub(crate) fn error(&self, code: &str) -> Value {
        let mut answer = self.answer("execute_code", program(code));
        assert_eq!(answer["structuredContent"]["success"], false, "{answer:#}");
        answer["structuredContent"]["error"]["message"].take()
    }
}

impl Pending {
    #[track_caller]
    pub(crate) fn answer(self) -> Value {
        let mut answer = self.wire.answer(self.number);
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].take()
    }

    /// The result of a program.
    #[track_caller]
    pub(crate) fn result(self) -> Value {
        let mut answer = self.answer();
        assert_eq!(answer["structuredContent"]["success"], true, "{answer:#}");
        answer["structuredContent"]["result"].take()
    }
}

/// The text of an answer.
#[track_caller]
pub(crate) fn text_of(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}"))
}

/// One field of each entry of a list.
#[track_caller]
pub(crate) fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let list = list.as_array().unwrap_or_else(|| panic!("{list} is no list"));
    list.iter().map(|entry| entry[field].as_str().unwrap_or_else(|| panic!("{entry}"))).collect()
}
