//! Names that nothing binds: a module that needs no import, or a mistake that would end the program
//! after its tools were called.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use narrows_model::{nearest, there_are};
use ruff_python_ast::{ExprName, Stmt};
use ruff_text_size::Ranged;

use super::{
    early,
    finding::Findings,
    scope::{MODULE, Meaning, ScopeId},
    spelling::is_misspelt,
    standard,
    value::Values,
};

/// How many of a program's own names one that is not defined is compared with.
const MAX_CANDIDATES: usize = 500;

/// The variables that a program is given.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// These and no others. There may be hundreds of thousands of them.
    Names(&'a HashSet<&'a str>),
    /// Whatever earlier programs of its session have bound.
    Unknown,
}

impl Given<'_> {
    /// Whether a name that a program does not bind may be a variable that it is given.
    pub(super) fn may_have(self, name: &str) -> bool {
        match self {
            Self::Names(names) => names.contains(name),
            Self::Unknown => true,
        }
    }
}

/// How a name is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// `name(…)`
    Called,
    /// `name.attribute`
    Base,
    Other,
}

/// What was found about the names of one program.
#[derive(Debug)]
pub(super) struct Undefined<'g> {
    given: Given<'g>,
    /// The modules that it uses without an import.
    pub(super) implied: BTreeSet<&'static str>,
    /// The tools that it calls without an import, each with its module.
    pub(super) tools: BTreeMap<String, String>,
}

impl<'g> Undefined<'g> {
    pub(super) fn new(given: Given<'g>) -> Self {
        Self { given, implied: BTreeSet::new(), tools: BTreeMap::new() }
    }

    /// Looks at a name that is read. An error that is handled is the program's own business.
    pub(super) fn read(
        &mut self,
        name: &ExprName,
        reading: Reading,
        values: &Values<'_, '_>,
        scope: ScopeId,
        is_handled: bool,
        findings: &mut Findings<'_>,
    ) {
        let Given::Names(given) = self.given else { return };
        let (id, scopes) = (name.id.as_str(), &values.facts.scopes);
        let is_free = matches!(scopes.meaning(id, scope, name.start()), Meaning::Free);
        if !is_free || given.contains(id) || standard::is_builtin(id) {
            return;
        }
        if let Some(module) = standard::module(id) {
            self.implied.insert(module);
        } else if reading == Reading::Called
            && let [module] = values.tools.owners(id)
        {
            // Models forget imports; there is just one function that this can be.
            self.tools.insert(id.to_owned(), module.clone());
        } else if !is_handled {
            let library = || standard::library(id).filter(|_| reading == Reading::Base);
            let advice = standard::advice(id).or_else(library).or_else(|| import(id, values));
            let advice = advice.or_else(|| way_to_tools(id, values));
            let hint = match advice {
                Some(advice) => format!("; {advice}"),
                None if !values.tools.takes_advice() => String::new(),
                None => {
                    // A name of that spelling is bound elsewhere, and says nothing.
                    let bound = scopes.names().filter(|name| *name != id);
                    let bound: Vec<&str> = bound.take(MAX_CANDIDATES).collect();
                    let own = bound.iter().chain(given).copied().take(MAX_CANDIDATES);
                    // Of the many builtins, only one that is surely misspelt is meant.
                    let builtins = standard::names().filter(|name| is_misspelt(id, name));
                    nearest(id, own.chain(builtins)).to_string()
                }
            };
            findings.add(name.start(), format!("`{id}` is not defined{hint}"));
        }
    }
}

impl Undefined<'_> {
    /// Finds the names that the program reads before it binds them.
    pub(super) fn early(
        &self,
        body: &[Stmt],
        values: &Values<'_, '_>,
        findings: &mut Findings<'_>,
    ) {
        let Given::Names(given) = self.given else { return };
        if values.facts.scopes.has_star_import {
            return;
        }
        for early::Early { name, bound_at } in early::reads(body) {
            let id = name.id.as_str();
            let scopes = &values.facts.scopes;
            // Those that nothing binds were told when they were read.
            let is_free = matches!(scopes.meaning(id, MODULE, name.start()), Meaning::Free);
            let may_be_there = given.contains(&id)
                || standard::is_known(id)
                || scopes.stored_attributes.contains(id);
            if is_free || may_be_there || findings.are_enough() {
                continue;
            }
            let line = findings.line(bound_at);
            findings.add(
                name.start(),
                format!("`{id}` is not defined here; it is bound in line {line}, bind it before"),
            );
        }
    }
}

/// What programs take all tools to be in, which are in `servers`.
const ALL_TOOLS: [&str; 8] =
    ["tools", "tool", "mcp", "mcp_tools", "mcp_server", "mcp_servers", "functions", "server"];

/// Says how tools are called, to who looks for them at another name.
fn way_to_tools(name: &str, values: &Values<'_, '_>) -> Option<String> {
    if !ALL_TOOLS.contains(&name) {
        return None;
    }
    let servers = values.tools.servers();
    let server = servers.first().map_or("SERVER", String::as_str);
    Some(format!(
        "tools are called by their server, `await servers.{server}.TOOL(...)`, and search_tools(\"...\") \
         finds them{}",
        there_are(servers.iter().map(String::as_str)).replace("there are", "the servers are")
    ))
}

/// Says how a server or a tool of this name is imported, if there is just one.
fn import(name: &str, values: &Values<'_, '_>) -> Option<String> {
    let tools = &values.tools;
    if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|it| it.split_once("__"))
        && tools.has_server(server)
    {
        return Some(format!("add `from servers.{server} import {tool}`, and call {tool}(...)"));
    }
    if tools.has_server(name) {
        return Some(format!("add `from servers import {name}`"));
    }
    match tools.owners(name) {
        [] => None,
        [module] => Some(format!("add `from servers.{module} import {name}`")),
        [first, ..] => Some(format!(
            "it is a tool of {}: add `from servers.{first} import {name}`, or that of another",
            tools.owners(name).join(" and ")
        )),
    }
}
