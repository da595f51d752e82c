//! The parts of a JSON schema that pins compare: the values that it accepts, and not its descriptions.

use serde_json::{Map, Value};

/// Keywords that are only for readers.
const DESCRIPTIVE: [&str; 7] =
    ["$comment", "$id", "$schema", "description", "example", "examples", "title"];
/// Keywords whose value is a table of schemas by name.
const TABLES: [&str; 5] =
    ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// Keywords whose value is a set, so that the order does not matter.
const SETS: [&str; 3] = ["enum", "required", "type"];
/// Keywords whose value is data, which may look like a schema.
const DATA: [&str; 2] = ["const", "default"];
/// How many references are followed, because a schema that refers to itself would have no end.
const MAX_REFERENCES: usize = 8;
/// How many parts of a type are read. Stops schemas such as ten alternatives that each refer to all
/// ten again, which multiply with each reference.
const MAX_STEPS: usize = 1_000;

/// Returns a schema without descriptions and with sets in a fixed order, so that it can be hashed.
pub(crate) fn essence(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| !DESCRIPTIVE.contains(&key.as_str()));
            Value::Object(kept.map(|(key, value)| (key.clone(), keyword(key, value))).collect())
        }
        Value::Array(items) => items.iter().map(essence).collect(),
        plain => plain.clone(),
    }
}

fn keyword(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(table) if TABLES.contains(&key) => {
            Value::Object(table.iter().map(|(name, one)| (name.clone(), essence(one))).collect())
        }
        Value::Array(set) if SETS.contains(&key) => {
            let mut set = set.clone();
            set.sort_by_key(Value::to_string);
            Value::Array(set)
        }
        _ if SETS.contains(&key) || DATA.contains(&key) => value.clone(),
        _ => essence(value),
    }
}

/// A schema together with the whole document that its references point into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubSchema<'a> {
    pub(crate) whole: &'a Value,
    schema: &'a Value,
}

impl<'a> SubSchema<'a> {
    pub(crate) fn whole(whole: &'a Value) -> Self {
        Self { whole, schema: whole }.followed()
    }

    pub(crate) fn at(self, schema: &'a Value) -> Self {
        Self { schema, ..self }.followed()
    }

    /// Follows references such as `{"$ref": "#/$defs/Owner"}` to their target.
    fn followed(mut self) -> Self {
        for _ in 0..MAX_REFERENCES {
            let reference = self.schema.get("$ref").and_then(Value::as_str);
            let Some(pointer) = reference.and_then(|text| text.strip_prefix('#')) else { break };
            let Some(target) = self.whole.pointer(pointer) else { break };
            self.schema = target;
        }
        self
    }

    pub(crate) fn keywords(self) -> Option<&'a Map<String, Value>> {
        self.schema.as_object()
    }

    pub(crate) fn keyword(self, key: &str) -> Option<&'a Value> {
        self.schema.get(key)
    }

    pub(crate) fn properties(self) -> impl Iterator<Item = (&'a String, SubSchema<'a>)> {
        let table = self.keyword("properties").and_then(Value::as_object);
        table.into_iter().flatten().map(move |(name, schema)| (name, self.at(schema)))
    }

    pub(crate) fn property(self, name: &str) -> Option<Self> {
        self.keyword("properties")?.get(name).map(|schema| self.at(schema))
    }

    pub(crate) fn requires(self, name: &str) -> bool {
        let required = self.keyword("required").and_then(Value::as_array);
        required.is_some_and(|all| all.iter().any(|one| one == name))
    }

    pub(crate) fn values(self) -> Option<&'a Vec<Value>> {
        self.keyword("enum").and_then(Value::as_array)
    }

    /// Returns the type in words: `string`, `integer or null`.
    pub(crate) fn type_name(self) -> String {
        let mut names = Vec::new();
        self.add_type_names(&mut names, 0, &mut 0);
        names.sort();
        names.dedup();
        if names.is_empty() { "anything".to_owned() } else { names.join(" or ") }
    }

    fn add_type_names(self, names: &mut Vec<String>, depth: usize, steps: &mut usize) {
        *steps += 1;
        if depth > MAX_REFERENCES || *steps > MAX_STEPS {
            return;
        }
        match self.keyword("type") {
            Some(Value::String(name)) => return names.push(name.clone()),
            Some(Value::Array(types)) => {
                return names.extend(types.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
        let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| self.keyword(key));
        for part in alternatives.filter_map(Value::as_array).flatten() {
            self.at(part).add_type_names(names, depth + 1, steps);
        }
        let constants = self.values().into_iter().flatten().chain(self.keyword("const"));
        names.extend(constants.map(|value| kind(value).to_owned()));
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn descriptions_go_and_what_is_called_so_stays() {
        let schema = json!({
            "title": "Arguments",
            "type": ["string", "null"],
            "properties": {
                "description": {"type": "string", "description": "of the issue"},
                "title": {"enum": ["b", "a"], "default": {"description": "kept"}},
            },
            "required": ["title", "description"],
        });
        let expected = json!({
            "type": ["null", "string"],
            "properties": {
                "description": {"type": "string"},
                "title": {"enum": ["a", "b"], "default": {"description": "kept"}},
            },
            "required": ["description", "title"],
        });
        assert_eq!(essence(&schema), expected);
    }

    #[test]
    fn references_are_followed_and_have_an_end() {
        let whole = json!({
            "properties": {"owner": {"$ref": "#/$defs/Owner"}, "loop": {"$ref": "#/$defs/Loop"}},
            "$defs": {"Owner": {"type": "string"}, "Loop": {"$ref": "#/$defs/Loop"},
                      "Any": {"anyOf": vec![json!({"$ref": "#/$defs/Any"}); 30]}},
        });
        let types: Vec<String> =
            SubSchema::whole(&whole).properties().map(|(_, part)| part.type_name()).collect();
        assert_eq!(types, ["string", "anything"]);
        assert_eq!(SubSchema::whole(&whole).at(&whole["$defs"]["Any"]).type_name(), "anything");
    }
}
