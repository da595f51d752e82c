//! Names that are assigned to, in all the ways that Python has: assignments, tuples, imports, `del`.

use std::sync::Arc;

use ruff_python_ast::{Expr, ExprNamed, Identifier, StmtImport, StmtImportFrom};
use ruff_text_size::{Ranged, TextSize};

use super::{
    BindingRange, BindingValue, MODULE, ScopeId, ScopeKind,
    collect::ScopeCollector,
    imports::{imported, module_of},
};

impl<'a> ScopeCollector<'a> {
    /// Returns the range of a binding at this place: from `from` to the end of the block.
    pub(super) fn here(&self, from: TextSize) -> BindingRange {
        BindingRange { scope: self.scope, evaluated: self.scope, from, block: self.block }
    }

    /// Binds all names of an assignment's target. `end` is where the assignment has been executed.
    pub(super) fn bind(
        &mut self,
        target: &'a Expr,
        source: BindingValue<'a>,
        place: BindingRange,
        end: TextSize,
    ) {
        match target {
            Expr::Name(name) => self.bind_name(&name.id, source, place, end),
            Expr::Tuple(tuple) => self.bind_parts(&tuple.elts, source, place, end),
            Expr::List(list) => self.bind_parts(&list.elts, source, place, end),
            Expr::Starred(starred) => self.bind(&starred.value, BindingValue::Unknown, place, end),
            Expr::Attribute(attribute) => {
                self.scopes.stored_attributes.insert(&attribute.attr);
            }
            _ => {}
        }
    }

    fn bind_parts(
        &mut self,
        targets: &'a [Expr],
        source: BindingValue<'a>,
        place: BindingRange,
        end: TextSize,
    ) {
        let is_starred = targets.iter().any(Expr::is_starred_expr);
        let whole = Arc::new(source);
        for (position, target) in targets.iter().enumerate() {
            let part = if is_starred {
                BindingValue::Unknown
            } else {
                BindingValue::Part(Arc::clone(&whole), position)
            };
            self.bind(target, part, place, end);
        }
    }

    fn bind_name(
        &mut self,
        name: &'a str,
        source: BindingValue<'a>,
        place: BindingRange,
        end: TextSize,
    ) {
        let certain_from = Some(end).filter(|_| self.conditional == 0);
        self.scopes.bind(name, source, place, certain_from);
    }

    /// Binds a name to a value that the text of the program does not tell.
    pub(super) fn bind_unknown(&mut self, name: &'a str) {
        let place = self.here(self.block.start());
        self.bind_name(name, BindingValue::Unknown, place, place.from);
    }

    /// Binds the name of a function or a class.
    pub(super) fn define(&mut self, name: &'a Identifier) {
        let place = self.here(self.block.start());
        self.bind_name(name, BindingValue::Definition, place, name.end());
    }

    /// Declares the target of an annotation without a value: `name: int`.
    pub(super) fn annotate(&mut self, target: &'a Expr, place: BindingRange) {
        match target {
            Expr::Name(name) => self.scopes.declare(&name.id, place),
            _ => self.bind(target, BindingValue::Unknown, place, place.from),
        }
    }

    /// Deletes the target of `del name`.
    pub(super) fn delete(&mut self, target: &'a Expr, place: BindingRange) {
        match target {
            Expr::Name(name) => self.scopes.delete(&name.id, place),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|one| self.delete(one, place)),
            Expr::List(list) => list.elts.iter().for_each(|one| self.delete(one, place)),
            _ => self.bind(target, BindingValue::Unknown, place, place.from),
        }
    }

    pub(super) fn import_modules(&mut self, import: &'a StmtImport) {
        for (name, path) in imported(import) {
            let value = BindingValue::Path(path.into());
            self.bind_name(name, value, self.here(import.end()), import.end());
        }
    }

    pub(super) fn import_names(&mut self, import: &'a StmtImportFrom) {
        let module = module_of(import);
        for alias in &import.names {
            if &*alias.name == "*" {
                self.scopes.has_star_import = true;
                continue;
            }
            let name = alias.asname.as_ref().unwrap_or(&alias.name);
            match &module {
                Some(module) => {
                    let value = BindingValue::Path(format!("{module}.{}", alias.name).into());
                    self.bind_name(name, value, self.here(alias.end()), alias.end());
                }
                None => {
                    let place = self.here(self.block.start());
                    self.bind_name(name, BindingValue::Unknown, place, alias.end());
                }
            }
        }
    }

    /// Binds the name of `name := value`, which belongs to the scope outside of all comprehensions.
    pub(super) fn walrus(&mut self, named: &'a ExprNamed) {
        let Expr::Name(name) = &*named.target else { return };
        let is_outside = |scope: &ScopeId| self.scopes.kind(*scope) != ScopeKind::Comprehension;
        let outside = self.scopes.outwards(self.scope).find(is_outside).unwrap_or(MODULE);
        let place = BindingRange { scope: outside, ..self.here(named.end()) };
        if outside == self.scope {
            self.bind_name(&name.id, BindingValue::Value(&named.value), place, named.end());
        } else {
            // The comprehension may have no elements, and then nothing is bound.
            self.scopes.bind(&name.id, BindingValue::Unknown, place, None);
        }
    }
}
