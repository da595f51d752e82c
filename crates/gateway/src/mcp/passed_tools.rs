//! The tools that are passed through to clients, with the names that clients see. They are collected
//! once for each state of the catalog, because a list can have twenty thousand tools, and some clients
//! ask for it with every call.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use narrows_model::Expose;
use narrows_upstream::catalog::{ServerTools, Tool};
use rmcp::model::Tool as Definition;

/// `auto` passes a server through while its tools, as JSON, are no longer than this: about a
/// thousand tokens.
const AUTO_BYTES: usize = 4_000;
/// The size of a nearly empty definition, to estimate whether copying all of them takes long.
const DEFINITION_BYTES: usize = 100;

/// One tool that is passed through.
#[derive(Debug)]
pub(super) struct PassedTool {
    pub(super) tool: Arc<Tool>,
    /// The definition as the server wrote it, with the name that clients see. None if it does not fit
    /// the protocol's types: then the tool is not listed, but can be called.
    pub(super) definition: Option<Definition>,
}

/// All tools that are passed through.
#[derive(Debug, Default)]
pub(super) struct PassedTools {
    tools: Vec<PassedTool>,
    by_name: HashMap<String, usize>,
}

impl PassedTools {
    /// Collects the tools that servers list. A name that two servers have, or that is one of `ours`,
    /// gets the name of its server in front.
    pub(super) fn new(servers: &[Arc<ServerTools>], ours: &[Definition]) -> Self {
        let passed: Vec<&Arc<Tool>> = servers.iter().flat_map(|server| &server.tools).collect();
        let mut times: HashMap<&str, usize> = HashMap::new();
        for name in ours.iter().map(|tool| tool.name.as_ref()) {
            *times.entry(name).or_default() += 1;
        }
        for tool in &passed {
            *times.entry(tool.id.tool.as_str()).or_default() += 1;
        }
        let is_single = |tool: &Tool| times.get(tool.id.tool.as_str()) == Some(&1);
        let mut taken: HashSet<String> = ours.iter().map(|tool| tool.name.to_string()).collect();
        // A tool's own name at one server may be equal to what another server's tool gets with the
        // server's name in front.
        taken.extend(passed.iter().filter(|tool| is_single(tool)).map(|tool| tool.id.tool.clone()));
        let mut name_of = |tool: &Tool| {
            if is_single(tool) {
                return tool.id.tool.clone();
            }
            let name = format!("{}__{}", tool.id.server, tool.id.tool);
            let numbered = (2..).map(|number| format!("{name}_{number}"));
            let mut names = std::iter::once(name.clone()).chain(numbered);
            let free = names.find(|name| taken.insert(name.clone()));
            free.unwrap_or(name)
        };
        let mut all = Self::default();
        for tool in passed {
            let name = name_of(tool);
            let mut definition = serde_json::from_value::<Definition>(tool.raw.clone()).ok();
            if let Some(definition) = &mut definition {
                definition.name = name.clone().into();
            }
            all.by_name.insert(name, all.tools.len());
            all.tools.push(PassedTool { tool: Arc::clone(tool), definition });
        }
        all
    }

    /// Finds the tool that a client sees by this name.
    pub(super) fn get(&self, name: &str) -> Option<&PassedTool> {
        self.by_name.get(name).and_then(|place| self.tools.get(*place))
    }

    /// Returns the definitions of the tools that are visible.
    pub(super) fn definitions(
        &self,
        is_visible: impl Fn(&Tool) -> bool,
    ) -> impl Iterator<Item = &Definition> {
        let visible = self.tools.iter().filter(move |passed| is_visible(&passed.tool));
        visible.filter_map(|passed| passed.definition.as_ref())
    }

    /// Returns the names that clients see.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Estimates how many bytes a list of the definitions copies.
    pub(super) fn bytes(&self) -> usize {
        self.tools.len() * DEFINITION_BYTES
    }
}

/// Tells whether a server's tools are passed through. Of a long list, no more is serialized than is
/// needed to find that it is too long.
pub(super) fn is_passed(expose: Expose, server: &ServerTools) -> bool {
    match expose {
        Expose::Code => false,
        Expose::Direct | Expose::Both => true,
        Expose::Auto => {
            let mut left = AUTO_BYTES;
            server.tools.iter().all(|tool| {
                let rest = left.checked_sub(tool.raw.to_string().len());
                left = rest.unwrap_or_default();
                rest.is_some()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use narrows_engine::catalog::PythonNaming;
    use narrows_model::{Connection, ServerSpec, StdioSpec};
    use narrows_upstream::catalog::{Catalog, Listing, UpstreamInfo};
    use serde_json::{Value, json};

    use super::*;

    fn server(name: &str, tools: Vec<Value>) -> Arc<ServerTools> {
        let spec = ServerSpec::new(name, Connection::Stdio(StdioSpec::default()));
        let catalog = Catalog::new(std::slice::from_ref(&spec), None, &PythonNaming);
        catalog.replace(&spec, Listing { about: UpstreamInfo::default(), tools });
        catalog.listing(name).unwrap()
    }

    fn named(name: &str) -> Value {
        json!({"name": name, "inputSchema": {"type": "object"}})
    }

    #[test]
    fn each_tool_is_found_by_the_one_name_that_it_is_listed_by() {
        let first = server("a", vec![named("both"), named("own"), named("b__both")]);
        // A definition that the protocol's types do not take.
        let odd = json!({"name": "odd", "description": 7, "inputSchema": {}});
        let second = server("b", vec![named("both"), odd]);
        let ours = [serde_json::from_value::<Definition>(named("own")).unwrap()];
        let tools = PassedTools::new(&[first, second], &ours);
        let listed: Vec<&str> = tools.definitions(|_| true).map(|tool| &*tool.name).collect();
        assert_eq!(listed, ["a__both", "a__own", "b__both", "b__both_2"]);
        for (name, id) in [
            ("a__both", "a.both"),
            ("a__own", "a.own"),
            ("b__both", "a.b__both"),
            ("b__both_2", "b.both"),
            ("odd", "b.odd"),
        ] {
            let tool = &tools.get(name).unwrap().tool;
            assert_eq!(format!("{}.{}", tool.id.server, tool.id.tool), id);
        }
        assert!(tools.get("both").is_none() && tools.get("own").is_none());
        let shown = tools.definitions(|tool| tool.id.server == "b").count();
        assert_eq!(shown, 1);
    }

    #[test]
    fn auto_passes_servers_with_few_tools() {
        let few = server("few", vec![named("one")]);
        let many = server("many", (0..200).map(|n| named(&format!("tool_{n}"))).collect());
        assert!(is_passed(Expose::Auto, &few) && !is_passed(Expose::Auto, &many));
        assert!(is_passed(Expose::Direct, &many) && !is_passed(Expose::Code, &few));
    }
}
