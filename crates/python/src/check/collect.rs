//! Collects the names of a program, before anything is said about them.

use std::collections::HashMap;

use ruff_python_ast::{
    CmpOp, ExceptHandler, Expr, ExprContext, ExprLambda, Parameters, Pattern, Stmt, StmtClassDef,
    StmtFunctionDef, StmtWith,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange};

use super::{
    comprehension::Comprehended,
    facts::{Facts, root, string},
    handled::{self, FunctionUse, Handled},
    scope::{BindingRange, BindingValue, MODULE, ScopeId, ScopeKind},
};

pub(super) struct FactCollector<'a> {
    pub(super) facts: Facts<'a>,
    pub(super) scope: ScopeId,
    /// The statements that the current one is one of.
    pub(super) block: TextRange,
    /// The functions around, innermost last.
    functions: Vec<&'a str>,
    /// Which errors are handled around this.
    handled: Handled,
    /// What the parameter of a lambda is, and where that is evaluated.
    pub(super) lambdas: HashMap<TextRange, (BindingValue<'a>, ScopeId)>,
}

pub(super) fn collect(body: &[Stmt], module: TextRange) -> Facts<'_> {
    let mut collector = FactCollector {
        facts: Facts::new(module),
        scope: MODULE,
        block: module,
        functions: Vec::new(),
        handled: Handled::Nothing,
        lambdas: HashMap::new(),
    };
    collector.facts.handling.speaks_of_names = speaks_of_names(body);
    visitor::walk_body(&mut collector, body);
    collector.facts
}

/// Whether a program names errors of names anywhere.
fn speaks_of_names(body: &[Stmt]) -> bool {
    struct NameFinder(bool);
    impl<'a> Visitor<'a> for NameFinder {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.0 |= handled::last_name(expr).is_some_and(handled::is_of_names);
            visitor::walk_expr(self, expr);
        }
    }
    let mut names = NameFinder(false);
    visitor::walk_body(&mut names, body);
    names.0
}

/// From the first to the last statement.
fn block_of(body: &[Stmt]) -> TextRange {
    match body {
        [first, .., last] => TextRange::new(first.start(), last.end()),
        [only] => only.range(),
        [] => TextRange::default(),
    }
}

impl<'a> FactCollector<'a> {
    pub(super) fn refer(&mut self, name: &'a str, how: FunctionUse) {
        let within = self.functions.last().copied();
        self.facts.handling.refer(within, name, how, self.handled);
    }

    /// Goes on where errors are handled.
    fn handled(&mut self, handled: Handled, then: impl FnOnce(&mut Self)) {
        let outer = self.handled;
        self.handled = outer.max(handled);
        self.facts.handling.any |= handled > Handled::Nothing;
        then(self);
        self.handled = outer;
    }

    /// Goes on in a new scope.
    fn within(
        &mut self,
        kind: ScopeKind,
        node: TextRange,
        block: TextRange,
        then: impl FnOnce(&mut Self),
    ) {
        let inner = self.facts.scopes.add(kind, Some(self.scope), node, block);
        let outer = (self.scope, self.block);
        (self.scope, self.block) = (inner, block);
        then(self);
        (self.scope, self.block) = outer;
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        let is_decorated = !function.decorator_list.is_empty();
        self.facts.handling.define(&function.name, function.is_async, is_decorated);
        self.refer(&function.name, FunctionUse::Defined);
        self.bind_unknown(&function.name);
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        self.visit_parameters(&function.parameters);
        self.within(ScopeKind::Function, function.range, block_of(&function.body), |inner| {
            inner.functions.push(&function.name);
            inner.bind_parameters(&function.parameters);
            visitor::walk_body(inner, &function.body);
            inner.functions.pop();
        });
    }

    fn bind_parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            self.bind_unknown(parameter.name());
        }
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        self.bind_unknown(&class.name);
        for decorator in &class.decorator_list {
            self.visit_decorator(decorator);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        self.within(ScopeKind::Class, class.range, block_of(&class.body), |inner| {
            visitor::walk_body(inner, &class.body);
        });
    }

    fn with(&mut self, with: &'a StmtWith) {
        let start = self.here(with.start());
        for item in &with.items {
            self.visit_expr(&item.context_expr);
            if let Some(variable) = &item.optional_vars {
                self.bind(variable, BindingValue::Unknown, start);
                self.visit_expr(variable);
            }
        }
        let suppressed = handled::suppresses(with, self.facts.handling.speaks_of_names);
        if suppressed > Handled::Nothing {
            self.handled(suppressed, |inner| inner.visit_body(&with.body));
        } else {
            // All of its body is executed, so that it is no block of its own.
            visitor::walk_body(self, &with.body);
        }
    }

    fn lambda(&mut self, lambda: &'a ExprLambda) {
        let known = self.lambdas.remove(&lambda.range);
        if known.is_some() {
            self.facts.keys.insert(lambda.range);
        }
        if let Some(parameters) = &lambda.parameters {
            self.visit_parameters(parameters);
        }
        self.within(ScopeKind::Function, lambda.range, lambda.range, |inner| {
            match (lambda.parameters.as_deref(), known) {
                (Some(parameters), Some((source, scope)))
                    if parameters.len() == 1 && parameters.args.len() == 1 =>
                {
                    let name = &parameters.args[0].parameter.name;
                    let place =
                        BindingRange { evaluated: scope, ..inner.here(lambda.range.start()) };
                    inner.facts.scopes.bind(name, source, place);
                }
                (Some(parameters), _) => inner.bind_parameters(parameters),
                (None, _) => {}
            }
            inner.visit_expr(&lambda.body);
        });
    }

    fn comprehension(&mut self, comprehended: &Comprehended<'a>) {
        let Comprehended { range: node, generators, elements } = comprehended;
        let node = *node;
        let outer = self.scope;
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        self.within(ScopeKind::Comprehension, node, node, |inner| {
            for (position, generator) in generators.iter().enumerate() {
                if position > 0 {
                    inner.visit_expr(&generator.iter);
                }
                let evaluated = if position == 0 { outer } else { inner.scope };
                let place = BindingRange { evaluated, ..inner.here(node.start()) };
                inner.bind(
                    &generator.target,
                    elements_of(&generator.iter, generator.is_async),
                    place,
                );
                inner.visit_expr(&generator.target);
                for test in &generator.ifs {
                    inner.visit_expr(test);
                }
            }
            for element in elements {
                inner.visit_expr(element);
            }
        });
    }
}

fn elements_of(iterable: &Expr, is_async: bool) -> BindingValue<'_> {
    if is_async { BindingValue::Unknown } else { BindingValue::Element(iterable) }
}

impl<'a> Visitor<'a> for FactCollector<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        let outer = std::mem::replace(&mut self.block, block_of(body));
        visitor::walk_body(self, body);
        self.block = outer;
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let start = self.here(self.block.start());
        match stmt {
            Stmt::FunctionDef(function) => return self.function(function),
            Stmt::ClassDef(class) => return self.class(class),
            Stmt::Import(import) => import.names.iter().for_each(|one| self.import_module(one)),
            Stmt::ImportFrom(import) => self.import_names(import),
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.bind(target, BindingValue::Value(&assign.value), self.here(assign.end()));
                }
            }
            Stmt::AnnAssign(assign) => {
                let source =
                    assign.value.as_deref().map_or(BindingValue::Unknown, BindingValue::Value);
                self.bind(&assign.target, source, self.here(assign.end()));
            }
            Stmt::AugAssign(assign) => {
                self.bind(&assign.target, BindingValue::Unknown, start);
            }
            Stmt::For(each) => {
                let block = block_of(&each.body);
                let place = BindingRange { block, ..self.here(block.start()) };
                self.bind(&each.target, elements_of(&each.iter, each.is_async), place);
            }
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    self.bind(target, BindingValue::Unknown, start);
                }
            }
            Stmt::Global(global) => {
                for name in &global.names {
                    self.facts.scopes.obscure(MODULE, name);
                    self.facts.scopes.obscure(self.scope, name);
                }
            }
            Stmt::Nonlocal(nonlocal) => {
                let around: Vec<ScopeId> = self.facts.scopes.outwards(self.scope).collect();
                for name in &nonlocal.names {
                    around.iter().for_each(|scope| self.facts.scopes.obscure(*scope, name));
                }
            }
            Stmt::TypeAlias(alias) => {
                self.bind(&alias.name, BindingValue::Unknown, start);
            }
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

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind_unknown(name);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let bound = match pattern {
            Pattern::MatchAs(pattern) => pattern.name.as_ref(),
            Pattern::MatchStar(pattern) => pattern.name.as_ref(),
            Pattern::MatchMapping(pattern) => {
                self.facts.touched_fields.extend(pattern.keys.iter().filter_map(string));
                pattern.rest.as_ref()
            }
            _ => None,
        };
        if let Some(name) = bound {
            self.bind_unknown(name);
        }
        visitor::walk_pattern(self, pattern);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some(comprehended) = Comprehended::of(expr) {
            return self.comprehension(&comprehended);
        }
        match expr {
            Expr::Lambda(lambda) => return self.lambda(lambda),
            Expr::Named(named) => self.walrus(&named.target, &named.value, named.end()),
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
