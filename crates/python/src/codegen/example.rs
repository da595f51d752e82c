//! An example call of a tool, as a model would write it.

use serde_json::{Map, Value};

use super::{
    definition::{Definition, Presence},
    literal,
    names::ToolName,
};

/// The length of a value that is shown; a longer one tells a reader less than its absence.
const MAX_VALUE: usize = 120;
/// How deep nested objects are shown.
const MAX_DEPTH: usize = 3;
/// How far alternatives of alternatives are followed. One that leads back to itself would never end.
const MAX_ALTERNATIVES: usize = 16;
/// How many values are written for one argument. Long before that, it is too long to be shown.
const MAX_STEPS: usize = 200;

/// Writes a call with the required arguments: `await create_issue(owner="owner", title="title")`.
pub fn example(name: &ToolName, raw: &Value) -> String {
    let definition = Definition::new(raw, "", None);
    let required =
        definition.parameters.iter().filter(|parameter| parameter.presence == Presence::Required);
    let arguments: Vec<String> = required
        .map(|parameter| {
            let schema = parameter.schema.unwrap_or(&Value::Null);
            let value = literal::value(&value(parameter.raw, schema, raw, 0, &mut 0));
            let value = if value.len() > MAX_VALUE { "...".to_owned() } else { value };
            format!("{}={value}", parameter.python)
        })
        .collect();
    format!("await {}({})", name.python, arguments.join(", "))
}

/// Returns a value that the schema allows and that tells a reader what belongs there.
fn value(name: &str, schema: &Value, root: &Value, depth: usize, steps: &mut usize) -> Value {
    *steps += 1;
    if *steps > MAX_STEPS || depth > MAX_ALTERNATIVES {
        return name.into();
    }
    let schema = resolved(schema, root);
    let given = ["examples", "enum"].iter().find_map(|key| schema.get(key)?.get(0));
    let given =
        given.or_else(|| ["example", "const", "default"].iter().find_map(|key| schema.get(key)));
    if let Some(given) = given.filter(|given| !given.is_null()) {
        return given.clone();
    }
    let alternatives =
        ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array());
    if let Some(alternatives) = alternatives {
        let is_null = |one: &&Value| one.get("type") == Some(&"null".into());
        if let Some(first) = alternatives.iter().find(|one| !is_null(one)) {
            return value(name, first, root, depth + 1, steps);
        }
    }
    let number = |key: &str| schema.get(key).filter(|value| value.is_number()).cloned();
    match kind(schema) {
        Some("integer") => number("minimum").unwrap_or_else(|| 1.into()),
        Some("number") => number("minimum").unwrap_or_else(|| 1.5.into()),
        Some("boolean") => true.into(),
        Some("array") => match schema.get("items") {
            Some(items) if depth < MAX_DEPTH => {
                vec![value(singular(name), items, root, depth + 1, steps)].into()
            }
            _ => Value::Array(Vec::new()),
        },
        Some("object") => object(schema, root, depth, steps),
        _ => text(name, schema).into(),
    }
}

fn object(schema: &Value, root: &Value, depth: usize, steps: &mut usize) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut object = Map::new();
    for name in required.filter_map(Value::as_str).filter(|_| depth < MAX_DEPTH) {
        if *steps > MAX_STEPS {
            break;
        }
        let schema = properties.and_then(|properties| properties.get(name));
        let schema = schema.unwrap_or(&Value::Null);
        object.insert(name.to_owned(), value(name, schema, root, depth + 1, steps));
    }
    Value::Object(object)
}

fn text(name: &str, schema: &Value) -> String {
    match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-31T12:00:00Z".to_owned(),
        Some("date") => "2026-01-31".to_owned(),
        Some("uri" | "url") => "https://example.com".to_owned(),
        Some("email") => "someone@example.com".to_owned(),
        Some("uuid") => "00000000-0000-0000-0000-000000000000".to_owned(),
        _ => name.to_owned(),
    }
}

fn singular(name: &str) -> &str {
    name.strip_suffix('s').filter(|name| name.len() > 2).unwrap_or(name)
}

fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null")
        }
        _ if schema.get("properties").is_some() => Some("object"),
        _ => None,
    }
}

fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..8 {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        let input = root.get("inputSchema").unwrap_or(root);
        match pointer.and_then(|pointer| input.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::super::names::ToolNames;
    use super::*;

    #[test]
    fn an_example_gives_what_is_required() {
        let raw = json!({
            "name": "create",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "from": {"type": "string"},
                    "count": {"type": "integer", "minimum": 3},
                    "state": {"enum": ["open", "closed"]},
                    "labels": {"type": "array", "items": {"type": "string"}},
                    "when": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Moment"}]},
                    "place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
                    "note": {"type": "string"},
                },
                "required": ["from", "count", "state", "labels", "when", "place"],
                "$defs": {"Moment": {"type": "string", "format": "date"}},
            },
        });
        let names = ToolNames::new(["create"]);
        assert_eq!(
            example(names.get("create").unwrap(), &raw),
            "await create(from_=\"from\", count=3, state=\"open\", labels=[\"label\"], \
             when=\"2026-01-31\", place={\"x\": 1.5})"
        );
        let recursive = json!({"inputSchema": {"properties": {"a": {"$ref": "#/properties/a"}}, "required": ["a"]}});
        assert_eq!(example(names.get("create").unwrap(), &recursive), "await create(a=\"a\")");
    }

    #[test]
    fn schemas_that_lead_back_to_themselves_or_double_have_an_end() {
        let names = ToolNames::new(["t"]);
        let of = |definition: Value| {
            let schema = json!({
                "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"],
                "$defs": {"A": definition},
            });
            example(names.get("t").unwrap(), &json!({"name": "t", "inputSchema": schema}))
        };
        let itself = json!({"$ref": "#/$defs/A"});
        assert_eq!(of(json!({"anyOf": [itself, {"type": "integer"}]})), "await t(a=\"a\")");
        // An object with a hundred fields, each of which is the same object again.
        let fields: Vec<String> = (0..100).map(|number| format!("f{number}")).collect();
        let properties: Map<String, Value> =
            fields.iter().map(|name| (name.clone(), itself.clone())).collect();
        let wide = json!({"type": "object", "properties": properties, "required": fields});
        assert_eq!(of(wide), "await t(a=...)");
    }
}
