//! The Python modules that programs import: `servers` and its parts, `client`, `tool_discovery`,
//! `skills`. Their work is done by `_narrows` in the guest; what is written here is only what
//! differs from one gateway to another.

use narrows_sandbox::ModuleSource;
use serde_json::{Value, json};

use crate::{catalog::Catalog, codegen::PREAMBLE};

const SKILLS: &str = include_str!("skills.py");
const CLIENT: &str = include_str!("client.py");
const TOOL_DISCOVERY: &str = include_str!("tool_discovery.py");

/// The source of a module, if there is such a module.
pub(super) fn source(catalog: &Catalog, name: &str) -> Option<ModuleSource> {
    let source = match name {
        "servers" => {
            let modules: Vec<&String> = catalog.modules().values().collect();
            let list = json!(modules);
            let source = format!(
                "\"\"\"The MCP servers behind this gateway, one module each.\"\"\"\n\
                 from _narrows.tools import package as _package\n\
                 __all__, __getattr__, __dir__ = _package(__name__, {list})\n"
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
            let (server, module) = catalog.modules().iter().find(|(_, known)| *known == module)?;
            server_module(catalog, server, module)
        }
    };
    Some(ModuleSource { source, is_package: false })
}

/// A module of functions that are made when they are first used.
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
