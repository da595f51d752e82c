//! `endless-loop`: loops that only a limit ends.

use ruff_python_ast::{
    Expr, ExprCall, ExprContext, Stmt, StmtFor, StmtWhile, UnaryOp,
    visitor::{self, Visitor},
};

use super::{
    finding::{RuleHit, Severity},
    resolver::Resolver,
};
use crate::scope::ScopeId;
use narrows_policy::Level;

/// How many turns of a loop a second has time for: more than any processor manages.
const TURNS_PER_SECOND: f64 = 1e9;

/// Returns the finding for a `while True:` that nothing leaves.
pub(super) fn of_while(looped: &StmtWhile, handled: bool) -> Option<RuleHit> {
    let body = Body::of(&looped.body);
    let is_endless = is_always_true(&looped.test) || {
        // The condition compares a number that does not change.
        let name = compared_number(&looped.test);
        name.is_some_and(|name| !body.bound.contains(&name) && !body.calls)
    };
    (is_endless && !body.ends(handled)).then(|| endless(&body, "while"))
}

/// Returns the finding for a `for x in itertools.count():` that nothing leaves.
pub(super) fn of_for(
    looped: &StmtFor,
    resolver: &Resolver<'_>,
    scope: ScopeId,
    handled: bool,
) -> Option<RuleHit> {
    if looped.is_async || !is_endless_iterator(&looped.iter, resolver, scope) {
        return None;
    }
    let body = Body::of(&looped.body);
    (!body.ends(handled)).then(|| endless(&body, "for"))
}

/// Returns the finding for the evaluation of an endless iterator: `[x for x in itertools.count()]`,
/// `list(itertools.count())`.
pub(super) fn of_iterator(iter: &Expr, resolver: &Resolver<'_>, scope: ScopeId) -> Option<RuleHit> {
    is_endless_iterator(iter, resolver, scope).then(|| RuleHit {
        rule: "endless-loop",
        severity: Severity::Danger,
        subject: "endless-loop".to_owned(),
        message: "this goes through something that never ends; take a part with itertools.islice"
            .to_owned(),
    })
}

/// Returns the finding for a function that consumes an endless iterator.
pub(super) fn of_call(call: &ExprCall, resolver: &Resolver<'_>, scope: ScopeId) -> Option<RuleHit> {
    const WHOLE: [&str; 8] = [
        "builtins.list",
        "builtins.tuple",
        "builtins.set",
        "builtins.frozenset",
        "builtins.sorted",
        "builtins.sum",
        "builtins.max",
        "builtins.min",
    ];
    let [iter] = call.arguments.args.as_ref() else { return None };
    let is_whole = iter.is_call_expr() && resolver.may_be(&call.func, scope, &WHOLE);
    is_whole.then(|| of_iterator(iter, resolver, scope)).flatten()
}

/// Returns the finding for so many turns that the time cannot suffice, however little is done in each.
pub(super) fn too_many_turns(turns: f64, level: &Level) -> Option<RuleHit> {
    let seconds = level.longest.max(level.limits.cpu_time).as_secs_f64();
    (turns > seconds * TURNS_PER_SECOND).then(|| RuleHit {
        rule: "endless-loop",
        severity: Severity::Danger,
        subject: "endless-loop".to_owned(),
        message: format!(
            "this goes round about {turns:.0e} times, and a program has {seconds} s at most; do less"
        ),
    })
}

fn endless(body: &Body<'_>, word: &str) -> RuleHit {
    let message = format!(
        "nothing ends this {word} loop: there is no break, return, raise or await in it; give it an end"
    );
    let severity = if body.may_fail { Severity::Warning } else { Severity::Danger };
    RuleHit { rule: "endless-loop", severity, subject: "endless-loop".to_owned(), message }
}

fn is_always_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(number) => {
            number.value.as_int().is_some_and(|int| int.as_u64() != Some(0))
        }
        Expr::StringLiteral(text) => !text.value.is_empty(),
        Expr::UnaryOp(unary) if unary.op == UnaryOp::Not => match unary.operand.as_ref() {
            Expr::BooleanLiteral(literal) => !literal.value,
            Expr::NoneLiteral(_) => true,
            _ => false,
        },
        _ => false,
    }
}

/// Returns the name that is compared with a number: `x` of `x < 10`.
fn compared_number(test: &Expr) -> Option<&str> {
    let compare = test.as_compare_expr().filter(|compare| compare.comparators.len() == 1)?;
    match (compare.left.as_ref(), compare.comparators.first()?) {
        (Expr::Name(name), Expr::NumberLiteral(_)) | (Expr::NumberLiteral(_), Expr::Name(name)) => {
            Some(&name.id)
        }
        _ => None,
    }
}

fn is_endless_iterator(iter: &Expr, resolver: &Resolver<'_>, scope: ScopeId) -> bool {
    let Expr::Call(call) = iter else { return false };
    let arguments = call.arguments.len();
    let repeats = if arguments == 1 { "itertools.repeat" } else { "itertools.count" };
    match call.arguments.args.as_ref() {
        [inner] if resolver.may_be(&call.func, scope, &["builtins.enumerate", "builtins.iter"]) => {
            is_endless_iterator(inner, resolver, scope)
        }
        [inner] if resolver.may_be(&call.func, scope, &["itertools.cycle"]) => match inner {
            Expr::List(list) => !list.elts.is_empty(),
            Expr::Tuple(tuple) => !tuple.elts.is_empty(),
            Expr::StringLiteral(text) => !text.value.is_empty(),
            _ => false,
        },
        _ => resolver.may_be(&call.func, scope, &["itertools.count", repeats]),
    }
}

/// Tells whether `break` or `return` leaves the body of a loop, so that the number of turns is not
/// known.
pub(super) fn is_left(body: &[Stmt]) -> bool {
    Body::of(body).leaves
}

/// The features of a loop's body that may end the loop.
#[derive(Default)]
struct Body<'a> {
    /// There is a `break` or `return`.
    leaves: bool,
    /// There is a `raise`, `yield`, `await` or exit, so that the code outside may end the loop.
    interrupted: bool,
    /// There is something that may raise an error.
    may_fail: bool,
    /// There is a call that may do anything.
    calls: bool,
    bound: Vec<&'a str>,
    inner_loops: usize,
}

impl<'a> Body<'a> {
    fn of(body: &'a [Stmt]) -> Self {
        let mut seen = Self::default();
        seen.visit_body(body);
        seen
    }

    fn ends(&self, handled: bool) -> bool {
        self.leaves || self.interrupted || handled && self.may_fail
    }

    fn call(&mut self, call: &ExprCall) {
        let name = match call.func.as_ref() {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        match name {
            "exit" | "quit" | "_exit" | "abort" => self.interrupted = true,
            "print" | "len" | "append" | "add" | "extend" | "sleep" | "str" | "range" => {}
            _ => (self.may_fail, self.calls) = (true, true),
        }
    }
}

impl<'a> Visitor<'a> for Body<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            // The body of a function or a class is not part of the loop's.
            Stmt::FunctionDef(function) => self.bound.push(&function.name),
            Stmt::ClassDef(class) => {
                self.bound.push(&class.name);
                self.may_fail = true;
            }
            Stmt::Break(_) => self.leaves |= self.inner_loops == 0,
            Stmt::Return(_) => self.leaves = true,
            Stmt::Raise(_) | Stmt::Assert(_) => self.interrupted = true,
            Stmt::For(StmtFor { body, orelse, is_async, iter, target, .. }) => {
                self.interrupted |= is_async;
                self.visit_expr(iter);
                self.visit_expr(target);
                self.inner_loop(body, orelse);
            }
            Stmt::While(StmtWhile { test, body, orelse, .. }) => {
                self.visit_expr(test);
                self.inner_loop(body, orelse);
            }
            _ => {
                self.interrupted |= matches!(stmt, Stmt::With(with) if with.is_async);
                self.may_fail |= matches!(
                    stmt,
                    Stmt::With(_) | Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Delete(_)
                );
                visitor::walk_stmt(self, stmt);
            }
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Lambda(_) => return,
            Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) => self.interrupted = true,
            Expr::Call(call) => self.call(call),
            Expr::Subscript(_) => self.may_fail = true,
            Expr::Name(name) if name.ctx != ExprContext::Load => self.bound.push(&name.id),
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

impl<'a> Body<'a> {
    fn inner_loop(&mut self, body: &'a [Stmt], orelse: &'a [Stmt]) {
        self.inner_loops += 1;
        self.visit_body(body);
        self.inner_loops -= 1;
        // A `break` in the `else` of the inner loop belongs to the outer loop.
        self.visit_body(orelse);
    }
}
