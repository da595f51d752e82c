//! Lambdas whose parameter is known, because a function such as `sorted` calls them with each element
//! of its argument.

use ruff_python_ast::{Expr, ExprCall};

use super::{BindingValue, collect::ScopeCollector};

impl<'a> ScopeCollector<'a> {
    /// Notes the value that the parameter of a lambda among the arguments of this call will have.
    pub(super) fn note_key(&mut self, call: &'a ExprCall) {
        let key = call.arguments.find_keyword("key").map(|keyword| &keyword.value);
        match (&*call.func, &*call.arguments.args) {
            (Expr::Name(function), arguments) => match (function.id.as_str(), arguments, key) {
                ("sorted" | "min" | "max", [of], Some(key)) => {
                    self.note(key, BindingValue::ElementFor(&function.id, of));
                }
                ("filter" | "map", [function_of, of], _) => {
                    self.note(function_of, BindingValue::ElementFor(&function.id, of));
                }
                _ => {}
            },
            (Expr::Attribute(method), _) if &*method.attr == "sort" => {
                if let Some(key) = key {
                    self.note(key, BindingValue::Element(&method.value));
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, function: &'a Expr, parameter: BindingValue<'a>) {
        if let Expr::Lambda(lambda) = function {
            self.lambdas.insert(lambda.range, (parameter, self.scope));
        }
    }
}
