//! Estimates how long it takes to check a value against a schema, before it is checked.
//!
//! A schema is written by a server, and the library that checks values goes wherever it leads: ten
//! alternatives that each lead back to all ten take ten times as long for each level of the value.
//! Counting is cheap, because the same part of a value and the same part of a schema are counted
//! once, however many ways lead there.

use std::collections::HashMap;

use narrows_model::percent_decoded;
use serde_json::{Map, Value};

/// The most values in a schema: more than one with a thousand parameters has.
const MAX_SCHEMA_VALUES: usize = 50_000;
/// How deep a schema is nested.
const MAX_SCHEMA_DEPTH: usize = 100;
/// Patterns in a schema, each of which is compiled.
const MAX_PATTERNS: usize = 100;
/// The longest pattern: a longer one was not written to be read.
const MAX_PATTERN_BYTES: usize = 4_000;

/// Steps that are reckoned for each pair of a part of the value and a part of the schema, so that the
/// pairs to count are bounded too.
const STEPS_A_PAIR: u64 = 5;
/// How deep the check goes; it is recursive, and so is the count.
const MAX_DEPTH: usize = 400;
/// The most steps of a pattern with lookaround, beside the length of the text; see
/// [`super::BACKTRACK_LIMIT`].
const PATTERN_STEPS: u64 = 100;
/// Bytes that a pattern looks at in the time of one step.
const LETTERS_A_STEP: usize = 8;

/// Keywords with a schema for the value itself.
const SAME_VALUE: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords with a list of schemas for the value itself.
const SAME_VALUE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with schemas for the value itself, by name.
const SAME_VALUE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords with a schema for each item, and for each field.
const EACH_ITEM: [&str; 4] = ["items", "additionalItems", "contains", "unevaluatedItems"];
const EACH_FIELD: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// Tells whether a schema can be compiled and counted at all: it is not too large, and its references
/// lead to places within it. Other references lead to places that only the library finds.
pub(super) fn is_countable(schema: &Value) -> bool {
    let draft = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let is_old = draft.contains("draft-03") || draft.contains("draft-04");
    BudgetCheck { values: 0, patterns: 0, is_old }.is_fine(schema, 0)
}

struct BudgetCheck {
    values: usize,
    patterns: usize,
    /// Whether its draft has `id` where later ones have `$id`.
    is_old: bool,
}

impl BudgetCheck {
    fn is_fine(&mut self, value: &Value, depth: usize) -> bool {
        self.values += 1;
        if self.values > MAX_SCHEMA_VALUES || depth > MAX_SCHEMA_DEPTH {
            return false;
        }
        match value {
            Value::Array(items) => items.iter().all(|item| self.is_fine(item, depth + 1)),
            Value::Object(fields) => {
                fields.iter().all(|(name, value)| self.is_plain(name, value, depth))
                    && fields.values().all(|value| self.is_fine(value, depth + 1))
            }
            _ => true,
        }
    }

    fn is_plain(&mut self, name: &str, value: &Value, depth: usize) -> bool {
        match (name, value) {
            ("$ref", Value::String(target)) => target == "#" || target.starts_with("#/"),
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => false,
            // Below such a keyword, references start elsewhere.
            ("$id" | "$schema", Value::String(_)) => depth == 0,
            ("id", Value::String(_)) => depth == 0 || !self.is_old,
            ("pattern", Value::String(pattern)) => self.is_small(pattern),
            ("patternProperties", Value::Object(patterns)) => {
                patterns.keys().all(|pattern| self.is_small(pattern))
            }
            _ => true,
        }
    }

    fn is_small(&mut self, pattern: &str) -> bool {
        self.patterns += 1;
        self.patterns <= MAX_PATTERNS && pattern.len() <= MAX_PATTERN_BYTES
    }
}

/// Estimates how many steps it takes to check a value. Returns `None` if they are more than
/// `max_steps`. The estimate takes no longer than the check would.
pub(super) fn steps(schema: &Value, value: &Value, max_steps: u64) -> Option<u64> {
    Count { root: schema, max_steps, counted: HashMap::new() }.of(schema, value, 0)
}

struct Count<'s> {
    root: &'s Value,
    max_steps: u64,
    /// The steps of each pair, by the addresses of both parts, which are only compared. `None` while a
    /// pair is being counted: whoever comes to it again goes round in a circle.
    counted: HashMap<(*const Value, *const Value), Option<u64>>,
}

impl<'s> Count<'s> {
    fn of(&mut self, schema: &'s Value, value: &Value, depth: usize) -> Option<u64> {
        let Value::Object(keywords) = schema else { return Some(1) };
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if let Some(known) = self.counted.get(&pair) {
            return *known;
        }
        if depth > MAX_DEPTH || self.counted.len() as u64 >= self.max_steps / STEPS_A_PAIR {
            return None;
        }
        self.counted.insert(pair, None);
        let mut steps = 1 + keywords.len() as u64;
        steps = steps.saturating_add(self.of_same_value(keywords, value, depth)?);
        steps = steps.saturating_add(match value {
            Value::Object(fields) => self.of_fields(keywords, fields, depth)?,
            Value::Array(items) => self.of_items(keywords, items, depth)?,
            Value::String(text) => of_text(keywords, text),
            _ => 0,
        });
        if let Some(Value::Array(options)) = keywords.get("enum") {
            steps = steps.saturating_add(options.len() as u64);
        }
        // Such a keyword finds out what the others looked at by looking again.
        if keywords.keys().any(|keyword| keyword.starts_with("unevaluated")) {
            steps = steps.saturating_mul(2);
        }
        self.counted.insert(pair, Some(steps));
        (steps <= self.max_steps).then_some(steps)
    }

    fn of_same_value(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &Value,
        depth: usize,
    ) -> Option<u64> {
        let lists = SAME_VALUE_LISTS.iter().filter_map(|name| keywords.get(*name)?.as_array());
        let maps = SAME_VALUE_MAPS.iter().filter_map(|name| keywords.get(*name)?.as_object());
        let single = SAME_VALUE.iter().filter_map(|name| keywords.get(*name));
        let schemas = single.chain(lists.flatten()).chain(maps.flat_map(Map::values));
        let mut steps = 0u64;
        for schema in schemas {
            steps = steps.saturating_add(self.of(schema, value, depth + 1)?);
        }
        if let Some(Value::String(target)) = keywords.get("$ref") {
            let pointer = percent_decoded(target.strip_prefix('#')?)?;
            // A reference that leads nowhere does not compile.
            let target = self.root.pointer(&pointer)?;
            steps = steps.saturating_add(self.of(target, value, depth + 1)?);
        }
        Some(steps)
    }

    fn of_fields(
        &mut self,
        keywords: &'s Map<String, Value>,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Option<u64> {
        let mut steps = fields.len() as u64;
        if let Some(Value::Object(properties)) = keywords.get("properties") {
            steps = steps.saturating_add(properties.len() as u64);
            for (name, schema) in properties {
                let Some(value) = fields.get(name) else { continue };
                steps = steps.saturating_add(self.of(schema, value, depth + 1)?);
            }
        }
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let patterns = patterns.into_iter().flat_map(Map::values);
        let each = EACH_FIELD.iter().filter_map(|name| keywords.get(*name));
        for schema in patterns.chain(each) {
            for (name, value) in fields {
                steps = steps.saturating_add(PATTERN_STEPS / 10 + of_letters(name));
                steps = steps.saturating_add(self.of(schema, value, depth + 1)?);
            }
        }
        if let Some(names) = keywords.get("propertyNames") {
            // Names have no address in the document, and are short; each counts as the longest.
            let longest = fields.keys().max_by_key(|name| name.len());
            let name = Value::String(longest.cloned().unwrap_or_default());
            let mut alone =
                Count { root: self.root, max_steps: self.max_steps, counted: HashMap::new() };
            let of_one = alone.of(names, &name, depth + 1)?;
            steps = steps.saturating_add(of_one.saturating_mul(fields.len() as u64));
        }
        Some(steps)
    }

    fn of_items(
        &mut self,
        keywords: &'s Map<String, Value>,
        items: &[Value],
        depth: usize,
    ) -> Option<u64> {
        let mut steps = items.len() as u64;
        for name in ["prefixItems", "items"] {
            if let Some(Value::Array(schemas)) = keywords.get(name) {
                for (schema, item) in schemas.iter().zip(items) {
                    steps = steps.saturating_add(self.of(schema, item, depth + 1)?);
                }
            }
        }
        for schema in EACH_ITEM.iter().filter_map(|name| keywords.get(*name)) {
            if !schema.is_object() {
                continue;
            }
            for item in items {
                steps = steps.saturating_add(self.of(schema, item, depth + 1)?);
            }
        }
        Some(steps)
    }
}

fn of_text(keywords: &Map<String, Value>, text: &str) -> u64 {
    let looks = ["pattern", "format", "minLength", "maxLength"];
    let looks = looks.iter().filter(|name| keywords.contains_key(**name)).count() as u64;
    let pattern = u64::from(keywords.contains_key("pattern")) * PATTERN_STEPS;
    looks.saturating_mul(of_letters(text)).saturating_add(pattern)
}

fn of_letters(text: &str) -> u64 {
    (text.len() / LETTERS_A_STEP) as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MAX_STEPS: u64 = 1_000_000;

    fn steps(schema: &Value, value: &Value) -> Option<u64> {
        super::steps(schema, value, MAX_STEPS)
    }

    /// `{"x": {"x": … 1}}`.
    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!({"x": inner}))
    }

    /// Alternatives that each lead back to all of them.
    fn exponential(branches: usize) -> Value {
        let branch = json!({
            "type": "object", "properties": {"x": {"$ref": "#/$defs/A"}}, "required": ["x"],
        });
        json!({
            "type": "object", "properties": {"x": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"anyOf": vec![branch; branches]}},
        })
    }

    #[test]
    fn steps_grow_with_every_level_and_are_counted_in_no_time() {
        let schema = exponential(10);
        let [one, two, three] = [1, 2, 3].map(|depth| steps(&schema, &nested(depth)).unwrap());
        assert!(two > one * 5 && three > two * 5, "{one} {two} {three}");
        for depth in [8, 30, 100] {
            assert_eq!(steps(&schema, &nested(depth)), None, "{depth}");
        }
        // Control: one way through the same value.
        assert!(steps(&exponential(1), &nested(60)).unwrap() < 2_000);
    }

    #[test]
    fn circles_that_go_no_deeper_are_found() {
        for schema in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}),
        ] {
            assert!(is_countable(&schema));
            assert_eq!(steps(&schema, &nested(2)), None, "{schema}");
        }
        // Control: a tree refers to itself, and each level of it is a level of the value.
        let tree = json!({"properties": {"x": {"$ref": "#"}}});
        assert!(steps(&tree, &nested(20)).is_some());
    }

    #[test]
    fn large_values_of_simple_schemas_are_counted_as_what_they_are() {
        let schema = json!({"items": {"properties": {
            "id": {"type": "integer"}, "name": {"type": "string", "pattern": "^[a-z]+$"},
        }}});
        let rows = Value::Array(vec![json!({"id": 1, "name": "abc"}); 2_000]);
        let counted = steps(&schema, &rows).unwrap();
        assert!((10_000..500_000).contains(&counted), "{counted}");
        let rows = Value::Array(vec![json!({"id": 1, "name": "a".repeat(50_000)}); 1_000]);
        assert_eq!(steps(&schema, &rows), None);
    }

    #[test]
    fn schemas_that_are_too_large_or_lead_elsewhere_are_not_compiled() {
        let deep = (0..200).fold(json!({}), |inner, _| json!({"not": inner}));
        for schema in [
            deep,
            json!({"enum": vec![1; MAX_SCHEMA_VALUES]}),
            json!({"allOf": vec![json!({"pattern": "x"}); MAX_PATTERNS + 1]}),
            json!({"pattern": "x".repeat(MAX_PATTERN_BYTES + 1)}),
            json!({"$ref": "other.json"}),
            json!({"$ref": "#anchor"}),
            json!({"$dynamicRef": "#x"}),
            json!({"properties": {"x": {"$id": "http://x/", "$ref": "#/y"}}}),
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "not": {"id": "x"}}),
        ] {
            assert!(!is_countable(&schema), "{}", schema.to_string().get(..80).unwrap_or_default());
        }
        for schema in [
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x"}),
            json!({"properties": {"$ref": {"type": "string"}, "id": {"const": "x"}}}),
            json!({"$ref": "#/$defs/A", "$defs": {"A": {}}}),
            json!({"examples": [{"id": "x"}]}),
        ] {
            assert!(is_countable(&schema), "{schema}");
        }
    }
}
