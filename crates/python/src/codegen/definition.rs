//! A tool, read once for everything that is written from it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::classes::{ClassId, Classes};
use super::deprecation::Deprecation;
use super::literal;
use super::names::parameter_names;
use super::notes::{self, PropertyNotes};
use super::schema::SchemaReader;
use super::types::Type;

/// A longer default tells less than its absence.
const MAX_DEFAULT: usize = 200;

/// What results were seen to be like, of a tool that does not declare it.
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
    /// Those that are required first, each group in the order of the schema.
    pub(super) parameters: Vec<Parameter<'a>>,
    /// The class of all arguments. None when there are no parameters.
    pub(super) arguments: Option<ClassId>,
    /// The name for arguments that the schema allows without listing them.
    pub(super) extra: Option<String>,
    pub(super) returns: Type,
    /// So many results made the type of the result known; none if it is declared.
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
    /// What is said about it.
    pub(super) said: Option<PropertyNotes<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
    /// Optional, and the server takes this value, written in Python, if it is missing.
    Default(String),
}

impl<'a> Definition<'a> {
    /// Reads the JSON of a tool. What makes no sense in it becomes `Any`.
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

    /// Leaves out the values that the server wrote: choices and defaults. Types and names stay, without
    /// which nothing can be called.
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

    /// What stands between the brackets of the function.
    pub(super) fn parameter_list(&self, write: impl Fn(&Parameter<'a>) -> String) -> String {
        let mut list: Vec<String> = self.parameters.iter().map(write).collect();
        if !list.is_empty() {
            list.insert(0, "*".to_owned());
        }
        list.extend(self.extra.as_ref().map(|name| format!("**{name}: Any")));
        list.join(", ")
    }

    /// The classes that a call and its result need, in the order to define them.
    pub(super) fn classes_in_use(&self) -> Vec<ClassId> {
        let types = self.parameters.iter().map(|parameter| &parameter.ty);
        self.classes.needed(types.chain([&self.returns]))
    }
}

/// FastMCP puts results that are no objects in one, and says so. The caller gets what
/// is inside.
pub fn unwrapped(output: &Value) -> &Value {
    let inner = output.pointer("/properties/result");
    inner.filter(|_| is_wrapped(output)).unwrap_or(output)
}

/// Whether the result is in an object that is only there because there must be one.
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
