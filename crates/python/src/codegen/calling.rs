//! The parameters of a tool's Python function, for code that checks calls.

use serde_json::Value;

use super::definition::{Definition, Presence};

/// The parameters of a tool's Python function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calling<'a> {
    /// In the order of the function.
    pub parameters: Vec<CallParameter<'a>>,
    /// Whether the function takes other arguments too.
    pub is_open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallParameter<'a> {
    pub python: String,
    /// The name of the JSON property.
    pub raw: &'a str,
    pub is_required: bool,
}

impl<'a> Calling<'a> {
    /// Reads the parameters from the JSON definition of a tool.
    pub fn new(raw: &'a Value) -> Self {
        let definition = Definition::new(raw, "", None);
        let parameters = definition.parameters.into_iter().map(|parameter| CallParameter {
            python: parameter.python,
            raw: parameter.raw,
            is_required: parameter.presence == Presence::Required,
        });
        Self { parameters: parameters.collect(), is_open: definition.extra.is_some() }
    }
}
