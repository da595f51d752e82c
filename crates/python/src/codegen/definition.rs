//! The definition of a tool, parsed once for all Python that is generated from it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::classes::{ClassId, Classes};
use super::deprecation::Deprecation;
use super::literal;
use super::names::parameter_names;
use super::notes::{self, PropertyNotes};
use super::schema::SchemaReader;
use super::types::Type;

/// The length of a default that is shown; a longer one tells a reader less than its absence.
const MAX_DEFAULT: usize = 200;

/// The schema that was inferred from the results of a tool that declares none.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    pub schema: &'a Value,
    /// How many results were seen.
    pub calls: u64,
}

#[derive(Debug)]
pub(super) struct Definition<'a> {
    pub(super) description: &'a str,
    pub(super) deprecation: Option<Deprecation>,
    /// The parameters, the required ones first; each group is in the order of the schema.
    pub(super) parameters: Vec<Parameter<'a>>,
    /// The class of all arguments. None if there are no parameters.
    pub(super) arguments: Option<ClassId>,
    /// The name for arguments that the schema allows without listing them.
    pub(super) extra: Option<String>,
    pub(super) returns: Type,
    /// From how many results the type of the result was inferred; none if it is declared.
    pub(super) observed: Option<u64>,
    pub(super) classes: Classes<'a>,
}

#[derive(Debug)]
pub(super) struct Parameter<'a> {
    /// The name of the JSON property.
    pub(super) raw: &'a str,
    pub(super) python: String,
    pub(super) ty: Type,
    pub(super) presence: Presence,
    pub(super) schema: Option<&'a Value>,
    /// The description and constraints of the property.
    pub(super) said: Option<PropertyNotes<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
    /// Optional, with the default of the server, written in Python.
    Default(String),
}

impl<'a> Definition<'a> {
    /// Reads the JSON definition of a tool. Parts that make no sense become `Any`.
    pub(super) fn new(
        raw: &'a Value,
        class_prefix: &'a str,
        observation: Option<Observation<'a>>,
    ) -> Self {
        let mut classes = Classes::new(class_prefix);
        let input = raw.get("inputSchema").unwrap_or(&Value::Null);
        let arguments = SchemaReader::new(input, &mut classes).read_arguments("Arguments");
        let returns = match raw.get("outputSchema") {
            Some(output) => {
                SchemaReader::new(output, &mut classes).read(unwrapped(output), "Result")
            }
            None => observation.map_or(Type::Any, |observation| {
                SchemaReader::new(observation.schema, &mut classes)
                    .read(observation.schema, "Result")
            }),
        };
        let observed = observation.filter(|_| raw.get("outputSchema").is_none());
        let observed = observed.map(|observation| observation.calls);
        let parameters = arguments.class.map(|id| parameters(&classes, id)).unwrap_or_default();
        let extra = arguments.open.then(|| {
            let mut name = "extra".to_owned();
            while parameters.iter().any(|parameter| parameter.python == name) {
                name.push('_');
            }
            name
        });
        let description = notes::description(raw);
        Self {
            description,
            deprecation: Deprecation::of(raw),
            parameters,
            arguments: arguments.class,
            extra,
            returns,
            observed,
            classes,
        }
    }

    /// Removes the values that the server wrote: choices and defaults. Types and names stay, because
    /// calls need them.
    pub(super) fn drop_values(&mut self) {
        for parameter in &mut self.parameters {
            parameter.ty = parameter.ty.without_values();
            if matches!(parameter.presence, Presence::Default(_)) {
                parameter.presence = Presence::Optional;
            }
        }
        self.returns = self.returns.without_values();
        self.classes.drop_values();
    }

    /// Writes the text between the parentheses of the function.
    pub(super) fn parameter_list(&self, write: impl Fn(&Parameter<'a>) -> String) -> String {
        let mut list: Vec<String> = self.parameters.iter().map(write).collect();
        if !list.is_empty() {
            list.insert(0, "*".to_owned());
        }
        list.extend(self.extra.as_ref().map(|name| format!("**{name}: Any")));
        list.join(", ")
    }

    /// Returns the classes that a call and its result need, in the order in which to define them.
    pub(super) fn classes_in_use(&self) -> Vec<ClassId> {
        let types = self.parameters.iter().map(|parameter| &parameter.ty);
        self.classes.needed(types.chain([&self.returns]))
    }
}

/// Returns the schema that callers see: FastMCP wraps results that are not objects in one, and says
/// so; the caller gets the inner value.
pub fn unwrapped(output: &Value) -> &Value {
    let inner = output.pointer("/properties/result");
    inner.filter(|_| is_wrapped(output)).unwrap_or(output)
}

/// Tells whether the result is wrapped in an object only because MCP requires one.
pub fn is_wrapped(output: &Value) -> bool {
    output.get("x-fastmcp-wrap-result") == Some(&Value::Bool(true))
}

fn parameters<'a>(classes: &Classes<'a>, arguments: ClassId) -> Vec<Parameter<'a>> {
    let fields = &classes.get(arguments).fields;
    let mut names: BTreeMap<String, String> =
        parameter_names(fields.iter().map(|field| field.name));
    let mut parameters: Vec<Parameter<'a>> = fields
        .iter()
        .map(|field| Parameter {
            raw: field.name,
            python: names.remove(field.name).unwrap_or_default(),
            ty: field.ty.clone(),
            presence: if field.required {
                Presence::Required
            } else {
                field.schema.map_or(Presence::Optional, default)
            },
            schema: field.schema,
            said: field.said(),
        })
        .collect();
    parameters.sort_by_key(|parameter| parameter.presence != Presence::Required);
    parameters
}

fn default(schema: &Value) -> Presence {
    match schema.get("default") {
        None | Some(Value::Null) => Presence::Optional,
        Some(value) => {
            let text = literal::value(value);
            if text.len() > MAX_DEFAULT { Presence::Optional } else { Presence::Default(text) }
        }
    }
}
