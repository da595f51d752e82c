//! Answers a program: the host that the sandbox calls out to.

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

/// How many notes on its data a program is given.
const MAX_NOTES: usize = 20;

/// What is answered with definitions of tools, which are public, and never changed.
const DEFINITIONS: [&str; 5] =
    ["wrapper", "tool_names", "search_tools", "get_tool_definition", "list_servers"];

/// Those of them that a server wrote, or that were made of what it wrote.
const WRITTEN_BY_SERVERS: [&str; 3] = ["wrapper", "search_tools", "get_tool_definition"];

/// How much a search tells if a program does not say it.
const DEFAULT_LEVEL: &str = "with_description";

/// What a server says of its own state, as flow rules name it beside its tools.
const STATUS: &str = "status";

/// Where a program's output goes.
type Output = Box<dyn Fn(OutputStream, &str) + Send + Sync>;

/// One program's view of the gateway.
pub struct ProgramHost {
    discovery: Arc<Discovery>,
    request_stats: Option<Arc<RequestStats>>,
    guard: Arc<RunGuard>,
    caller: Arc<PausingCaller>,
    media: Arc<Media>,
    output: Output,
    /// What was done to its data that the program's author should know of.
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

    /// What the program's calls would have cost a model is written on this.
    pub fn counting(self, request_stats: Arc<RequestStats>) -> Self {
        Self { request_stats: Some(request_stats), ..self }
    }

    /// Files, skills, boards and shared values are those that this agent may see.
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

    /// What was noted while the program ran.
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

    /// Calls one tool for a person, under the same rules as the calls of programs, and gives the
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

    /// What a tool gives.
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
        // What it takes of the memory for answers is given back when the value was made of it.
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

    /// As [`parse`], whatever names the program gave to the parameters.
    async fn parse_named<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: &RawValue,
    ) -> Result<T, ToolFailure> {
        let parsing = || {
            let mut arguments: Map<String, Value> = parse(arguments)?;
            // The function in the guest hands its default on, also beside another name for it.
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

    /// In strict mode nothing enters the sandbox as it is. (What tools give is protected by the
    /// broker's watch.)
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

    /// Definitions that a program was given count as read from their servers.
    fn has_read_definitions(&self, found: &[SearchHit]) {
        for found in found.iter().filter(|found| found.is_tool()) {
            if let Ok(tool) = self.broker().catalog().resolve(&found.name, Some(&found.server)) {
                self.guard.has_read_words(&tool.id.server, &tool.id.tool);
            }
        }
    }

    /// A tool that could not be had. If its server says why, that was read from it.
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

/// A failure that the program sees as attributes of its `ToolError`.
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
                // They are no less public when the program prints them.
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
