//! Writes a shape as JSON schema.

use serde_json::{Map, Value, json};

use super::{
    record::{ObservedObject, Record},
    shape::{Number, Shape},
    text::Text,
};

impl Shape {
    /// Returns a schema that all observed values satisfy (of very long lists, those elements that were
    /// sampled).
    pub(crate) fn schema(&self) -> Value {
        if self.any {
            return json!({});
        }
        let number = |number| match number {
            Number::Int => json!({"type": "integer"}),
            Number::Float => json!({"type": "number"}),
        };
        let mut alternatives: Vec<Value> = Vec::new();
        alternatives.extend(self.flag.then(|| json!({"type": "boolean"})));
        alternatives.extend(self.number.map(number));
        alternatives.extend(self.text.as_ref().map(of_text));
        alternatives.extend(self.list.as_ref().map(|element| of_list(element)));
        alternatives.extend(self.object.as_ref().map(|object| match &**object {
            ObservedObject::Map(values) => {
                json!({"type": "object", "additionalProperties": values.schema()})
            }
            ObservedObject::Record(record) => of_record(record),
        }));
        alternatives.extend(self.null.then(|| json!({"type": "null"})));
        union(alternatives)
    }
}

fn union(mut alternatives: Vec<Value>) -> Value {
    let is_plain = |schema: &Value| schema.as_object().is_some_and(|keywords| keywords.len() == 1);
    match alternatives.len() {
        0 => json!({}),
        1 => alternatives.remove(0),
        _ if alternatives.iter().all(is_plain) => {
            let types = alternatives.iter_mut().map(|schema| schema["type"].take());
            json!({"type": types.collect::<Vec<_>>()})
        }
        _ => json!({"anyOf": alternatives}),
    }
}

fn of_text(text: &Text) -> Value {
    let mut schema = json!({"type": "string"});
    if let Some(format) = text.format() {
        schema["format"] = format.name().into();
    }
    if let Some(words) = text.words() {
        schema["enum"] = words.collect();
    }
    schema
}

fn of_list(element: &Shape) -> Value {
    match element.schema() {
        Value::Object(nothing) if nothing.is_empty() => json!({"type": "array"}),
        items => json!({"type": "array", "items": items}),
    }
}

fn of_record(record: &Record) -> Value {
    let mut schema = json!({"type": "object"});
    let required = record.fields.iter().filter(|field| field.present == record.seen);
    let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
    let properties: Map<String, Value> =
        record.fields.iter().map(|field| (field.name.clone(), field.shape.schema())).collect();
    if !properties.is_empty() {
        schema["properties"] = properties.into();
    }
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(values: &[Value]) -> Value {
        let mut shape = Shape::default();
        values.iter().for_each(|value| shape.merge(Shape::of(value)));
        shape.settle();
        shape.schema()
    }

    #[test]
    fn what_was_seen_as_a_schema() {
        let states = ["open", "closed", "open", "open", "closed"];
        let issues: Vec<Value> = states.iter().map(|state| json!({"state": state})).collect();
        let people: Vec<Value> = states.iter().map(|login| json!({"login": login})).collect();
        let plain = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
        for (values, expected) in [
            (vec![], json!({})),
            (vec![json!(1)], json!({"type": "integer"})),
            (vec![json!(1), json!(2.5)], json!({"type": "number"})),
            (vec![json!("a"), json!(null)], json!({"type": ["string", "null"]})),
            (
                vec![json!(true), json!("a"), json!(1)],
                json!({"type": ["boolean", "integer", "string"]}),
            ),
            (vec![json!([])], json!({"type": "array"})),
            (
                vec![json!([]), json!([1, "a"])],
                json!({"type": "array", "items": {"type": ["integer", "string"]}}),
            ),
            (vec![json!({})], json!({"type": "object"})),
            (
                vec![json!({"a": 1, "b": 1}), json!({"a": null, "c": "x"})],
                json!({
                    "type": "object",
                    "properties": {
                        "a": {"type": ["integer", "null"]},
                        "b": {"type": "integer"},
                        "c": {"type": "string"},
                    },
                    "required": ["a"],
                }),
            ),
            (
                vec![json!({"at": "2026-11-16"}), json!({"at": null})],
                json!({
                    "type": "object",
                    "properties": {
                        "at": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
                    },
                    "required": ["at"],
                }),
            ),
            (
                issues,
                json!({
                    "type": "object",
                    "properties": {"state": {"type": "string", "enum": ["closed", "open"]}},
                    "required": ["state"],
                }),
            ),
            (people, plain("login")),
            (
                vec![json!({"body": "{\"a\": 1}"})],
                json!({
                    "type": "object",
                    "properties": {"body": {"type": "string", "format": "json"}},
                    "required": ["body"],
                }),
            ),
            (
                vec![json!({"ada@example.com": 1, "x": 2})],
                json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            ),
            (
                vec![json!({"a": 1}), json!({"2026-11-16": "x"})],
                json!({"type": "object", "additionalProperties": {"type": ["integer", "string"]}}),
            ),
        ] {
            assert_eq!(schema(&values), expected, "{values:?}");
        }
    }
}
