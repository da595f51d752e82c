//! Names of servers and tools that do not exist.

use ruff_python_ast::{ExprAttribute, Identifier, StmtImport, StmtImportFrom};
use ruff_text_size::Ranged;

use crate::{
    check::{
        finding::CheckFindings,
        spelling::{self, FieldTrust, is_name},
        values::{PathMeaning, UsedTools},
    },
    scope::is_provided,
};
use narrows_model::{Nearest, nearest, there_are};

/// Checks `import servers.x`.
pub(crate) fn of_import(
    import: &StmtImport,
    tools: &UsedTools<'_>,
    findings: &mut CheckFindings<'_>,
) {
    for alias in &import.names {
        if findings.are_enough() {
            return;
        }
        if let Some(rest) = alias.name.strip_prefix("servers.")
            && let Some(message) = no_server(rest.split('.').next().unwrap_or_default(), tools)
        {
            findings.add(alias.start(), message);
        }
    }
}

/// Checks `from servers import x` and `from servers.x import y`.
pub(crate) fn of_import_from(
    import: &StmtImportFrom,
    tools: &UsedTools<'_>,
    findings: &mut CheckFindings<'_>,
) {
    let is_here = |module: &&Identifier| import.level == 0 || is_provided(module);
    let Some(module) = import.module.as_ref().filter(is_here) else { return };
    let Some(server) = module.strip_prefix("servers") else { return };
    if let Some(server) = server.strip_prefix('.')
        && let Some(message) = no_server(server.split('.').next().unwrap_or_default(), tools)
    {
        return findings.add(module.start(), message);
    }
    // Models write this as if each tool had a file of its own.
    if let (PathMeaning::Tool(tool), Some((package, _))) =
        (tools.at(module), module.rsplit_once('.'))
    {
        let name = &tool.known.name;
        let message = format!("{name} is a function: write `from {package} import {name}`");
        return findings.add(module.start(), message);
    }
    for alias in import.names.iter().filter(|alias| &*alias.name != "*") {
        if findings.are_enough() {
            return;
        }
        if let Some(message) = wrong(&tools.at(module), &alias.name, tools, findings) {
            findings.add(alias.start(), message);
        }
    }
}

/// Checks `servers.x` and `servers.x.y`.
pub(crate) fn of_attribute(
    path: &str,
    attribute: &ExprAttribute,
    tools: &UsedTools<'_>,
    findings: &mut CheckFindings<'_>,
) {
    let name: &Identifier = &attribute.attr;
    if let Some(message) = wrong(&tools.at(path), name, tools, findings) {
        findings.add(name.start(), message);
    }
}

/// Returns the message about a name that is neither in the package of servers nor in a server's module.
fn wrong(
    place: &PathMeaning,
    name: &str,
    tools: &UsedTools<'_>,
    findings: &mut CheckFindings<'_>,
) -> Option<String> {
    match place {
        PathMeaning::Servers => no_server(name, tools),
        PathMeaning::Server(module) => no_tool(module, name, tools, findings),
        PathMeaning::Tool(_) | PathMeaning::Other => None,
    }
}

fn no_server(name: &str, tools: &UsedTools<'_>) -> Option<String> {
    if name.starts_with('_') || !is_name(name) || tools.has_server(name) {
        return None;
    }
    if let Some(reason) = tools.disabled(name) {
        return Some(reason);
    }
    let known = || tools.servers().iter().map(String::as_str);
    let near = if tools.takes_advice() { nearest(name, known()) } else { Nearest::default() };
    let hint = if near.0.is_empty() { there_are(known()) } else { near.to_string() };
    Some(format!("there is no server '{name}'{hint}"))
}

fn no_tool(
    module: &str,
    name: &str,
    tools: &UsedTools<'_>,
    findings: &mut CheckFindings<'_>,
) -> Option<String> {
    if name.starts_with('_') || !is_name(name) || tools.tool(module, name).is_some() {
        return None;
    }
    // The program may create the tool, by passing its name to another one: `add_tool("it")`.
    if !findings.may_compare() || findings.is_text(name) {
        return None;
    }
    let known = tools.names(module)?;
    let is_type = |name: &str| name.starts_with(char::is_uppercase);
    let known = || known.iter().map(String::as_str);
    // Modules have types besides tools: `ToolError`, `CreateIssueResult`.
    if is_type(name) {
        spelling::meant(name, known().filter(|tool| is_type(tool)), FieldTrust::Listed)?;
    }
    Some(format!("{module} has no tool '{name}'{}", tools.suggest(module, name)))
}
