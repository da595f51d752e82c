//! "Did you mean …?" for tools: by spelling, by meaning, and never one that does more to the world
//! than the name that was asked for.

use std::sync::Arc;

use narrows_model::{MAX_NAME_BYTES, Nearest, similar, there_are};
use narrows_search::{Index, Selection, words};

use super::{
    ServerTools, Tool,
    effect::{Effect, has_same_verb},
};

/// How similar names are that count as one name, misspelt: nothing else was meant.
const MISSPELT: f64 = 0.8;
const MAX_SUGGESTED: usize = 3;
/// How many tools of similar spelling are looked at: some of them may be deprecated.
const MAX_BY_SPELLING: usize = 20;
/// How many tools of similar meaning are looked at: some of them may do too much.
const MAX_BY_MEANING: usize = 20;

impl ServerTools {
    /// Returns the end of a message that says that this server has no such tool: the tools that may
    /// have been meant, or which there are.
    pub fn suggest(self: &Arc<Self>, name: &str) -> String {
        let found = suggested(name, std::slice::from_ref(self));
        let names: Vec<String> =
            found.iter().map(|tool| marked(tool, tool.name.python.clone())).collect();
        match names.is_empty() {
            true => there_are(self.tools.iter().map(|tool| tool.name.python.as_str())),
            false => Nearest(names).to_string(),
        }
    }
}

/// Like [`ServerTools::suggest`], for the tools of all servers; names the servers if none fits.
pub(super) fn suggest_of_any(name: &str, servers: &[Arc<ServerTools>]) -> String {
    // The part before it may be a misspelt server.
    let tool = name.rsplit(['.', '/', ':']).next().unwrap_or(name);
    let found = suggested(tool, servers);
    let full_name = |tool: &Tool| format!("{}.{}", tool.module, tool.name.python);
    let names: Vec<String> = found.iter().map(|tool| marked(tool, full_name(tool))).collect();
    if !names.is_empty() {
        return Nearest(names).to_string();
    }
    match there_are(servers.iter().map(|server| server.module.as_str())) {
        none if servers.is_empty() => none.replace("there are none", "there are no servers"),
        some => some.replace("there are ", "the servers are "),
    }
}

/// Adds to a tool's name that it is deprecated, if it is.
fn marked(tool: &Tool, name: String) -> String {
    if tool.is_deprecated() { format!("{name} (deprecated)") } else { name }
}

/// Finds the tools that may be meant by a name, best first, those that are deprecated last. A name
/// that is too long to be one means none.
fn suggested<'s>(name: &str, servers: &'s [Arc<ServerTools>]) -> Vec<&'s Arc<Tool>> {
    if name.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let wanted = Effect::of_name(name);
    let is_offered = |tool: &Tool| Effect::of_tool(tool).is_offered_for(wanted);
    // A caller who misspells a name means that tool, whatever its annotations say of it.
    let is_meant =
        |score: f64, tool: &Tool| score >= MISSPELT && has_same_verb(name, &tool.name.python);
    let places = servers.iter().enumerate().flat_map(|(at, server)| {
        let tools = server.tools.iter().enumerate();
        tools.map(move |(number, tool)| (tool.name.python.as_str(), (at, number)))
    });
    let tool = |(at, number): (usize, usize)| servers.get(at)?.tools.get(number);
    let spelt: Vec<(f64, &Arc<Tool>)> = similar(name, places)
        .into_iter()
        .filter_map(|(score, place)| Some((score, tool(place)?)))
        .filter(|(score, tool)| is_offered(tool) || is_meant(*score, tool))
        .take(MAX_BY_SPELLING)
        .collect();
    let mut found: Vec<&Arc<Tool>> = Vec::new();
    let mut add = |tool: &'s Arc<Tool>| {
        if !found.iter().any(|known| Arc::ptr_eq(known, tool)) {
            found.push(tool);
        }
    };
    let is_misspelt = spelt.first().is_some_and(|(score, _)| *score >= MISSPELT);
    if is_misspelt {
        spelt.iter().filter(|(score, _)| *score >= MISSPELT).for_each(|(_, tool)| add(tool));
    } else {
        let index = Index::new(servers.iter().map(|server| Arc::clone(server.segment())).collect());
        let selection = Selection { limit: MAX_BY_MEANING, ..Selection::default() };
        for hit in index.search(&words(name).join(" "), &selection) {
            if let Some(tool) = tool((hit.segment, hit.document)).filter(|tool| is_offered(tool)) {
                add(tool);
            }
        }
        spelt.iter().for_each(|(_, tool)| add(tool));
    }
    found.sort_by_key(|tool| tool.is_deprecated());
    found.truncate(MAX_SUGGESTED);
    found
}
