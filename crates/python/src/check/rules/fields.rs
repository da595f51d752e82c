//! Fields that a result does not have.

use ruff_python_ast::{Expr, ExprAttribute, ExprCall, ExprSubscript};
use ruff_text_size::{Ranged, TextSize};

use crate::{
    check::{
        finding::CheckFindings,
        spelling::{self, FieldTrust},
        values::{ObjectShape, UsedTool, Value, ValueShape, Values, is_empty},
    },
    scope::ScopeId,
    syntax::string,
};

/// How many characters of an expression a message repeats.
const SHOWN: usize = 40;

/// The attributes of dicts, besides names with underscores. `raw` is the original text of a value
/// that was recovered from a tool's text.
const OF_DICTS: [&str; 12] = [
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "raw",
    "setdefault",
    "update",
    "values",
];
const OF_LISTS: [&str; 12] = [
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "raw", "remove",
    "reverse", "sort",
];

/// Returns the message that a call has to be awaited.
pub(crate) fn not_awaited(tool: &UsedTool) -> String {
    let name = &tool.known.name;
    format!("{name}() is not awaited: write await {name}(...)")
}

/// The check of the fields that a program reads of results.
pub(crate) struct FieldChecker<'v, 'a, 'k, 'f> {
    pub(crate) values: &'v Values<'a, 'k>,
    pub(crate) findings: &'f mut CheckFindings<'a>,
    pub(crate) scope: ScopeId,
}

impl FieldChecker<'_, '_, '_, '_> {
    /// Checks `of["field"]`.
    pub(crate) fn subscript(&mut self, subscript: &ExprSubscript) {
        match self.values.of(&subscript.value, self.scope) {
            Value::Coroutine(tool, _) => {
                self.findings.add(subscript.value.start(), not_awaited(&tool));
            }
            Value::Result(tool, shape) => {
                if let (ValueShape::Object(object), Some(name)) =
                    (&*shape, string(&subscript.slice))
                {
                    let meant = self.meant(&tool, object, name);
                    self.misspelt(&tool, object, name, meant, subscript.slice.start());
                }
            }
            _ => {}
        }
    }

    /// Checks `of.get("field")`.
    pub(crate) fn get(&mut self, call: &ExprCall) {
        let Expr::Attribute(method) = &*call.func else { return };
        let (key, default) = match &*call.arguments.args {
            [key] => (key, None),
            [key, default] => (key, Some(default)),
            _ => return,
        };
        let Some(name) = string(key).filter(|_| &*method.attr == "get") else { return };
        // The default may read the same field by another name.
        if default.is_some_and(|default| !default.is_literal_expr() && !is_empty(default)) {
            return;
        }
        if let Value::Result(tool, shape) = self.values.of(&method.value, self.scope)
            && let ValueShape::Object(object) = &*shape
        {
            let meant = self.meant(&tool, object, name);
            // A program that tries several names expects that the first may be missing.
            let meant = meant.filter(|meant| !self.values.facts.got_fields.contains(*meant));
            self.misspelt(&tool, object, name, meant, key.start());
        }
    }

    /// Checks `of.field`.
    pub(crate) fn attribute(&mut self, attribute: &ExprAttribute) {
        let name = &*attribute.attr;
        if name.starts_with('_') {
            return;
        }
        match self.values.of(&attribute.value, self.scope) {
            Value::Coroutine(tool, _) if !matches!(name, "send" | "throw" | "close") => {
                let is_of_coroutines = name.starts_with("cr_");
                if !is_of_coroutines {
                    self.findings.add(attribute.value.start(), not_awaited(&tool));
                }
            }
            Value::Result(_, shape) => self.attribute_of(&shape, attribute),
            _ => {}
        }
    }

    fn attribute_of(&mut self, shape: &ValueShape, attribute: &ExprAttribute) {
        let name = &*attribute.attr;
        let of = self.findings.text(attribute.value.range());
        let of = if of.chars().count() > SHOWN || of.contains('\n') { "…" } else { of };
        // A result with media beside it is a list, whatever its schema says.
        let of_either = OF_DICTS.contains(&name) || OF_LISTS.contains(&name);
        let message = match shape {
            ValueShape::Object(object) if !of_either => {
                if object.fields.contains_key(name) {
                    format!("{of} is a dict: write {of}[\"{name}\"]")
                } else if !self.findings.may_compare() {
                    return;
                } else {
                    let known = object.fields.keys().map(String::as_str);
                    match spelling::meant(name, known, object.trust) {
                        Some(meant) => format!("{of} is a dict: write {of}[\"{meant}\"]"),
                        None => return,
                    }
                }
            }
            ValueShape::List(item) if !of_either => match &**item {
                ValueShape::Object(object) if object.fields.contains_key(name) => {
                    format!(
                        "{of} is a list of dicts: write {of}[0][\"{name}\"], or go through it with for"
                    )
                }
                _ => return,
            },
            _ => return,
        };
        self.findings.add(attribute.attr.start(), message);
    }

    /// Returns the field that was meant, if the named one is surely missing.
    fn meant<'o>(
        &mut self,
        tool: &UsedTool,
        object: &'o ObjectShape,
        name: &str,
    ) -> Option<&'o str> {
        let may_be_there = object.fields.contains_key(name)
            || self.values.facts.touched_fields.contains(name)
            || self.values.tools.is_changed(tool);
        if may_be_there || !self.findings.may_compare() {
            return None;
        }
        spelling::meant(name, object.fields.keys().map(String::as_str), object.trust)
    }

    fn misspelt(
        &mut self,
        tool: &UsedTool,
        object: &ObjectShape,
        name: &str,
        meant: Option<&str>,
        at: TextSize,
    ) {
        let Some(meant) = meant else { return };
        let tool_name = &tool.known.name;
        let observed = if tool.known.observed && object.trust == FieldTrust::Seen {
            " (observed)"
        } else {
            ""
        };
        self.findings.add(
            at,
            format!(
                "the result of {tool_name} has no field '{name}'; did you mean '{meant}'?{observed}"
            ),
        );
    }
}
