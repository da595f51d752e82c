//! The walk over every statement and expression, in its scope.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{
    Comprehension, Expr, ExprCall, ExprContext, Operator, PatternKeyword, Stmt, StmtClassDef,
    StmtFor, StmtFunctionDef, StmtIf, StmtTry, StmtWhile,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    allocations,
    calls::{CallGraph, Times},
    finding::{ReviewFindings, RuleHit},
    imports, loops, names,
    resolver::Resolver,
    tricks,
};
use crate::{
    scope::{MODULE, ScopeId, ScopeKind},
    syntax::Comprehended,
};
use narrows_policy::{Level, ReviewMode};

pub(super) struct ReviewWalker<'w, 'a, 's> {
    resolver: &'w Resolver<'a>,
    level: &'w Level,
    tool_calls: &'w HashSet<TextRange>,
    findings: &'w mut ReviewFindings<'s>,
    calls: CallGraph<'a>,
    /// The ids in `calls` of the program's functions.
    functions: HashMap<TextRange, usize>,
    at: WalkPosition,
    outside: Vec<WalkPosition>,
    /// The end of the last huge expression, whose parts are not reported again.
    told: TextSize,
}

/// The position of the walk.
#[derive(Clone, Copy)]
struct WalkPosition {
    scope: ScopeId,
    function: usize,
    /// How often the function executes this place.
    times: Times,
    /// How many `try` statements with handlers are around this place.
    handled: usize,
}

/// The way in which a module is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModuleUse {
    /// As the base of `module.name`, which is reviewed itself.
    Base,
    Whole,
}

impl<'w, 'a, 's> ReviewWalker<'w, 'a, 's> {
    pub(super) fn new(
        resolver: &'w Resolver<'a>,
        level: &'w Level,
        tool_calls: &'w HashSet<TextRange>,
        findings: &'w mut ReviewFindings<'s>,
    ) -> Self {
        let mut calls = CallGraph::default();
        let function = calls.add_function(None);
        Self {
            resolver,
            level,
            tool_calls,
            findings,
            calls,
            functions: HashMap::new(),
            at: WalkPosition { scope: MODULE, function, times: Times::ONCE, handled: 0 },
            outside: Vec::new(),
            told: TextSize::default(),
        }
    }

    pub(super) fn walk(mut self, body: &'a [Stmt]) {
        self.visit_body(body);
        self.calls.report(self.level, self.findings);
    }

    fn add(&mut self, node: &impl Ranged, found: Option<RuleHit>) {
        if let Some(found) = found {
            self.findings.add(node.start(), found);
        }
    }

    /// Runs `then` for a part that is executed so many times.
    fn times(&mut self, times: Times, then: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.at.times, times);
        then(self);
        self.at.times = outer;
    }

    fn maybe(&mut self, then: impl FnOnce(&mut Self)) {
        self.times(self.at.times.maybe(), then);
    }

    fn looped_while(&mut self, stmt: &'a Stmt, looped: &'a StmtWhile) {
        self.add(stmt, loops::of_while(looped, self.at.handled > 0));
        self.visit_expr(&looped.test);
        self.maybe(|inner| {
            inner.visit_body(&looped.body);
            inner.visit_body(&looped.orelse);
        });
    }

    fn looped_for(&mut self, stmt: &'a Stmt, looped: &'a StmtFor) {
        let WalkPosition { scope, handled, times, .. } = self.at;
        self.add(stmt, loops::of_for(looped, self.resolver, scope, handled > 0));
        let turns = allocations::count(&looped.iter, self.resolver, scope);
        let turns = turns.filter(|_| !loops::is_left(&looped.body));
        let inside = times.looped(turns);
        if turns.is_some() {
            self.add(stmt, loops::too_many_turns(inside.count, self.level));
        }
        self.visit_expr(&looped.iter);
        self.visit_expr(&looped.target);
        self.times(inside, |inner| inner.visit_body(&looped.body));
        self.maybe(|inner| inner.visit_body(&looped.orelse));
    }

    fn tried(&mut self, tried: &'a StmtTry) {
        let handles = usize::from(!tried.handlers.is_empty());
        self.at.handled += handles;
        self.visit_body(&tried.body);
        self.at.handled -= handles;
        self.maybe(|inner| {
            tried.handlers.iter().for_each(|handler| inner.visit_except_handler(handler));
            inner.visit_body(&tried.orelse);
        });
        self.visit_body(&tried.finalbody);
    }

    fn chosen(&mut self, chosen: &'a StmtIf) {
        self.visit_expr(&chosen.test);
        let body = |inner: &mut Self| inner.visit_body(&chosen.body);
        match is_main(&chosen.test) {
            true => body(self),
            false => self.maybe(body),
        }
        self.maybe(|inner| {
            let clauses = &chosen.elif_else_clauses;
            clauses.iter().for_each(|clause| inner.visit_elif_else_clause(clause));
        });
    }

    /// Applies the rules about names to everything that an expression may mean.
    fn named(&mut self, expr: &'a Expr, how: ModuleUse) {
        if let Some(path) = self.resolver.implied(expr, self.at.scope) {
            self.add(expr, imports::implied(&path, self.level, self.findings));
        }
        for meaning in self.resolver.meanings(expr, self.at.scope) {
            let denied = names::denied(&meaning.path, self.findings.denied());
            self.add(expr, denied);
            self.add(expr, names::dynamic_code(&meaning));
            self.add(expr, imports::by_name(&meaning));
            let is_own = expr.as_name_expr().is_some_and(|name| &*name.id == "__builtins__");
            if meaning.path == "builtins" && (is_own || how == ModuleUse::Whole) {
                self.add(expr, Some(tricks::builtins(expr)));
            }
        }
    }

    /// Visits the object of `object.name` and `object[key]`.
    fn visit_base(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(_) => self.named(expr, ModuleUse::Base),
            _ => self.visit_expr(expr),
        }
    }

    fn call(&mut self, expr: &'a Expr, call: &'a ExprCall) {
        let (resolver, WalkPosition { scope, function, times, .. }) = (self.resolver, self.at);
        self.named(expr, ModuleUse::Base);
        self.add(expr, tricks::call(call, resolver, scope));
        self.add(expr, loops::of_call(call, resolver, scope));
        if self.tool_calls.contains(&expr.range()) {
            self.calls.tool(function, expr.start(), times);
        } else if let Expr::Name(name) = call.func.as_ref() {
            self.calls.function(function, &name.id, expr.start(), times);
        }
        match imports::call(call, resolver, scope, self.level) {
            Some(found) => self.add(expr, Some(found)),
            // A skill was reviewed when it was saved. Levels that block dangers still refuse `exec`, and a
            // program imports the skill instead.
            None if self.level.review != ReviewMode::Block
                && is_of_skill(call, resolver, scope) => {}
            None => self.visit_expr(&call.func),
        }
        self.visit_arguments(&call.arguments);
    }

    /// Checks an expression whose value may be huge, or a text that may be a hidden name.
    fn value(&mut self, expr: &'a Expr) {
        let (resolver, scope) = (self.resolver, self.at.scope);
        self.add(expr, tricks::text(expr, resolver, scope));
        if expr.start() >= self.told
            && let Some(found) = allocations::huge(expr, resolver, scope, self.level)
        {
            self.told = expr.end();
            self.add(expr, Some(found));
        }
    }

    /// Checks a comprehension that is evaluated at once, in contrast to a generator.
    fn comprehended(&mut self, expr: &'a Expr, generators: &'a [Comprehension]) {
        let (resolver, WalkPosition { scope, times, .. }) = (self.resolver, self.at);
        let mut inside = times;
        for generator in generators.iter().filter(|generator| !generator.is_async) {
            self.add(expr, loops::of_iterator(&generator.iter, resolver, scope));
            inside = inside.looped(allocations::count(&generator.iter, resolver, scope));
        }
        self.add(expr, loops::too_many_turns(inside.count, self.level));
    }
}

/// Tells whether a call executes a saved skill: `exec(load_skill("x"))`.
fn is_of_skill(call: &ExprCall, resolver: &Resolver<'_>, scope: ScopeId) -> bool {
    resolver.may_be(&call.func, scope, &["builtins.exec"])
        && matches!(&*call.arguments.args, [source, ..] if resolver.is_skill(source, scope))
}

/// Tells whether a condition is `__name__ == "__main__"`.
fn is_main(test: &Expr) -> bool {
    let left = test.as_compare_expr().and_then(|compare| compare.left.as_name_expr());
    left.is_some_and(|name| &*name.id == "__name__")
}

impl<'a> ReviewWalker<'_, 'a, '_> {
    /// Visits a function: its body in its own scope, decorators and defaults in the scope around it.
    fn function(&mut self, function: &'a StmtFunctionDef) {
        let id = self.calls.add_function(Some(&function.name));
        self.functions.insert(function.range, id);
        function.decorator_list.iter().for_each(|one| self.visit_decorator(one));
        for default in function.parameters.iter().filter_map(|one| one.default()) {
            self.visit_expr(default);
        }
        self.enter(function.range, ScopeKind::Function);
        function.parameters.iter().for_each(|one| self.visit_parameter(one.as_parameter()));
        function.returns.iter().for_each(|returns| self.visit_annotation(returns));
        self.visit_body(&function.body);
        self.leave();
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        class.decorator_list.iter().for_each(|one| self.visit_decorator(one));
        class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
        self.enter(class.range, ScopeKind::Class);
        self.visit_body(&class.body);
        self.leave();
    }

    /// Visits an expression that may have a scope of its own.
    fn scoped(&mut self, expr: &'a Expr) {
        let kind = match expr {
            Expr::Lambda(_) => ScopeKind::Function,
            _ if Comprehended::of(expr).is_some() => ScopeKind::Comprehension,
            _ => return visitor::walk_expr(self, expr),
        };
        self.enter(expr.range(), kind);
        visitor::walk_expr(self, expr);
        self.leave();
    }

    fn enter(&mut self, node: TextRange, kind: ScopeKind) {
        self.outside.push(self.at);
        self.at.scope = self.resolver.scope_of(node);
        match (kind, self.functions.get(&node)) {
            (_, Some(function)) => {
                self.at.function = *function;
                (self.at.times, self.at.handled) = (Times::ONCE, 0);
            }
            // A lambda runs whenever it is called.
            (ScopeKind::Function, None) => self.at.times = self.at.times.maybe(),
            _ => {}
        }
    }

    fn leave(&mut self) {
        if let Some(outside) = self.outside.pop() {
            self.at = outside;
        }
    }
}

impl<'a> Visitor<'a> for ReviewWalker<'_, 'a, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => imports::import(import, self.level, self.findings),
            Stmt::ImportFrom(import) => imports::import_from(import, self.level, self.findings),
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::While(looped) => self.looped_while(stmt, looped),
            Stmt::For(looped) => self.looped_for(stmt, looped),
            Stmt::Try(tried) => self.tried(tried),
            Stmt::If(chosen) => self.chosen(chosen),
            Stmt::Match(_) => self.maybe(|inner| visitor::walk_stmt(inner, stmt)),
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let (resolver, scope) = (self.resolver, self.at.scope);
        match expr {
            Expr::Name(name) if name.ctx == ExprContext::Load => self.named(expr, ModuleUse::Whole),
            Expr::Attribute(attribute) => {
                self.add(&attribute.attr, tricks::attribute(&attribute.attr));
                let denied = names::denied(&attribute.attr, self.findings.denied());
                self.add(&attribute.attr, denied);
                self.named(expr, ModuleUse::Whole);
                self.visit_base(&attribute.value);
            }
            Expr::Subscript(subscript) => {
                self.add(expr, tricks::member(subscript, resolver, scope));
                self.value(expr);
                self.named(expr, ModuleUse::Whole);
                self.visit_base(&subscript.value);
                self.visit_expr(&subscript.slice);
            }
            Expr::Call(call) => {
                self.value(expr);
                self.call(expr, call);
            }
            Expr::If(chosen) => {
                self.visit_expr(&chosen.test);
                self.maybe(|inner| {
                    inner.visit_expr(&chosen.body);
                    inner.visit_expr(&chosen.orelse);
                });
            }
            _ => {
                match expr {
                    Expr::StringLiteral(_) | Expr::FString(_) => {
                        self.add(expr, tricks::text(expr, resolver, scope));
                    }
                    Expr::BinOp(operation) if is_growing(operation.op) => self.value(expr),
                    Expr::ListComp(comp) => {
                        self.value(expr);
                        self.comprehended(expr, &comp.generators);
                    }
                    Expr::SetComp(comp) => self.comprehended(expr, &comp.generators),
                    Expr::DictComp(comp) => self.comprehended(expr, &comp.generators),
                    _ => {}
                }
                self.scoped(expr);
            }
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        let turns = allocations::count(&comprehension.iter, self.resolver, self.at.scope);
        self.visit_expr(&comprehension.iter);
        self.visit_expr(&comprehension.target);
        // The position is that of the comprehension, so the count ends with it.
        self.at.times = self.at.times.looped(turns);
        comprehension.ifs.iter().for_each(|condition| self.visit_expr(condition));
        if !comprehension.ifs.is_empty() {
            self.at.times = self.at.times.maybe();
        }
    }

    fn visit_pattern_keyword(&mut self, keyword: &'a PatternKeyword) {
        self.add(&keyword.attr, tricks::attribute(&keyword.attr));
        visitor::walk_pattern_keyword(self, keyword);
    }
}

fn is_growing(operator: Operator) -> bool {
    matches!(operator, Operator::Add | Operator::Mult | Operator::Pow | Operator::LShift)
}
