//! Rules that are written by facet instead of by field: `"required": ["id"]`, `"types": {"id":
//! "integer"}`.

use serde_json::{Map, Value, json};

use crate::{
    aliases::parameters::RULE,
    error::{AnalysisError, Result},
    ops::params::{Params, list_of_names, one_or_more, pairs, wrong},
    suggestion::Suggestion,
};

/// The words before an example.
const AS_IN: &str = "; as in ";

/// An entry of `validations`, after its path.
pub(super) type WrittenRule = (String, Value);

/// Parameters that have a value for each field, with the name of the rule that each sets.
const BY_FIELD: &[(&str, &str)] = &[
    ("types", "type"),
    ("min", "min"),
    ("max", "max"),
    ("min_length", "min_length"),
    ("max_length", "max_length"),
    ("patterns", "pattern"),
    ("allowed", "allowed"),
    ("not_in", "not_in"),
    ("references", "references"),
];

/// Parameters that name fields.
const FLAGS: &[&str] = &["required", "positive", "increasing"];

fn without_fields(path: &str, fields: Value) -> AnalysisError {
    let suggestion = Suggestion::default().or(AS_IN, None, json!({path: fields}));
    AnalysisError::suggesting(path, "for which fields is missing", suggestion)
}

/// Returns all rules of a request. Those that are written by facet are merged into one rule for each
/// field, so that a value of a wrong type is not reported as out of bounds too.
pub(super) fn rules(
    given: &Params<'_>,
    parameters: &Map<String, Value>,
) -> Result<Vec<WrittenRule>> {
    if given.value("field").is_some() {
        // One rule, without the list around it.
        let mut rule = parameters.clone();
        rule.retain(|key, _| key != "coerce");
        return Ok(vec![("parameters".to_owned(), Value::Object(rule))]);
    }
    let mut rules = FacetRules::default();
    if let Some((path, value)) = given.value("validations") {
        rules.validations(&path, value)?;
    }
    if let Some((path, value)) = given.value("schema") {
        rules.schema(&path, value)?;
    }
    for name in FLAGS {
        if let Some((path, value)) = given.value(name) {
            rules.flags(&path, name, value)?;
        }
    }
    for (name, facet) in BY_FIELD {
        if let Some((path, value)) = given.value(name) {
            rules.by_field(&path, facet, value)?;
        }
    }
    if let Some((path, value)) = given.value("ranges") {
        rules.ranges(&path, value)?;
    }
    rules.of_rows(given)?;
    Ok(rules.written())
}

#[derive(Default)]
struct FacetRules {
    whole: Vec<WrittenRule>,
    /// By their fields, in the order in which those were named.
    fields: Vec<(String, String, Map<String, Value>)>,
}

impl FacetRules {
    fn add(&mut self, path: &str, field: &str, facet: &str, value: Value) {
        let known = self.fields.iter().position(|(name, _, _)| name == field);
        let at = known.unwrap_or_else(|| {
            let rule = Map::from_iter([("field".to_owned(), json!(field))]);
            self.fields.push((field.to_owned(), path.to_owned(), rule));
            self.fields.len() - 1
        });
        self.fields[at].2.insert(facet.to_owned(), value);
    }

    /// Reads a list of rules, one rule, or an object with the rule of each field.
    fn validations(&mut self, path: &str, value: &Value) -> Result<()> {
        if value.is_object() && !is_rule(value) {
            return self.schema(path, value);
        }
        let rules = one_or_more(path, value).into_iter();
        self.whole.extend(rules.map(|(path, rule)| (path, rule.clone())));
        Ok(())
    }

    /// Reads `{"id": "integer", "price": {"type": "numeric", "min": 0}}`, a list of rules, or a list of
    /// required columns.
    fn schema(&mut self, path: &str, value: &Value) -> Result<()> {
        if let Value::Array(entries) = value {
            return match entries.iter().all(Value::is_object) {
                true => self.validations(path, value),
                false => self.flags(path, "required", value),
            };
        }
        for (field, rule) in pairs(path, value)? {
            match rule {
                Value::String(_) => self.add(&field.path, &field.name, "type", rule.clone()),
                Value::Object(facets) => {
                    for (facet, value) in facets {
                        self.add(&field.path, &field.name, facet, value.clone());
                    }
                }
                other => return Err(wrong(&field.path, "a type or an object with rules", other)),
            }
        }
        Ok(())
    }

    /// Names, or `{"id": true}`.
    fn flags(&mut self, path: &str, facet: &str, value: &Value) -> Result<()> {
        match value {
            Value::Object(_) => self.by_field(path, facet, value),
            Value::Bool(_) => {
                let example = if facet == "required" { "<column>" } else { "<number>" };
                Err(without_fields(path, json!([example])))
            }
            names => {
                for name in list_of_names(path, names)? {
                    self.add(&name.path, &name.name, facet, json!(true));
                }
                Ok(())
            }
        }
    }

    fn by_field(&mut self, path: &str, facet: &str, value: &Value) -> Result<()> {
        if !value.is_object() {
            let suggestion = ["<number>", "<text>", "<column>"]
                .into_iter()
                .fold(Suggestion::default(), |suggestion, field| {
                    suggestion.or(AS_IN, None, json!({path: {field: value}}))
                });
            let reason = "for which fields is missing";
            return Err(AnalysisError::suggesting(path, reason, suggestion));
        }
        for (field, value) in pairs(path, value)? {
            self.add(&field.path, &field.name, facet, value.clone());
        }
        Ok(())
    }

    /// Reads `{"price": [0, 100]}` or `{"price": {"min": 0}}`.
    fn ranges(&mut self, path: &str, value: &Value) -> Result<()> {
        for (field, range) in pairs(path, value)? {
            let ends = match range {
                Value::Array(ends) if ends.len() == 2 => {
                    vec![("min".to_owned(), ends[0].clone()), ("max".to_owned(), ends[1].clone())]
                }
                Value::Object(ends) => ends.clone().into_iter().collect(),
                other => return Err(wrong(&field.path, "[min, max] or an object", other)),
            };
            for (facet, end) in ends.into_iter().filter(|(_, end)| !end.is_null()) {
                self.add(&field.path, &field.name, &facet, end);
            }
        }
        Ok(())
    }

    /// Reads the rules for whole rows, or for the table.
    fn of_rows(&mut self, given: &Params<'_>) -> Result<()> {
        if let Some((path, value)) = given.value("unique") {
            // A list is unique together; a list of lists is several of those.
            let lists = match value {
                Value::Array(lists) if lists.iter().any(Value::is_array) => {
                    one_or_more(&path, value)
                }
                Value::Bool(_) => {
                    return Err(without_fields(&path, json!(["<column>"])));
                }
                one => vec![(path, one)],
            };
            let unique = |(path, fields): (String, &Value)| (path, json!({"unique": fields}));
            self.whole.extend(lists.into_iter().map(unique));
        }
        if let Some((path, value)) = given.value("expressions") {
            let expressions = one_or_more(&path, value).into_iter();
            self.whole.extend(expressions.map(|(path, text)| (path, json!({"expression": text}))));
        }
        if let Some((_, value)) = given.value("row_count") {
            self.whole.push(("parameters".to_owned(), json!({"row_count": value})));
        }
        Ok(())
    }

    fn written(self) -> Vec<WrittenRule> {
        let fields = self.fields.into_iter().map(|(_, path, rule)| (path, Value::Object(rule)));
        self.whole.into_iter().chain(fields).collect()
    }
}

/// Tells whether an object is one rule, and not fields with rules.
fn is_rule(value: &Value) -> bool {
    let names = |key: &String| {
        let names = ["field", "fields", "expression", "unique", "row_count"];
        RULE.canonical(key).is_some_and(|name| names.contains(&name))
    };
    let has_names = value.as_object().is_some_and(|fields| fields.keys().any(names));
    has_names || !value.as_object().is_some_and(|fields| fields.values().any(is_rules_of_field))
}

fn is_rules_of_field(value: &Value) -> bool {
    value.is_object() || value.is_string()
}
