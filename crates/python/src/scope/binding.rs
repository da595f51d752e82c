//! One binding of a name.

use std::sync::Arc;

use ruff_python_ast::Expr;
use ruff_text_size::{TextRange, TextSize};

use super::ScopeId;

/// What a name is bound to.
#[derive(Clone, Debug)]
pub(crate) enum BindingValue<'a> {
    /// An import: `servers.github` or `asyncio.gather`.
    Path(Arc<str>),
    Value(&'a Expr),
    /// Each element of the value.
    Element(&'a Expr),
    /// Each element of the value, if this builtin is what it seems.
    ElementFor(&'a str, &'a Expr),
    /// The part at this position.
    Part(Arc<BindingValue<'a>>, usize),
    /// A function or a class of the program.
    Definition,
    Unknown,
}

/// Where a name is bound, and from where on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BindingRange {
    /// The scope that gets the name.
    pub(crate) scope: ScopeId,
    /// The scope that its source is evaluated in.
    pub(crate) evaluated: ScopeId,
    /// The name is surely bound from here …
    pub(crate) from: TextSize,
    /// … to the end of this block.
    pub(crate) block: TextRange,
}

/// What a statement does to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BindingKind {
    Bound,
    /// `del name`
    Deleted,
    /// It says whose name it is, and gives it no value: `global name`, `name: int`.
    Declared,
}

#[derive(Debug)]
pub(crate) struct Binding<'a> {
    pub(crate) source: BindingValue<'a>,
    pub(crate) place: BindingRange,
    pub(crate) kind: BindingKind,
}

/// So much of what a name is bound to is followed where it may be any of it.
const MAX_FOLLOWED: usize = 4;

/// All that one scope does to a name.
#[derive(Debug, Default)]
pub(crate) struct BoundName<'a> {
    bindings: Vec<Binding<'a>>,
    /// How often it is bound.
    times: usize,
    /// From here on nothing can have left all of them out.
    certain_from: Option<TextSize>,
    is_deleted: bool,
    is_declared: bool,
}

impl<'a> BoundName<'a> {
    pub(super) fn add(&mut self, binding: Binding<'a>, certain_from: Option<TextSize>) {
        self.certain_from = self.certain_from.into_iter().chain(certain_from).min();
        match binding.kind {
            BindingKind::Bound => self.times += 1,
            // Once says it all; a program can be made of these.
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

    /// Everything, in the order of the program.
    pub(crate) fn all(&self) -> &[Binding<'a>] {
        &self.bindings
    }

    /// Whether it is bound or deleted here, and not only declared.
    pub(super) fn is_touched(&self) -> bool {
        self.times > 0 || self.is_deleted
    }

    /// From here on it is surely bound.
    pub(crate) fn certain_from(&self) -> Option<TextSize> {
        self.certain_from.filter(|_| !self.is_deleted)
    }

    /// The first few of those bindings that give it a value.
    pub(crate) fn followed(&self) -> impl Iterator<Item = &Binding<'a>> {
        let bound = self.bindings.iter().filter(|binding| binding.kind == BindingKind::Bound);
        bound.take(MAX_FOLLOWED)
    }

    /// Its binding, if it is only ever one thing.
    pub(crate) fn only(&self) -> Option<&Binding<'a>> {
        self.followed().next().filter(|_| self.times == 1 && !self.is_deleted)
    }
}
