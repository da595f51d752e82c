//! Resolves expressions to the paths of what they mean, such as `builtins.eval` or `os.path`, under
//! whatever name a program uses it.

use std::cell::Cell;

use ruff_python_ast::{Expr, ExprCall, ExprSubscript};
use ruff_text_size::Ranged;

use super::resolver::{Builtin, Resolver};
use crate::scope::{BindingValue, ScopeId, standard};

/// How many steps from name to name are followed for one expression.
const STEPS: usize = 20;

/// One of the meanings that an expression may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    /// The path from a module: `os.path`.
    pub(super) path: String,
    /// Whether the program binds the name to something else, but maybe later than it uses it.
    pub(super) doubtful: bool,
}

impl ResolvedPath {
    fn sure(path: impl Into<String>) -> Self {
        Self { path: path.into(), doubtful: false }
    }
}

/// Returns the path of a name that the program does not bind: some modules need no import.
fn of_builtins(name: &str) -> String {
    let implied = standard::module(name).or_else(|| standard::path(name));
    implied.map_or_else(|| format!("builtins.{name}"), str::to_owned)
}

impl Resolver<'_> {
    /// Returns all paths that an expression may mean.
    pub(super) fn meanings(&self, expr: &Expr, scope: ScopeId) -> Vec<ResolvedPath> {
        let mut found = Vec::new();
        self.add_meanings(expr, scope, &Cell::new(STEPS), &mut found);
        found.dedup();
        found
    }

    /// Returns what a name uses without an import: a module, or a tool with the modules that it is in.
    pub(super) fn implied(&self, expr: &Expr, scope: ScopeId) -> Option<String> {
        let name = expr.as_name_expr()?;
        let (_, builtin) = self.look_up(&name.id, scope, expr.start());
        let own = || standard::path(&name.id)?.split('.').next();
        if builtin == Builtin::No {
            return None;
        }
        let module = standard::module(&name.id).or_else(own).map(str::to_owned);
        module.or_else(|| self.implied.path(&name.id))
    }

    /// Tells whether an expression is the source of a saved skill: `load_skill("x")`, or a name for it.
    pub(super) fn is_skill(&self, expr: &Expr, scope: ScopeId) -> bool {
        match expr {
            Expr::Await(awaited) => {
                awaited.value.is_call_expr() && self.is_skill(&awaited.value, scope)
            }
            Expr::Call(call) => {
                let meanings = self.meanings(&call.func, scope);
                !meanings.is_empty() && meanings.iter().all(|one| one.path == "builtins.load_skill")
            }
            Expr::Name(name) => {
                let (bound, builtin) = self.look_up(&name.id, scope, expr.start());
                let mut bindings = bound.iter().flat_map(|name| name.followed()).peekable();
                builtin == Builtin::No
                    && bindings.peek().is_some()
                    && bindings.all(|binding| {
                        matches!(binding.source, BindingValue::Value(value)
                            if (value.is_call_expr() || value.is_await_expr())
                                && self.is_skill(value, binding.place.evaluated))
                    })
            }
            _ => false,
        }
    }

    /// Tells whether an expression may mean one of these paths.
    pub(super) fn may_be(&self, expr: &Expr, scope: ScopeId, paths: &[&str]) -> bool {
        self.meanings(expr, scope).iter().any(|meaning| paths.contains(&meaning.path.as_str()))
    }

    fn add_meanings(
        &self,
        expr: &Expr,
        scope: ScopeId,
        steps: &Cell<usize>,
        found: &mut Vec<ResolvedPath>,
    ) {
        let Some(left) = steps.get().checked_sub(1) else { return };
        steps.set(left);
        match expr {
            Expr::Name(name) => {
                let (bound, builtin) = self.look_up(&name.id, scope, expr.start());
                for binding in bound.iter().flat_map(|name| name.followed()) {
                    match &binding.source {
                        BindingValue::Path(path) => found.push(ResolvedPath::sure(&**path)),
                        BindingValue::Value(value) => {
                            self.add_meanings(value, binding.place.evaluated, steps, found);
                        }
                        _ => {}
                    }
                }
                if bound.is_none() {
                    found.extend(self.implied.path(&name.id).map(ResolvedPath::sure));
                }
                if builtin != Builtin::No {
                    let path = match name.id.as_str() {
                        "__builtins__" => "builtins".to_owned(),
                        name => of_builtins(name),
                    };
                    found.push(ResolvedPath { path, doubtful: builtin == Builtin::Maybe });
                }
            }
            Expr::Attribute(attribute) => {
                self.add_parts(&attribute.value, &attribute.attr, scope, steps, found);
            }
            Expr::Named(named) => self.add_meanings(&named.value, scope, steps, found),
            Expr::Call(call) => self.add_called(call, scope, steps, found),
            Expr::Subscript(subscript) => self.add_member(subscript, scope, steps, found),
            _ => {}
        }
    }

    fn add_parts(
        &self,
        of: &Expr,
        name: &str,
        scope: ScopeId,
        steps: &Cell<usize>,
        found: &mut Vec<ResolvedPath>,
    ) {
        let from = found.len();
        self.add_meanings(of, scope, steps, found);
        for meaning in &mut found[from..] {
            meaning.path = match (meaning.path.as_str(), name) {
                (module, "__builtins__") if !module.contains('.') => "builtins".to_owned(),
                ("builtins", name) => of_builtins(name),
                (path, name) => format!("{path}.{name}"),
            };
        }
    }

    /// Adds the meanings of calls such as `getattr(x, "name")`, `__import__("name")` and `vars(x)`.
    fn add_called(
        &self,
        call: &ExprCall,
        scope: ScopeId,
        steps: &Cell<usize>,
        found: &mut Vec<ResolvedPath>,
    ) {
        let mut functions = Vec::new();
        self.add_meanings(&call.func, scope, steps, &mut functions);
        let arguments = &call.arguments.args;
        for function in functions {
            match (function.path.as_str(), arguments.as_ref()) {
                ("builtins.getattr", [of, name, ..]) => {
                    if let Some(name) = self.text(name, scope) {
                        self.add_parts(of, &name, scope, steps, found);
                    }
                }
                ("builtins.vars", [of]) => self.add_parts(of, "__dict__", scope, steps, found),
                (
                    "builtins.__import__" | "importlib.import_module" | "importlib.__import__",
                    [name, ..],
                ) => {
                    found.extend(self.text(name, scope).map(ResolvedPath::sure));
                }
                ("builtins.globals" | "builtins.locals" | "builtins.vars", []) => {
                    found.push(ResolvedPath::sure("__main__.__dict__"));
                }
                _ => {}
            }
        }
    }

    /// Adds the meanings of `sys.modules["name"]` and `x.__dict__["name"]`.
    fn add_member(
        &self,
        subscript: &ExprSubscript,
        scope: ScopeId,
        steps: &Cell<usize>,
        found: &mut Vec<ResolvedPath>,
    ) {
        let mut of = Vec::new();
        self.add_meanings(&subscript.value, scope, steps, &mut of);
        if of.is_empty() {
            return;
        }
        let Some(key) = self.text(&subscript.slice, scope) else { return };
        found.extend(of.into_iter().filter_map(|meaning| {
            let path = match (meaning.path.as_str(), key.as_str()) {
                ("sys.modules", module) => module.to_owned(),
                (_, "__builtins__") => "builtins".to_owned(),
                // `__builtins__` may be the module or its dictionary.
                ("builtins", name) => format!("builtins.{name}"),
                (path, name) => format!("{}.{name}", path.strip_suffix(".__dict__")?),
            };
            Some(ResolvedPath { path, ..meaning })
        }));
    }
}
