//! The results of calls, and the results that a program changes.

use std::rc::Rc;

use ruff_python_ast::{Arguments, Expr, ExprAttribute, ExprCall};
use ruff_text_size::Ranged;

use crate::{
    check::{
        rules::calls,
        spelling::is_name,
        values::{FullNameMeaning, PathMeaning, UsedTool, Value, Values, is_empty},
    },
    scope::{BindingValue, NameMeaning, ScopeId},
    syntax::{last_name, root, string},
};

/// The function that calls a tool by its full name.
const CALL_BY_NAME: &str = "client.call_mcp_tool";
/// Functions that return a new container.
const MAKERS: [&str; 9] = [
    "dict",
    "list",
    "set",
    "defaultdict",
    "Counter",
    "OrderedDict",
    "deque",
    "fromkeys",
    "bytearray",
];

/// How many parts of a value are searched for the tools that they came from. Lists of lists of the
/// same value, nested forty times, have more parts than could ever be visited.
const MAX_PARTS_CHANGED: usize = 1_000;

/// The function that a call calls.
pub(crate) enum ResolvedCallee {
    /// The Python function of a tool.
    Tool(Rc<UsedTool>),
    /// A tool by its full name, which is the first argument.
    ByName(FullNameMeaning),
    Other,
}

impl Values<'_, '_> {
    /// Resolves the function that a call calls.
    pub(crate) fn callee(&self, call: &ExprCall, scope: ScopeId) -> ResolvedCallee {
        let Value::Path(path) = self.of(&call.func, scope) else { return ResolvedCallee::Other };
        if &*path == CALL_BY_NAME {
            let name = calls::full_name(call).and_then(string).filter(|name| is_name(name));
            return name.map_or(ResolvedCallee::Other, |name| {
                ResolvedCallee::ByName(self.tools.full(name))
            });
        }
        match self.tools.at(&path) {
            PathMeaning::Tool(tool) => ResolvedCallee::Tool(tool),
            _ => ResolvedCallee::Other,
        }
    }

    pub(crate) fn of_call(&self, call: &ExprCall, scope: ScopeId) -> Value {
        match self.callee(call, scope) {
            ResolvedCallee::Tool(tool) | ResolvedCallee::ByName(FullNameMeaning::Tool(tool)) => {
                let result = Value::result(&tool, &tool.shape());
                return Value::Coroutine(tool, Rc::new(result));
            }
            ResolvedCallee::ByName(_) => return Value::Unknown,
            ResolvedCallee::Other => {}
        }
        let arguments = &call.arguments;
        match &*call.func {
            Expr::Name(name) => match self.facts.scopes.meaning(&name.id, scope, name.start()) {
                NameMeaning::Free => self.of_builtin(&name.id, arguments, scope),
                _ => self.of_library(call, scope),
            },
            Expr::Attribute(attribute) => match self.of(&attribute.value, scope) {
                Value::Path(_) => self.of_library(call, scope),
                value => self.of_method(&value, attribute, arguments, scope),
            },
            _ => Value::Unknown,
        }
    }

    fn of_library(&self, call: &ExprCall, scope: ScopeId) -> Value {
        let Value::Path(path) = self.of(&call.func, scope) else { return Value::Unknown };
        let first = || call.arguments.args.first().map(|first| self.of(first, scope));
        let first = || first().unwrap_or(Value::Unknown);
        match &*path {
            "asyncio.gather" => self.of_gather(&call.arguments, scope),
            "asyncio.create_task"
            | "asyncio.ensure_future"
            | "asyncio.wait_for"
            | "asyncio.shield" => Value::Future(Rc::new(first().awaited())),
            "asyncio.run" => first().awaited(),
            "copy.copy" | "copy.deepcopy" => first(),
            _ => Value::Unknown,
        }
    }

    fn of_gather(&self, arguments: &Arguments, scope: ScopeId) -> Value {
        if !arguments.keywords.is_empty() {
            return Value::Unknown;
        }
        let values = match &*arguments.args {
            [Expr::Starred(all)] => match self.of(&all.value, scope) {
                Value::Parts(parts) => Value::Parts(parts.iter().map(Value::awaited).collect()),
                all => Value::list(all.element().awaited()),
            },
            each if each.iter().any(Expr::is_starred_expr) => Value::Unknown,
            each => Value::Parts(each.iter().map(|one| self.of(one, scope).awaited()).collect()),
        };
        Value::Future(Rc::new(values))
    }

    fn of_builtin(&self, name: &str, arguments: &Arguments, scope: ScopeId) -> Value {
        let element = |of: &Expr| self.of(of, scope).element();
        match (name, &*arguments.args) {
            ("list" | "tuple" | "sorted" | "reversed" | "iter", [of]) => Value::list(element(of)),
            ("filter", [_, of]) => Value::list(element(of)),
            ("max" | "min" | "next", [of]) => element(of),
            ("next", [of, default]) if is_empty(default) => element(of),
            ("enumerate", [of, ..]) => {
                Value::list(Value::Parts([Value::Unknown, element(of)].into()))
            }
            ("zip", each) if !each.iter().any(Expr::is_starred_expr) => {
                Value::list(Value::Parts(each.iter().map(element).collect()))
            }
            _ => Value::Unknown,
        }
    }

    fn of_method(
        &self,
        value: &Value,
        method: &ExprAttribute,
        arguments: &Arguments,
        scope: ScopeId,
    ) -> Value {
        match (&*method.attr, value, &*arguments.args) {
            ("get", _, [key]) => string(key).map_or(Value::Unknown, |key| value.field(key)),
            ("get", _, [key, default]) if is_empty(default) => {
                string(key).map_or(Value::Unknown, |key| value.field(key))
            }
            ("copy", Value::Result(..) | Value::List(_), []) => value.clone(),
            ("pop", _, [] | [Expr::NumberLiteral(_)]) => value.element(),
            ("result", Value::Future(inner), []) => (**inner).clone(),
            // A method of a task group or of an event loop.
            ("create_task", _, [task]) => Value::Future(Rc::new(self.of(task, scope).awaited())),
            _ => Value::Unknown,
        }
    }

    /// Marks the tools whose results the program changes in ways that cannot be followed.
    pub(crate) fn mark_changed(&self) {
        for mutation in &self.facts.mutated {
            match self.of(mutation.of, mutation.scope) {
                Value::Unknown if mutation.is_list || self.is_own(mutation.of, mutation.scope) => {}
                Value::Unknown => self.tools.all_change.set(true),
                value => {
                    let mut parts_left = MAX_PARTS_CHANGED;
                    let change = &mut |tool: &UsedTool| tool.is_changed.set(true);
                    if value.tools(&mut parts_left, change).is_none() {
                        self.tools.all_change.set(true);
                    }
                }
            }
        }
    }

    /// Tells whether a value is surely not a result of a tool, but created by the program or given to it.
    fn is_own(&self, expr: &Expr, scope: ScopeId) -> bool {
        let Some(name) = root(expr) else { return false };
        match self.facts.scopes.meaning(name, scope, expr.start()) {
            NameMeaning::Free => true,
            NameMeaning::Unclear => false,
            NameMeaning::One(binding, _) => match &binding.source {
                BindingValue::Value(made) => match made {
                    Expr::Call(call) => last_name(&call.func).is_some_and(|n| MAKERS.contains(&n)),
                    Expr::Dict(_) | Expr::DictComp(_) | Expr::Set(_) | Expr::SetComp(_) => true,
                    Expr::List(_) | Expr::ListComp(_) | Expr::BinOp(_) => expr.is_name_expr(),
                    _ => false,
                },
                BindingValue::Path(_) => true,
                _ => false,
            },
        }
    }
}
