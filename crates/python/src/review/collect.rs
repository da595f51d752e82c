//! Collects what names are bound to, and goes through scopes.

use ruff_python_ast::{
    ExceptHandler, Expr, ExprContext, Parameter, Pattern, Stmt,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::scope::{BoundTo, MODULE, ReviewScopeId, ReviewScopeKind, ReviewScopes};
use crate::uses::{imported, imported_from};

/// Something that visits a program and has to know when a scope starts and ends.
pub(super) trait ScopedVisitor<'a>: Visitor<'a> {
    fn enter(&mut self, node: TextRange, kind: ReviewScopeKind);
    fn leave(&mut self);
}

/// A function or a class: its inside in its scope, the rest around it.
pub(super) fn walk_definition<'a>(visitor: &mut impl ScopedVisitor<'a>, stmt: &'a Stmt) {
    match stmt {
        Stmt::FunctionDef(function) => {
            function.decorator_list.iter().for_each(|one| visitor.visit_decorator(one));
            for default in function.parameters.iter().filter_map(|one| one.default()) {
                visitor.visit_expr(default);
            }
            visitor.enter(function.range, ReviewScopeKind::Function);
            function.parameters.iter().for_each(|one| visitor.visit_parameter(one.as_parameter()));
            function.returns.iter().for_each(|returns| visitor.visit_annotation(returns));
            visitor.visit_body(&function.body);
            visitor.leave();
        }
        Stmt::ClassDef(class) => {
            class.decorator_list.iter().for_each(|one| visitor.visit_decorator(one));
            class.arguments.iter().for_each(|arguments| visitor.visit_arguments(arguments));
            visitor.enter(class.range, ReviewScopeKind::Class);
            visitor.visit_body(&class.body);
            visitor.leave();
        }
        _ => visitor::walk_stmt(visitor, stmt),
    }
}

/// The same for lambdas and comprehensions.
pub(super) fn walk_expression<'a>(visitor: &mut impl ScopedVisitor<'a>, expr: &'a Expr) {
    match expr {
        Expr::Lambda(_) => walk_within(visitor, expr, ReviewScopeKind::Function),
        Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
            walk_within(visitor, expr, ReviewScopeKind::Comprehension);
        }
        _ => visitor::walk_expr(visitor, expr),
    }
}

fn walk_within<'a>(visitor: &mut impl ScopedVisitor<'a>, expr: &'a Expr, kind: ReviewScopeKind) {
    visitor.enter(expr.range(), kind);
    visitor::walk_expr(visitor, expr);
    visitor.leave();
}

pub(super) fn collect(body: &[Stmt]) -> ReviewScopes<'_> {
    let mut collector = ScopeCollector {
        scopes: ReviewScopes::new(),
        scope: MODULE,
        outside: Vec::new(),
        conditional: 0,
    };
    collector.visit_body(body);
    collector.scopes
}

struct ScopeCollector<'a> {
    scopes: ReviewScopes<'a>,
    scope: ReviewScopeId,
    /// The scopes around, each with how many conditions there were.
    outside: Vec<(ReviewScopeId, usize)>,
    /// In how many statements that may leave out what is in them this is.
    conditional: usize,
}

impl<'a> ScopeCollector<'a> {
    fn bind(&mut self, name: &'a str, bound: BoundTo<'a>, end: TextSize) {
        let surely = Some(end).filter(|_| self.conditional == 0);
        self.scopes.bind(name, bound, self.scope, surely);
    }

    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        match target {
            Expr::Name(name) => self.bind(&name.id, BoundTo::Value(value, self.scope), value.end()),
            _ => self.visit_expr(target),
        }
    }

    /// `:=` binds outside of the comprehensions that it stands in.
    fn assign_outside(&mut self, name: &'a str, value: &'a Expr, node: TextRange) {
        let mut scope = self.scope;
        while self.scopes.is_comprehension(scope) {
            scope = self.scopes.parent(scope);
        }
        let bound = if scope == self.scope { BoundTo::Value(value, scope) } else { BoundTo::Other };
        let surely = Some(node.end()).filter(|_| self.conditional == 0 && scope == self.scope);
        self.scopes.bind(name, bound, scope, surely);
    }
}

impl<'a> ScopedVisitor<'a> for ScopeCollector<'a> {
    fn enter(&mut self, node: TextRange, kind: ReviewScopeKind) {
        self.outside.push((self.scope, self.conditional));
        self.scope = self.scopes.add(kind, self.scope, node);
        self.conditional = 0;
    }

    fn leave(&mut self) {
        if let Some(outside) = self.outside.pop() {
            (self.scope, self.conditional) = outside;
        }
    }
}

impl<'a> Visitor<'a> for ScopeCollector<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                imported(import)
                    .for_each(|(name, path)| self.bind(name, BoundTo::Path(path), import.end()));
            }
            Stmt::ImportFrom(import) => {
                imported_from(import)
                    .for_each(|(name, path)| self.bind(name, BoundTo::Path(path), import.end()));
            }
            Stmt::FunctionDef(function) => {
                self.bind(&function.name, BoundTo::Other, function.name.end());
                walk_definition(self, stmt);
            }
            Stmt::ClassDef(class) => {
                self.bind(&class.name, BoundTo::Other, class.name.end());
                walk_definition(self, stmt);
            }
            Stmt::Assign(assign) => {
                self.visit_expr(&assign.value);
                assign.targets.iter().for_each(|target| self.assign(target, &assign.value));
            }
            Stmt::AnnAssign(assign) => {
                self.visit_annotation(&assign.annotation);
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                    self.assign(&assign.target, value);
                }
            }
            Stmt::Global(global) => {
                let scope = self.scope;
                global.names.iter().for_each(|name| self.scopes.is_elsewhere(name, scope, MODULE));
            }
            Stmt::Nonlocal(nonlocal) => {
                let parent = self.scopes.parent(self.scope);
                let scope = self.scope;
                nonlocal
                    .names
                    .iter()
                    .for_each(|name| self.scopes.is_elsewhere(name, scope, parent));
            }
            Stmt::If(_) | Stmt::For(_) | Stmt::While(_) | Stmt::Try(_) | Stmt::Match(_) => {
                self.conditional += 1;
                visitor::walk_stmt(self, stmt);
                self.conditional -= 1;
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => match name.ctx {
                ExprContext::Store => self.bind(&name.id, BoundTo::Other, expr.end()),
                ExprContext::Del => self.scopes.delete(&name.id, self.scope),
                ExprContext::Load | ExprContext::Invalid => {}
            },
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                if let Expr::Name(name) = named.target.as_ref() {
                    self.assign_outside(&name.id, &named.value, expr.range());
                }
            }
            _ => walk_expression(self, expr),
        }
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.bind(&parameter.name, BoundTo::Other, parameter.end());
        visitor::walk_parameter(self, parameter);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name, BoundTo::Other, name.end());
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(one) => one.name.as_ref(),
            Pattern::MatchStar(star) => star.name.as_ref(),
            Pattern::MatchMapping(mapping) => mapping.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name, BoundTo::Other, name.end());
        }
        visitor::walk_pattern(self, pattern);
    }
}
