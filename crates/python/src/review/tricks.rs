//! `attribute-trick`: attributes that lead from any object to the interpreter's inside.

use ruff_python_ast::{Expr, ExprCall, ExprSubscript};

use super::{
    finding::{RuleHit, Severity},
    resolver::Resolver,
};
use crate::scope::ScopeId;

/// Nothing but a way out has a use for these.
const DANGEROUS: [&str; 9] = [
    "__subclasses__",
    "__globals__",
    "__builtins__",
    "__import__",
    "f_globals",
    "f_builtins",
    "f_back",
    "func_globals",
    "_getframe",
];
/// These have honest uses too: programs print the order of classes, or look at a traceback.
const SUSPICIOUS: [&str; 15] = [
    "__mro__",
    "__bases__",
    "__base__",
    "__code__",
    "__closure__",
    "__loader__",
    "__getattribute__",
    "f_locals",
    "f_code",
    "tb_frame",
    "gi_frame",
    "gi_code",
    "cr_frame",
    "cr_code",
    "ag_frame",
];

fn severity(name: &str) -> Option<Severity> {
    match name {
        name if DANGEROUS.contains(&name) => Some(Severity::Danger),
        name if SUSPICIOUS.contains(&name) => Some(Severity::Note),
        _ => None,
    }
}

fn found(name: &str, severity: Severity) -> RuleHit {
    RuleHit {
        rule: "attribute-trick",
        severity,
        subject: name.to_owned(),
        message: format!(
            "{name} leads to the inside of the interpreter, where nothing is of use to a program; do without it"
        ),
    }
}

/// `x.name`
pub(super) fn attribute(name: &str) -> Option<RuleHit> {
    Some(found(name, severity(name)?))
}

/// The module of all that Python has by itself, handed on as a whole.
pub(super) fn builtins(expr: &Expr) -> RuleHit {
    match expr.as_name_expr().is_some_and(|name| &*name.id == "__builtins__") {
        true => found("__builtins__", Severity::Danger),
        false => found("builtins", Severity::Warning),
    }
}

/// `getattr(x, "name")`, `attrgetter("a.name")`, `x.__getattribute__("name")`,
/// `"{0.name}".format(x)`
pub(super) fn call(call: &ExprCall, resolver: &Resolver<'_>, scope: ScopeId) -> Option<RuleHit> {
    let arguments = call.arguments.args.as_ref();
    let method = call.func.as_attribute_expr();
    let is_getter = ["builtins.getattr", "inspect.getattr_static"];
    let text = match (method.map(|method| method.attr.as_str()), arguments) {
        (Some("format" | "format_map"), _) => {
            let text = resolver.text(&method?.value, scope)?;
            return fields(&text).find_map(attribute);
        }
        (Some("__getattribute__"), [.., name]) => resolver.text(name, scope),
        (_, [_, name, ..]) if resolver.may_be(&call.func, scope, &is_getter) => {
            resolver.text(name, scope)
        }
        (_, [name, ..]) if resolver.may_be(&call.func, scope, &["operator.attrgetter"]) => {
            resolver.text(name, scope)
        }
        _ => None,
    }?;
    text.split('.').find_map(attribute)
}

/// The names in the braces of a format.
fn fields(format: &str) -> impl Iterator<Item = &str> {
    let fields = format.split('{').skip(1).filter_map(|rest| rest.split(['}', ':', '!']).next());
    fields.flat_map(|field| field.split(['.', '[', ']']))
}

/// `x["name"]`: the dictionary of a module or of a class.
pub(super) fn member(
    subscript: &ExprSubscript,
    resolver: &Resolver<'_>,
    scope: ScopeId,
) -> Option<RuleHit> {
    if subscript.slice.is_slice_expr() || subscript.slice.is_number_literal_expr() {
        return None;
    }
    attribute(&resolver.text(&subscript.slice, scope)?)
}

/// A name that was put together from pieces has no other use than to hide it. One in one piece
/// may be data.
pub(super) fn text(expr: &Expr, resolver: &Resolver<'_>, scope: ScopeId) -> Option<RuleHit> {
    let name = resolver.text(expr, scope)?;
    match (severity(&name)?, expr.is_string_literal_expr()) {
        (Severity::Danger, false) => Some(found(&name, Severity::Danger)),
        (Severity::Danger, true) => Some(found(&name, Severity::Note)),
        (_, false) => Some(found(&name, Severity::Warning)),
        (_, true) => None,
    }
}
