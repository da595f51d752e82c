//! The outside of the sandbox as a program can reach it: whatever its [`ToolHost`] offers.

use bytes::Bytes;
use futures::future::BoxFuture;
use narrows_model::OutputStream;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use crate::paused_clock::PausedClock;

/// The host of a program, on the other side of the sandbox's wall. The sandbox knows nothing of what a
/// tool is.
///
/// All that comes from a program is untrusted: names may be anything, and arguments are any
/// valid JSON. What a host does not offer is refused.
pub trait ToolHost: Send + Sync {
    /// Answers `await call(tool, arguments)`. Many may be in flight; dropping the future cancels one.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        refuse(format!("there is no tool {:?}: no tools are available here", call.tool))
    }

    /// Answers a question that the program waits for without `await`.
    fn query(&self, query: Query) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        refuse(format!("{:?} is not available here", query.name))
    }

    /// Returns the source of a module that is imported for the first time.
    fn module(&self, _name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        Box::pin(std::future::ready(None))
    }

    /// Returns the clock on which the host notes that the program waits for a person, whose time does
    /// not count.
    fn patience(&self) -> PausedClock {
        PausedClock::default()
    }

    /// Receives what the program prints. Called as it happens, in order.
    fn output(&self, _stream: OutputStream, _text: &str) {}
}

fn refuse<'a, T: Send + 'a>(reason: String) -> BoxFuture<'a, Result<T, ToolFailure>> {
    Box::pin(std::future::ready(Err(ToolFailure::new(reason))))
}

/// A call of a tool by a program.
#[derive(Debug)]
pub struct ToolCall {
    /// Counts the calls of one run from 1.
    pub number: u64,
    pub tool: String,
    pub arguments: Box<RawValue>,
    /// Binary data, which would be too slow as JSON.
    pub data: Vec<Bytes>,
}

/// The result of a call.
#[derive(Debug)]
pub struct ToolAnswer {
    pub value: Box<RawValue>,
    /// Binary data, which would be too slow as JSON.
    pub data: Option<Bytes>,
}

impl From<Box<RawValue>> for ToolAnswer {
    fn from(value: Box<RawValue>) -> Self {
        Self { value, data: None }
    }
}

/// A question of a program to the host itself.
#[derive(Debug)]
pub struct Query {
    pub name: String,
    pub arguments: Box<RawValue>,
}

/// Why a call failed, in words for the program's author.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolFailure {
    pub message: String,
    /// Become attributes of the `ToolError` in Python.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl ToolFailure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), details: Map::new() }
    }
}

/// Python that the host provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSource {
    pub source: String,
    pub is_package: bool,
}

/// A host without tools: the sandbox as a calculator.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTools;

impl ToolHost for NoTools {}
