//! The walk that finds all scopes and bindings, before the check and the review use them.

use std::collections::HashMap;

use ruff_python_ast::{
    ExceptHandler, Expr, ExprLambda, Parameters, Pattern, Stmt, StmtClassDef, StmtFunctionDef,
    StmtWith,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange};

use super::{BindingRange, BindingValue, MODULE, ScopeId, ScopeKind, Scopes};
use crate::syntax::{Comprehended, suppresses_errors};

/// The state of the walk: its position, and the scopes that it has found.
pub(super) struct ScopeCollector<'a> {
    pub(super) scopes: Scopes<'a>,
    pub(super) scope: ScopeId,
    /// The block of statements that the current statement belongs to.
    pub(super) block: TextRange,
    /// How many of the statements around this place may skip their bodies (`if`, `for`, `try`).
    pub(super) conditional: usize,
    /// The lambdas whose parameter is known, with its value and the scope in which that is evaluated.
    pub(super) lambdas: HashMap<TextRange, (BindingValue<'a>, ScopeId)>,
}

/// Collects the scopes of a program whose text has the range `module`.
pub(crate) fn collect(body: &[Stmt], module: TextRange) -> Scopes<'_> {
    let mut collector = ScopeCollector {
        scopes: Scopes::new(module),
        scope: MODULE,
        block: module,
        conditional: 0,
        lambdas: HashMap::new(),
    };
    visitor::walk_body(&mut collector, body);
    collector.scopes
}

/// Returns the range from the first to the last statement.
fn block_of(body: &[Stmt]) -> TextRange {
    match body {
        [first, .., last] => TextRange::new(first.start(), last.end()),
        [only] => only.range(),
        [] => TextRange::default(),
    }
}

fn elements_of(iterable: &Expr, is_async: bool) -> BindingValue<'_> {
    if is_async { BindingValue::Unknown } else { BindingValue::Element(iterable) }
}

/// Tells whether a statement may skip its body.
fn is_conditional(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::If(_) | Stmt::For(_) | Stmt::While(_) | Stmt::Try(_) | Stmt::Match(_))
}

impl<'a> ScopeCollector<'a> {
    /// Runs `then` in a new scope, and returns to the current one.
    fn within(
        &mut self,
        kind: ScopeKind,
        node: TextRange,
        block: TextRange,
        then: impl FnOnce(&mut Self),
    ) {
        let inner = self.scopes.add(kind, Some(self.scope), node, block);
        let outer = (self.scope, self.block, self.conditional);
        (self.scope, self.block, self.conditional) = (inner, block, 0);
        then(self);
        (self.scope, self.block, self.conditional) = outer;
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        self.define(&function.name);
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        self.visit_parameters(&function.parameters);
        function.returns.iter().for_each(|returns| self.visit_annotation(returns));
        self.within(ScopeKind::Function, function.range, block_of(&function.body), |inner| {
            inner.bind_parameters(&function.parameters);
            visitor::walk_body(inner, &function.body);
        });
    }

    fn bind_parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            self.bind_unknown(parameter.name());
        }
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        self.define(&class.name);
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
                self.bind(variable, BindingValue::Unknown, start, variable.end());
                self.visit_expr(variable);
            }
        }
        if suppresses_errors(with) {
            self.conditional += 1;
            self.visit_body(&with.body);
            self.conditional -= 1;
        } else {
            // The whole body is executed, so it is part of the block around it.
            visitor::walk_body(self, &with.body);
        }
    }

    fn lambda(&mut self, lambda: &'a ExprLambda) {
        let known = self.lambdas.remove(&lambda.range);
        if known.is_some() {
            self.scopes.keys.insert(lambda.range);
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
                    let start = lambda.range.start();
                    let place = BindingRange { evaluated: scope, ..inner.here(start) };
                    inner.scopes.bind(name, source, place, Some(start));
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
                let elements = elements_of(&generator.iter, generator.is_async);
                inner.bind(&generator.target, elements, place, node.start());
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

    /// Binds the names that a statement binds itself, without those of the statements in it.
    fn bind_targets(&mut self, stmt: &'a Stmt) {
        let start = self.here(self.block.start());
        let end = stmt.end();
        match stmt {
            Stmt::Import(import) => self.import_modules(import),
            Stmt::ImportFrom(import) => self.import_names(import),
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.bind(target, BindingValue::Value(&assign.value), self.here(end), end);
                }
            }
            Stmt::AnnAssign(assign) => match &assign.value {
                Some(value) => {
                    self.bind(&assign.target, BindingValue::Value(value), self.here(end), end);
                }
                None => self.annotate(&assign.target, self.here(end)),
            },
            Stmt::AugAssign(assign) => {
                self.bind(&assign.target, BindingValue::Unknown, start, end);
            }
            Stmt::For(each) => {
                let block = block_of(&each.body);
                let place = BindingRange { block, ..self.here(block.start()) };
                let elements = elements_of(&each.iter, each.is_async);
                self.bind(&each.target, elements, place, block.start());
            }
            Stmt::Delete(delete) => {
                delete.targets.iter().for_each(|target| self.delete(target, start));
            }
            Stmt::Global(global) => {
                let scope = self.scope;
                global.names.iter().for_each(|name| self.scopes.make_global(name, scope));
            }
            Stmt::Nonlocal(nonlocal) => {
                let scope = self.scope;
                nonlocal.names.iter().for_each(|name| self.scopes.make_nonlocal(name, scope));
            }
            Stmt::TypeAlias(alias) => {
                self.bind(&alias.name, BindingValue::Unknown, start, end);
            }
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for ScopeCollector<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        let outer = std::mem::replace(&mut self.block, block_of(body));
        visitor::walk_body(self, body);
        self.block = outer;
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let outer = self.conditional;
        self.conditional += usize::from(is_conditional(stmt));
        match stmt {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::With(with) => self.with(with),
            _ => {
                self.bind_targets(stmt);
                visitor::walk_stmt(self, stmt);
            }
        }
        self.conditional = outer;
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
            Pattern::MatchMapping(pattern) => pattern.rest.as_ref(),
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
            Expr::Named(named) => self.walrus(named),
            Expr::Call(call) => self.note_key(call),
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
