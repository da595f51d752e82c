//! A tool as a model needs it to call the tool right away.

use crate::{catalog::Tool, codegen};

/// The import line, the signature with its types, and what the parameters mean.
pub fn text(tool: &Tool) -> String {
    let import = format!("from servers.{} import {}", tool.module, tool.name.python);
    format!("{import}\n{}", codegen::signature(&tool.name, &tool.raw))
}
