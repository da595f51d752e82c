//! Names that nothing binds: a module that needs no import, or a mistake that would end the program
//! after its tools were called.

use std::collections::{BTreeMap, BTreeSet};

use narrows_model::{nearest, there_are};
use ruff_python_ast::{ExprName, Stmt, StmtFunctionDef};
use ruff_text_size::Ranged;

use crate::{
    check::{
        finding::CheckFindings,
        given::GivenVariables,
        names::{early, library},
        spelling::is_misspelt,
        values::Values,
    },
    scope::{MODULE, NameMeaning, ScopeId, ScopeKind, standard},
};

/// How many of a program's own names an undefined name is compared with.
const MAX_CANDIDATES: usize = 500;

/// The way in which a name is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameUse<'a> {
    /// `name(…)`
    Called,
    /// `name.attribute`
    Base(&'a str),
    Other,
}

/// The undefined names of one program.
#[derive(Debug)]
pub(crate) struct Undefined<'g> {
    given: GivenVariables<'g>,
    /// Modules that the program uses without an import, and that every program has.
    pub(crate) implied: BTreeSet<&'static str>,
    /// Modules that it uses without an import, and that the runtime has to provide.
    pub(crate) library: BTreeSet<&'static str>,
    /// Tools that it calls without an import, each with its module.
    pub(crate) tools: BTreeMap<String, String>,
}

impl<'g> Undefined<'g> {
    pub(crate) fn new(given: GivenVariables<'g>) -> Self {
        let (implied, library) = (BTreeSet::new(), BTreeSet::new());
        Self { given, implied, library, tools: BTreeMap::new() }
    }

    /// Checks a name that is read. Nothing is reported if the program handles name errors here.
    pub(crate) fn read(
        &mut self,
        name: &ExprName,
        reading: NameUse<'_>,
        values: &Values<'_, '_>,
        scope: ScopeId,
        is_handled: bool,
        findings: &mut CheckFindings<'_>,
    ) {
        let GivenVariables::Names(given) = self.given else { return };
        let (id, scopes) = (name.id.as_str(), &values.facts.scopes);
        let is_free = matches!(scopes.meaning(id, scope, name.start()), NameMeaning::Free);
        if !is_free || given.contains(id) || standard::is_builtin(id) {
            return;
        }
        if let Some(module) = standard::module(id) {
            self.implied.insert(module);
        } else if let NameUse::Base(attribute) = reading
            && let Some(module) = library::used(id, attribute)
        {
            self.library.insert(module);
        } else if reading == NameUse::Called
            && let [module] = values.tools.owners(id)
        {
            // Models forget imports, and only one tool has this name.
            self.tools.insert(id.to_owned(), module.clone());
        } else if !is_handled {
            let module = || library::advice(id).filter(|_| matches!(reading, NameUse::Base(_)));
            let advice = library::elsewhere(id).or_else(module).or_else(|| import(id, values));
            let advice = advice.or_else(|| way_to_tools(id, values));
            let hint = match advice {
                Some(advice) => format!("; {advice}"),
                None if !values.tools.takes_advice() => String::new(),
                None => {
                    // The same name in another scope would be no hint.
                    let bound = scopes.names().filter(|name| *name != id);
                    let bound: Vec<&str> = bound.take(MAX_CANDIDATES).collect();
                    let own = bound.iter().chain(given).copied().take(MAX_CANDIDATES);
                    // There are many builtins, so one is only suggested if the name is surely a misspelling.
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
    pub(crate) fn early(
        &self,
        body: &[Stmt],
        values: &Values<'_, '_>,
        findings: &mut CheckFindings<'_>,
    ) {
        let GivenVariables::Names(given) = self.given else { return };
        if values.facts.scopes.has_star_import {
            return;
        }
        let speaks_of_names = values.facts.handling.speaks_of_names;
        for early::EarlyRead { name, bound_at } in early::reads(body, speaks_of_names) {
            let id = name.id.as_str();
            let scopes = &values.facts.scopes;
            // Names that nothing binds were reported when they were read.
            let is_free = matches!(scopes.meaning(id, MODULE, name.start()), NameMeaning::Free);
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

/// Finds the variables of a function that it reads before it binds them.
pub(crate) fn early_in(
    function: &StmtFunctionDef,
    values: &Values<'_, '_>,
    findings: &mut CheckFindings<'_>,
) {
    let scopes = &values.facts.scopes;
    let Some(scope) = scopes.of(function.range) else { return };
    let speaks_of_names = values.facts.handling.speaks_of_names;
    for early::EarlyRead { name, bound_at } in early::reads_in(function, speaks_of_names) {
        let id = name.id.as_str();
        if !scopes.binds(scope, id) || findings.are_enough() {
            continue;
        }
        let line = findings.line(bound_at);
        let mut around = scopes.outwards(scope).skip(1);
        let outside = around
            .find(|around| scopes.kind(*around) != ScopeKind::Class && scopes.binds(*around, id));
        let advice = match outside {
            None => format!("it is bound in line {line}, bind it before"),
            Some(around) => {
                let word = if around == MODULE { "global" } else { "nonlocal" };
                format!(
                    "line {line} makes it a variable of {}(); for the one outside, add `{word} {id}`",
                    function.name
                )
            }
        };
        findings.add(name.start(), format!("`{id}` is not defined here; {advice}"));
    }
}

/// Names that models use for the place of all tools, which is `servers`.
const ALL_TOOLS: [&str; 8] =
    ["tools", "tool", "mcp", "mcp_tools", "mcp_server", "mcp_servers", "functions", "server"];

/// Returns how tools are called, if a program looks for them under another name.
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

/// Returns how a server or a tool of this name is imported.
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
