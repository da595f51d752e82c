//! Finds tools by what they do.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    catalog::{Snapshot, Tool},
    codegen,
};

/// How much of each tool is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    NameOnly,
    #[default]
    #[serde(alias = "summary")]
    WithDescription,
    Full,
}

/// What is looked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct SearchRequest {
    pub query: String,
    pub detail_level: Detail,
    pub limit: usize,
    /// Only tools of this server.
    pub server: Option<String>,
}

impl Default for SearchRequest {
    fn default() -> Self {
        Self { query: String::new(), detail_level: Detail::default(), limit: 10, server: None }
    }
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    pub server: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How to import it.
    #[serde(rename = "import", skip_serializing_if = "Option::is_none")]
    pub import_line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
}

impl Found {
    pub fn new(tool: &Tool, detail: Detail) -> Self {
        let described = detail != Detail::NameOnly;
        Self {
            server: tool.module.clone(),
            name: tool.name.python.clone(),
            description: described.then(|| codegen::summary_line(tool.description())),
            import_line: described
                .then(|| format!("from servers.{} import {}", tool.module, tool.name.python)),
            definition: (detail == Detail::Full).then(|| codegen::signature(&tool.name, &tool.raw)),
        }
    }
}

/// The tools that fit best, best first. Nothing rather than what does not fit.
pub fn search(snapshot: &Snapshot, request: &SearchRequest) -> Vec<Found> {
    let tools: Vec<&Arc<Tool>> = snapshot
        .tools()
        .filter(|tool| {
            request.server.as_ref().is_none_or(|server| {
                tool.id.server.eq_ignore_ascii_case(server)
                    || tool.module.eq_ignore_ascii_case(server)
            })
        })
        .collect();
    let found = ranked(&tools, &request.query);
    found
        .into_iter()
        .take(request.limit)
        .map(|tool| Found::new(tool, request.detail_level))
        .collect()
}

fn ranked<'a>(tools: &[&'a Arc<Tool>], query: &str) -> Vec<&'a Arc<Tool>> {
    let wanted = words(query);
    if wanted.is_empty() {
        return tools.to_vec();
    }
    let documents: Vec<HashMap<String, f64>> = tools.iter().map(|tool| document(tool)).collect();
    let count = documents.len() as f64;
    let rarity: HashMap<&str, f64> = wanted
        .iter()
        .map(|word| {
            let having = documents.iter().filter(|words| words.contains_key(word)).count() as f64;
            (word.as_str(), ((count - having + 0.5) / (having + 0.5) + 1.0).ln())
        })
        .collect();
    let mut scored: Vec<(f64, &Arc<Tool>)> = tools
        .iter()
        .zip(&documents)
        .map(|(tool, words)| {
            let score = wanted
                .iter()
                .filter_map(|word| {
                    let weight = words.get(word)?;
                    Some(rarity.get(word.as_str())? * weight * 2.2 / (weight + 1.2))
                })
                .sum();
            (score, *tool)
        })
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
    scored.into_iter().map(|(_, tool)| tool).collect()
}

/// The words of a tool, each with its weight: a word in the name says most.
fn document(tool: &Tool) -> HashMap<String, f64> {
    let mut weights: HashMap<String, f64> = HashMap::new();
    let parameters = tool.input_schema().get("properties").and_then(Value::as_object);
    let parameters = parameters.map(|map| map.keys().cloned().collect::<Vec<_>>().join(" "));
    for (text, weight) in [
        (tool.id.tool.as_str(), 3.0),
        (tool.id.server.as_str(), 1.5),
        (tool.description(), 1.0),
        (parameters.as_deref().unwrap_or_default(), 0.5),
    ] {
        let mut seen: HashMap<String, f64> = HashMap::new();
        for word in words(text) {
            // A word that is repeated counts little more than one.
            let times = seen.entry(word).or_default();
            *times = (*times + 1.0).min(2.0);
        }
        for (word, times) in seen {
            *weights.entry(word).or_default() += weight * times.sqrt();
        }
    }
    weights
}

/// Words in small letters, `snake_case` and `camelCase` taken apart, plurals made singular.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut last_lower = false;
    for c in text.chars().chain([' ']) {
        let ends = !c.is_alphanumeric() || (c.is_uppercase() && last_lower);
        if ends && !word.is_empty() {
            words.push(stem(std::mem::take(&mut word)));
        }
        last_lower = c.is_lowercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !STOP_WORDS.contains(&word.as_str()));
    words
}

const STOP_WORDS: [&str; 14] =
    ["a", "an", "the", "to", "of", "for", "in", "on", "and", "or", "with", "by", "from", "is"];

fn stem(word: String) -> String {
    for (ending, replacement) in [("ies", "y"), ("sses", "ss"), ("ing", ""), ("s", "")] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
            && !stem.ends_with('s')
        {
            return format!("{stem}{replacement}");
        }
    }
    word
}
