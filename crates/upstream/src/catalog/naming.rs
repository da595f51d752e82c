//! The trait by which the catalog learns how servers and tools are named in code.

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

    /// Tells whether a definition marks its tool as deprecated, which is shown beside its name.
    fn is_deprecated(&self, definition: &Value) -> bool;
}
