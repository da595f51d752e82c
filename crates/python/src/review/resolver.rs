//! What a name of the program may be, in the scopes that the check has too.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use ruff_text_size::{TextRange, TextSize};

use crate::scope::{BoundName, MODULE, ScopeId, ScopeKind, Scopes};

/// What a program is given without an import, because it uses it: what is forbidden to import is not
/// had without an import either.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImpliedImports {
    /// Modules of the library.
    pub library: BTreeSet<&'static str>,
    /// Tools, each with its server's module.
    pub tools: BTreeMap<String, String>,
}

impl ImpliedImports {
    /// What a name stands for.
    pub(super) fn path(&self, name: &str) -> Option<String> {
        let tool = self.tools.get(name).map(|module| format!("servers.{module}.{name}"));
        tool.or_else(|| self.module(name).map(str::to_owned))
    }

    /// The module that has to be imported for a name.
    pub(super) fn module(&self, name: &str) -> Option<&'static str> {
        let tool = self.tools.contains_key(name).then_some("servers");
        tool.or_else(|| self.library.get(name).copied())
    }

    /// The tools: their names and what these stand for.
    pub(super) fn tool_paths(&self) -> Vec<(&str, String)> {
        let paths = self.tools.iter();
        paths.map(|(name, module)| (name.as_str(), format!("servers.{module}.{name}"))).collect()
    }
}

/// Whether a name may be that of Python itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    No,
    /// A function uses it, and the program binds it later on.
    Maybe,
    Yes,
}

/// How much is looked at for texts and numbers in one program. A program can be made of sums that stand
/// in each other, each of which is added up anew.
const MAX_STEPS: usize = 2_000_000;

/// Tells what names and expressions may be.
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

    /// Takes one step of those that there are for the whole program. None when they are used up.
    pub(super) fn step(&self) -> Option<()> {
        let left = self.steps_left.get().checked_sub(1);
        self.steps_left.set(left.unwrap_or_default());
        left.map(drop)
    }

    /// Whether there was more to be looked at than may be.
    pub(super) fn is_used_up(&self) -> bool {
        self.steps_left.get() == 0
    }

    pub(super) fn scope_of(&self, node: TextRange) -> ScopeId {
        self.scopes.of(node).unwrap_or(MODULE)
    }

    /// What a name is at a place, and whether it may be Python's own.
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
