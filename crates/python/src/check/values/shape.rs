//! The shape of a result, from its JSON schema.

use std::{collections::BTreeMap, rc::Rc};

use serde_json::{Map, Value};

use crate::check::spelling::FieldTrust;

/// How deep a schema is read: deeper than programs reach into results. It also ends schemas that refer
/// to themselves.
const MAX_DEPTH: usize = 10;
/// How many parts of a schema are read. Stops schemas whose references double at each level.
const MAX_PARTS: usize = 4_000;
/// Keywords about objects and lists that are not read here; with one of them, a value may be anything.
const NOT_READ: [&str; 7] =
    ["allOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas", "$dynamicRef"];

/// The shape of a value.
#[derive(Debug)]
pub(crate) enum ValueShape {
    Anything,
    Object(ObjectShape),
    List(Rc<ValueShape>),
}

/// A dict with the fields that are known.
#[derive(Debug)]
pub(crate) struct ObjectShape {
    pub(crate) fields: BTreeMap<String, Rc<ValueShape>>,
    pub(crate) trust: FieldTrust,
}

impl ValueShape {
    /// Reads a schema that a server wrote, or one that was inferred from results.
    pub(crate) fn new(schema: &Value, observed: bool) -> Rc<Self> {
        ShapeReader { root: schema, observed, parts: 0 }.read(schema, 0)
    }
}

struct ShapeReader<'s> {
    root: &'s Value,
    observed: bool,
    parts: usize,
}

impl<'s> ShapeReader<'s> {
    fn read(&mut self, schema: &'s Value, depth: usize) -> Rc<ValueShape> {
        self.parts += 1;
        let known = schema.as_object().filter(|_| depth < MAX_DEPTH && self.parts < MAX_PARTS);
        known
            .and_then(|schema| self.of(schema, depth))
            .unwrap_or_else(|| Rc::new(ValueShape::Anything))
    }

    fn of(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Option<Rc<ValueShape>> {
        let has = |keyword: &str| schema.contains_key(keyword);
        if let Some(reference) = schema.get("$ref") {
            let target = self.root.pointer(reference.as_str()?.strip_prefix('#')?)?;
            return (!has("properties")).then(|| self.read(target, depth + 1));
        }
        if NOT_READ.iter().any(|keyword| has(keyword)) {
            return None;
        }
        if let Some(alternatives) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
            let both = has("anyOf") && has("oneOf");
            let is_only = !both && !has("properties") && !has("items");
            let mut some = alternatives.as_array()?.iter().filter(|one| !is_null(one));
            let only = some.next().filter(|_| is_only)?;
            return some.next().is_none().then(|| self.read(only, depth + 1));
        }
        match kind(schema)? {
            "object" => self.object(schema, depth),
            "array" => {
                let items = schema.get("items").filter(|items| items.is_object());
                let items = items.map_or_else(
                    || Rc::new(ValueShape::Anything),
                    |items| self.read(items, depth + 1),
                );
                Some(Rc::new(ValueShape::List(items)))
            }
            _ => None,
        }
    }

    fn object(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Option<Rc<ValueShape>> {
        let properties = schema.get("properties")?.as_object()?;
        if properties.is_empty() {
            return None;
        }
        let trust = match schema.get("additionalProperties") {
            _ if self.observed => FieldTrust::Seen,
            None => FieldTrust::Listed,
            Some(Value::Bool(false)) => FieldTrust::Closed,
            Some(_) => FieldTrust::Seen,
        };
        let read =
            |(name, field): (&String, &'s Value)| (name.clone(), self.read(field, depth + 1));
        let fields = properties.iter().map(read).collect();
        Some(Rc::new(ValueShape::Object(ObjectShape { fields, trust })))
    }
}

/// Returns the only type that a value can have unless it is null.
fn kind(schema: &Map<String, Value>) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => Some(name),
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            let only = names.next()?;
            names.next().is_none().then_some(only)
        }
        Some(_) => None,
        None if schema.contains_key("properties") => Some("object"),
        None => None,
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
        || schema.get("const").is_some_and(Value::is_null)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Writes a shape as `{a, b: [{c}]}`, with `!` after closed objects and `?` after observed ones.
    fn text(shape: &ValueShape) -> String {
        match shape {
            ValueShape::Anything => "*".to_owned(),
            ValueShape::List(item) => format!("[{}]", text(item)),
            ValueShape::Object(object) => {
                let fields: Vec<String> = object
                    .fields
                    .iter()
                    .map(|(name, field)| format!("{name}: {}", text(field)))
                    .collect();
                let mark = match object.trust {
                    FieldTrust::Seen => "?",
                    FieldTrust::Listed => "",
                    FieldTrust::Closed => "!",
                };
                format!("{{{}}}{mark}", fields.join(", "))
            }
        }
    }

    #[test]
    fn schemas_are_read_as_far_as_they_are_certain() {
        let a = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let mut open = a.clone();
        open["additionalProperties"] = json!({"type": "string"});
        let mut closed = a.clone();
        closed["additionalProperties"] = json!(false);
        for (schema, expected) in [
            (a.clone(), "{a: *}"),
            (open, "{a: *}?"),
            (closed, "{a: *}!"),
            (
                json!({"properties": {"a": {"type": ["array", "null"], "items": a}}}),
                "{a: [{a: *}]}",
            ),
            (json!({"anyOf": [a, {"type": "null"}]}), "{a: *}"),
            (json!({"oneOf": [{"type": "null"}, {"type": "array", "items": a}]}), "[{a: *}]"),
            (json!({"anyOf": [a, {"type": "string"}]}), "*"),
            (json!({"type": "array", "prefixItems": [a], "items": a}), "*"),
            (json!({"type": "array", "items": [a]}), "[*]"),
            (json!({"type": ["object", "array"], "properties": {"a": {}}}), "*"),
            (json!({"type": "object"}), "*"),
            (json!({"type": "object", "properties": {}}), "*"),
            (json!({"allOf": [a]}), "*"),
            (
                json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/B"}}, "B": a}}),
                "[{a: *}]",
            ),
            (json!({"$ref": "https://example.com/a"}), "*"),
            (json!({"$ref": 7}), "*"),
            (json!({"$ref": "#"}), "*"),
            (json!(null), "*"),
            (json!({"type": 7, "properties": []}), "*"),
        ] {
            assert_eq!(text(&ValueShape::new(&schema, false)), expected, "{schema}");
        }
        assert_eq!(text(&ValueShape::new(&json!({"properties": {"a": {}}}), true)), "{a: *}?");
    }

    #[test]
    fn schemas_that_refer_to_themselves_come_to_an_end() {
        let fields: Map<String, Value> =
            (0..50).map(|n| (format!("f{n}"), json!({"$ref": "#"}))).collect();
        let schema = json!({"type": "object", "properties": fields});
        assert!(text(&ValueShape::new(&schema, false)).starts_with("{f0: {f0: {"));
    }
}
