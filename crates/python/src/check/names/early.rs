//! Names that a program reads before it binds them, which would end it after its tools were called.
//!
//! Only certain mistakes are reported: the statements of a program, and those of a function, are
//! executed one after the other, so a name that none of the earlier ones binds is not defined.
//! Statements in branches and loops may be executed later, or never.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{
    ExceptHandler, Expr, ExprContext, ExprName, Pattern, Stmt, StmtFunctionDef,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextSize};

use crate::{
    check::facts::{Handled, handled},
    syntax::Comprehended,
};

/// A name that is read before it is bound, and where it is bound later.
pub(crate) struct EarlyRead<'a> {
    pub(crate) name: &'a ExprName,
    pub(crate) bound_at: TextSize,
}

/// Finds the early reads of the program itself, in its order.
pub(crate) fn reads(body: &[Stmt], speaks_of_names: bool) -> Vec<EarlyRead<'_>> {
    Sequence::new(EarlyBindings::of(body), speaks_of_names).find(body)
}

/// Finds the early reads of a function. Some may be of names that are not the function's own, such as
/// those of its comprehensions.
pub(crate) fn reads_in(function: &StmtFunctionDef, speaks_of_names: bool) -> Vec<EarlyRead<'_>> {
    let mut all = EarlyBindings::of(&function.body);
    all.declared.extend(std::mem::take(&mut all.nonlocal));
    let mut sequence = Sequence::new(all, speaks_of_names);
    sequence.before.extend(function.parameters.iter().map(|one| one.name().as_str()));
    sequence.find(&function.body)
}

/// A sequence of statements that are executed one after the other.
struct Sequence<'a> {
    /// The names that any of the statements binds.
    all: EarlyBindings<'a>,
    /// The names that the statements so far have bound, or may have.
    before: HashSet<&'a str>,
    told: HashSet<&'a str>,
    found: Vec<EarlyRead<'a>>,
    speaks_of_names: bool,
}

impl<'a> Sequence<'a> {
    fn new(all: EarlyBindings<'a>, speaks_of_names: bool) -> Self {
        let (before, told) = (HashSet::new(), HashSet::new());
        Self { all, before, told, found: Vec::new(), speaks_of_names }
    }

    fn find(mut self, body: &'a [Stmt]) -> Vec<EarlyRead<'a>> {
        self.follow(body);
        self.found
    }

    fn follow(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            let bound = EarlyBindings::of(std::slice::from_ref(stmt));
            self.begin(stmt, &bound);
            self.follow_into(stmt);
            if ends(stmt) {
                break;
            }
            self.before.extend(bound.names.into_keys());
        }
    }

    fn begin(&mut self, stmt: &'a Stmt, bound: &EarlyBindings<'a>) {
        let mut reads = Reads::default();
        reads.begin(stmt);
        for name in reads.names {
            let id = name.id.as_str();
            // A name that the statement itself binds (`:=`) may be bound before it is read.
            let is_own = bound.by_expressions.contains(id);
            if let Some(bound_at) = self.all.names.get(id)
                && !is_own
                && !self.before.contains(id)
                && !self.all.declared.contains(id)
                && self.told.insert(id)
            {
                self.found.push(EarlyRead { name, bound_at: *bound_at });
            }
        }
    }

    /// Follows the statements in a `with` or `try`, which are executed in sequence too.
    fn follow_into(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::With(with)
                if handled::suppresses(with, self.speaks_of_names) < Handled::Names =>
            {
                let mut bound = EarlyBindings::default();
                with.items.iter().for_each(|item| bound.visit_with_item(item));
                self.before.extend(bound.names.into_keys());
                self.follow(&with.body);
            }
            Stmt::Try(attempt)
                if handled::catches(attempt, self.speaks_of_names) < Handled::Names =>
            {
                // A program whose handler binds a name expects that the body may not have bound it.
                let mut bound = EarlyBindings::default();
                attempt.handlers.iter().for_each(|handler| bound.visit_except_handler(handler));
                bound.visit_body(&attempt.finalbody);
                self.before.extend(bound.names.into_keys());
                self.follow(&attempt.body);
            }
            _ => {}
        }
    }
}

/// Tells whether nothing after a statement is executed.
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

/// The names that statements bind in their scope, with the place of the first binding. There may be
/// more than they really bind, and never fewer.
#[derive(Default)]
struct EarlyBindings<'a> {
    names: HashMap<&'a str, TextSize>,
    by_expressions: HashSet<&'a str>,
    /// Names of `global` statements, which functions bind too.
    declared: HashSet<&'a str>,
    /// Names of `nonlocal` statements, which belong to a function around.
    nonlocal: HashSet<&'a str>,
    /// How many functions and classes are around this place.
    depth: usize,
}

impl<'a> EarlyBindings<'a> {
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

impl<'a> Visitor<'a> for EarlyBindings<'a> {
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
            Stmt::Nonlocal(nonlocal) => {
                self.nonlocal.extend(nonlocal.names.iter().map(|name| name.as_str()));
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

/// The names that are surely read when the execution of a statement begins.
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
            Stmt::Return(returned) => {
                returned.value.iter().for_each(|value| self.visit_expr(value));
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
            // The first iterable is evaluated at once, even that of a generator.
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
