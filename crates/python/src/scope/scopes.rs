//! All scopes of a program, and what a name means at a place.

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
    /// `global` and `nonlocal`: the scopes that get these names instead of this one.
    elsewhere: HashMap<&'a str, ScopeId>,
}

/// All scopes of a program.
#[derive(Debug)]
pub(crate) struct Scopes<'a> {
    scopes: Vec<Scope<'a>>,
    by_range: HashMap<TextRange, ScopeId>,
    /// Names that hold whatever they like after `from x import *`.
    pub(crate) has_star_import: bool,
    /// Attributes that are assigned to, of whatever.
    pub(crate) stored_attributes: HashSet<&'a str>,
    /// Lambdas that are called where they stand, for each element of something.
    pub(crate) keys: HashSet<TextRange>,
}

/// What a name means at some place.
#[derive(Debug)]
pub(crate) enum NameMeaning<'s, 'a> {
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
            keys: HashSet::new(),
        };
        scopes.add(ScopeKind::Module, None, module, module);
        scopes
    }

    /// Adds a scope for the node at this range, all of which is executed in this block.
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

    /// The scope of a function, class, lambda or comprehension.
    pub(crate) fn of(&self, node: TextRange) -> Option<ScopeId> {
        self.by_range.get(&node).copied()
    }

    /// `certain_from` is where the binding is over, if nothing can leave it out.
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

    /// A name is one of this scope, though nothing is bound to it here.
    pub(super) fn declare(&mut self, name: &'a str, place: BindingRange) {
        let (source, kind) = (BindingValue::Unknown, BindingKind::Declared);
        self.push(name, Binding { source, place, kind }, None);
    }

    fn push(&mut self, name: &'a str, binding: Binding<'a>, certain_from: Option<TextSize>) {
        let own = &self.scopes[binding.place.scope];
        let elsewhere = own.elsewhere.get(name).copied();
        // What another scope gets from this one, it gets whenever the function is called.
        let certain_from = certain_from.filter(|_| elsewhere.is_none());
        let scope = elsewhere.unwrap_or(binding.place.scope);
        let place = BindingRange { scope, ..binding.place };
        let names = &mut self.scopes[scope].names;
        names.entry(name).or_default().add(Binding { place, ..binding }, certain_from);
    }

    /// `global name`: what this scope binds to it is one of the program's names.
    pub(super) fn make_global(&mut self, name: &'a str, scope: ScopeId) {
        self.obscure(MODULE, name);
        self.obscure(scope, name);
        self.scopes[scope].elsewhere.insert(name, MODULE);
    }

    /// `nonlocal name`: what this scope binds to it is a name of a function around it.
    pub(super) fn make_nonlocal(&mut self, name: &'a str, scope: ScopeId) {
        let around: Vec<ScopeId> = self.outwards(scope).collect();
        let functions = around.iter().skip(1);
        let mut functions = functions.filter(|id| self.kind(**id) == ScopeKind::Function);
        let owner = functions.next().copied().unwrap_or(MODULE);
        around.iter().for_each(|scope| self.obscure(*scope, name));
        self.scopes[scope].elsewhere.insert(name, owner);
    }

    /// From now on nobody can tell what a name of this scope is.
    fn obscure(&mut self, scope: ScopeId, name: &'a str) {
        let block = self.scopes[scope].block;
        self.declare(name, BindingRange { scope, evaluated: scope, from: block.start(), block });
    }

    /// All names that are bound anywhere.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.scopes.iter().flat_map(|scope| scope.names.keys().copied())
    }

    /// All bindings of all scopes, with their names.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = (&'a str, &Binding<'a>)> {
        let names = self.scopes.iter().flat_map(|scope| &scope.names);
        names.flat_map(|(name, bound)| bound.all().iter().map(move |binding| (*name, binding)))
    }

    /// Whether a scope has a name of its own.
    pub(crate) fn binds(&self, scope: ScopeId, name: &str) -> bool {
        self.scopes[scope].names.contains_key(name)
    }

    /// A name in one scope, if that binds or deletes it.
    pub(crate) fn bound(&self, scope: ScopeId, name: &str) -> Option<&BoundName<'a>> {
        self.scopes[scope].names.get(name).filter(|name| name.is_touched())
    }

    /// This scope and those around it.
    pub(crate) fn outwards(&self, scope: ScopeId) -> impl Iterator<Item = ScopeId> {
        std::iter::successors(Some(scope), |scope| self.scopes[*scope].parent)
    }

    /// The scopes whose names are seen in this one: a function in a class does not see those of the class.
    pub(crate) fn visible(&self, scope: ScopeId) -> impl Iterator<Item = ScopeId> {
        let is_visible = move |id: &ScopeId| *id == scope || self.kind(*id) != ScopeKind::Class;
        self.outwards(scope).filter(is_visible)
    }

    pub(crate) fn kind(&self, scope: ScopeId) -> ScopeKind {
        self.scopes[scope].kind
    }

    /// What a name means where it is read.
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
