//! The tools and the skills that code names.
//!
//! Every name that may mean a tool counts, whatever stands around it: this list is shown to the person
//! who is asked whether to install a skill. It is not a boundary: the broker decides on each call.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ruff_python_ast::{
    Expr, ExprCall, Stmt, StmtImportFrom,
    visitor::{self, Visitor},
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use serde::{Deserialize, Serialize};

use crate::{
    ParsedProgram,
    scope::{BindingKind, BindingValue, Scopes, module_of},
    syntax::Lines,
};

/// Modules whose parts are followed. The last four can reach any other module.
const FOLLOWED: [&str; 7] =
    ["servers", "skills", "client", "importlib", "builtins", "sys", "_narrows"];
const CALL_BY_NAME: &str = "client.call_mcp_tool";
/// The module that leads to any tool, whatever is done with it.
const ANY_MEANING: &str = "_narrows";
/// Functions and objects that can reach any tool by a name that is computed at run time.
const ANYTHING: [&str; 5] =
    ["builtins.exec", "builtins.eval", "builtins.__import__", "sys.modules", "importlib.reload"];

/// How many imports are followed that bind one name. Each use counts for each of them, which would take
/// hours for a name that is bound ten thousand times. A name that is bound more often may be anything.
const MAX_MEANINGS: usize = 16;

/// A tool that code names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReference {
    /// `github.create_issue`: the server's module and the function, as they are written. `github.*`
    /// is any tool of a server and `*` any at all.
    pub tool: String,
    /// The line where it is named first, from 1.
    pub line: u32,
    /// Whether only the run of the code shows which tool it is.
    pub dynamic: bool,
}

/// The tools and skills that code uses.
#[derive(Debug, Default)]
pub struct CodeUses {
    /// Each tool once, in the order of the code.
    pub tools: Vec<ToolReference>,
    pub skills: BTreeSet<String>,
    /// The line of `from skills import *`, which imports all skills that there are.
    pub star_of_skills: Option<u32>,
}

/// Finds the tools and skills that a program names. A program that does not parse names none.
pub fn uses(program: &ParsedProgram<'_>, lines: &Lines) -> CodeUses {
    let mentions = Mentions::new(program, &[]);
    let tools = mentions.tools.into_iter().map(|(at, tool)| {
        let dynamic = tool.ends_with('*');
        ToolReference { tool, line: lines.line(at), dynamic }
    });
    CodeUses {
        tools: tools.collect(),
        skills: mentions.skills,
        star_of_skills: mentions.star_of_skills.map(|at| lines.line(at)),
    }
}

/// The places where code names tools and skills.
#[derive(Debug)]
pub(crate) struct Mentions {
    /// Each tool (see [`ToolReference::tool`]) with the place where it is named first, in the order of
    /// the code.
    pub(crate) tools: Vec<(TextSize, String)>,
    /// The calls that may be calls of a tool.
    pub(crate) calls: HashSet<TextRange>,
    skills: BTreeSet<String>,
    star_of_skills: Option<TextSize>,
}

impl Mentions {
    /// Finds the tools and skills in a program. `implied` are the tools that it has without an import:
    /// names, and the paths that they stand for.
    pub(crate) fn new(program: &ParsedProgram<'_>, implied: &[(&str, String)]) -> Self {
        let mut names = Names::of(program.scopes());
        implied.iter().for_each(|(name, path)| names.bind(name, path));
        let mut finder = UseCollector { names, ..UseCollector::default() };
        finder.visit_body(program.body().unwrap_or_default());
        let mut tools: Vec<(TextSize, String)> =
            finder.found.into_iter().map(|(tool, at)| (at, tool)).collect();
        tools.sort();
        let UseCollector { calls, skills, star_of_skills, .. } = finder;
        Self { tools, calls, skills, star_of_skills }
    }
}

fn is_followed(path: &str) -> bool {
    path.split('.').next().is_some_and(|first| FOLLOWED.contains(&first))
}

/// The paths that each imported name may mean, wherever it is imported.
#[derive(Debug, Default)]
struct Names<'a>(HashMap<&'a str, BTreeSet<String>>);

impl<'a> Names<'a> {
    fn of(scopes: &Scopes<'a>) -> Self {
        let mut names = Self::default();
        // The code has a variable or parameter of its own that is called `servers`.
        let mut binds_servers = false;
        for (name, binding) in scopes.bindings() {
            match &binding.source {
                BindingValue::Path(path) => names.bind(name, path),
                BindingValue::Definition => {}
                _ => binds_servers |= name == "servers" && binding.kind == BindingKind::Bound,
            }
        }
        if !binds_servers {
            // Every program has the package, also without an import.
            names.bind("servers", "servers");
        }
        names
    }

    fn bind(&mut self, name: &'a str, path: &str) {
        if !is_followed(path) {
            return;
        }
        let meanings = self.0.entry(name).or_default();
        let meaning = if meanings.len() < MAX_MEANINGS { path } else { ANY_MEANING };
        meanings.insert(meaning.to_owned());
    }
}

#[derive(Debug, Default)]
struct UseCollector<'a> {
    names: Names<'a>,
    /// The place where each tool is named first.
    found: BTreeMap<String, TextSize>,
    calls: HashSet<TextRange>,
    skills: BTreeSet<String>,
    star_of_skills: Option<TextSize>,
}

impl<'a> UseCollector<'a> {
    fn tool(&mut self, tool: String, at: TextSize) {
        let first = self.found.entry(tool).or_insert(at);
        *first = at.min(*first);
    }

    /// Returns all followed paths that an expression may mean.
    fn paths(&self, expr: &Expr) -> Vec<String> {
        match expr {
            Expr::Name(name) => match self.names.0.get(name.id.as_str()) {
                Some(paths) => paths.iter().cloned().collect(),
                None => match name.id.as_str() {
                    "call_mcp_tool" => vec![CALL_BY_NAME.to_owned()],
                    builtin @ ("exec" | "eval" | "__import__") => {
                        vec![format!("builtins.{builtin}")]
                    }
                    "__builtins__" => vec!["builtins".to_owned()],
                    _ => Vec::new(),
                },
            },
            Expr::Attribute(attribute) => {
                let of = self.paths(&attribute.value);
                of.into_iter().map(|path| format!("{path}.{}", attribute.attr)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Records that the code uses a path.
    fn mentioned(&mut self, path: &str, at: TextSize) {
        let mut parts = path.split('.');
        let (first, second, third) = (parts.next(), parts.next(), parts.next());
        match (first, second, third) {
            (Some("servers"), Some(server), Some(tool)) if is_public(server) && is_public(tool) => {
                self.tool(format!("{server}.{tool}"), at);
            }
            // The module itself is passed on, and its receiver can call all of its tools.
            (Some("servers"), Some(server), _) if is_public(server) => {
                self.tool(format!("{server}.*"), at);
            }
            (Some("servers"), ..) | (Some("client" | "builtins" | "_narrows"), None, _) => {
                self.tool("*".to_owned(), at);
            }
            (Some("skills"), Some(skill), _) if is_public(skill) => {
                self.skills.insert(skill.to_owned());
            }
            (Some("_narrows"), ..) => self.tool("*".to_owned(), at),
            _ if path == CALL_BY_NAME || ANYTHING.iter().any(|any| path.starts_with(any)) => {
                self.tool("*".to_owned(), at);
            }
            _ => {}
        }
    }

    fn call(&mut self, call: &'a ExprCall) {
        let paths = self.paths(&call.func);
        let first = call.arguments.args.first();
        let name = first.and_then(Expr::as_string_literal_expr).map(|text| text.value.to_str());
        let at = call.start();
        for path in &paths {
            if path == CALL_BY_NAME || is_tool(path) {
                self.calls.insert(call.range());
            }
            match (path.as_str(), name) {
                (CALL_BY_NAME, Some(name)) => self.tool(by_full_name(name), at),
                ("importlib.import_module" | "builtins.__import__", Some(module)) => {
                    if is_followed(module) {
                        self.mentioned(module, at);
                    }
                }
                ("importlib.import_module", None) => self.tool("*".to_owned(), at),
                (path, _) => self.mentioned(path, at),
            }
        }
        if paths.is_empty() {
            self.visit_expr(&call.func);
        }
        self.visit_arguments(&call.arguments);
    }

    fn import_from(&mut self, import: &'a StmtImportFrom) {
        let Some(module) = module_of(import).filter(|module| is_followed(module)) else { return };
        for alias in &import.names {
            let path = format!("{module}.{}", alias.name);
            let is_module = module == "servers" && &*alias.name != "*";
            // `from client import call_mcp_tool` names no tool yet, and neither does
            // `from servers import github`.
            if is_module || matches!(module.as_str(), "client" | "builtins" | "importlib" | "sys") {
                continue;
            }
            match (module.as_str(), &*alias.name) {
                ("servers", _) => self.tool("*".to_owned(), alias.start()),
                ("skills", "*") => _ = self.star_of_skills.get_or_insert(import.start()),
                _ => self.mentioned(&path, alias.start()),
            }
        }
    }
}

/// Returns `github.create_issue` for `mcp__github__create_issue` and the other ways to write it.
fn by_full_name(name: &str) -> String {
    let name = name.trim();
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    match parts {
        Some((server, tool)) => format!("{server}.{tool}"),
        None => name.strip_prefix("servers.").unwrap_or(name).to_owned(),
    }
}

/// Tells whether a path is that of a tool: `servers.github.create_issue`.
fn is_tool(path: &str) -> bool {
    let parts = path.strip_prefix("servers.").and_then(|rest| rest.split_once('.'));
    parts.is_some_and(|(server, tool)| is_public(server) && is_public(tool))
}

/// Tells whether a name may be that of a server or a tool: `servers.__dict__` is not a server.
fn is_public(name: &str) -> bool {
    !name.starts_with('_') && name != "*"
}

impl<'a> Visitor<'a> for UseCollector<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let path = alias.name.as_str();
                    if path.starts_with("skills.") || path.split('.').next() == Some("_narrows") {
                        self.mentioned(path, alias.start());
                    }
                }
            }
            Stmt::ImportFrom(import) => self.import_from(import),
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.call(call),
            Expr::Name(_) | Expr::Attribute(_) => {
                let paths = self.paths(expr);
                for path in &paths {
                    self.mentioned(path, expr.start());
                }
                if paths.is_empty() {
                    visitor::walk_expr(self, expr);
                }
            }
            _ => visitor::walk_expr(self, expr),
        }
    }
}
