//! The official Python client, which remembers all that it receives: `tests/clients/witness.py`.

use std::{
    cell::{Cell, RefCell},
    io::Write,
    process::{ChildStdin, Stdio},
    sync::mpsc,
};

use serde_json::{Value, json};

use super::attempt::Attempt;
use crate::support::real::{PATIENCE, Running, Site, lines, repository};

/// A process with clients in it.
pub(crate) struct Witness {
    stdin: RefCell<ChildStdin>,
    answers: mpsc::Receiver<String>,
    errors: mpsc::Receiver<String>,
    orders: Cell<u64>,
    _process: Running,
}

/// What came of an attempt.
#[derive(Debug)]
pub(crate) struct Report {
    /// Such as `email base64`.
    pub(crate) leaks: Vec<String>,
    /// Tokens that were wanted and never came.
    pub(crate) missing: Vec<String>,
    pub(crate) received: Value,
}

impl Witness {
    pub(crate) fn start(site: &Site) -> Self {
        let script = repository().join("tests/clients/witness.py");
        let mut command = site.command(&site.tool("python/python"));
        let mut process = Running(command.arg(script).stdin(Stdio::piped()).spawn().unwrap());
        Self {
            stdin: RefCell::new(process.0.stdin.take().unwrap()),
            answers: lines(process.0.stdout.take().unwrap()),
            errors: lines(process.0.stderr.take().unwrap()),
            orders: Cell::default(),
            _process: process,
        }
    }

    #[track_caller]
    fn order(&self, mut order: Value) -> Value {
        self.orders.set(self.orders.get() + 1);
        order["number"] = self.orders.get().into();
        let mut stdin = self.stdin.borrow_mut();
        writeln!(stdin, "{order}").and_then(|()| stdin.flush()).unwrap();
        let Ok(answer) = self.answers.recv_timeout(3 * PATIENCE) else {
            panic!("no answer to {order}: {:#?}", self.errors.try_iter().collect::<Vec<_>>())
        };
        serde_json::from_str(&answer).unwrap()
    }

    /// One more client, of the gateway that these arguments name.
    #[track_caller]
    pub(crate) fn connect(&self, name: &str, target: &[String]) {
        self.order(json!({"client": name, "target": target}));
    }

    #[track_caller]
    pub(crate) fn attempts(&self, client: &str, attempt: &Attempt) -> Report {
        let steps: Vec<Value> = attempt.steps.iter().map(super::Step::order).collect();
        let mut answer = self.order(json!({"client": client, "steps": steps}));
        let texts = |value: &Value| -> Vec<String> {
            let texts = value.as_array().into_iter().flatten();
            texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        Report {
            leaks: texts(&answer["leaks"]),
            missing: texts(&answer["missing"]),
            received: answer["received"].take(),
        }
    }
}
