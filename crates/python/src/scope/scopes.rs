//! All scopes of a program, and the meaning of a name at a place.

use std::collections::{HashMap, HashSet};

use ruff_text_size::{TextRange, TextSize};

use super::{Binding, BindingKind, BindingRange, BindingValue, BoundName};

pub(crate) type ScopeId = usize;
/// The scope of the program itself.
pub(crate) const MODULE: ScopeId = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Module,
    /// Also a lambda.
    Function,
    Class,
    Comprehension,
}

#[derive(Debug)]
struct Scope<'a> {
    kind: ScopeKind,
    parent: Option<ScopeId>,
    block: TextRange,
    names: HashMap<&'a str, BoundName<'a>>,
    /// Names that `global` and `nonlocal` give to another scope, and that scope.
    elsewhere: HashMap<&'a str, ScopeId>,
}

/// All scopes of a program.
#[derive(Debug)]
pub(crate) struct Scopes<'a> {
    scopes: Vec<Scope<'a>>,
    by_range: HashMap<TextRange, ScopeId>,
    /// Whether there is a `from x import *`, after which any name may mean anything.
    pub(crate) has_star_import: bool,
    /// The names of all attributes that are assigned to, whatever the object.
    pub(crate) stored_attributes: HashSet<&'a str>,
    /// Lambdas that the call around them applies to each element of something: the key of `sorted`.
    pub(crate) keys: HashSet<TextRange>,
}

/// The meaning of a name at some place.
#[derive(Debug)]
pub(crate) enum NameMeaning<'s, 'a> {
    /// Exactly this binding, and the key that identifies it.
    One(&'s Binding<'a>, (ScopeId, &'a str)),
    Unclear,
    /// Not bound by the program: a builtin, or a variable that the program was given.
    Free,
}

impl<'a> Scopes<'a> {
    pub(super) fn new(module: TextRange) -> Self {
        let mut scopes = Self {
            scopes: Vec::new(),
            by_range: HashMap::new(),
            has_star_import: false,
            stored_attributes: HashSet::new(),
            keys: HashSet::new(),
        };
        scopes.add(ScopeKind::Module, None, module, module);
        scopes
    }

    /// Adds a scope for the syntax node at the range `node`; its statements are those of `block`.
    pub(super) fn add(
        &mut self,
        kind: ScopeKind,
        parent: Option<ScopeId>,
        node: TextRange,
        block: TextRange,
    ) -> ScopeId {
        let id = self.scopes.len();
        let (names, elsewhere) = (HashMap::new(), HashMap::new());
        self.scopes.push(Scope { kind, parent, block, names, elsewhere });
        self.by_range.insert(node, id);
        id
    }

    /// Returns the scope of a function, class, lambda or comprehension by its range.
    pub(crate) fn of(&self, node: TextRange) -> Option<ScopeId> {
        self.by_range.get(&node).copied()
    }

    /// Binds a name. `certain_from` is the end of the binding, if nothing can skip it.
    pub(super) fn bind(
        &mut self,
        name: &'a str,
        source: BindingValue<'a>,
        place: BindingRange,
        certain_from: Option<TextSize>,
    ) {
        let kind = BindingKind::Bound;
        self.push(name, Binding { source, place, kind }, certain_from);
    }

    pub(super) fn delete(&mut self, name: &'a str, place: BindingRange) {
        let (source, kind) = (BindingValue::Unknown, BindingKind::Deleted);
        self.push(name, Binding { source, place, kind }, None);
    }

    /// Records that a name belongs to a scope, without giving it a value.
    pub(super) fn declare(&mut self, name: &'a str, place: BindingRange) {
        let (source, kind) = (BindingValue::Unknown, BindingKind::Declared);
        self.push(name, Binding { source, place, kind }, None);
    }

    fn push(&mut self, name: &'a str, binding: Binding<'a>, certain_from: Option<TextSize>) {
        let own = &self.scopes[binding.place.scope];
        let elsewhere = own.elsewhere.get(name).copied();
        // A function binds a name of another scope whenever it is called, which may be never.
        let certain_from = certain_from.filter(|_| elsewhere.is_none());
        let scope = elsewhere.unwrap_or(binding.place.scope);
        let place = BindingRange { scope, ..binding.place };
        let names = &mut self.scopes[scope].names;
        names.entry(name).or_default().add(Binding { place, ..binding }, certain_from);
    }

    /// Applies `global name`: this scope binds the name in the scope of the program.
    pub(super) fn make_global(&mut self, name: &'a str, scope: ScopeId) {
        self.obscure(MODULE, name);
        self.obscure(scope, name);
        self.scopes[scope].elsewhere.insert(name, MODULE);
    }

    /// Applies `nonlocal name`: this scope binds the name in the nearest function around it.
    pub(super) fn make_nonlocal(&mut self, name: &'a str, scope: ScopeId) {
        let around: Vec<ScopeId> = self.outwards(scope).collect();
        let functions = around.iter().skip(1);
        let mut functions = functions.filter(|id| self.kind(**id) == ScopeKind::Function);
        let owner = functions.next().copied().unwrap_or(MODULE);
        around.iter().for_each(|scope| self.obscure(*scope, name));
        self.scopes[scope].elsewhere.insert(name, owner);
    }

    /// Makes a name of a scope unclear: it has one more declaration, so that no binding is the only one.
    fn obscure(&mut self, scope: ScopeId, name: &'a str) {
        let block = self.scopes[scope].block;
        self.declare(name, BindingRange { scope, evaluated: scope, from: block.start(), block });
    }

    /// Returns the names of all scopes; one that several scopes have comes several times.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.scopes.iter().flat_map(|scope| scope.names.keys().copied())
    }

    /// Returns all bindings of all scopes, with their names.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = (&'a str, &Binding<'a>)> {
        let names = self.scopes.iter().flat_map(|scope| &scope.names);
        names.flat_map(|(name, bound)| bound.all().iter().map(move |binding| (*name, binding)))
    }

    /// Tells whether a scope has a name of its own.
    pub(crate) fn binds(&self, scope: ScopeId, name: &str) -> bool {
        self.scopes[scope].names.contains_key(name)
    }

    /// Returns the bindings of a name in one scope, if that scope binds or deletes it.
    pub(crate) fn bound(&self, scope: ScopeId, name: &str) -> Option<&BoundName<'a>> {
        self.scopes[scope].names.get(name).filter(|name| name.is_touched())
    }

    /// Returns this scope and those around it, the innermost first.
    pub(crate) fn outwards(&self, scope: ScopeId) -> impl Iterator<Item = ScopeId> {
        std::iter::successors(Some(scope), |scope| self.scopes[*scope].parent)
    }

    /// Returns the scopes whose names are visible in this one: a function in a class does not see the
    /// names of the class.
    pub(crate) fn visible(&self, scope: ScopeId) -> impl Iterator<Item = ScopeId> {
        let is_visible = move |id: &ScopeId| *id == scope || self.kind(*id) != ScopeKind::Class;
        self.outwards(scope).filter(is_visible)
    }

    pub(crate) fn kind(&self, scope: ScopeId) -> ScopeKind {
        self.scopes[scope].kind
    }

    /// Returns the meaning of a name that is read in `scope` at the place `at`.
    pub(crate) fn meaning(&self, name: &str, scope: ScopeId, at: TextSize) -> NameMeaning<'_, 'a> {
        let mut crossed_function = false;
        for id in self.outwards(scope) {
            let here = &self.scopes[id];
            let is_visible = here.kind != ScopeKind::Class || id == scope;
            if let Some((name, bound)) = here.names.get_key_value(name).filter(|_| is_visible) {
                let [one] = bound.all() else { return NameMeaning::Unclear };
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
