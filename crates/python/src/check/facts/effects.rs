//! The effects of calls on the values of a program, and what they reveal about their types.

use ruff_python_ast::{Expr, ExprCall, visitor::Visitor};
use ruff_text_size::Ranged;

use super::{FunctionUse, collect::FactCollector};
use crate::syntax::{root, string};

/// Functions with which a program can change any name.
const OPAQUE: [&str; 6] = ["exec", "eval", "globals", "locals", "vars", "__import__"];

impl<'a> FactCollector<'a> {
    pub(crate) fn call(&mut self, call: &'a ExprCall) {
        match &*call.func {
            Expr::Name(name) => {
                self.refer(&name.id, FunctionUse::Called(call.range()));
                self.read(&name.id);
                self.builtin(&name.id, call);
            }
            Expr::Attribute(attribute) => {
                self.refer(&attribute.attr, FunctionUse::Called(call.range()));
                self.visit_expr(&attribute.value);
                self.method(&attribute.value, &attribute.attr, call);
            }
            func => self.visit_expr(func),
        }
        self.facts.handling.note_call(call);
        self.visit_arguments(&call.arguments);
    }

    pub(crate) fn read(&mut self, name: &str) {
        self.facts.is_opaque |= OPAQUE.contains(&name);
    }

    fn builtin(&mut self, name: &str, call: &'a ExprCall) {
        const ASKING: [&str; 5] = ["isinstance", "type", "hasattr", "callable", "issubclass"];
        if let [of, rest @ ..] = &*call.arguments.args
            && ASKING.contains(&name)
        {
            self.facts.doubted.extend(root(of));
            self.facts.touched_fields.extend(rest.first().and_then(string));
        }
    }

    fn method(&mut self, of: &'a Expr, name: &str, call: &'a ExprCall) {
        let first = call.arguments.args.first();
        match name {
            "update" => {
                let names = call.arguments.keywords.iter().map(|keyword| keyword.arg.as_deref());
                let dict = first.and_then(Expr::as_dict_expr);
                let keys = dict.into_iter().flat_map(|dict| &dict.items);
                let keys = keys.map(|item| item.key.as_ref().and_then(string));
                let known: Vec<Option<&str>> = names.chain(keys).collect();
                if known.contains(&None) || first.is_some() && dict.is_none() {
                    self.mutate(of, false);
                }
                self.facts.touched_fields.extend(known.into_iter().flatten());
            }
            "setdefault" | "pop" | "__setitem__" | "__contains__" => match first.and_then(string) {
                Some(key) => _ = self.facts.touched_fields.insert(key),
                None if name != "pop" => self.mutate(of, false),
                None => {}
            },
            "get" => self.facts.got_fields.extend(first.and_then(string)),
            "append" | "extend" | "insert" => self.mutate(of, true),
            _ => {}
        }
    }
}
