//! The schemas of the tools that a skill was written for. When a tool changes, the skills that use it
//! can be flagged with the difference.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    changes::{Difference, ToolChange, differences},
    schema::essence,
};
use crate::canonical::{canonical, sha256};

/// A tool as it was when the skill was saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    /// `github.create_issue`
    pub tool: String,
    /// SHA-256 of the canonical `schema`.
    pub hash: String,
    /// The schemas of arguments and results, and the annotations, without descriptions:
    /// `{"input": …, "output": …, "annotations": …}`.
    pub schema: Value,
}

/// The pins of all tools that code names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pins {
    pub pins: Vec<Pin>,
    /// Tools that do not exist on this machine, and cannot be pinned.
    pub unknown: Vec<String>,
}

impl Pins {
    /// Pins each tool by the definition that `definition_of` returns, as its server wrote it. Patterns
    /// such as `github.*` cannot be pinned; the caller must leave them out.
    pub fn of<'a>(
        tools: impl IntoIterator<Item = &'a str>,
        mut definition_of: impl FnMut(&str) -> Option<Value>,
    ) -> Self {
        let mut all = Self::default();
        for tool in tools {
            match definition_of(tool) {
                Some(definition) => all.pins.push(Pin::of(tool, &definition)),
                None => all.unknown.push(tool.to_owned()),
            }
        }
        all
    }
}

impl Pin {
    /// Pins a tool by its definition, as its server wrote it.
    pub fn of(tool: &str, definition: &Value) -> Self {
        let part = |key: &str| definition.get(key).map_or(Value::Null, essence);
        let schema = json!({
            "input": part("inputSchema"),
            "output": part("outputSchema"),
            "annotations": part("annotations"),
        });
        Self { tool: tool.to_owned(), hash: sha256(canonical(&schema).as_bytes()), schema }
    }
}

/// Returns the changes of a tool since it was pinned, if there are any. `now` is the definition that
/// its server has now, or none if the tool no longer exists.
pub fn compare(pin: &Pin, now: Option<&Value>) -> Option<ToolChange> {
    let tool = pin.tool.clone();
    let Some(now) = now.map(|definition| Pin::of(&pin.tool, definition)) else {
        return Some(ToolChange { tool, differences: vec![Difference::Missing] });
    };
    if now.hash == pin.hash {
        return None;
    }
    // Two different schemas may mean the same.
    let differences = differences(&pin.schema, &now.schema);
    (!differences.is_empty()).then_some(ToolChange { tool, differences })
}
