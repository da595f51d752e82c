//! Discovery: which tools there are, how to call them, what they return, and whether a program uses
//! them correctly. Usage and result shapes are learnt here too.

mod known_tools;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use narrows_model::{Failure, Outcome, Program};
use narrows_policy::Policy;
use narrows_python::{
    ParsedProgram,
    check::{self, Checked, GivenVariables},
    codegen::{self, Observation, ToolCode},
    review::ImpliedImports,
};
use narrows_sandbox::Session;
use narrows_upstream::catalog::Tool;
use serde_json::{Value, json};

use crate::{
    background::Background,
    broker::{Broker, CallError},
    compute::{ALWAYS_APART, json_bytes},
    search::{
        Ability, DefinitionRequest, Detail, SearchAnswer, SearchRequest, ToolSearch, UsageStats,
    },
    shape_inference::ObservedShapes,
    skills::ListedSkill,
    state::{Agent, StateError},
};

pub use known_tools::CatalogTools;

/// How long servers may take to list their tools again before a program is refused.
const RELISTING_TIME: Duration = Duration::from_secs(2);

/// The most skills among the tools that a search finds.
const MAX_SKILLS: usize = 3;

/// The cost of a search as the size of an input: each byte of the query counts as `QUERY_WEIGHT` bytes,
/// and one more for every `TOOLS_PER_BYTE` tools.
const MIN_QUERY_BYTES: usize = 32;
const QUERY_WEIGHT: usize = 8;
const TOOLS_PER_BYTE: usize = 16;

/// The settings of discovery: what is learnt and checked, and where that is kept.
#[derive(Clone, Debug, Default)]
pub struct DiscoverySettings {
    /// The directory for what was learnt; without it nothing is kept between starts.
    pub dir: Option<PathBuf>,
    /// Tools that were used after a search rank higher after the next one like it.
    pub learn: bool,
    /// Results show what their tools return.
    pub observe: bool,
    /// Programs are checked before they run.
    pub check: bool,
    /// The configured categories of servers, by server name.
    pub categories: BTreeMap<String, String>,
}

/// The entry point to searches, definitions and checks of tools.
#[derive(Debug)]
pub struct Discovery {
    broker: Broker,
    finder: ToolSearch,
    usage_stats: Option<Arc<UsageStats>>,
    observed: Option<Arc<ObservedShapes>>,
    background: Background,
    checks: bool,
}

impl Discovery {
    pub fn new(broker: Broker, settings: DiscoverySettings, background: Background) -> Self {
        let file = |name: &str| settings.dir.as_ref().map(|dir| dir.join(name));
        let usage_stats = settings
            .learn
            .then(|| Arc::new(UsageStats::new(file("habits.json"), background.clone())));
        Self {
            broker,
            finder: ToolSearch::new(settings.categories, usage_stats.clone()),
            usage_stats,
            observed: settings.observe.then(|| Arc::new(ObservedShapes::open(file("observed")))),
            background,
            checks: settings.check,
        }
    }

    /// Searches for tools, the agent's skills and built-in functions. Without a query, lists what there
    /// is.
    pub async fn search(&self, request: &SearchRequest, agent: &Agent) -> SearchAnswer {
        self.broker.learn().await;
        if request.is_of_skills() {
            let named = matches!(request.query.trim(), "skills" | "skill");
            let query = Some(request.query.as_str()).filter(|_| !named);
            let skills = agent.list_skills(&self.broker, query, None, request.limit).await;
            return SearchAnswer::of_skills(&told(skills, agent), request.detail_level);
        }
        let searching = || self.search_visible(request, &|tool| !agent.hides(tool));
        let mut answer = agent.compute(self.search_bytes(request), searching).await;
        if request.is_everywhere() {
            let query = Some(request.query.as_str());
            let skills = agent.list_skills(&self.broker, query, None, Some(MAX_SKILLS)).await;
            answer.add_skills(&told(skills, agent));
        }
        answer
    }

    /// Searches for tools as [`Self::search`] does, without waiting for servers that have not listed
    /// theirs, and without skills.
    pub fn search_known(&self, request: &SearchRequest) -> SearchAnswer {
        self.search_visible(request, &|_| true)
    }

    /// Returns the cost of a search as the size of an input for [`Agent::compute`].
    fn search_bytes(&self, request: &SearchRequest) -> usize {
        let snapshot = self.broker.catalog().snapshot();
        // Signatures are written for each tool, and tools that are new are indexed first.
        if request.detail_level == Detail::Full || !self.finder.has_indexed(&snapshot) {
            return ALWAYS_APART;
        }
        let tools: usize = snapshot.servers().map(|server| server.tools.len()).sum();
        // Without a query, all tools are visited too.
        let query_bytes = request.query.len().max(MIN_QUERY_BYTES);
        query_bytes.saturating_mul(QUERY_WEIGHT + tools / TOOLS_PER_BYTE)
    }

    fn search_visible(
        &self,
        request: &SearchRequest,
        is_visible: &dyn Fn(&Tool) -> bool,
    ) -> SearchAnswer {
        let signature = |tool: &Tool| self.signature(tool);
        let mut answer = self.finder.search(self.broker.catalog(), request, is_visible, signature);
        if request.is_everywhere() {
            answer.add_abilities(&Ability::search(&request.query));
        }
        answer
    }

    /// Returns how a tool, a skill or a built-in function is called, as text; for a tool with `raw`,
    /// its JSON definition.
    pub async fn define(
        &self,
        request: &DefinitionRequest,
        agent: &Agent,
    ) -> Result<Value, CallError> {
        let server = self.named_server(request);
        let error = match self.broker.find_for(&request.name, server, agent).await {
            Ok(tool) if request.raw => return Ok(tool.raw.clone()),
            Ok(tool) => {
                let defining = || self.definition(&tool);
                let text = agent.compute(json_bytes(&tool.raw), defining).await;
                return Ok(Value::String(text));
            }
            Err(error) => error,
        };
        // Searches also find skills and built-in functions, so their names are understood too.
        if let Some(skill) = agent.skill_definition(&request.name).await {
            return Ok(Value::String(agent.pii_filter().text(&skill).into_owned()));
        }
        let ability = Ability::named(&request.name).filter(|_| server.is_none()).ok_or(error)?;
        Ok(Value::String(ability.definition()))
    }

    /// Returns the tool that [`Self::define`] describes, if it is a tool.
    pub(crate) fn defined_tool(&self, request: &DefinitionRequest) -> Option<Arc<Tool>> {
        let server = self.named_server(request);
        self.broker.catalog().resolve(&request.name, server).ok()
    }

    fn named_server<'r>(&self, request: &'r DefinitionRequest) -> Option<&'r str> {
        let of_category = request.category.as_deref();
        let of_category =
            of_category.filter(|name| self.broker.catalog().server_of(name).is_some());
        request.server.as_deref().or(of_category)
    }

    /// Writes the definition of a tool: its import line, its typed signature with its parameters, and
    /// an example.
    pub fn definition(&self, tool: &Tool) -> String {
        format!(
            "from servers.{} import {}\n{}Example: {}\n",
            tool.module,
            tool.name.python,
            self.signature(tool),
            codegen::example(&tool.name, &tool.raw)
        )
    }

    /// Writes the typed signature of a tool, and the meaning of its parameters.
    pub fn signature(&self, tool: &Tool) -> String {
        self.observing(tool, |seen| codegen::signature(&tool.name, &tool.raw, seen))
    }

    /// Writes the Python function of a tool. Words of a server whose reading a flow rule counts are
    /// left out, because a program that only names a tool has not read them.
    pub(crate) fn wrapper(&self, tool: &Tool, policy: &Policy) -> ToolCode {
        let write = match policy.is_flow_source(&tool.id.server, &tool.id.tool) {
            true => ToolCode::without_description,
            false => ToolCode::new,
        };
        self.observing(tool, |seen| write(&tool.id.to_string(), &tool.name, &tool.raw, seen))
    }

    fn observing<T>(&self, tool: &Tool, write: impl FnOnce(Option<Observation<'_>>) -> T) -> T {
        match self.observed(tool) {
            Some((schema, calls)) => write(Some(Observation { schema: &schema, calls })),
            None => write(None),
        }
    }

    /// Returns the schema observed in a tool's results, and their number, if the tool declares no
    /// output schema.
    pub(crate) fn observed(&self, tool: &Tool) -> Option<(Value, u64)> {
        if tool.output_schema().is_some() {
            return None;
        }
        let seen = self.observed.as_ref()?.get(&tool.id, tool.version())?;
        Some((seen.schema.clone(), seen.calls))
    }

    /// Learns from a call of a tool and the value that it returned.
    pub(crate) fn used(&self, tool: &Tool, value: &Value) {
        if let Some(usage_stats) = &self.usage_stats {
            usage_stats.used(&tool.id);
        }
        if let Some(observed) = self.observed.clone()
            && tool.output_schema().is_none()
        {
            observed.learn(&tool.id, tool.version(), value);
            self.background.run(move || observed.save_due());
        }
    }

    /// Checks a program before it runs: `parsed` is its source, `earlier` are the names that earlier
    /// programs of its session have bound.
    pub async fn look(
        &self,
        program: &Program,
        parsed: &ParsedProgram<'_>,
        earlier: EarlierNames,
        agent: &Agent,
    ) -> CheckedProgram {
        if !self.checks {
            return CheckedProgram::default();
        }
        let checking = || {
            let EarlierNames::Known(names) = &earlier else {
                return check::check(parsed, GivenVariables::Unknown, self);
            };
            let given = program.context.keys().chain(names).map(String::as_str).collect();
            check::check(parsed, GivenVariables::Names(&given), self)
        };
        let bytes = program.source.len() + program.context.len() + earlier.len();
        let checked = agent.compute(bytes, checking).await;
        if checked.findings.is_empty() {
            return CheckedProgram::may_run(checked);
        }
        // An unknown name may be a tool of a server that has not listed its tools yet.
        self.broker.learn().await;
        // A tool may be newer than the known list of its server.
        let catalog = self.broker.catalog();
        let is_named = |name: &str| program.source.contains(name);
        let has_named = |server: &str| {
            let listing = catalog.listing(server).filter(|_| catalog.is_stale(server));
            listing.is_some_and(|it| it.tools.iter().any(|tool| is_named(&tool.name.python)))
        };
        let named = catalog.modules().iter();
        let named = named
            .filter(|(server, module)| is_named(module.as_str()) || has_named(server.as_str()));
        let listing = named.map(|(server, _)| self.broker.fleet().refresh(server));
        let _ = tokio::time::timeout(RELISTING_TIME, futures::future::join_all(listing)).await;
        // The second check may take long, because each mistake may be compared with all tools.
        let checked = agent.compute(ALWAYS_APART, checking).await;
        let Some(first) = checked.findings.first() else { return CheckedProgram::may_run(checked) };
        let said = checked.findings.iter();
        let said: Vec<String> =
            said.map(|found| format!("line {}: {}", found.line, found.message)).collect();
        let refusal = Outcome::not_run(Failure {
            kind: "CheckError".into(),
            message: format!("nothing was run: {}", said.join("\n")),
            line: Some(first.line),
            traceback: String::new(),
        });
        CheckedProgram { refusal: Some(refusal), ..CheckedProgram::default() }
    }

    /// Writes what was learnt to disk. To be called before the process ends.
    pub fn flush(&self, patience: Duration) {
        if let Some(observed) = self.observed.clone() {
            self.background.run(move || observed.flush());
        }
        self.background.flush(patience);
    }

    pub fn broker(&self) -> &Broker {
        &self.broker
    }
}

/// The names that earlier programs of a session have bound.
#[derive(Debug)]
pub enum EarlierNames {
    Known(HashSet<String>),
    /// There are too many names, or an earlier version wrote the session without them.
    Unknown,
}

impl From<Option<&Session>> for EarlierNames {
    fn from(session: Option<&Session>) -> Self {
        match session.map(Session::variables) {
            Some(names) => names.map_or(Self::Unknown, Self::Known),
            // Without a session there are no earlier programs.
            None => Self::Known(HashSet::new()),
        }
    }
}

impl EarlierNames {
    fn len(&self) -> usize {
        match self {
            Self::Known(names) => names.len(),
            Self::Unknown => 0,
        }
    }
}

/// The result of checking a program before it runs.
#[derive(Debug, Default)]
pub struct CheckedProgram {
    /// The outcome of a program that is not run because it cannot work.
    pub refusal: Option<Outcome>,
    /// A note to the author of a program that is run.
    pub note: Option<String>,
    /// The tools and modules that it uses without an import, which it has to be given.
    pub(crate) implied: ImpliedImports,
}

/// The variables that tell the guest which tools and modules a program uses without an import;
/// `importer.py` has the same names. No program can write them, and values of these names from a client
/// are removed.
const IMPLIED_TOOLS: &str = "<tools>";
const IMPLIED_MODULES: &str = "<modules>";

impl CheckedProgram {
    fn may_run(checked: Checked) -> Self {
        let note = implied(&checked);
        let implied = ImpliedImports { tools: checked.tools, library: checked.library };
        Self { refusal: None, note, implied }
    }

    /// Gives a program the tools and modules that it uses without an import.
    pub(crate) fn give_implied(&self, program: &mut Program) {
        program.context.remove(IMPLIED_TOOLS);
        program.context.remove(IMPLIED_MODULES);
        let ImpliedImports { tools, library } = &self.implied;
        if !tools.is_empty() {
            program.context.insert(IMPLIED_TOOLS.to_owned(), json!(tools));
        }
        if !library.is_empty() {
            program.context.insert(IMPLIED_MODULES.to_owned(), json!(library));
        }
    }
}

/// Writes the note about modules and tools that a program was given without an import.
fn implied(checked: &Checked) -> Option<String> {
    let modules: BTreeSet<&str> = checked.implied.union(&checked.library).copied().collect();
    let modules: Vec<&str> = modules.into_iter().collect();
    let tools = checked.tools.iter();
    let mut lines: Vec<String> =
        tools.map(|(tool, module)| format!("`from servers.{module} import {tool}`")).collect();
    if !modules.is_empty() {
        lines.insert(0, format!("`import {}`", modules.join(", ")));
    }
    let names: Vec<&str> =
        modules.into_iter().chain(checked.tools.keys().map(String::as_str)).collect();
    let was = if names.len() == 1 { "was" } else { "were" };
    (!names.is_empty())
        .then(|| format!("{} {was} not imported; add {}", names.join(" and "), lines.join(" and ")))
}

/// Protects skills for a model, because agents wrote them. (Definitions of tools are public.) If the
/// store fails, a search goes on without skills.
fn told(skills: Result<Vec<ListedSkill>, StateError>, agent: &Agent) -> Vec<ListedSkill> {
    let mut skills = skills.unwrap_or_else(|error| {
        tracing::warn!(%error, "the store does not give skills, and searches find none");
        Vec::new()
    });
    let pii_filter = agent.pii_filter();
    for skill in &mut skills {
        pii_filter.replace(&mut skill.description);
        pii_filter.replace(&mut skill.signature);
    }
    skills
}

#[cfg(test)]
mod tests;
