//! Binds names to what they are assigned.

use std::rc::Rc;

use ruff_python_ast::{Alias, Expr, StmtImportFrom};
use ruff_text_size::{Ranged, TextSize};

use narrows_policy::Modules;

use super::{
    collect::FactCollector,
    facts::{Mutation, string},
    scope::{BindingRange, BindingValue, MODULE, ScopeId, ScopeKind},
};

/// Whether a relative import is one of a module that every program has: `from ...client import x`,
/// as files of a package have it.
pub(super) fn is_provided(module: &str) -> bool {
    let first = module.split('.').next().unwrap_or_default();
    Modules::OWN.contains(&first)
}

impl<'a> FactCollector<'a> {
    /// The place of a name that is bound here, from `from` to the end of the block.
    pub(super) fn here(&self, from: TextSize) -> BindingRange {
        BindingRange { scope: self.scope, evaluated: self.scope, from, block: self.block }
    }

    pub(super) fn bind(&mut self, target: &'a Expr, source: BindingValue<'a>, place: BindingRange) {
        match target {
            Expr::Name(name) => self.facts.scopes.bind(&name.id, source, place),
            Expr::Tuple(tuple) => self.bind_parts(&tuple.elts, source, place),
            Expr::List(list) => self.bind_parts(&list.elts, source, place),
            Expr::Starred(starred) => self.bind(&starred.value, BindingValue::Unknown, place),
            Expr::Attribute(attribute) => {
                self.facts.scopes.stored_attributes.insert(&attribute.attr);
            }
            Expr::Subscript(subscript) => self.store(&subscript.value, &subscript.slice),
            _ => {}
        }
    }

    fn bind_parts(&mut self, targets: &'a [Expr], source: BindingValue<'a>, place: BindingRange) {
        let is_starred = targets.iter().any(Expr::is_starred_expr);
        let whole = Rc::new(source);
        for (position, target) in targets.iter().enumerate() {
            let part = match is_starred {
                true => BindingValue::Unknown,
                false => BindingValue::Part(Rc::clone(&whole), position),
            };
            self.bind(target, part, place);
        }
    }

    pub(super) fn bind_unknown(&mut self, name: &'a str) {
        let place = self.here(self.block.start());
        self.facts.scopes.bind(name, BindingValue::Unknown, place);
    }

    /// `of[key] = …`
    fn store(&mut self, of: &'a Expr, key: &'a Expr) {
        match string(key) {
            Some(key) => _ = self.facts.touched_fields.insert(key),
            None => self.mutate(of, false),
        }
    }

    pub(super) fn mutate(&mut self, of: &'a Expr, is_list: bool) {
        self.facts.mutated.push(Mutation { of, scope: self.scope, is_list });
    }

    fn import(&mut self, path: &str, name: &'a str, from: TextSize) {
        let place = self.here(from);
        self.facts.scopes.bind(name, BindingValue::Path(path.into()), place);
    }

    pub(super) fn import_module(&mut self, alias: &'a Alias) {
        match &alias.asname {
            Some(name) => self.import(&alias.name, name, alias.end()),
            None => {
                let first = alias.name.split('.').next().unwrap_or_default();
                self.import(first, first, alias.end());
            }
        }
    }

    pub(super) fn import_names(&mut self, import: &'a StmtImportFrom) {
        for alias in &import.names {
            let name: &'a str = alias.asname.as_ref().unwrap_or(&alias.name);
            match &import.module {
                _ if &*alias.name == "*" => self.facts.scopes.has_star_import = true,
                Some(module) if import.level == 0 || is_provided(module) => {
                    self.import(&format!("{module}.{}", &alias.name), name, alias.end());
                }
                _ => self.bind_unknown(name),
            }
        }
    }

    /// Binds outside of the comprehensions that it stands in.
    pub(super) fn walrus(&mut self, target: &'a Expr, value: &'a Expr, from: TextSize) {
        let scopes = &self.facts.scopes;
        let is_outside = |scope: &ScopeId| scopes.kind(*scope) != ScopeKind::Comprehension;
        let outside = scopes.outwards(self.scope).find(is_outside).unwrap_or(MODULE);
        let is_here = outside == self.scope;
        let source = if is_here { BindingValue::Value(value) } else { BindingValue::Unknown };
        self.bind(target, source, BindingRange { scope: outside, ..self.here(from) });
    }
}
