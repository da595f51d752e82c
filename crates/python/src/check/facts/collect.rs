//! Collects the facts about a whole program that are needed before its parts can be judged.

use std::collections::HashSet;

use ruff_python_ast::{
    CmpOp, Expr, ExprContext, ExprLambda, Pattern, Stmt, StmtClassDef, StmtFunctionDef, StmtWith,
    visitor::{self, Visitor},
};
use ruff_text_size::TextRange;

use super::{FunctionUse, Handled, Handling, handled};
use crate::{
    scope::{MODULE, ScopeId, Scopes},
    syntax::{Comprehended, last_name, root, string},
};

/// The facts about a whole program.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) scopes: &'a Scopes<'a>,
    pub(crate) handling: Handling<'a>,
    /// Fields that the program itself writes or looks for.
    pub(crate) touched_fields: HashSet<&'a str>,
    /// Fields that are read with `get`.
    pub(crate) got_fields: HashSet<&'a str>,
    /// Objects that get fields whose names are not known, or lists that get elements.
    pub(crate) mutated: Vec<Mutation<'a>>,
    /// Variables whose type the program asks for.
    pub(crate) doubted: HashSet<&'a str>,
    /// Whether the program may change any name, so that nothing about it is certain: `exec`,
    /// `sys.modules`.
    pub(crate) is_opaque: bool,
}

#[derive(Debug)]
pub(crate) struct Mutation<'a> {
    pub(crate) of: &'a Expr,
    pub(crate) scope: ScopeId,
    /// Whether it adds elements to a list, and not fields to a dict.
    pub(crate) is_list: bool,
}

impl<'a> Facts<'a> {
    /// Collects the facts about a program whose scopes are known.
    pub(crate) fn collect(body: &'a [Stmt], scopes: &'a Scopes<'a>) -> Self {
        let mut facts = Self {
            scopes,
            handling: Handling::default(),
            touched_fields: HashSet::new(),
            got_fields: HashSet::new(),
            mutated: Vec::new(),
            doubted: HashSet::new(),
            is_opaque: false,
        };
        facts.handling.speaks_of_names = speaks_of_names(body);
        let (functions, handled) = (Vec::new(), Handled::Nothing);
        let mut collector = FactCollector { facts, scope: MODULE, functions, handled };
        visitor::walk_body(&mut collector, body);
        collector.facts
    }
}

/// Tells whether a program mentions `NameError` or `UnboundLocalError` anywhere.
fn speaks_of_names(body: &[Stmt]) -> bool {
    struct NameFinder(bool);
    impl<'a> Visitor<'a> for NameFinder {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.0 |= last_name(expr).is_some_and(handled::is_of_names);
            visitor::walk_expr(self, expr);
        }
    }
    let mut names = NameFinder(false);
    visitor::walk_body(&mut names, body);
    names.0
}

pub(super) struct FactCollector<'a> {
    pub(super) facts: Facts<'a>,
    scope: ScopeId,
    /// The functions around this place, the innermost last.
    functions: Vec<&'a str>,
    /// The errors that are handled around this place.
    handled: Handled,
}

impl<'a> FactCollector<'a> {
    pub(super) fn refer(&mut self, name: &'a str, how: FunctionUse) {
        let within = self.functions.last().copied();
        self.facts.handling.refer(within, name, how, self.handled);
    }

    /// Records the field that `of[key] = …` writes.
    fn store(&mut self, of: &'a Expr, key: &'a Expr) {
        match string(key) {
            Some(key) => _ = self.facts.touched_fields.insert(key),
            None => self.mutate(of, false),
        }
    }

    pub(super) fn mutate(&mut self, of: &'a Expr, is_list: bool) {
        self.facts.mutated.push(Mutation { of, scope: self.scope, is_list });
    }

    /// Runs `then` for a part of the program in which these errors are handled.
    fn handled(&mut self, handled: Handled, then: impl FnOnce(&mut Self)) {
        let outer = self.handled;
        self.handled = outer.max(handled);
        self.facts.handling.any |= handled > Handled::Nothing;
        then(self);
        self.handled = outer;
    }

    /// Runs `then` in the scope of a syntax node.
    fn within(&mut self, node: TextRange, then: impl FnOnce(&mut Self)) {
        let inner = self.facts.scopes.of(node).unwrap_or(self.scope);
        let outer = std::mem::replace(&mut self.scope, inner);
        then(self);
        self.scope = outer;
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        let is_decorated = !function.decorator_list.is_empty();
        self.facts.handling.define(&function.name, function.is_async, is_decorated);
        self.refer(&function.name, FunctionUse::Defined);
        function.decorator_list.iter().for_each(|one| self.visit_decorator(one));
        self.visit_parameters(&function.parameters);
        self.within(function.range, |inner| {
            inner.functions.push(&function.name);
            visitor::walk_body(inner, &function.body);
            inner.functions.pop();
        });
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        class.decorator_list.iter().for_each(|one| self.visit_decorator(one));
        class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
        self.within(class.range, |inner| visitor::walk_body(inner, &class.body));
    }

    fn with(&mut self, with: &'a StmtWith) {
        with.items.iter().for_each(|item| self.visit_with_item(item));
        let suppressed = handled::suppresses(with, self.facts.handling.speaks_of_names);
        self.handled(suppressed, |inner| visitor::walk_body(inner, &with.body));
    }

    fn lambda(&mut self, lambda: &'a ExprLambda) {
        lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
        self.within(lambda.range, |inner| inner.visit_expr(&lambda.body));
    }

    fn comprehension(&mut self, comprehended: &Comprehended<'a>) {
        let Comprehended { range, generators, elements } = comprehended;
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.within(*range, |inner| {
            for (position, generator) in generators.iter().enumerate() {
                if position > 0 {
                    inner.visit_expr(&generator.iter);
                }
                inner.visit_expr(&generator.target);
                generator.ifs.iter().for_each(|test| inner.visit_expr(test));
            }
            elements.iter().for_each(|element| inner.visit_expr(element));
        });
    }
}

impl<'a> Visitor<'a> for FactCollector<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => return self.function(function),
            Stmt::ClassDef(class) => return self.class(class),
            Stmt::With(with) => return self.with(with),
            Stmt::Match(case) => self.facts.doubted.extend(root(&case.subject)),
            Stmt::Try(attempt) if !attempt.handlers.is_empty() => {
                let caught = handled::catches(attempt, self.facts.handling.speaks_of_names);
                self.handled(caught, |inner| inner.visit_body(&attempt.body));
                attempt.handlers.iter().for_each(|handler| self.visit_except_handler(handler));
                self.visit_body(&attempt.orelse);
                self.visit_body(&attempt.finalbody);
                return;
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        if let Pattern::MatchMapping(mapping) = pattern {
            self.facts.touched_fields.extend(mapping.keys.iter().filter_map(string));
        }
        visitor::walk_pattern(self, pattern);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some(comprehended) = Comprehended::of(expr) {
            return self.comprehension(&comprehended);
        }
        match expr {
            Expr::Lambda(lambda) => return self.lambda(lambda),
            Expr::Call(call) => return self.call(call),
            Expr::Await(awaited) => self.facts.handling.note_await(&awaited.value),
            Expr::Name(name) => {
                self.read(&name.id);
                if name.ctx == ExprContext::Load {
                    self.refer(&name.id, FunctionUse::Mentioned);
                }
            }
            Expr::Attribute(attribute) => {
                // `sys.modules` may hold any other module.
                self.facts.is_opaque |= &*attribute.attr == "modules";
                self.refer(&attribute.attr, FunctionUse::Mentioned);
            }
            Expr::Subscript(subscript) if subscript.ctx != ExprContext::Load => {
                self.store(&subscript.value, &subscript.slice);
            }
            Expr::Compare(compare) => {
                let is_membership = |op: &CmpOp| matches!(op, CmpOp::In | CmpOp::NotIn);
                if compare.ops.iter().any(is_membership) {
                    self.facts.touched_fields.extend(string(&compare.left));
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
