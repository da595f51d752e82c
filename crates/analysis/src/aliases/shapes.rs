//! Reshapes parameters that have the right names but another form: a condition without the list around
//! it, an order as a word, a JSON Schema. Where the meaning is clear they get the form that the type
//! takes.

use serde_json::{Map, Value, json};

use super::{
    forms::RawParameters,
    parameters::{self, CONDITION, FIGURE},
};
use crate::{kind::AnalysisType, operators::is_operator, spelling::snake_case};

/// Words for the direction of an order, beside what the order is by.
const DIRECTIONS: &[&str] =
    &["order", "direction", "dir", "sort_order", "sort_direction", "order_direction", "sort_dir"];

/// Reshapes the parameters of a type, which was asked for by `name`.
pub(super) fn shaped(name: &str, kind: AnalysisType, mut given: RawParameters) -> RawParameters {
    direction(kind, &mut given);
    unneeded(kind, &mut given);
    for name in ["conditions", "filter", "having"] {
        if let Some(key) = key_of(kind, &given, name)
            && let Some(value) = given.get_mut(&key)
        {
            *value = conditions_of(value.take());
        }
    }
    match kind {
        AnalysisType::Filter => condition(&mut given),
        AnalysisType::Aggregate => {
            named_figures(&mut given);
            if matches!(name, "group_by" | "groupby" | "group") {
                groups(&mut given);
            }
        }
        AnalysisType::Describe => given.retain(|key, value| key != "include" || !is_word(value)),
        AnalysisType::TimeSeries => functions_by_column(&mut given),
        AnalysisType::Percentiles => percentiles(&mut given),
        AnalysisType::Histogram => {
            let is_auto = |value: &Value| value == "auto";
            given.retain(|key, value| {
                parameters::of(kind).canonical(key) != Some("bins") || !is_auto(value)
            });
        }
        AnalysisType::Validate => json_schema(&mut given),
        _ => {}
    }
    given
}

/// Returns the key under which a parameter was given.
fn key_of(kind: AnalysisType, given: &RawParameters, name: &str) -> Option<String> {
    given.keys().find(|key| parameters::of(kind).canonical(key) == Some(name)).cloned()
}

/// Converts a direction beside a key: `"sort_by": "price", "order": "desc"`
fn direction(kind: AnalysisType, given: &mut RawParameters) {
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

/// Tells whether a value is one word and not a list, as pandas' `include` may be.
fn is_word(value: &Value) -> bool {
    value.is_string()
}

/// Parameters of pandas for what is always so here: there is no index, and nothing is changed in place.
const UNNEEDED: &[&str] = &[
    "as_index",
    "inplace",
    "copy",
    "ignore_index",
    "observed",
    "numeric_only",
    "group_keys",
    "engine",
    "axis",
];

fn unneeded(kind: AnalysisType, given: &mut RawParameters) {
    given.retain(|key, value| {
        let plain = snake_case(key);
        let is_so = match plain.as_str() {
            "axis" => {
                kind != AnalysisType::Filter && (value == 0 || value == "index" || value == "rows")
            }
            name => UNNEEDED.contains(&name),
        };
        // A sort that is only switched on or off is that of groups, which are sorted.
        let is_switch = plain == "sort" && value.is_boolean();
        !(is_switch || is_so && parameters::of(kind).canonical(key).is_none())
    });
}

/// Keys of an object of conditions whose values are conditions too.
const GROUPS: [&str; 6] = ["and", "or", "not", "all", "any", "conditions"];

/// Converts conditions into our form: pandas and MongoDB have `{"region": "n", "price": {"$gt": 3}}`,
/// others `["price", ">", 3]`. Other values stay unchanged.
pub(super) fn conditions_of(value: Value) -> Value {
    let fields = match value {
        Value::Array(parts) => {
            return match parts.as_slice() {
                [field @ Value::String(_), Value::String(operator), value]
                    if is_operator(operator) =>
                {
                    json!({"field": field, "operator": operator, "value": value})
                }
                _ => parts.into_iter().map(conditions_of).collect(),
            };
        }
        Value::Object(fields) => fields,
        other => return other,
    };
    let has = |name: &str| fields.keys().any(|key| CONDITION.canonical(key) == Some(name));
    let is_group = fields.keys().any(|key| GROUPS.contains(&key.to_lowercase().as_str()));
    if is_group {
        let inner = |(key, value): (String, Value)| {
            let is_group = GROUPS.contains(&key.to_lowercase().as_str());
            if is_group { (key, conditions_of(value)) } else { (key, value) }
        };
        return Value::Object(fields.into_iter().map(inner).collect());
    }
    if fields.is_empty() || fields.contains_key("field") || has("operator") {
        return Value::Object(fields);
    }
    if has("field") && has("value") {
        return Value::Object(fields);
    }
    let mut conditions: Vec<Value> =
        fields.into_iter().flat_map(|(field, value)| of_field(&field, value)).collect();
    match conditions.len() {
        1 => conditions.remove(0),
        _ => json!({ "and": conditions }),
    }
}

/// Converts what is given for a field: a value, a list of allowed values, or operators.
fn of_field(field: &str, value: Value) -> Vec<Value> {
    match value {
        Value::Object(operators) => operators
            .into_iter()
            .map(|(operator, value)| {
                let operator = operator.trim_start_matches('$');
                json!({"field": field, "operator": operator, "value": value})
            })
            .collect(),
        Value::Array(_) => vec![json!({"field": field, "operator": "in", "value": value})],
        Value::Null => vec![json!({"field": field, "operator": "is_null"})],
        value => vec![json!({"field": field, "operator": "==", "value": value})],
    }
}

/// Converts `"total": ["quantity", "sum"]` of a `groupby`, as pandas names figures.
fn named_figures(given: &mut RawParameters) {
    let is_named = |value: &Value| match value {
        Value::Array(parts) => matches!(parts.as_slice(), [Value::String(_), Value::String(_)]),
        Value::Object(parts) => {
            parts.keys().any(|key| FIGURE.canonical(key) == Some("field"))
                && parts.keys().any(|key| FIGURE.canonical(key) == Some("function"))
        }
        _ => false,
    };
    if key_of(AnalysisType::Aggregate, given, "aggregations").is_some() {
        return;
    }
    let is_unknown =
        |key: &String| parameters::of(AnalysisType::Aggregate).canonical(key).is_none();
    let keys: Vec<String> =
        given.keys().filter(|key| is_unknown(key) && is_named(&given[*key])).cloned().collect();
    let figures: RawParameters =
        keys.iter().filter_map(|key| given.shift_remove_entry(key)).collect();
    if !figures.is_empty() {
        given.insert("aggregations".to_owned(), Value::Object(figures));
    }
}

/// Converts a condition without a list: `{"column": "price", "op": ">", "value": 10}`.
fn condition(given: &mut RawParameters) {
    if key_of(AnalysisType::Filter, given, "conditions").is_some() {
        return;
    }
    let of = |name: &str, given: &RawParameters| {
        given.keys().find(|key| CONDITION.canonical(key) == Some(name)).cloned()
    };
    let Some(field) = of("field", given) else { return };
    let is_free = |key: &&String| {
        parameters::of(AnalysisType::Filter).canonical(key).is_none()
            && CONDITION.canonical(key).is_none()
    };
    if of("operator", given).is_none()
        && of("value", given).is_none()
        && let Some(operator) = given.keys().filter(is_free).find(|key| is_operator(key)).cloned()
        && let Some(value) = given.shift_remove(&operator)
    {
        given.insert("value".to_owned(), value);
        given.insert("operator".to_owned(), json!(operator));
    }
    if of("operator", given).is_none() && of("value", given).is_none() {
        return;
    }
    let names =
        [Some(field), of("operator", given), of("value", given), of("case_sensitive", given)];
    let mut condition: RawParameters = names
        .into_iter()
        .flatten()
        .filter_map(|key| Some((CONDITION.canonical(&key)?.to_owned(), given.shift_remove(&key)?)))
        .collect();
    let is_list = condition.get("value").is_some_and(Value::is_array);
    condition.entry("operator").or_insert(json!(if is_list { "in" } else { "==" }));
    given.insert("conditions".to_owned(), json!([condition]));
}

/// Converts `{"columns": ["region"], "aggregations": {"price": "sum"}}`: the columns are the groups,
/// because the figures name columns of their own.
fn groups(given: &mut RawParameters) {
    let figures = key_of(AnalysisType::Aggregate, given, "aggregations");
    let has_columns = figures.and_then(|key| given.get(&key)).is_some_and(Value::is_object);
    if has_columns
        && key_of(AnalysisType::Aggregate, given, "group_by").is_none()
        && let Some(key) = key_of(AnalysisType::Aggregate, given, "fields")
        && let Some(columns) = given.shift_remove(&key)
    {
        given.insert("group_by".to_owned(), columns);
    }
}

/// Converts `{"agg": {"price": "sum"}}`, if all columns have the same function, into the columns and
/// that function.
fn functions_by_column(given: &mut RawParameters) {
    let kind = AnalysisType::TimeSeries;
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

/// Converts percentiles such as `["p50", "95%"]` into numbers.
fn percentiles(given: &mut RawParameters) {
    let Some(key) = key_of(AnalysisType::Percentiles, given, "percentiles") else { return };
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

/// Converts a JSON Schema such as `{"type": "object", "properties": {…}, "required": […]}` into rules by
/// field.
fn json_schema(given: &mut RawParameters) {
    let Some(key) = key_of(AnalysisType::Validate, given, "schema") else { return };
    let Some(Value::Object(schema)) = given.get(&key) else { return };
    // Of a row, or of the list of them.
    let row = schema.get("items").and_then(Value::as_object).unwrap_or(schema);
    let Some(Value::Object(properties)) = row.get("properties") else { return };
    let rules: RawParameters =
        properties.iter().map(|(field, rule)| (field.clone(), rule_of(rule))).collect();
    let required = row.get("required").cloned().filter(Value::is_array);
    given.insert(key, Value::Object(rules));
    if let Some(required) = required
        && key_of(AnalysisType::Validate, given, "required").is_none()
    {
        given.insert("required".to_owned(), required);
    }
}

/// Returns the rules that correspond to a property's schema.
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
