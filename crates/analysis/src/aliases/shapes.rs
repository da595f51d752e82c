//! Parameters that have the right names in another form: a condition without the list around it, an
//! order as a word, a JSON Schema. Where the meaning is clear they get the form that a type takes.

use serde_json::{Map, Value, json};

use super::{
    parameters::{self, CONDITION},
    scope::snake_case,
};
use crate::request::Kind;

type Parameters = Map<String, Value>;

/// Words for the direction of an order, beside what the order is by.
const DIRECTIONS: &[&str] =
    &["order", "direction", "dir", "sort_order", "sort_direction", "order_direction", "sort_dir"];

/// Gives the parameters of a type, by the name that it was asked for, the form that it takes.
pub(super) fn shaped(name: &str, kind: Kind, mut given: Parameters) -> Parameters {
    direction(kind, &mut given);
    match kind {
        Kind::Filter => condition(&mut given),
        Kind::Aggregate if matches!(name, "group_by" | "groupby" | "group") => groups(&mut given),
        Kind::TimeSeries => functions_by_column(&mut given),
        Kind::Percentiles => percentiles(&mut given),
        Kind::Histogram => {
            let is_auto = |value: &Value| value == "auto";
            given.retain(|key, value| {
                parameters::of(kind).canonical(key) != Some("bins") || !is_auto(value)
            });
        }
        Kind::Validate => json_schema(&mut given),
        _ => {}
    }
    given
}

/// The key of a parameter, by any of its names.
fn key_of(kind: Kind, given: &Parameters, name: &str) -> Option<String> {
    given.keys().find(|key| parameters::of(kind).canonical(key) == Some(name)).cloned()
}

/// `"sort_by": "price", "order": "desc"`
fn direction(kind: Kind, given: &mut Parameters) {
    let is_descending = |value: &Value| match value.as_str()?.to_ascii_lowercase().as_str() {
        "desc" | "descending" => Some(true),
        "asc" | "ascending" => Some(false),
        _ => None,
    };
    let found = given.iter().find_map(|(key, value)| {
        let is_direction = DIRECTIONS.contains(&snake_case(key).as_str());
        is_direction.then(|| Some((key.clone(), is_descending(value)?))).flatten()
    });
    if let Some((key, descending)) = found
        && parameters::of(kind).names().any(|name| name == "descending")
        && key_of(kind, given, "descending").is_none()
        && key_of(kind, given, "ascending").is_none()
    {
        given.shift_remove(&key);
        given.insert("descending".to_owned(), json!(descending));
    }
}

/// `{"column": "price", "op": ">", "value": 10}` is one condition.
fn condition(given: &mut Parameters) {
    if key_of(Kind::Filter, given, "conditions").is_some() {
        return;
    }
    let of = |name: &str, given: &Parameters| {
        given.keys().find(|key| CONDITION.canonical(key) == Some(name)).cloned()
    };
    let Some(field) = of("field", given) else { return };
    if of("operator", given).is_none() && of("value", given).is_none() {
        return;
    }
    let names =
        [Some(field), of("operator", given), of("value", given), of("case_sensitive", given)];
    let mut condition: Parameters = names
        .into_iter()
        .flatten()
        .filter_map(|key| Some((CONDITION.canonical(&key)?.to_owned(), given.shift_remove(&key)?)))
        .collect();
    let is_list = condition.get("value").is_some_and(Value::is_array);
    condition.entry("operator").or_insert(json!(if is_list { "in" } else { "==" }));
    given.insert("conditions".to_owned(), json!([condition]));
}

/// `{"columns": ["region"], "aggregations": {"price": "sum"}}` of a `group_by`: the columns are
/// what is grouped by, as the figures have columns of their own.
fn groups(given: &mut Parameters) {
    let figures = key_of(Kind::Aggregate, given, "aggregations");
    let has_columns = figures.and_then(|key| given.get(&key)).is_some_and(Value::is_object);
    if has_columns
        && key_of(Kind::Aggregate, given, "group_by").is_none()
        && let Some(key) = key_of(Kind::Aggregate, given, "fields")
        && let Some(columns) = given.shift_remove(&key)
    {
        given.insert("group_by".to_owned(), columns);
    }
}

/// `{"agg": {"price": "sum"}}`: the values, and the one function for all of them.
fn functions_by_column(given: &mut Parameters) {
    let kind = Kind::TimeSeries;
    if let Some(key) = key_of(kind, given, "functions")
        && key_of(kind, given, "values").is_none()
        && let Some(Value::Object(by_column)) = given.get(&key)
        && let Some(first) = by_column.values().next().cloned()
        && by_column.values().all(|function| *function == first)
    {
        let columns: Vec<String> = by_column.keys().cloned().collect();
        given.shift_remove(&key);
        given.insert("values".to_owned(), json!(columns));
        given.insert("functions".to_owned(), first);
    }
}

/// `["p50", "95%"]` as numbers.
fn percentiles(given: &mut Parameters) {
    let Some(key) = key_of(Kind::Percentiles, given, "percentiles") else { return };
    let number = |value: &Value| -> Option<Value> {
        let text = value.as_str()?.trim();
        let text = text.strip_prefix(['p', 'P']).unwrap_or(text);
        let number: f64 = text.strip_suffix('%').unwrap_or(text).trim().parse().ok()?;
        Some(json!(number))
    };
    match given.get_mut(&key) {
        Some(Value::Array(values)) => {
            for value in values {
                if let Some(number) = number(value) {
                    *value = number;
                }
            }
        }
        Some(value) => {
            if let Some(number) = number(value) {
                *value = number;
            }
        }
        None => {}
    }
}

/// `{"type": "object", "properties": {…}, "required": […]}` as rules by field.
fn json_schema(given: &mut Parameters) {
    let Some(key) = key_of(Kind::Validate, given, "schema") else { return };
    let Some(Value::Object(schema)) = given.get(&key) else { return };
    // Of a row, or of the list of them.
    let row = schema.get("items").and_then(Value::as_object).unwrap_or(schema);
    let Some(Value::Object(properties)) = row.get("properties") else { return };
    let rules: Parameters =
        properties.iter().map(|(field, rule)| (field.clone(), rule_of(rule))).collect();
    let required = row.get("required").cloned().filter(Value::is_array);
    given.insert(key, Value::Object(rules));
    if let Some(required) = required
        && key_of(Kind::Validate, given, "required").is_none()
    {
        given.insert("required".to_owned(), required);
    }
}

/// What of a property's schema can be checked here.
fn rule_of(property: &Value) -> Value {
    let mut rule = Map::new();
    let word = match property.get("type") {
        Some(Value::Array(types)) => types.iter().find(|it| *it != "null"),
        other => other,
    };
    match word.and_then(Value::as_str) {
        Some("number") => _ = rule.insert("type".to_owned(), json!("numeric")),
        Some(word @ ("integer" | "string" | "boolean")) => {
            rule.insert("type".to_owned(), json!(word));
        }
        _ => {}
    }
    for (theirs, ours) in [
        ("minimum", "min"),
        ("maximum", "max"),
        ("enum", "allowed"),
        ("pattern", "pattern"),
        ("minLength", "min_length"),
        ("maxLength", "max_length"),
    ] {
        if let Some(value) = property.get(theirs) {
            rule.insert(ours.to_owned(), value.clone());
        }
    }
    Value::Object(rule)
}
