//! Evaluates texts and numbers that are known without running the program.

use std::cell::Cell;

use ruff_python_ast::{Expr, ExprCall, ExprSubscript, Number, Operator, UnaryOp};
use ruff_text_size::Ranged;

use super::resolver::Resolver;
use crate::scope::{BindingValue, ScopeId};

/// How many parts of one expression are evaluated.
pub(super) const STEPS: usize = 300;
/// The steps that following a name to its value costs. It is many, since names that stand for one
/// another would take very long.
const STEP_TO_VALUE: usize = 30;
/// A literal with more digits counts as infinite.
const MAX_NUMBER_LEN: usize = 1_000;
/// Longer texts are not followed, because names of attributes are shorter.
const MAX_TEXT_LEN: usize = 1_000;

impl<'a> Resolver<'a> {
    /// Returns the expression that is the only value of a name.
    fn value_of(
        &self,
        expr: &Expr,
        scope: ScopeId,
        steps: &Cell<usize>,
    ) -> Option<(&'a Expr, ScopeId)> {
        steps.set(steps.get().checked_sub(STEP_TO_VALUE)?);
        let name = expr.as_name_expr()?;
        let binding = self.look_up(&name.id, scope, expr.start()).0?.only()?;
        match &binding.source {
            BindingValue::Value(value) => Some((*value, binding.place.evaluated)),
            _ => None,
        }
    }

    /// Evaluates a text that is written in the program, in one piece or in several.
    pub(super) fn text(&self, expr: &Expr, scope: ScopeId) -> Option<String> {
        let text = self.text_within(expr, scope, &Cell::new(STEPS))?;
        (text.len() <= MAX_TEXT_LEN).then_some(text)
    }

    fn text_within(&self, expr: &Expr, scope: ScopeId, steps: &Cell<usize>) -> Option<String> {
        self.step()?;
        steps.set(steps.get().checked_sub(1)?);
        let text = match expr {
            // A long text may be named a thousand times, and must not be copied as often.
            Expr::StringLiteral(text) if text.value.len() > MAX_TEXT_LEN => return None,
            Expr::StringLiteral(text) => text.value.to_str().to_owned(),
            Expr::Name(_) => {
                let (value, scope) = self.value_of(expr, scope, steps)?;
                self.text_within(value, scope, steps)?
            }
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                self.text_within(&sum.left, scope, steps)?
                    + &self.text_within(&sum.right, scope, steps)?
            }
            Expr::Subscript(subscript) if is_reversed(subscript) => {
                let text = self.text_within(&subscript.value, scope, steps)?;
                text.chars().rev().collect()
            }
            Expr::FString(text) => {
                let mut whole = String::new();
                for element in text.value.elements() {
                    if let Some(literal) = element.as_literal() {
                        whole.push_str(literal);
                        if whole.len() > MAX_TEXT_LEN {
                            return None;
                        }
                    } else {
                        let inner = element.as_interpolation()?;
                        if inner.format_spec.is_some() || !inner.conversion.is_none() {
                            return None;
                        }
                        whole += &self.text_within(&inner.expression, scope, steps)?;
                    }
                }
                whole
            }
            Expr::Call(call) => self.joined(call, scope, steps)?,
            _ => return None,
        };
        (text.len() <= MAX_TEXT_LEN).then_some(text)
    }

    /// Evaluates `"".join(["a", "b"])`.
    fn joined(&self, call: &ExprCall, scope: ScopeId, steps: &Cell<usize>) -> Option<String> {
        let method = call.func.as_attribute_expr().filter(|method| &*method.attr == "join")?;
        let separator = self.text_within(&method.value, scope, steps)?;
        let [parts] = call.arguments.args.as_ref() else { return None };
        let parts = match parts {
            Expr::List(list) => &list.elts,
            Expr::Tuple(tuple) => &tuple.elts,
            _ => return None,
        };
        let parts = parts.iter().map(|part| self.text_within(part, scope, steps));
        Some(parts.collect::<Option<Vec<_>>>()?.join(&separator))
    }

    /// Evaluates a whole number, approximately.
    pub(super) fn number(&self, expr: &Expr, scope: ScopeId, steps: &Cell<usize>) -> Option<f64> {
        self.step()?;
        steps.set(steps.get().checked_sub(1)?);
        match expr {
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(_) if number.range.len().to_usize() > MAX_NUMBER_LEN => {
                    Some(f64::INFINITY)
                }
                Number::Int(int) => {
                    Some(int.as_u64().map_or_else(|| big(&int.to_string()), |small| small as f64))
                }
                _ => None,
            },
            Expr::Name(_) => {
                let (value, scope) = self.value_of(expr, scope, steps)?;
                self.number(value, scope, steps)
            }
            Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => {
                Some(-self.number(&unary.operand, scope, steps)?)
            }
            Expr::BinOp(operation) => {
                let left = self.number(&operation.left, scope, steps)?;
                let right = self.number(&operation.right, scope, steps)?;
                match operation.op {
                    Operator::Add => Some(left + right),
                    Operator::Sub => Some(left - right),
                    Operator::Mult => Some(left * right),
                    Operator::Pow if right >= 0.0 => Some(left.powf(right)),
                    Operator::LShift if right >= 0.0 => Some(left * right.exp2()),
                    Operator::FloorDiv if right != 0.0 => Some((left / right).floor()),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Estimates a number that is too large for 64 bits; infinity if it is not written in decimal digits.
fn big(written: &str) -> f64 {
    written.parse().unwrap_or(f64::INFINITY)
}

/// Tells whether a slice reverses its text: `x[::-1]`.
fn is_reversed(subscript: &ExprSubscript) -> bool {
    let Some(slice) = subscript.slice.as_slice_expr() else { return false };
    let step = slice.step.as_deref().and_then(Expr::as_unary_op_expr);
    let one = step.filter(|step| step.op == UnaryOp::USub).map(|step| step.operand.as_ref());
    let is_one = one
        .and_then(Expr::as_number_literal_expr)
        .is_some_and(|number| number.value.as_int().and_then(|int| int.as_u64()) == Some(1));
    is_one && slice.lower.is_none() && slice.upper.is_none()
}
