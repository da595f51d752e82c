//! What the check asks of the catalog.

use serde_json::Value;

/// Tells which servers and tools there are.
pub trait KnownTools {
    /// The Python modules of all servers, whether their tools are known or not.
    fn servers(&self) -> Vec<String>;

    /// Why a module is missing whose server is switched off.
    fn disabled(&self, _module: &str) -> Option<String> {
        None
    }

    /// The Python names of a module's tools. None if they are not known yet.
    fn tools(&self, module: &str) -> Option<Vec<String>>;

    /// A tool by its Python name or by the name that its server has for it.
    fn tool(&self, module: &str, name: &str) -> Option<KnownTool>;

    /// The end of a message that says that a module has no such tool: what may have been meant, or
    /// which there are.
    fn suggest(&self, module: &str, name: &str) -> String;

    /// A tool by a name for `call_mcp_tool`, such as `mcp__server__tool`.
    fn by_full_name(&self, name: &str) -> ByFullName;
    /// Why a full name means no tool, and what may have been meant.
    fn why_wrong(&self, name: &str) -> String;
}

/// What a full name means.
#[derive(Clone, Debug)]
pub enum ByFullName {
    Tool(Box<KnownTool>),
    /// No tool.
    Wrong,
    /// It cannot be told yet.
    NotKnown,
}

/// How a tool is called, and what it gives.
#[derive(Clone, Debug, Default)]
pub struct KnownTool {
    /// The name of its Python function.
    pub name: String,
    /// In the order of the Python function.
    pub parameters: Vec<KnownParameter>,
    /// The Python function takes other arguments too.
    pub open: bool,
    /// The schema itself refuses other arguments, also in a call by full name.
    pub closed: bool,
    /// The JSON schema of the value that a program gets; references lead into the same document.
    pub returns: Option<Value>,
    /// `returns` was learnt from results and not said by the server: there may be more fields.
    pub observed: bool,
}

#[derive(Clone, Debug)]
pub struct KnownParameter {
    pub python: String,
    /// The name of the JSON property.
    pub raw: String,
    pub required: bool,
    /// The JSON schema that its values surely have to fit, if there is one.
    pub schema: Value,
}
