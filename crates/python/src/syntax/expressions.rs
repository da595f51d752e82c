//! Questions about single expressions.

use ruff_python_ast::{Expr, ExprCall, StmtWith, WithItem};

/// Returns the text of a string literal.
pub(crate) fn string(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|literal| literal.value.to_str())
}

/// Returns the variable that an expression starts with: `a` of `a.b[0].c()`.
pub(crate) fn root(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        Expr::Call(call) => root(&call.func),
        _ => None,
    }
}

/// Returns the last name of a function's path: `gather` of `asyncio.gather`.
pub(crate) fn last_name(func: &Expr) -> Option<&str> {
    match func {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr),
        _ => None,
    }
}

/// Returns the call in an item of a `with` that suppresses errors: `contextlib.suppress(…)`.
pub(crate) fn suppressing_call(item: &WithItem) -> Option<&ExprCall> {
    let call = item.context_expr.as_call_expr()?;
    let name = last_name(&call.func)?;
    let suppresses = matches!(name, "suppress" | "raises" | "assertRaises" | "assertRaisesRegex");
    suppresses.then_some(call)
}

/// Tells whether a `with` may suppress errors, so that its body is not always executed to the end.
pub(crate) fn suppresses_errors(with: &StmtWith) -> bool {
    with.items.iter().any(|item| suppressing_call(item).is_some())
}
