//! What single expressions are.

use ruff_python_ast::{Expr, ExprCall, StmtWith, WithItem};

/// The text of a literal.
pub(crate) fn string(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|literal| literal.value.to_str())
}

/// The variable that an expression starts from.
pub(crate) fn root(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => root(&attribute.value),
        Expr::Subscript(subscript) => root(&subscript.value),
        Expr::Call(call) => root(&call.func),
        _ => None,
    }
}

/// `gather` of `asyncio.gather`.
pub(crate) fn last_name(func: &Expr) -> Option<&str> {
    match func {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr),
        _ => None,
    }
}

/// The call of this item of a `with` at which errors end.
pub(crate) fn suppressing_call(item: &WithItem) -> Option<&ExprCall> {
    let call = item.context_expr.as_call_expr()?;
    let name = last_name(&call.func)?;
    let suppresses = matches!(name, "suppress" | "raises" | "assertRaises" | "assertRaisesRegex");
    suppresses.then_some(call)
}

/// Whether errors may end at a `with`, so that not all of its body need be executed.
pub(crate) fn suppresses_errors(with: &StmtWith) -> bool {
    with.items.iter().any(|item| suppressing_call(item).is_some())
}
