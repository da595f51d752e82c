//! Names that a program reads before it binds them, which would end it after its tools were called.
//!
//! Only what is certain is told: statements of the program itself are executed one after the other,
//! so that a name which nothing before them binds is not there. What stands in functions, branches and
//! loops may be executed later, or never.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{
    ExceptHandler, Expr, ExprContext, ExprName, Pattern, Stmt,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextSize};

use super::comprehension::Comprehended;

/// A name that is read before it is bound, and where it is bound later.
pub(super) struct Early<'a> {
    pub(super) name: &'a ExprName,
    pub(super) bound_at: TextSize,
}

/// Finds them, in the order of the program.
pub(super) fn reads(body: &[Stmt]) -> Vec<Early<'_>> {
    let all = Bound::of(body);
    let mut found = Vec::new();
    let mut before: HashSet<&str> = HashSet::new();
    let mut told: HashSet<&str> = HashSet::new();
    for stmt in body {
        let bound = Bound::of(std::slice::from_ref(stmt));
        let mut reads = Reads::default();
        reads.begin(stmt);
        for name in reads.names {
            let id = name.id.as_str();
            // What an expression binds itself (`:=`) may come first.
            let is_own = bound.by_expressions.contains(id);
            if let Some(bound_at) = all.names.get(id)
                && !is_own
                && !before.contains(id)
                && !all.declared.contains(id)
                && told.insert(id)
            {
                found.push(Early { name, bound_at: *bound_at });
            }
        }
        if ends(stmt) {
            break;
        }
        before.extend(bound.names.into_keys());
    }
    found
}

/// Whether nothing after a statement is executed.
fn ends(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Raise(_) | Stmt::Return(_) => true,
        Stmt::Expr(statement) => statement.value.as_call_expr().is_some_and(|call| {
            let name = match &*call.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => return false,
            };
            matches!(name, "exit" | "quit" | "_exit")
        }),
        _ => false,
    }
}

/// The names that statements bind in the scope of the program, and where they do first. That may be
/// more than they do bind, and never less.
#[derive(Default)]
struct Bound<'a> {
    names: HashMap<&'a str, TextSize>,
    by_expressions: HashSet<&'a str>,
    /// Functions bind these too.
    declared: HashSet<&'a str>,
    /// In how many functions and classes this is.
    depth: usize,
}

impl<'a> Bound<'a> {
    fn of(body: &'a [Stmt]) -> Self {
        let mut bound = Self::default();
        visitor::walk_body(&mut bound, body);
        bound
    }

    fn bind(&mut self, name: &'a str, at: TextSize) {
        if self.depth == 0 {
            self.names.entry(name).or_insert(at);
        }
    }
}

impl<'a> Visitor<'a> for Bound<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.bind(&function.name, stmt.start()),
            Stmt::ClassDef(class) => self.bind(&class.name, stmt.start()),
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name: &'a str = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.bind(name.split('.').next().unwrap_or(name), alias.start());
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.bind(alias.asname.as_ref().unwrap_or(&alias.name), alias.start());
                }
            }
            Stmt::Global(global) => {
                self.declared.extend(global.names.iter().map(|name| name.as_str()));
            }
            _ => {}
        }
        let is_scope = matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        self.depth += usize::from(is_scope);
        visitor::walk_stmt(self, stmt);
        self.depth -= usize::from(is_scope);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name, name.start());
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(pattern) => pattern.name.as_ref(),
            Pattern::MatchStar(pattern) => pattern.name.as_ref(),
            Pattern::MatchMapping(pattern) => pattern.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name, name.start());
        }
        visitor::walk_pattern(self, pattern);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Store => {
                self.bind(&name.id, name.start());
            }
            Expr::Named(named) => {
                self.by_expressions
                    .extend(named.target.as_name_expr().map(|name| name.id.as_str()));
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// The names that are surely read when a statement is begun.
#[derive(Default)]
struct Reads<'a> {
    names: Vec<&'a ExprName>,
}

impl<'a> Reads<'a> {
    fn begin(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Expr(statement) => self.visit_expr(&statement.value),
            Stmt::Assign(assign) => self.visit_expr(&assign.value),
            Stmt::AnnAssign(assign) => {
                assign.value.iter().for_each(|value| self.visit_expr(value));
            }
            Stmt::AugAssign(assign) => {
                if let Expr::Name(name) = &*assign.target {
                    self.names.push(name);
                }
                self.visit_expr(&assign.value);
            }
            Stmt::Assert(assert) => self.visit_expr(&assert.test),
            Stmt::While(repeated) => self.visit_expr(&repeated.test),
            Stmt::If(choice) => self.visit_expr(&choice.test),
            Stmt::For(each) => self.visit_expr(&each.iter),
            Stmt::Match(choice) => self.visit_expr(&choice.subject),
            Stmt::With(with) => {
                with.items.iter().take(1).for_each(|item| self.visit_expr(&item.context_expr));
            }
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for Reads<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some(comprehended) = Comprehended::of(expr) {
            // A generator evaluates the first iterable at once, too.
            let first = comprehended.generators.first();
            return first.into_iter().for_each(|first| self.visit_expr(&first.iter));
        }
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Load => self.names.push(name),
            Expr::Lambda(_) => {}
            Expr::If(either) => self.visit_expr(&either.test),
            Expr::BoolOp(any) => any.values.iter().take(1).for_each(|it| self.visit_expr(it)),
            Expr::Compare(compare) => {
                self.visit_expr(&compare.left);
                compare.comparators.iter().take(1).for_each(|it| self.visit_expr(it));
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}
