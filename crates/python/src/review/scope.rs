//! Where names are bound, and to what.

use std::{cell::Cell, collections::HashMap};

use ruff_python_ast::Expr;
use ruff_text_size::{TextRange, TextSize};

pub(super) type ReviewScopeId = usize;
/// The scope of the whole program.
pub(super) const MODULE: ReviewScopeId = 0;
/// So much of what a name is bound to is remembered.
const MAX_VALUES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewScopeKind {
    Module,
    Class,
    /// Also a lambda.
    Function,
    Comprehension,
}

/// What a name is bound to.
#[derive(Clone, Debug)]
pub(super) enum BoundTo<'a> {
    /// An import of this.
    Path(String),
    /// The value of an expression, in a scope.
    Value(&'a Expr, ReviewScopeId),
    Other,
}

/// A name in one scope.
#[derive(Debug, Default)]
pub(super) struct Name<'a> {
    pub(super) values: Vec<BoundTo<'a>>,
    times: usize,
    /// From here on it is surely bound.
    surely: Option<TextSize>,
    deleted: bool,
}

impl<'a> Name<'a> {
    /// What it is, if it is only ever one thing.
    pub(super) fn only(&self) -> Option<&BoundTo<'a>> {
        self.values.first().filter(|_| self.times == 1 && !self.deleted)
    }
}

#[derive(Debug)]
struct ReviewScope<'a> {
    kind: ReviewScopeKind,
    parent: Option<ReviewScopeId>,
    names: HashMap<&'a str, Name<'a>>,
    /// `global` and `nonlocal`
    elsewhere: HashMap<&'a str, ReviewScopeId>,
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

/// All scopes of a program.
#[derive(Debug)]
pub(super) struct ReviewScopes<'a> {
    scopes: Vec<ReviewScope<'a>>,
    by_node: HashMap<TextRange, ReviewScopeId>,
    steps_left: Cell<usize>,
}

impl<'a> ReviewScopes<'a> {
    pub(super) fn new() -> Self {
        let steps_left = Cell::new(MAX_STEPS);
        let mut scopes = Self { scopes: Vec::new(), by_node: HashMap::new(), steps_left };
        scopes.push(ReviewScopeKind::Module, None);
        scopes
    }

    /// Takes one step of those that there are for the whole program. None when they are used up.
    pub(super) fn step(&self) -> Option<()> {
        let left = self.steps_left.get().checked_sub(1);
        self.steps_left.set(left.unwrap_or_default());
        left.map(drop)
    }

    /// Whether there was more to be looked at than may be.
    pub(super) fn are_used_up(&self) -> bool {
        self.steps_left.get() == 0
    }

    fn push(&mut self, kind: ReviewScopeKind, parent: Option<ReviewScopeId>) -> ReviewScopeId {
        let (names, elsewhere) = (HashMap::new(), HashMap::new());
        self.scopes.push(ReviewScope { kind, parent, names, elsewhere });
        self.scopes.len() - 1
    }

    pub(super) fn add(
        &mut self,
        kind: ReviewScopeKind,
        parent: ReviewScopeId,
        node: TextRange,
    ) -> ReviewScopeId {
        let scope = self.push(kind, Some(parent));
        self.by_node.insert(node, scope);
        scope
    }

    pub(super) fn of_node(&self, node: TextRange) -> ReviewScopeId {
        self.by_node.get(&node).copied().unwrap_or(MODULE)
    }

    pub(super) fn parent(&self, scope: ReviewScopeId) -> ReviewScopeId {
        self.scopes[scope].parent.unwrap_or(MODULE)
    }

    pub(super) fn is_comprehension(&self, scope: ReviewScopeId) -> bool {
        self.scopes[scope].kind == ReviewScopeKind::Comprehension
    }

    pub(super) fn is_elsewhere(&mut self, name: &'a str, from: ReviewScopeId, to: ReviewScopeId) {
        self.scopes[from].elsewhere.insert(name, to);
    }

    /// `surely` is where the binding is over, if nothing can leave it out.
    pub(super) fn bind(
        &mut self,
        name: &'a str,
        bound: BoundTo<'a>,
        scope: ReviewScopeId,
        surely: Option<TextSize>,
    ) {
        let elsewhere = self.scopes[scope].elsewhere.get(name).copied();
        let surely = surely.filter(|_| elsewhere.is_none());
        let name = self.scopes[elsewhere.unwrap_or(scope)].names.entry(name).or_default();
        name.times += 1;
        name.surely = match (name.surely, surely) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
        if name.values.len() < MAX_VALUES {
            name.values.push(bound);
        }
    }

    pub(super) fn delete(&mut self, name: &'a str, scope: ReviewScopeId) {
        let scope = self.scopes[scope].elsewhere.get(name).copied().unwrap_or(scope);
        self.scopes[scope].names.entry(name).or_default().deleted = true;
    }

    /// What a name is at a place, and whether it may be Python's own.
    pub(super) fn look_up(
        &self,
        name: &str,
        scope: ReviewScopeId,
        at: TextSize,
    ) -> (Option<&Name<'a>>, Builtin) {
        let mut next = Some(scope);
        while let Some(id) = next {
            let here = &self.scopes[id];
            // A function in a class does not see the names of the class.
            let is_seen = here.kind != ReviewScopeKind::Class || id == scope;
            if let Some(found) = here.names.get(name).filter(|_| is_seen) {
                let builtin = match (here.kind, found.surely) {
                    (ReviewScopeKind::Function | ReviewScopeKind::Comprehension, _) => Builtin::No,
                    (_, Some(from)) if !found.deleted && at >= from => Builtin::No,
                    (_, Some(_)) if !found.deleted && id != scope => Builtin::Maybe,
                    _ => Builtin::Yes,
                };
                return (Some(found), builtin);
            }
            next = here.parent;
        }
        (None, Builtin::Yes)
    }
}
