//! How the function of a tool is called.

use serde_json::Value;

use super::definition::{Definition, Presence};

/// What the function takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calling<'a> {
    /// In the order of the function.
    pub parameters: Vec<CallParameter<'a>>,
    /// Other arguments are welcome too.
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
    /// Reads the JSON of a tool.
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
