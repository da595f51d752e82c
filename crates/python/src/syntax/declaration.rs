//! The definitions at the top level of a module, with their signatures and docstrings.

use ruff_python_ast::{
    Expr, ParameterWithDefault, Parameters, Stmt, StmtClassDef, StmtFunctionDef,
    visitor::{self, Visitor},
};
use ruff_text_size::Ranged;

/// The length of an annotation or a default. A longer one becomes `...`, because a signature is read at a
/// glance.
const MAX_PART_LEN: usize = 80;
/// The length of a first paragraph. A longer one is cut, because listings show one for each skill.
const MAX_PARAGRAPH_LEN: usize = 500;

/// A definition at the top level of a module.
#[derive(Clone, Copy, Debug)]
pub enum Declaration<'a> {
    Function(&'a StmtFunctionDef),
    Class(&'a StmtClassDef),
    Value { annotation: Option<&'a Expr>, value: Option<&'a Expr> },
}

/// Returns all names that a module defines, in its order. If a name is defined several times, each
/// definition is in the list, and the last one counts.
pub fn declarations(body: &[Stmt]) -> Vec<(&str, Declaration<'_>)> {
    let mut top = TopLevel { found: Vec::new() };
    top.visit_body(body);
    top.found
}

struct TopLevel<'a> {
    found: Vec<(&'a str, Declaration<'a>)>,
}

impl<'a> TopLevel<'a> {
    fn assign(&mut self, target: &'a Expr, annotation: Option<&'a Expr>, value: Option<&'a Expr>) {
        match target {
            Expr::Name(name) => {
                self.found.push((&name.id, Declaration::Value { annotation, value }));
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|one| self.assign(one, None, None)),
            Expr::List(list) => list.elts.iter().for_each(|one| self.assign(one, None, None)),
            Expr::Starred(starred) => self.assign(&starred.value, None, None),
            _ => {}
        }
    }
}

impl<'a> Visitor<'a> for TopLevel<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                self.found.push((&function.name, Declaration::Function(function)));
            }
            Stmt::ClassDef(class) => self.found.push((&class.name, Declaration::Class(class))),
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assign(target, None, Some(&assign.value));
                }
            }
            Stmt::AnnAssign(assign) if assign.value.is_some() => {
                self.assign(&assign.target, Some(&assign.annotation), assign.value.as_deref());
            }
            // `if`, `try` and the like are still the top level.
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, _expr: &'a Expr) {}
}

impl Declaration<'_> {
    /// Returns the signature for a listing: `async find(name: str, limit: int = 10) -> list[dict]`.
    pub fn signature(&self, name: &str, code: &str) -> String {
        match self {
            Self::Function(function) => {
                let start = if function.is_async { "async " } else { "" };
                let parameters = parameters(&function.parameters, 0, code);
                let returns = function.returns.as_deref();
                let returns = returns.map(|returns| format!(" -> {}", part(returns, code)));
                format!("{start}{name}({parameters}){}", returns.unwrap_or_default())
            }
            Self::Class(class) => match constructor(class) {
                Some(init) => format!("class {name}({})", parameters(&init.parameters, 1, code)),
                None => format!("class {name}"),
            },
            Self::Value { value: Some(Expr::Lambda(lambda)), .. } => {
                let parameters = lambda.parameters.as_deref();
                let parameters = parameters.map(|all| self::parameters(all, 0, code));
                format!("{name}({})", parameters.unwrap_or_default())
            }
            Self::Value { annotation: Some(annotation), .. } => {
                format!("{name}: {}", part(annotation, code))
            }
            Self::Value { .. } => name.to_owned(),
        }
    }

    pub fn docstring(&self) -> Option<String> {
        match self {
            Self::Function(function) => docstring(&function.body),
            Self::Class(class) => docstring(&class.body),
            Self::Value { .. } => None,
        }
    }
}

fn constructor(class: &StmtClassDef) -> Option<&StmtFunctionDef> {
    class.body.iter().filter_map(Stmt::as_function_def_stmt).find(|def| &*def.name == "__init__")
}

/// Writes the parameters of a function, without the first `skipped` ones (`self`).
fn parameters(all: &Parameters, skipped: usize, code: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let positional = all.posonlyargs.iter().chain(&all.args);
    for (at, one) in positional.enumerate() {
        if at >= skipped {
            parts.push(parameter(one, code));
        }
        // Parameters before the slash are positional only.
        if at + 1 == all.posonlyargs.len() && at >= skipped {
            parts.push("/".to_owned());
        }
    }
    match &all.vararg {
        Some(rest) => {
            parts.push(annotated(&format!("*{}", rest.name), rest.annotation.as_deref(), code));
        }
        None if !all.kwonlyargs.is_empty() => parts.push("*".to_owned()),
        None => {}
    }
    parts.extend(all.kwonlyargs.iter().map(|one| parameter(one, code)));
    if let Some(rest) = &all.kwarg {
        parts.push(annotated(&format!("**{}", rest.name), rest.annotation.as_deref(), code));
    }
    parts.join(", ")
}

fn parameter(one: &ParameterWithDefault, code: &str) -> String {
    let annotation = one.parameter.annotation.as_deref();
    let text = annotated(&one.parameter.name, annotation, code);
    match one.default.as_deref() {
        Some(default) if annotation.is_some() => format!("{text} = {}", part(default, code)),
        Some(default) => format!("{text}={}", part(default, code)),
        None => text,
    }
}

fn annotated(name: &str, annotation: Option<&Expr>, code: &str) -> String {
    match annotation {
        Some(annotation) => format!("{name}: {}", part(annotation, code)),
        None => name.to_owned(),
    }
}

/// Returns the text of an expression, or `...` if it is too long or not on one line.
fn part(expr: &Expr, code: &str) -> String {
    let range = expr.range();
    let text = code.get(range.start().to_usize()..range.end().to_usize()).unwrap_or("...");
    if text.len() > MAX_PART_LEN || text.contains(['\n', '\r', '#']) {
        return "...".to_owned();
    }
    text.to_owned()
}

/// Returns the first paragraph of the docstring of a function, a class or a module, on one line.
pub fn docstring(body: &[Stmt]) -> Option<String> {
    let Stmt::Expr(first) = body.first()? else { return None };
    let text = first.value.as_string_literal_expr()?.value.to_str();
    let lines = text.trim().lines().map(str::trim).take_while(|line| !line.is_empty());
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    if paragraph.is_empty() {
        return None;
    }
    match paragraph.char_indices().nth(MAX_PARAGRAPH_LEN) {
        Some((end, _)) => {
            Some(format!("{}…", narrows_model::cut::head(&paragraph, end).trim_end()))
        }
        None => Some(paragraph),
    }
}
