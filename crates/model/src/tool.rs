//! A tool of an upstream server, and the names it has.

use std::fmt;

/// The identity of a tool: the configured name of its server, and the server's name of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolId {
    pub server: String,
    /// The name as the server has it.
    pub tool: String,
}

impl ToolId {
    pub fn new(server: impl Into<String>, tool: impl Into<String>) -> Self {
        Self { server: server.into(), tool: tool.into() }
    }
}

/// The full name, as clients write it: `mcp__github__create_issue`.
impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mcp__{}__{}", self.server, self.tool)
    }
}

/// The names of one tool in the code that calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolName {
    /// The name of its function.
    pub python: String,
    /// The prefix of the names of its classes. No name of another tool of the server starts with it, so
    /// the classes of a module never clash.
    pub class_prefix: String,
}
