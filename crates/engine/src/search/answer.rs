//! The answer of a search, as data and as text for a model.

use std::fmt::Write;

use narrows_python::codegen;
use narrows_upstream::catalog::Tool;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Ability, Detail};
use crate::skills::ListedSkill;

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SearchAnswer {
    /// The tools found, best first, or those of a server or category in their own order.
    Tools(ToolHits),
    /// All servers, for a search without a query.
    Overview(Vec<ServerOverview>),
}

/// The tools that a search found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolHits {
    pub tools: Vec<SearchHit>,
    /// The number of all tools, if this is a list and not a ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// Advice when nothing, or not everything, is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(skip)]
    pub(super) detail: Detail,
}

/// The factor for the scores of abilities when they are compared with tools. They were ranked among a
/// few, where rare words count less; and of two equal matches a tool is better, because somebody
/// configured it.
const ABILITY_SHARE: f32 = 0.6;
/// The kind of abilities, which need no server.
const BUILT_IN: &str = "built in";
/// The hint when only abilities match, because they may not be what the caller looks for.
const NO_TOOL: &str =
    "no tool of a server fits; search with other words, or for \"\" to see the servers";

/// A tool, a skill, or something built in that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchHit {
    /// The kind of a hit that is not a tool; tools have none, so that they cost no additional tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    pub server: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The line that imports it.
    #[serde(rename = "import", skip_serializing_if = "Option::is_none")]
    pub import_line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The JSON schemas of its parameters and result, for programs that read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Whether its server says that it should no longer be used.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// The score of the match.
    #[serde(skip)]
    pub(super) score: f32,
}

/// A server in the overview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerOverview {
    pub server: String,
    /// The same as `server`, because programs expect a name at every entry.
    pub name: String,
    /// `None` while its tools are not known.
    pub tools: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

impl SearchHit {
    pub fn new(tool: &Tool, detail: Detail, definition: impl FnOnce() -> String) -> Self {
        let is_full = detail == Detail::Full;
        Self {
            kind: None,
            score: 0.0,
            server: tool.module.clone(),
            name: tool.name.python.clone(),
            description: (detail != Detail::NameOnly).then(|| summary(tool)),
            import_line: (detail != Detail::NameOnly)
                .then(|| format!("from servers.{} import {}", tool.module, tool.name.python)),
            definition: is_full.then(definition),
            input_schema: is_full.then(|| tool.input_schema().clone()),
            output_schema: tool.output_schema().filter(|_| is_full).cloned(),
            deprecated: tool.is_deprecated(),
        }
    }

    /// Tells whether this is the tool of a server.
    pub fn is_tool(&self) -> bool {
        self.kind.is_none()
    }
}

/// Returns the first sentence of a tool's description, after its deprecation notice if it has one.
fn summary(tool: &Tool) -> String {
    let summary = codegen::summary_line(tool.description());
    if !tool.is_deprecated() {
        return summary;
    }
    let deprecation = codegen::Deprecation::of(&tool.raw);
    deprecation.map_or(summary.clone(), |deprecation| deprecation.with(&summary))
}

impl SearchHit {
    fn skill(skill: &ListedSkill, detail: Detail) -> Self {
        let mut description = format!("skill: {}", codegen::summary_line(&skill.description));
        if !skill.changed.is_empty() {
            description += &format!(" (tools changed: {})", skill.changed.join("; "));
        }
        let import = format!("from skills import {}", skill.name);
        Self {
            kind: Some("skill"),
            score: skill.score,
            server: "skills".to_owned(),
            name: skill.name.clone(),
            definition: (detail == Detail::Full)
                .then(|| format!("{import}\n{}\n    {description}\n", skill.signature)),
            description: (detail != Detail::NameOnly).then_some(description),
            import_line: (detail != Detail::NameOnly).then_some(import),
            // The parameters are in the signature; programs expect a schema at every entry.
            input_schema: (detail == Detail::Full).then(|| json!({"type": "object"})),
            output_schema: None,
            deprecated: false,
        }
    }

    fn ability(ability: &Ability, score: f32, detail: Detail) -> Self {
        let description = format!("{BUILT_IN}: {}: {}", ability.call, ability.summary);
        Self {
            kind: Some(BUILT_IN),
            score,
            server: BUILT_IN.to_owned(),
            name: ability.name.to_owned(),
            description: (detail != Detail::NameOnly).then_some(description),
            import_line: None,
            definition: (detail == Detail::Full).then(|| ability.definition()),
            input_schema: (detail == Detail::Full).then(|| ability.input_schema()),
            output_schema: (detail == Detail::Full).then(|| ability.output_schema()),
            deprecated: false,
        }
    }
}

impl SearchAnswer {
    /// Inserts skills among the tools by their scores.
    pub(crate) fn add_skills(&mut self, skills: &[ListedSkill]) {
        let ranked = skills.iter().map(|skill| (skill.score, skill));
        self.add(ranked, |skill, _, detail| SearchHit::skill(skill, detail));
    }

    /// Inserts abilities among ranked tools, each behind tools that match nearly as well. A list of a
    /// server's tools stays as it is.
    pub(crate) fn add_abilities(&mut self, abilities: &[(&Ability, f32)]) {
        if matches!(self, Self::Tools(found) if found.total.is_none()) {
            let has_tools = !self.tools().is_empty();
            let ranked = abilities.iter().map(|(it, score)| (score * ABILITY_SHARE, it));
            self.add(ranked, |it, score, detail| SearchHit::ability(it, score, detail));
            if let Self::Tools(found) = self
                && !has_tools
                && !found.tools.is_empty()
            {
                found.hint = Some(NO_TOOL.to_owned());
            }
        }
    }

    fn add<T>(
        &mut self,
        more: impl Iterator<Item = (f32, T)>,
        show: impl Fn(T, f32, Detail) -> SearchHit,
    ) {
        let Self::Tools(found) = self else { return };
        for (score, thing) in more {
            let at = found.tools.iter().position(|tool| tool.score < score);
            let at = at.unwrap_or(found.tools.len());
            found.tools.insert(at, show(thing, score, found.detail));
            if found.total.is_none() {
                found.hint = None;
            }
        }
    }

    /// Creates an answer of skills only.
    pub(crate) fn of_skills(skills: &[ListedSkill], detail: Detail) -> Self {
        let tools = skills.iter().map(|skill| SearchHit::skill(skill, detail)).collect();
        let hint = skills.is_empty().then(|| "no skill fits; save one with save_skill".to_owned());
        Self::Tools(ToolHits { tools, total: None, hint, detail })
    }

    /// Returns the tools, or nothing for an overview.
    pub fn tools(&self) -> &[SearchHit] {
        match self {
            Self::Tools(tools) => &tools.tools,
            Self::Overview(_) => &[],
        }
    }

    /// Writes the answer for a model, as short as possible.
    pub fn text(&self) -> String {
        match self {
            Self::Tools(tools) => tools.text(),
            Self::Overview(servers) => overview(servers),
        }
    }
}

impl ToolHits {
    fn text(&self) -> String {
        let mut text = match self.detail {
            Detail::NameOnly => names(&self.tools),
            Detail::WithDescription => lines(&self.tools),
            Detail::Full => {
                let parts = self.tools.iter().map(|found| {
                    let definition = found.definition.as_deref().unwrap_or_default();
                    match found.kind {
                        Some(kind) => format!("# {kind}\n{definition}"),
                        None => format!("# servers.{}\n{definition}", found.server),
                    }
                });
                parts.collect::<Vec<_>>().join("\n")
            }
        };
        if let Some(hint) = &self.hint {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text += hint;
        }
        text
    }
}

/// Writes `server: tool, tool`, a line for each server, the one with the best tool first.
fn names(tools: &[SearchHit]) -> String {
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    for found in tools {
        let name = match found.deprecated {
            true => format!("{} (deprecated)", found.name),
            false => found.name.clone(),
        };
        match lines.iter_mut().find(|(server, _)| *server == found.server) {
            Some((_, names)) => names.push(name),
            None => lines.push((&found.server, vec![name])),
        }
    }
    let lines = lines.into_iter().map(|(server, names)| format!("{server}: {}", names.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}

fn lines(tools: &[SearchHit]) -> String {
    let lines = tools.iter().map(|found| {
        let import = found.import_line.as_deref();
        match (import, found.description.as_deref()) {
            (Some(import), Some("") | None) => import.to_owned(),
            (Some(import), Some(description)) => format!("{import} # {description}"),
            (None, description) => description.unwrap_or_default().to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn overview(servers: &[ServerOverview]) -> String {
    if servers.is_empty() {
        return "no servers are configured; add one with `narrows servers add`".to_owned();
    }
    let mut text = String::new();
    for server in servers {
        let tools = match server.tools {
            Some(1) => "1 tool".to_owned(),
            Some(count) => format!("{count} tools"),
            None => "not known yet".to_owned(),
        };
        let category = server.category.as_ref().map_or(String::new(), |name| format!(" [{name}]"));
        let _ = writeln!(text, "{}: {tools}{category}", server.server);
    }
    text + "search for what to do (\"create issue\"), or name a server or a category to list it"
}
