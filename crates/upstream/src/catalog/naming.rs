//! What the catalog has to be told by whoever writes the code that calls tools.

use std::{collections::BTreeMap, fmt::Debug};

use narrows_model::ToolName;
use serde_json::Value;

/// How servers and tools are named in code.
pub trait ToolNaming: Debug + Send + Sync {
    /// Returns the module of each server, by its name. No two are equal.
    fn modules(&self, servers: &[&str]) -> BTreeMap<String, String>;

    /// Returns the names of the tools of one server, by those that the server has for them. No two are
    /// equal, and none depends on the order.
    fn tools(&self, tools: &[&str]) -> BTreeMap<String, ToolName>;

    /// Whether a definition says that the tool should no longer be used, which is said beside its name.
    fn is_deprecated(&self, definition: &Value) -> bool;
}
