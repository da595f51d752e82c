//! One binding of a name.

use std::sync::Arc;

use ruff_python_ast::Expr;
use ruff_text_size::{TextRange, TextSize};

use super::ScopeId;

/// The value that a name is bound to, as far as the text of the program tells it.
#[derive(Clone, Debug)]
pub(crate) enum BindingValue<'a> {
    /// An import: `servers.github` or `asyncio.gather`.
    Path(Arc<str>),
    Value(&'a Expr),
    /// Each element of the value.
    Element(&'a Expr),
    /// Each element of the value, if nothing hides this builtin.
    ElementFor(&'a str, &'a Expr),
    /// The part at this position.
    Part(Arc<BindingValue<'a>>, usize),
    /// A function or a class of the program.
    Definition,
    Unknown,
}

/// The part of a program in which a binding holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BindingRange {
    /// The scope that gets the name.
    pub(crate) scope: ScopeId,
    /// The scope in which the bound value is evaluated: for the first `for` of a comprehension, and for
    /// the known parameter of a lambda, the scope around it.
    pub(crate) evaluated: ScopeId,
    /// The name is surely bound from here …
    pub(crate) from: TextSize,
    /// … to the end of this block.
    pub(crate) block: TextRange,
}

/// The effect of a statement on a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BindingKind {
    Bound,
    /// `del name`
    Deleted,
    /// Says which scope has the name, and gives it no value: `global name`, `name: int`.
    Declared,
}

#[derive(Debug)]
pub(crate) struct Binding<'a> {
    pub(crate) source: BindingValue<'a>,
    pub(crate) place: BindingRange,
    pub(crate) kind: BindingKind,
}

/// How many bindings are followed of a name that may have any of their values.
const MAX_FOLLOWED: usize = 4;

/// Everything that one scope does to a name.
#[derive(Debug, Default)]
pub(crate) struct BoundName<'a> {
    bindings: Vec<Binding<'a>>,
    /// How often the name is bound; deletions and declarations do not count.
    times: usize,
    /// From here on at least one of the bindings has certainly been executed.
    certain_from: Option<TextSize>,
    is_deleted: bool,
    is_declared: bool,
}

impl<'a> BoundName<'a> {
    pub(super) fn add(&mut self, binding: Binding<'a>, certain_from: Option<TextSize>) {
        self.certain_from = self.certain_from.into_iter().chain(certain_from).min();
        match binding.kind {
            BindingKind::Bound => self.times += 1,
            // One is enough: a program may consist of nothing but these, and must not fill the memory.
            BindingKind::Deleted if self.is_deleted => return,
            BindingKind::Declared if self.is_declared => return,
            BindingKind::Deleted => self.is_deleted = true,
            BindingKind::Declared => self.is_declared = true,
        }
        // `import servers.a` and `import servers.b` bind the same.
        let is_again = matches!(
            (self.bindings.first().map(|first| &first.source), &binding.source),
            (Some(BindingValue::Path(one)), BindingValue::Path(other)) if one == other
        );
        if !is_again {
            self.bindings.push(binding);
        }
    }

    /// Returns all bindings, deletions and declarations, in the order of the program.
    pub(crate) fn all(&self) -> &[Binding<'a>] {
        &self.bindings
    }

    /// Tells whether the name is bound or deleted in this scope, and not only declared.
    pub(super) fn is_touched(&self) -> bool {
        self.times > 0 || self.is_deleted
    }

    /// Returns the place from which on the name is surely bound; none if it is deleted anywhere.
    pub(crate) fn certain_from(&self) -> Option<TextSize> {
        self.certain_from.filter(|_| !self.is_deleted)
    }

    /// Returns the first few bindings that give the name a value.
    pub(crate) fn followed(&self) -> impl Iterator<Item = &Binding<'a>> {
        let bound = self.bindings.iter().filter(|binding| binding.kind == BindingKind::Bound);
        bound.take(MAX_FOLLOWED)
    }

    /// Returns the binding of a name that is bound once and never deleted.
    pub(crate) fn only(&self) -> Option<&Binding<'a>> {
        self.followed().next().filter(|_| self.times == 1 && !self.is_deleted)
    }
}
