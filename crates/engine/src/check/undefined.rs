//! Names that nothing binds: a module that needs no import, or a mistake that would end the program
//! after its tools were called.

use std::collections::{BTreeSet, HashSet};

use narrows_model::nearest;
use ruff_python_ast::ExprName;
use ruff_text_size::Ranged;

use super::{
    finding::Findings,
    scope::{Meaning, ScopeId},
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

/// What was found about the names of one program.
#[derive(Debug)]
pub(super) struct Undefined<'g> {
    given: Given<'g>,
    /// The modules that it uses without an import.
    pub(super) implied: BTreeSet<&'static str>,
}

impl<'g> Undefined<'g> {
    pub(super) fn new(given: Given<'g>) -> Self {
        Self { given, implied: BTreeSet::new() }
    }

    /// Looks at a name that is read. An error that is handled is the program's own business.
    pub(super) fn read(
        &mut self,
        name: &ExprName,
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
        } else if !is_handled {
            let advice = standard::advice(id).or_else(|| import(id, values));
            let hint = match advice {
                Some(advice) => format!("; {advice}"),
                None if !values.tools.takes_advice() => String::new(),
                None => {
                    // A name of that spelling is bound elsewhere, and says nothing.
                    let bound = scopes.names().filter(|name| *name != id);
                    let bound: Vec<&str> = bound.take(MAX_CANDIDATES).collect();
                    let own = bound.iter().chain(given).copied().take(MAX_CANDIDATES);
                    // Of the many builtins, only one of about the same length is meant.
                    let builtins =
                        standard::names().filter(|name| name.len().abs_diff(id.len()) < 3);
                    nearest(id, own.chain(builtins)).to_string()
                }
            };
            findings.add(name.start(), format!("`{id}` is not defined{hint}"));
        }
    }
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
    let mut modules = tools.servers().iter().filter(|module| {
        tools.names(module).is_some_and(|names| names.iter().any(|known| known == name))
    });
    let module = modules.next().filter(|_| modules.next().is_none())?;
    Some(format!("add `from servers.{module} import {name}`"))
}
