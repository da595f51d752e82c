//! Where names are bound, and to what.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use ruff_python_ast::Expr;
use ruff_text_size::{TextRange, TextSize};

pub(super) type ScopeId = usize;
/// The scope of the program itself.
pub(super) const MODULE: ScopeId = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    /// Also a lambda.
    Function,
    Class,
    Comprehension,
}

/// What a name is bound to.
#[derive(Clone, Debug)]
pub(super) enum BindingValue<'a> {
    /// An import: `servers.github` or `asyncio.gather`.
    Path(Rc<str>),
    Value(&'a Expr),
    /// Each element of the value.
    Element(&'a Expr),
    /// Each element of the value, if this builtin is what it seems.
    ElementFor(&'a str, &'a Expr),
    /// The part at this position.
    Part(Rc<BindingValue<'a>>, usize),
    Unknown,
}

/// Where a name is bound, and from where on.
#[derive(Clone, Copy, Debug)]
pub(super) struct BindingRange {
    /// The scope that gets the name.
    pub(super) scope: ScopeId,
    /// The scope that its source is evaluated in.
    pub(super) evaluated: ScopeId,
    /// The name is surely bound from here …
    pub(super) from: TextSize,
    /// … to the end of this block.
    pub(super) block: TextRange,
}

#[derive(Debug)]
pub(super) struct Binding<'a> {
    pub(super) source: BindingValue<'a>,
    pub(super) place: BindingRange,
}

#[derive(Debug)]
struct Scope<'a> {
    kind: ScopeKind,
    parent: Option<ScopeId>,
    block: TextRange,
    bindings: HashMap<&'a str, Vec<Binding<'a>>>,
}

/// All scopes of a program.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    scopes: Vec<Scope<'a>>,
    by_range: HashMap<TextRange, ScopeId>,
    /// Names that hold whatever they like after `from x import *`.
    pub(super) has_star_import: bool,
    /// Attributes that are assigned to, of whatever.
    pub(super) stored_attributes: HashSet<&'a str>,
}

/// What a name means at some place.
#[derive(Debug)]
pub(super) enum NameMeaning<'s, 'a> {
    /// This binding and no other. The key identifies it.
    One(&'s Binding<'a>, (ScopeId, &'a str)),
    Unclear,
    /// Not bound by the program: a builtin, or a variable that it was given.
    Free,
}

impl<'a> Scopes<'a> {
    pub(super) fn new(module: TextRange) -> Self {
        let mut scopes = Self {
            scopes: Vec::new(),
            by_range: HashMap::new(),
            has_star_import: false,
            stored_attributes: HashSet::new(),
        };
        scopes.add(ScopeKind::Module, None, module, module);
        scopes
    }

    /// A new scope for the node at this range, all of which is executed in this block.
    pub(super) fn add(
        &mut self,
        kind: ScopeKind,
        parent: Option<ScopeId>,
        node: TextRange,
        block: TextRange,
    ) -> ScopeId {
        let id = self.scopes.len();
        self.scopes.push(Scope { kind, parent, block, bindings: HashMap::new() });
        self.by_range.insert(node, id);
        id
    }

    /// The scope of a function, class, lambda or comprehension.
    pub(super) fn of(&self, node: TextRange) -> Option<ScopeId> {
        self.by_range.get(&node).copied()
    }

    pub(super) fn bind(&mut self, name: &'a str, source: BindingValue<'a>, place: BindingRange) {
        let bindings = self.scopes[place.scope].bindings.entry(name).or_default();
        // `import servers.a` and `import servers.b` bind the same.
        let is_again = matches!(
            (bindings.first().map(|first| &first.source), &source),
            (Some(BindingValue::Path(one)), BindingValue::Path(other)) if one == other
        );
        if !is_again {
            bindings.push(Binding { source, place });
        }
    }

    /// Binds a name to what cannot be known.
    pub(super) fn obscure(&mut self, scope: ScopeId, name: &'a str) {
        let block = self.scopes[scope].block;
        let place = BindingRange { scope, evaluated: scope, from: block.start(), block };
        self.bind(name, BindingValue::Unknown, place);
    }

    /// All names that are bound anywhere.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.scopes.iter().flat_map(|scope| scope.bindings.keys().copied())
    }

    /// Whether a scope has a name of its own.
    pub(super) fn binds(&self, scope: ScopeId, name: &str) -> bool {
        self.scopes[scope].bindings.contains_key(name)
    }

    /// This scope and those around it.
    pub(super) fn outwards(&self, scope: ScopeId) -> impl Iterator<Item = ScopeId> {
        std::iter::successors(Some(scope), |scope| self.scopes[*scope].parent)
    }

    pub(super) fn kind(&self, scope: ScopeId) -> ScopeKind {
        self.scopes[scope].kind
    }

    /// What a name means where it is read.
    pub(super) fn meaning(&self, name: &str, scope: ScopeId, at: TextSize) -> NameMeaning<'_, 'a> {
        let mut crossed_function = false;
        for id in self.outwards(scope) {
            let here = &self.scopes[id];
            let is_visible = here.kind != ScopeKind::Class || id == scope;
            if let Some((name, bindings)) = here.bindings.get_key_value(name).filter(|_| is_visible)
            {
                let [one] = bindings.as_slice() else { return NameMeaning::Unclear };
                let place = &one.place;
                let is_before = place.from <= at && place.block.contains_inclusive(at);
                let is_always = crossed_function && place.block == here.block;
                return if is_before || is_always {
                    NameMeaning::One(one, (id, name))
                } else {
                    NameMeaning::Unclear
                };
            }
            crossed_function |= here.kind == ScopeKind::Function;
        }
        if self.has_star_import { NameMeaning::Unclear } else { NameMeaning::Free }
    }
}
