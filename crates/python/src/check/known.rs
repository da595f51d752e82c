//! The questions of the check to the catalog.

use serde_json::Value;

/// The servers and tools that programs can use, as far as the check needs to know them.
pub trait KnownTools {
    /// Returns the Python modules of all servers, whether their tools are known or not.
    fn servers(&self) -> Vec<String>;

    /// Returns the reason for which a module is missing, if its server is switched off.
    fn disabled(&self, _module: &str) -> Option<String> {
        None
    }

    /// Returns the Python names of a module's tools. None if they are not known yet.
    fn tools(&self, module: &str) -> Option<Vec<String>>;

    /// Returns a tool by its Python name or by the name that its server has for it.
    fn tool(&self, module: &str, name: &str) -> Option<KnownTool>;

    /// Returns the end of the message that a module has no such tool: similar names, or those that it
    /// has.
    fn suggest(&self, module: &str, name: &str) -> String;

    /// Returns a tool by a name for `call_mcp_tool`, such as `mcp__server__tool`.
    fn by_full_name(&self, name: &str) -> ByFullName;
    /// Returns the reason for which a full name means no tool, with similar names.
    fn why_wrong(&self, name: &str) -> String;
}

/// The meaning of a full name.
#[derive(Clone, Debug)]
pub enum ByFullName {
    Tool(Box<KnownTool>),
    /// No tool.
    Wrong,
    /// Not known yet.
    NotKnown,
}

/// The signature of a tool: its parameters, and the shape of its results.
#[derive(Clone, Debug, Default)]
pub struct KnownTool {
    /// The name of its Python function.
    pub name: String,
    /// In the order of the Python function.
    pub parameters: Vec<KnownParameter>,
    /// Whether the Python function takes other arguments too.
    pub open: bool,
    /// Whether the schema itself refuses other arguments, also in a call by full name.
    pub closed: bool,
    /// The JSON schema of the value that a program gets; references point into the same document.
    pub returns: Option<Value>,
    /// Whether `returns` was inferred from results and not declared by the server, so that there may be
    /// more fields.
    pub observed: bool,
}

#[derive(Clone, Debug)]
pub struct KnownParameter {
    pub python: String,
    /// The name of the JSON property.
    pub raw: String,
    pub required: bool,
    /// The JSON schema that its values certainly have to fit, if there is one.
    pub schema: Value,
}
