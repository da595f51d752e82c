//! Looks up the bindings that a name of the program may have, in the scopes that the check has too.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use ruff_text_size::{TextRange, TextSize};

use crate::scope::{BoundName, MODULE, ScopeId, ScopeKind, Scopes};

/// The modules and tools that a program gets without an import, because it uses them. They are reviewed
/// like imports, so that nobody gets a forbidden module by leaving out its import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImpliedImports {
    /// Modules of the library.
    pub library: BTreeSet<&'static str>,
    /// Tools, each with its server's module.
    pub tools: BTreeMap<String, String>,
}

impl ImpliedImports {
    /// Returns the path that a name stands for.
    pub(super) fn path(&self, name: &str) -> Option<String> {
        let tool = self.tools.get(name).map(|module| format!("servers.{module}.{name}"));
        tool.or_else(|| self.module(name).map(str::to_owned))
    }

    /// Returns the module that has to be imported for a name.
    pub(super) fn module(&self, name: &str) -> Option<&'static str> {
        let tool = self.tools.contains_key(name).then_some("servers");
        tool.or_else(|| self.library.get(name).copied())
    }

    /// Returns the names of the tools, each with its path.
    pub(super) fn tool_paths(&self) -> Vec<(&str, String)> {
        let paths = self.tools.iter();
        paths.map(|(name, module)| (name.as_str(), format!("servers.{module}.{name}"))).collect()
    }
}

/// The certainty that a name means the builtin of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    No,
    /// A function uses the name, and the program binds it later on.
    Maybe,
    Yes,
}

/// How many expressions are evaluated for texts and numbers in one program. Stops programs that are
/// made of nested sums, each of which is added up anew.
const MAX_STEPS: usize = 2_000_000;

/// The resolver of names and expressions to everything that they may mean.
#[derive(Debug)]
pub(super) struct Resolver<'p> {
    scopes: &'p Scopes<'p>,
    pub(super) implied: &'p ImpliedImports,
    steps_left: Cell<usize>,
}

impl<'p> Resolver<'p> {
    pub(super) fn new(scopes: &'p Scopes<'p>, implied: &'p ImpliedImports) -> Self {
        Self { scopes, implied, steps_left: Cell::new(MAX_STEPS) }
    }

    /// Uses one of the steps for the whole program. None when they are used up.
    pub(super) fn step(&self) -> Option<()> {
        let left = self.steps_left.get().checked_sub(1);
        self.steps_left.set(left.unwrap_or_default());
        left.map(drop)
    }

    /// Tells whether all steps are used up, so that parts of the program were not reviewed.
    pub(super) fn is_used_up(&self) -> bool {
        self.steps_left.get() == 0
    }

    pub(super) fn scope_of(&self, node: TextRange) -> ScopeId {
        self.scopes.of(node).unwrap_or(MODULE)
    }

    /// Looks up the bindings of a name at a place, and whether it may mean the builtin.
    pub(super) fn look_up(
        &self,
        name: &str,
        scope: ScopeId,
        at: TextSize,
    ) -> (Option<&'p BoundName<'p>>, Builtin) {
        let scopes = self.scopes;
        for id in scopes.visible(scope) {
            let Some(found) = scopes.bound(id, name) else { continue };
            let builtin = match (scopes.kind(id), found.certain_from()) {
                (ScopeKind::Function | ScopeKind::Comprehension, _) => Builtin::No,
                (_, Some(from)) if at >= from => Builtin::No,
                (_, Some(_)) if id != scope => Builtin::Maybe,
                _ => Builtin::Yes,
            };
            return (Some(found), builtin);
        }
        (None, Builtin::Yes)
    }
}
