//! `huge-allocation`: constant expressions that need more memory than a program has.

use std::cell::Cell;

use ruff_python_ast::{Comprehension, Expr, ExprBinOp, ExprCall, Operator};

use super::{
    constant::STEPS,
    finding::{RuleHit, Severity},
    resolver::Resolver,
};
use crate::scope::ScopeId;
use narrows_policy::Level;

/// The bytes of a pointer: the interpreter has 32 bits.
const POINTER: f64 = 4.0;
/// The bytes of a number in a list, at least.
const NUMBER: f64 = 12.0;
/// The bits of a large number that a byte holds: 30 bits take four bytes.
const BITS_PER_BYTE: f64 = 7.5;

/// Returns the finding for an expression whose value exceeds the memory of a level.
pub(super) fn huge(
    expr: &Expr,
    resolver: &Resolver<'_>,
    scope: ScopeId,
    level: &Level,
) -> Option<RuleHit> {
    let bytes = Sizes { resolver, scope, steps: Cell::new(STEPS) }.of(expr)?;
    let limit = level.limits.memory_bytes as f64;
    (bytes > limit).then(|| RuleHit {
        rule: "huge-allocation",
        severity: Severity::Danger,
        subject: "huge-allocation".to_owned(),
        message: format!(
            "this takes about {}, and a program has {} at most; work on the data in parts",
            megabytes(bytes),
            megabytes(limit)
        ),
    })
}

fn megabytes(bytes: f64) -> String {
    match bytes / f64::from(1 << 20) {
        max if max > 1e9 => "more than there is anywhere".to_owned(),
        large if large >= 10_240.0 => format!("{:.0} GB", large / 1024.0),
        megabytes => format!("{megabytes:.0} MB"),
    }
}

/// Returns the number of elements of an iterable, if it is known.
pub(super) fn count(iter: &Expr, resolver: &Resolver<'_>, scope: ScopeId) -> Option<f64> {
    Sizes { resolver, scope, steps: Cell::new(STEPS) }.count(iter)
}

struct Sizes<'s, 'a> {
    resolver: &'s Resolver<'a>,
    scope: ScopeId,
    steps: Cell<usize>,
}

impl Sizes<'_, '_> {
    /// Returns the least number of bytes that the value of an expression takes.
    fn of(&self, expr: &Expr) -> Option<f64> {
        self.resolver.step()?;
        self.steps.set(self.steps.get().checked_sub(1)?);
        match expr {
            Expr::StringLiteral(text) => Some(text.value.to_str().len() as f64),
            Expr::BytesLiteral(bytes) => Some(bytes.value.bytes().count() as f64),
            Expr::List(list) => self.elements(&list.elts),
            Expr::Tuple(tuple) => self.elements(&tuple.elts),
            Expr::BinOp(operation) => self.of_operation(operation),
            Expr::ListComp(list) => {
                let each = POINTER + self.of(&list.elt).unwrap_or_default();
                Some(self.turns(&list.generators)? * each)
            }
            Expr::Call(call) => self.of_call(call),
            _ => None,
        }
    }

    fn elements(&self, elements: &[Expr]) -> Option<f64> {
        let is_known = !elements.iter().any(Expr::is_starred_expr);
        is_known.then(|| {
            // Without this, a long list would be walked to its end after the steps are used up.
            let inner = elements.iter().map_while(|element| {
                (self.steps.get() > 0).then(|| self.of(element).unwrap_or_default())
            });
            elements.len() as f64 * POINTER + inner.sum::<f64>()
        })
    }

    fn of_operation(&self, operation: &ExprBinOp) -> Option<f64> {
        let (left, right) = (operation.left.as_ref(), operation.right.as_ref());
        match operation.op {
            Operator::Mult => {
                let times = |of: &Expr, times: &Expr| {
                    Some(self.repeated(of)? * self.number(times)?.max(0.0))
                };
                times(left, right).or_else(|| times(right, left))
            }
            Operator::Pow => {
                let (base, exponent) = (self.number(left)?.abs(), self.number(right)?);
                (base >= 2.0 && exponent > 0.0).then(|| exponent * base.log2() / BITS_PER_BYTE)
            }
            Operator::LShift => {
                let (number, by) = (self.number(left)?, self.number(right)?);
                (number != 0.0).then_some(by / BITS_PER_BYTE)
            }
            Operator::Add => match (self.of(left), self.of(right)) {
                (Some(left), Some(right)) => Some(left + right),
                (left, right) => left.or(right),
            },
            _ => None,
        }
    }

    /// Returns the bytes that each repetition adds.
    fn repeated(&self, of: &Expr) -> Option<f64> {
        match of {
            Expr::List(list) => Some(list.elts.len() as f64 * POINTER),
            Expr::Tuple(tuple) => Some(tuple.elts.len() as f64 * POINTER),
            Expr::StringLiteral(_) | Expr::BytesLiteral(_) => self.of(of),
            Expr::BinOp(operation) if operation.op == Operator::Mult => self.of(of),
            _ => None,
        }
    }

    fn of_call(&self, call: &ExprCall) -> Option<f64> {
        let arguments = call.arguments.args.as_ref();
        if let Expr::Attribute(method) = call.func.as_ref() {
            let is_padding = matches!(&*method.attr, "ljust" | "rjust" | "center" | "zfill");
            return is_padding.then(|| self.number(arguments.first()?)).flatten();
        }
        let [argument, ..] = arguments else { return None };
        let is = |paths: &[&str]| self.resolver.may_be(&call.func, self.scope, paths);
        if is(&["builtins.bytearray", "builtins.bytes"]) {
            return self.number(argument);
        }
        let is_collection =
            is(&["builtins.list", "builtins.tuple", "builtins.set", "builtins.sorted"]);
        (is_collection && argument.is_call_expr())
            .then(|| Some(self.count(argument)? * (POINTER + NUMBER)))?
    }

    fn turns(&self, generators: &[Comprehension]) -> Option<f64> {
        let known = generators.iter().map(|generator| {
            let counts = generator.ifs.is_empty() && !generator.is_async;
            counts.then(|| self.count(&generator.iter)).flatten()
        });
        known.product()
    }

    /// Returns the number of elements of an iterable.
    fn count(&self, iter: &Expr) -> Option<f64> {
        self.resolver.step()?;
        self.steps.set(self.steps.get().checked_sub(1)?);
        match iter {
            Expr::List(list) if !list.elts.iter().any(Expr::is_starred_expr) => {
                Some(list.elts.len() as f64)
            }
            Expr::Tuple(tuple) if !tuple.elts.iter().any(Expr::is_starred_expr) => {
                Some(tuple.elts.len() as f64)
            }
            Expr::StringLiteral(text) => Some(text.value.chars().count() as f64),
            Expr::BinOp(operation) if operation.op == Operator::Mult => {
                Some(self.count(&operation.left)? * self.number(&operation.right)?.max(0.0))
            }
            Expr::Call(call) => self.count_of_call(call),
            _ => None,
        }
    }

    fn count_of_call(&self, call: &ExprCall) -> Option<f64> {
        let is = |paths: &[&str]| self.resolver.may_be(&call.func, self.scope, paths);
        let arguments = call.arguments.args.as_ref();
        if is(&["builtins.range"]) {
            let numbers: Option<Vec<f64>> =
                arguments.iter().map(|argument| self.number(argument)).collect();
            let count = match numbers?.as_slice() {
                [end] => *end,
                [start, end] => end - start,
                [start, end, step] if *step != 0.0 => ((end - start) / step).ceil(),
                _ => return None,
            };
            return Some(count.max(0.0));
        }
        let [first, rest @ ..] = arguments else { return None };
        match rest {
            [count] if is(&["itertools.repeat"]) => self.number(count),
            _ if is(&[
                "builtins.enumerate",
                "builtins.list",
                "builtins.reversed",
                "builtins.sorted",
                "builtins.tuple",
            ]) =>
            {
                self.count(first)
            }
            _ => None,
        }
    }

    fn number(&self, expr: &Expr) -> Option<f64> {
        self.resolver.number(expr, self.scope, &self.steps)
    }
}
