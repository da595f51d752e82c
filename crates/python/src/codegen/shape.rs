//! The properties of an object, whether its schema lists them directly, in parts (`allOf`) or in
//! alternatives (`anyOf`, `oneOf`).

use std::collections::HashMap;

use serde_json::{Map, Value};

/// A property, before its type is read.
#[derive(Debug, Default)]
pub(super) struct Property<'a> {
    /// Schemas of which any one describes the property. Empty if it is only listed as required.
    pub(super) schemas: Vec<&'a Value>,
    pub(super) required: bool,
}

/// The properties of an object, in the order of the schema.
#[derive(Debug, Default)]
pub(super) struct ObjectSchema<'a> {
    names: Vec<&'a str>,
    properties: HashMap<&'a str, Property<'a>>,
    /// The schema of further properties, if there is one. The first counts.
    pub(super) additional: Option<&'a Value>,
    /// Whether the schema has `properties`, even if they are empty.
    pub(super) listed: bool,
}

impl<'a> ObjectSchema<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Tells whether the schema explicitly allows more properties.
    pub(super) fn is_open(&self) -> bool {
        match self.additional {
            None | Some(Value::Bool(false)) => false,
            Some(schema) => schema.is_object() || schema == &Value::Bool(true),
        }
    }

    pub(super) fn into_properties(mut self) -> impl Iterator<Item = (&'a str, Property<'a>)> {
        self.names
            .into_iter()
            .map(move |name| (name, self.properties.remove(name).unwrap_or_default()))
    }

    /// Adds the properties of an object's own keywords, and returns how many there were.
    pub(super) fn add_own(&mut self, schema: &'a Map<String, Value>) -> usize {
        let mut count = 0;
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            self.listed = true;
            count += properties.len();
            for (name, schema) in properties {
                self.add_schema(name, schema);
            }
        }
        if let Some(required) = schema.get("required").and_then(Value::as_array) {
            count += required.len();
            for name in required.iter().filter_map(Value::as_str) {
                self.property(name).required = true;
            }
        }
        if self.additional.is_none() {
            self.additional = schema.get("additionalProperties");
        }
        count
    }

    /// Adds alternatives. A property that only some of them require is not required.
    pub(super) fn add_alternatives(&mut self, alternatives: Vec<Self>) {
        let count = alternatives.len();
        let mut required: HashMap<&'a str, usize> = HashMap::new();
        for alternative in alternatives {
            self.listed |= alternative.listed;
            self.additional = self.additional.or(alternative.additional);
            for (name, property) in alternative.into_properties() {
                *required.entry(name).or_default() += usize::from(property.required);
                self.property(name).schemas.extend(property.schemas);
            }
        }
        for (name, times) in required {
            if times == count {
                self.property(name).required = true;
            }
        }
    }

    /// Adds a schema for a property that may have one already. Both hold, so one that says anything is
    /// enough.
    fn add_schema(&mut self, name: &'a str, schema: &'a Value) {
        let property = self.property(name);
        if property.schemas.iter().all(|known| says_nothing(known)) {
            property.schemas.clear();
            property.schemas.push(schema);
        }
    }

    fn property(&mut self, name: &'a str) -> &mut Property<'a> {
        self.properties.entry(name).or_insert_with(|| {
            self.names.push(name);
            Property::default()
        })
    }
}

fn says_nothing(schema: &Value) -> bool {
    const TELLING: [&str; 10] = [
        "type",
        "$ref",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "properties",
        "items",
        "prefixItems",
    ];
    !TELLING.iter().any(|keyword| schema.get(keyword).is_some())
}
