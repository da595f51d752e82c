//! Runs the tests of a skill in the sandbox, against recorded tool results: no server is asked,
//! and nothing that lasts is changed.

use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use narrows_model::Program;
use narrows_sandbox::{
    ModuleSource, PausedClock, Query, ToolAnswer, ToolCall, ToolFailure, ToolHost,
};
use narrows_skills::{RecordedCall, RecordedReply, Recording};
use narrows_store::Skill;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use super::library::SavedUses;
use crate::{
    program::{ANALYZE, ProgramHost},
    run::{ExecuteError, ExecuteRequest, Executor},
};

const PROGRAM: &str = include_str!("trial.py");
const SERVERS: &str = include_str!("trial_servers.py");
/// The queries that a test may make: those that change nothing.
const HARMLESS: [&str; 6] = [
    "load_skill",
    "list_skills",
    "skill_names",
    "search_tools",
    "get_tool_definition",
    "list_servers",
];

/// The source of the tool results in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialMode {
    /// The results that were recorded with the skill.
    Replay,
    /// The servers themselves, whose answers are recorded.
    Record,
}

/// The results of the tests of one skill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialReport {
    pub skill: String,
    pub version: i64,
    pub tests: Vec<TestResult>,
    /// The recorded answers of the servers, if they were asked.
    #[serde(skip)]
    pub recording: Recording,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    pub name: String,
    pub passed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl TrialReport {
    pub fn passed(&self) -> bool {
        self.tests.iter().all(|test| test.passed)
    }
}

/// Runs the tests of a skill: its functions `test_…` and the examples of its docstrings.
pub async fn try_skill(
    skill: &Skill,
    mode: TrialMode,
    executor: &Executor,
    host: &ProgramHost,
) -> Result<TrialReport, ExecuteError> {
    let recording = serde_json::from_value(skill.tests.clone()).unwrap_or_default();
    let host = TrialHost::new(host, mode, recording, &SavedUses::of(&skill.head.uses));
    let context = Map::from_iter([("skill".to_owned(), json!(skill.head.name))]);
    let request = ExecuteRequest {
        program: Program { context, ..Program::new(PROGRAM) },
        ..ExecuteRequest::default()
    };
    let outcome = executor.execute(None, request, &host, CancellationToken::new()).await?;
    let ended_early = match outcome.failure() {
        Some(failure) => format!("{}: {}", failure.kind, failure.message),
        None => "they ended the program before they were done".to_owned(),
    };
    let tests = serde_json::from_value(outcome.result).unwrap_or_else(|_| {
        vec![TestResult { name: "tests".into(), passed: false, message: Some(ended_early) }]
    });
    Ok(TrialReport {
        skill: skill.head.name.clone(),
        version: skill.head.version,
        tests,
        recording: host.recording.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

/// The host of a test, which answers its calls.
struct TrialHost<'a> {
    host: &'a ProgramHost,
    mode: TrialMode,
    recording: Mutex<Recording>,
    /// The parameters of known tools, for calls by position.
    parameters: Value,
}

impl<'a> TrialHost<'a> {
    fn new(host: &'a ProgramHost, mode: TrialMode, recording: Recording, uses: &SavedUses) -> Self {
        let parameters = uses.pins.iter().map(|pin| {
            let properties = pin.schema.pointer("/input/properties").and_then(Value::as_object);
            let names: Vec<&String> = properties.into_iter().flat_map(Map::keys).collect();
            (pin.tool.clone(), json!(names))
        });
        let recording = match mode {
            TrialMode::Replay => recording,
            TrialMode::Record => Recording::default(),
        };
        let parameters = Value::Object(parameters.collect());
        Self { host, mode, recording: Mutex::new(recording), parameters }
    }

    fn recording(&self) -> std::sync::MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replay(&self, tool: &str, arguments: &Value) -> Result<Value, ToolFailure> {
        let recording = self.recording();
        match recording.answer(tool, arguments) {
            Ok(RecordedReply::Result(value)) => Ok(value.clone()),
            Ok(RecordedReply::Error(message)) => Err(ToolFailure::new(message.clone())),
            Err(missing) => Err(ToolFailure::new(missing.to_string())),
        }
    }
}

impl ToolHost for TrialHost<'_> {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move {
            if call.tool == ANALYZE {
                return self.host.analyze_given(call).await;
            }
            let tool = plain_name(&call.tool);
            let arguments: Value = serde_json::from_str(call.arguments.get())
                .map_err(|error| ToolFailure::new(error.to_string()))?;
            if self.mode == TrialMode::Replay {
                let value = self.replay(&tool, &arguments)?;
                return serde_json::value::to_raw_value(&value)
                    .map(ToolAnswer::from)
                    .map_err(|error| ToolFailure::new(error.to_string()));
            }
            let answered = self.host.call(call).await;
            let reply = match &answered {
                Ok(answer) => RecordedReply::Result(
                    serde_json::from_str(answer.value.get()).unwrap_or_default(),
                ),
                Err(failure) => RecordedReply::Error(failure.message.clone()),
            };
            self.recording().0.push(RecordedCall { tool, arguments, reply });
            answered
        })
    }

    fn patience(&self) -> PausedClock {
        self.host.patience()
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        if HARMLESS.contains(&query.name.as_str()) {
            return self.host.query(query);
        }
        let message = format!("{:?} is not available to tests: they change nothing", query.name);
        Box::pin(std::future::ready(Err(ToolFailure::new(message))))
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        if name != "servers" && !name.starts_with("servers.") {
            return self.host.module(name);
        }
        let source = format!("{SERVERS}\nPARAMETERS = {}\n", self.parameters);
        let is_package = name == "servers";
        Box::pin(std::future::ready(Some(ModuleSource { source, is_package })))
    }
}

/// Converts `mcp__github__create_issue` to `github.create_issue`.
fn plain_name(tool: &str) -> String {
    match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server}.{tool}"),
        None => tool.to_owned(),
    }
}
