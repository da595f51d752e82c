//! `attribute-trick`: attributes that lead from any object to the internals of the interpreter.

use ruff_python_ast::{Expr, ExprCall, ExprSubscript};

use super::{
    finding::{RuleHit, Severity},
    resolver::Resolver,
};
use crate::scope::ScopeId;

/// Attributes whose only use is to escape from the program's own objects.
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
/// Attributes that have honest uses too: programs print the order of classes, or read a traceback.
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

/// Returns the finding for `x.name`.
pub(super) fn attribute(name: &str) -> Option<RuleHit> {
    Some(found(name, severity(name)?))
}

/// Returns the finding for the module of all builtins, used as a whole.
pub(super) fn builtins(expr: &Expr) -> RuleHit {
    match expr.as_name_expr().is_some_and(|name| &*name.id == "__builtins__") {
        true => found("__builtins__", Severity::Danger),
        false => found("builtins", Severity::Warning),
    }
}

/// Returns the finding for a call that reads an attribute by its name: `getattr(x, "name")`,
/// `attrgetter("a.name")`, `x.__getattribute__("name")`, `"{0.name}".format(x)`.
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

/// Returns the names in the braces of a format string.
fn fields(format: &str) -> impl Iterator<Item = &str> {
    let fields = format.split('{').skip(1).filter_map(|rest| rest.split(['}', ':', '!']).next());
    fields.flat_map(|field| field.split(['.', '[', ']']))
}

/// Returns the finding for `x["name"]`, where `x` may be the dictionary of a module or of a class.
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

/// Returns the finding for a text that is the name of such an attribute. A name that is put together
/// from pieces can only be meant to be hidden; one in a single piece may be data.
pub(super) fn text(expr: &Expr, resolver: &Resolver<'_>, scope: ScopeId) -> Option<RuleHit> {
    let name = resolver.text(expr, scope)?;
    match (severity(&name)?, expr.is_string_literal_expr()) {
        (Severity::Danger, false) => Some(found(&name, Severity::Danger)),
        (Severity::Danger, true) => Some(found(&name, Severity::Note)),
        (_, false) => Some(found(&name, Severity::Warning)),
        (_, true) => None,
    }
}
