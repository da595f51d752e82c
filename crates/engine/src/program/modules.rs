//! The Python modules that programs import: `servers` and its submodules, `client`, `tool_discovery`,
//! `skills`. `_narrows` in the guest does their work; only the parts that depend on the gateway's
//! servers are written here.

use narrows_python::codegen::PREAMBLE;
use narrows_sandbox::ModuleSource;
use narrows_upstream::catalog::{Catalog, DisabledServer};
use serde_json::{Value, json};

const SKILLS: &str = include_str!("skills.py");
const CLIENT: &str = include_str!("client.py");
const TOOL_DISCOVERY: &str = include_str!("tool_discovery.py");

/// Returns the source of a module, if it exists.
pub(super) fn source(catalog: &Catalog, name: &str) -> Option<ModuleSource> {
    let source = match name {
        "servers" => {
            let modules: Vec<&String> = catalog.modules().values().collect();
            let list = json!(modules);
            let source = format!(
                "\"\"\"The MCP servers behind this gateway, one module each.\"\"\"\n\
                 from _narrows.tools import package as _package\n\
                 __all__, __getattr__, __dir__ = _package(__name__, {list})\n{}",
                without_disabled(catalog)
            );
            return Some(ModuleSource { source, is_package: true });
        }
        "skills" => {
            let source = SKILLS.to_owned();
            return Some(ModuleSource { source, is_package: true });
        }
        "client" => CLIENT.to_owned(),
        "tool_discovery" => TOOL_DISCOVERY.to_owned(),
        name => {
            let module = name.strip_prefix("servers.")?;
            match catalog.modules().iter().find(|(_, known)| *known == module) {
                Some((server, module)) => server_module(catalog, server, module),
                None => {
                    let mut disabled = catalog.disabled_modules();
                    let (module, server) = disabled.find(|(known, _)| *known == module)?;
                    disabled_module(module, server)
                }
            }
        }
    };
    Some(ModuleSource { source, is_package: false })
}

/// Writes the part of the package `servers` that reports disabled servers.
fn without_disabled(catalog: &Catalog) -> String {
    let reasons: serde_json::Map<String, Value> = catalog
        .disabled_modules()
        .map(|(module, server)| (module.to_owned(), reason(module, server).into()))
        .collect();
    if reasons.is_empty() {
        return String::new();
    }
    format!(
        "_disabled, _enabled = {}, __getattr__\n\
         def __getattr__(name):\n    \
             if name in _disabled:\n        \
                 raise ModuleNotFoundError(_disabled[name], name=__name__ + '.' + name)\n    \
             return _enabled(name)\n",
        Value::Object(reasons)
    )
}

/// Writes a module whose import fails with the reason.
fn disabled_module(module: &str, server: &str) -> String {
    let reason = json!(reason(module, server));
    format!("raise ModuleNotFoundError({reason}, name=__name__)\n")
}

/// Returns the reason, in the words that Python has for a missing module.
fn reason(module: &str, server: &str) -> String {
    format!("No module named 'servers.{module}': {}", DisabledServer(server.to_owned()))
}

/// Writes the module of a server, whose functions are created when they are first used.
fn server_module(catalog: &Catalog, server: &str, module: &str) -> String {
    let listing = catalog.listing(server);
    let names: Option<Vec<&str>> = listing
        .as_ref()
        .map(|listing| listing.tools.iter().map(|tool| tool.name.python.as_str()).collect());
    let names = json!(names);
    let names = if names.is_null() { "None".to_owned() } else { names.to_string() };
    format!(
        "\"\"\"The tools of the MCP server {module}.\"\"\"\n\
         {PREAMBLE}\
         from _narrows.tools import module as _module, tool as _tool, ToolError\n\
         __all__, __getattr__, __dir__ = _module(__name__, {}, {names})\n",
        Value::String(server.to_owned())
    )
}

#[cfg(test)]
mod tests;
