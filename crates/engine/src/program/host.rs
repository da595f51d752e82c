//! The host of a program, to which the sandbox passes its calls and queries.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use narrows_model::OutputStream;
use narrows_sandbox::{
    ModuleSource, PausedClock, Query, ToolAnswer, ToolCall, ToolFailure, ToolHost,
};
use narrows_upstream::Caller;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json, value::RawValue};

use super::{analysis::ANALYZE, modules, pausing_caller::PausingCaller};
use crate::{
    aliases,
    broker::{Broker, CallError, Called},
    compute::json_bytes,
    discovery::Discovery,
    media::Media,
    safety::RunGuard,
    search::{DefinitionRequest, SearchAnswer, SearchHit, SearchRequest},
    state::{Agent, StateError},
    token_stats::RequestStats,
    value::{self, ToolValue},
};

/// The most notes of one program.
const MAX_NOTES: usize = 20;

/// The queries that return definitions of tools, which are public and never protected.
const DEFINITIONS: [&str; 5] =
    ["wrapper", "tool_names", "search_tools", "get_tool_definition", "list_servers"];

/// The queries among them whose answers a server wrote, or that are generated from what it wrote.
const WRITTEN_BY_SERVERS: [&str; 3] = ["wrapper", "search_tools", "get_tool_definition"];

/// The default level of detail that the guest passes in a search.
const DEFAULT_LEVEL: &str = "with_description";

/// The name that flow rules have for words of a server about its own state.
const STATUS: &str = "status";

/// The function that takes a program's output.
type Output = Box<dyn Fn(OutputStream, &str) + Send + Sync>;

/// The host of one program: the gateway as that program may use it.
pub struct ProgramHost {
    discovery: Arc<Discovery>,
    request_stats: Option<Arc<RequestStats>>,
    guard: Arc<RunGuard>,
    caller: Arc<PausingCaller>,
    media: Arc<Media>,
    output: Output,
    /// Notes for the program's author about what was done to its data.
    notes: Mutex<Vec<String>>,
}

impl ProgramHost {
    pub fn new(
        discovery: Arc<Discovery>,
        guard: Arc<RunGuard>,
        caller: Arc<dyn Caller>,
        media: Arc<Media>,
        output: impl Fn(OutputStream, &str) + Send + Sync + 'static,
    ) -> Self {
        let caller = Arc::new(PausingCaller { caller, patience: PausedClock::default() });
        let (output, notes) = (Box::new(output), Mutex::default());
        Self { discovery, request_stats: None, guard, caller, media, output, notes }
    }

    /// Counts in `request_stats` what the program's calls would have cost a model.
    pub fn counting(self, request_stats: Arc<RequestStats>) -> Self {
        Self { request_stats: Some(request_stats), ..self }
    }

    /// Returns the agent whose files, skills, boards and shared values the program sees.
    pub(super) fn agent(&self) -> &Agent {
        self.guard.agent()
    }

    pub(super) fn guard(&self) -> &Arc<RunGuard> {
        &self.guard
    }

    pub(super) fn broker(&self) -> &Broker {
        self.discovery.broker()
    }

    pub(super) fn media(&self) -> &Media {
        &self.media
    }

    pub(super) fn note(&self, notes: &[String]) {
        let mut noted = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        for note in notes {
            if noted.len() < MAX_NOTES && !noted.contains(note) {
                noted.push(note.clone());
            }
        }
    }

    /// Takes the notes that were made while the program ran.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn call_tool(&self, name: &str, arguments: &RawValue) -> Result<Value, ToolFailure> {
        match name.strip_prefix("narrows:") {
            Some(own) => self.call_own(own, arguments).await,
            None => {
                let parsing = || parse(arguments);
                let arguments = self.agent().compute(arguments.get().len(), parsing).await?;
                Ok(self.tool_value(name, arguments).await?.into_message())
            }
        }
    }

    /// Calls one tool for a person, under the same rules as the calls of programs, and returns the
    /// value that a program would get.
    pub async fn call_for_client(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        self.guard.begin().map_err(|refused| ToolFailure::new(refused.to_string()))?;
        let given = self.tool_value(name, arguments).await?;
        if self.guard.level().audit_must_hold {
            let written = self.agent().written(self.guard.audit_trail()).await;
            written.map_err(|why| ToolFailure::new(StateError::AuditDown(why).to_string()))?;
        }
        Ok(given.value)
    }

    /// Calls a tool and reads its result as a value; learns from it and counts it.
    pub(super) async fn tool_value(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolValue, ToolFailure> {
        let agent = self.agent();
        let tool = self.broker().find_for(name, None, agent).await;
        let tool = tool.map_err(|error| self.not_found(&error))?;
        let at = Some((tool.id.server.as_str(), tool.id.tool.as_str()));
        let writing =
            || self.request_stats.as_ref().and_then(|_| serde_json::to_string(&arguments).ok());
        let written = agent.compute(json_bytes(&arguments), writing).await;
        let called = self.broker().call(&self.guard, &tool, arguments, self.caller.clone()).await;
        // The result's part of the memory for answers is released when it has become a value.
        let Called { result, held: _held } = called.map_err(|error| failure(&error, at))?;
        let bytes = json_bytes(&result);
        let reading = || {
            if let Some((request_stats, written)) = self.request_stats.as_ref().zip(written) {
                request_stats.called(&format!("{}{written}", tool.id), &value::text(&result));
            }
            let spec = self.broker().fleet().spec(&tool.id.server);
            let given = match spec.is_none_or(|spec| spec.recover) {
                true => value::recovered(result, &tool, &self.media),
                false => value::of(result, &tool, &self.media).map(ToolValue::from),
            };
            given.inspect(|given| self.discovery.used(&tool, &given.value))
        };
        let given = agent.compute(bytes, reading).await;
        given.map_err(|said| with_place(said, at))
    }

    async fn answer(&self, name: &str, arguments: &RawValue) -> Result<Value, ToolFailure> {
        match name {
            "wrapper" => {
                let wanted: WrapperRequest = parse(arguments)?;
                let (name, server) = (&wanted.name, Some(wanted.server.as_str()));
                let tool = self.broker().find_for(name, server, self.agent()).await;
                let tool = tool.map_err(|error| self.not_found(&error))?;
                let policy = self.agent().safety().policy();
                let writing = || self.discovery.wrapper(&tool, &policy);
                let code = self.agent().compute(json_bytes(&tool.raw), writing).await;
                Ok(json!({ "name": code.python_name, "source": code.source }))
            }
            "tool_names" => {
                let wanted: ServerRequest = parse(arguments)?;
                Ok(json!(self.tool_names(&wanted.server).await?))
            }
            "search_tools" => {
                let request: SearchRequest = self.parse_named(name, arguments).await?;
                Ok(match self.discovery.search(&request, self.agent()).await {
                    SearchAnswer::Tools(found) => {
                        self.has_read_definitions(&found.tools);
                        json!(found.tools)
                    }
                    SearchAnswer::Overview(servers) => json!(servers),
                })
            }
            "get_tool_definition" => {
                let wanted: DefinitionRequest = self.parse_named(name, arguments).await?;
                let defined = self.discovery.define(&wanted, self.agent()).await;
                let defined = defined.map_err(|error| self.not_found(&error))?;
                if let Some(tool) = self.discovery.defined_tool(&wanted) {
                    self.guard.has_read_words(&tool.id.server, &tool.id.tool);
                }
                Ok(defined)
            }
            "list_servers" => Ok(json!(self.servers())),
            "display" => {
                let shown = self.media.display(parse(arguments)?);
                shown.map_err(|error| ToolFailure::new(error.to_string()))
            }
            other => self.answer_state(other, arguments).await,
        }
    }

    /// Parses arguments as [`parse`] does, but also understands other names of the parameters.
    async fn parse_named<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: &RawValue,
    ) -> Result<T, ToolFailure> {
        let parsing = || {
            let mut arguments: Map<String, Value> = parse(arguments)?;
            // The guest's function always passes its default, which would otherwise win over a renamed
            // parameter.
            if arguments.get("detail_level").is_some_and(|level| level == DEFAULT_LEVEL) {
                arguments.remove("detail_level");
            }
            aliases::rename(tool, &mut arguments);
            self.note(&aliases::take_unknown(tool, &mut arguments));
            serde_json::from_value(Value::Object(arguments))
                .map_err(|error| ToolFailure::new(format!("the arguments do not fit: {error}")))
        };
        self.agent().compute(arguments.get().len(), parsing).await
    }

    /// Protects a value that enters the sandbox, in strict mode. (The run's guard protects the results
    /// of tools.)
    pub(super) fn let_in(&self, mut value: Value) -> Value {
        if self.guard.is_strict() {
            self.guard.pii_filter().json(&mut value);
        }
        value
    }

    fn let_in_failure(&self, mut failure: ToolFailure) -> ToolFailure {
        if self.guard.is_strict() {
            self.guard.pii_filter().replace(&mut failure.message);
        }
        failure
    }

    /// Notes that a program was given definitions, which count as read from their servers.
    fn has_read_definitions(&self, found: &[SearchHit]) {
        for found in found.iter().filter(|found| found.is_tool()) {
            if let Ok(tool) = self.broker().catalog().resolve(&found.name, Some(&found.server)) {
                self.guard.has_read_words(&tool.id.server, &tool.id.tool);
            }
        }
    }

    /// Returns the failure for a tool that was not found. If it quotes the server, that counts as read.
    fn not_found(&self, error: &CallError) -> ToolFailure {
        if let CallError::Upstream(error) = error
            && let Some(server) = error.quotes()
        {
            self.guard.has_read_words(server, STATUS);
        }
        failure(error, None)
    }

    async fn tool_names(&self, server: &str) -> Result<Vec<String>, ToolFailure> {
        let catalog = self.broker().catalog();
        if catalog.listing(server).is_none() {
            let started = self.broker().fleet().start(server).await;
            started.map_err(|error| self.not_found(&CallError::from(error)))?;
        }
        let listing = catalog.listing(server);
        let tools = listing.iter().flat_map(|listing| &listing.tools);
        Ok(tools.map(|tool| tool.name.python.clone()).collect())
    }

    fn servers(&self) -> Vec<Value> {
        let modules = self.broker().catalog().modules();
        let statuses = self.broker().fleet().statuses().into_iter();
        statuses
            .map(|status| {
                if status.last_error.is_some() {
                    self.guard.has_read_words(&status.server, STATUS);
                }
                json!({
                    "module": modules.get(&status.server),
                    "tools": status.tools,
                    "state": status.health,
                    "last_error": status.last_error,
                })
            })
            .collect()
    }
}

impl std::fmt::Debug for ProgramHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProgramHost")
    }
}

#[derive(Deserialize)]
struct WrapperRequest {
    server: String,
    name: String,
}

#[derive(Deserialize)]
struct ServerRequest {
    server: String,
}

pub(super) fn parse<T: DeserializeOwned>(arguments: &RawValue) -> Result<T, ToolFailure> {
    serde_json::from_str(arguments.get())
        .map_err(|error| ToolFailure::new(format!("the arguments do not fit: {error}")))
}

/// Returns a failure whose details become attributes of the program's `ToolError`.
fn failure(error: &CallError, place: Option<(&str, &str)>) -> ToolFailure {
    with_place(error.to_string(), place)
}

fn with_place(message: String, place: Option<(&str, &str)>) -> ToolFailure {
    let mut failure = ToolFailure::new(message);
    if let Some((server, tool)) = place {
        failure.details.insert("server".into(), server.into());
        failure.details.insert("tool".into(), tool.into());
    }
    failure
}

fn raw(value: Value) -> Result<Box<RawValue>, ToolFailure> {
    serde_json::value::to_raw_value(&value).map_err(|error| ToolFailure::new(error.to_string()))
}

impl ToolHost for ProgramHost {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move {
            let answer = match call.tool.as_str() {
                ANALYZE => self.answer_analysis(call).await,
                tool => match self.call_tool(tool, &call.arguments).await {
                    Ok(value) => {
                        let bytes = json_bytes(&value);
                        let writing = || raw(value).map(ToolAnswer::from);
                        self.agent().compute(bytes, writing).await
                    }
                    Err(failure) => Err(failure),
                },
            };
            answer.map_err(|failure| self.let_in_failure(failure))
        })
    }

    fn query(&self, query: Query) -> BoxFuture<'_, Result<Box<RawValue>, ToolFailure>> {
        Box::pin(async move {
            let answer = self.answer(&query.name, &query.arguments).await;
            let answer = answer.map_err(|failure| self.let_in_failure(failure))?;
            let bytes = json_bytes(&answer);
            let writing = || {
                let name = query.name.as_str();
                // Definitions stay public when the program prints them.
                if WRITTEN_BY_SERVERS.contains(&name) {
                    self.guard.pii_filter().publish(&answer);
                }
                raw(if DEFINITIONS.contains(&name) { answer } else { self.let_in(answer) })
            };
            self.agent().compute(bytes, writing).await
        })
    }

    fn module(&self, name: String) -> BoxFuture<'_, Option<ModuleSource>> {
        Box::pin(async move {
            let Some(skill) = name.strip_prefix("skills.") else {
                return modules::source(self.broker().catalog(), &name);
            };
            let mut module = self.agent().skill_module(self.broker(), skill).await?;
            if self.guard.is_strict() {
                let bytes = module.source.len();
                let protecting = || self.guard.pii_filter().replace(&mut module.source);
                self.agent().compute(bytes, protecting).await;
            }
            Some(module)
        })
    }

    fn patience(&self) -> PausedClock {
        self.caller.patience.clone()
    }

    fn output(&self, stream: OutputStream, text: &str) {
        (self.output)(stream, text);
    }
}

#[cfg(test)]
pub(super) mod tests;
