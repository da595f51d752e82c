//! From the parameters of a type that is a part of another one to those of the other.
//!
//! What a form does not take itself stays as it is: the type that it becomes knows its names.

use serde_json::{Map, Value, json};

use super::{
    parameters::{JOIN, PIVOT, UNPIVOT},
    queries::{crossed_shares, only_unique, shares},
    scope::Scope,
    shapes::shaped,
};
use crate::{
    error::{AnalysisError, Result},
    kind::AnalysisType,
    spelling::snake_case,
    suggestion::Suggestion,
};

pub(super) type RawParameters = Map<String, Value>;

/// A function that converts the parameters of a type, which is given its name.
pub(super) type FormReader = fn(&str, RawParameters) -> Result<(AnalysisType, RawParameters)>;

pub(super) type Formed = Result<(AnalysisType, RawParameters)>;

/// Names of parameters that name columns.
pub(super) const FIELDS: &[&str] =
    &["field", "fields", "column", "columns", "col", "cols", "subset", "values", "value", "x"];

/// Names of parameters for a number of rows.
pub(super) const COUNTS: &[&str] =
    &["n", "k", "limit", "count", "rows", "size", "top", "number", "top_n"];

/// Takes the value under one of these names, if it is not null.
pub(super) fn take(given: &mut RawParameters, names: &[&str]) -> Option<Value> {
    let is_named = |key: &&String| {
        let plain = snake_case(key);
        names.contains(&plain.as_str()) && !given[*key].is_null()
    };
    // In the order of `names`, of which the first is the most certain.
    let mut found: Vec<String> = given.keys().filter(is_named).cloned().collect();
    found.sort_by_key(|key| names.iter().position(|name| *name == snake_case(key)));
    given.shift_remove(found.first()?)
}

pub(super) fn put(given: &mut RawParameters, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        given.insert(name.to_owned(), value);
    }
}

/// Makes the error for a missing parameter, with calls that have it: first with what was given, then
/// without.
pub(super) fn missing(
    name: &str,
    parameter: &str,
    given: &RawParameters,
    examples: &[Value],
) -> AnalysisError {
    let mut suggestion = Suggestion::default();
    for given in [given, &Map::new()] {
        for example in examples {
            let mut call = given.clone();
            call.extend(example.as_object().cloned().unwrap_or_default());
            suggestion = suggestion.or_call(name, call.into());
        }
    }
    AnalysisError::suggesting(parameter, "is missing", suggestion)
}

/// Converts a type that is one parameter of `transform`, given under one of these names.
fn part(mut given: RawParameters, name: &str, names: &[&str], or: Option<Value>) -> Formed {
    let value = take(&mut given, &[name]).or_else(|| take(&mut given, names)).or(or);
    let Some(value) = value else {
        let parameter = names.first().copied().unwrap_or(name);
        return Err(missing(name, parameter, &given, &examples(name)));
    };
    put(&mut given, name, Some(value));
    Ok((AnalysisType::Transform, given))
}

/// Returns examples of a type that is one parameter of `transform`.
fn examples(name: &str) -> Vec<Value> {
    match name {
        "sort" => vec![json!({"by": "<number>", "ascending": false}), json!({"by": "<column>"})],
        "rename" => vec![json!({"columns": {"<column>": "new_name"}})],
        "fill_null" => vec![json!({"value": 0})],
        "cast" => {
            vec![json!({"types": {"<number>": "float"}}), json!({"types": {"<column>": "text"}})]
        }
        "computed" => vec![
            json!({"computed": {"double": "2 * <number>"}}),
            json!({"computed": {"is_there": "<column> is not null"}}),
        ],
        _ => vec![json!({"columns": ["<text>"]}), json!({"columns": ["<column>"]})],
    }
}

/// Converts a type that is one object in the parameters of another type, and moves its parameters into
/// that object.
pub(super) fn object(
    mut given: RawParameters,
    kind: AnalysisType,
    name: &str,
    scope: &Scope,
) -> (AnalysisType, RawParameters) {
    if given.get(name).is_some_and(Value::is_object) {
        return (kind, given);
    }
    let keys: Vec<String> =
        given.keys().filter(|key| scope.canonical(key).is_some()).cloned().collect();
    let within: RawParameters =
        keys.into_iter().filter_map(|key| given.shift_remove_entry(&key)).collect();
    given.insert(name.to_owned(), Value::Object(within));
    (kind, given)
}

pub(super) fn pivot(_: &str, given: RawParameters) -> Formed {
    let (kind, mut given) = object(given, AnalysisType::Transform, "pivot", &PIVOT);
    let Some(Value::Object(pivot)) = given.get_mut("pivot") else { return Ok((kind, given)) };
    if let Some(Value::Object(by_column)) = take(&mut pivot.clone(), AGGREGATES)
        && take(&mut pivot.clone(), &["columns", "column", "pivot_column"]).is_some()
        && let [(column, function)] = by_column.iter().collect::<Vec<_>>().as_slice()
    {
        for names in [AGGREGATES, &["values", "value", "value_column"]] {
            take(pivot, names);
        }
        pivot.insert("values".to_owned(), json!(column));
        pivot.insert("function".to_owned(), json!(function));
    }
    if take(&mut pivot.clone(), &["columns", "column", "pivot_column"]).is_some() {
        return Ok((kind, given));
    }
    // Without columns it is a table of groups.
    let Some(Value::Object(mut pivot)) = given.shift_remove("pivot") else {
        return Ok((kind, given));
    };
    take(&mut given, &["margins", "dropna"]);
    put(&mut given, "group_by", take(&mut pivot, &["index", "rows", "row", "group_by", "id"]));
    let function = take(&mut pivot, AGGREGATES).unwrap_or(json!("mean"));
    let values = take(&mut pivot, &["values", "value", "value_column"]);
    if !function.is_object() {
        put(&mut given, "fields", values);
    }
    let function = if function.is_string() { json!([function]) } else { function };
    put(&mut given, "aggregations", Some(function));
    Ok((AnalysisType::Aggregate, given))
}

/// Names of the parameter for the function of a pivot table.
const AGGREGATES: &[&str] = &["function", "aggfunc", "agg", "func", "aggregation", "aggregate"];

pub(super) fn crosstab(_: &str, mut given: RawParameters) -> Formed {
    if let Some(normalize) = take(&mut given, &["normalize"]).filter(|it| *it != json!(false)) {
        return crossed_shares(given, &normalize);
    }
    let (kind, mut given) = object(given, AnalysisType::Transform, "pivot", &PIVOT);
    if let Some(Value::Object(pivot)) = given.get_mut("pivot")
        && !pivot.keys().any(|key| matches!(PIVOT.canonical(key), Some("function" | "values")))
    {
        pivot.insert("function".to_owned(), json!("count"));
    }
    Ok((kind, given))
}

pub(super) fn unpivot(_: &str, given: RawParameters) -> Formed {
    Ok(object(given, AnalysisType::Transform, "unpivot", &UNPIVOT))
}

pub(super) fn join(_: &str, given: RawParameters) -> Formed {
    Ok(object(given, AnalysisType::Transform, "join", &JOIN))
}

pub(super) fn sort(name: &str, mut given: RawParameters) -> Formed {
    let nulls = take(&mut given, &["na_position"]);
    let names =
        [&["by", "sort_by", "order_by", "orderby", "keys", "key", "order"], FIELDS].concat();
    let (kind, mut given) =
        part(shaped(name, AnalysisType::Transform, given), "sort", &names, None)?;
    if let (Some(nulls), Some(keys)) = (nulls, given.get_mut("sort")) {
        let key = |key: Value| match key {
            Value::String(name) => json!({"field": name, "nulls": nulls}),
            key => key,
        };
        *keys = one_or_more(keys).into_iter().map(key).collect();
    }
    Ok((kind, given))
}

pub(super) fn head(_: &str, given: RawParameters) -> Formed {
    part(given, "limit", COUNTS, Some(json!(5)))
}

pub(super) fn tail(_: &str, given: RawParameters) -> Formed {
    part(given, "tail", COUNTS, Some(json!(5)))
}

pub(super) fn sample(_: &str, given: RawParameters) -> Formed {
    part(given, "sample", COUNTS, Some(json!(5)))
}

pub(super) fn select(_: &str, given: RawParameters) -> Formed {
    part(given, "select", FIELDS, None)
}

pub(super) fn drop_columns(_: &str, given: RawParameters) -> Formed {
    part(given, "drop", &[&["labels"], FIELDS].concat(), None)
}

pub(super) fn flatten(_: &str, given: RawParameters) -> Formed {
    part(given, "flatten", FIELDS, None)
}

/// Converts a mapping of columns, which may be all that is given: `{"old": "new"}`.
fn mapping(mut given: RawParameters, name: &str, names: &[&str]) -> Formed {
    let of_columns = take(&mut given, &[name]).or_else(|| take(&mut given, names));
    if of_columns.is_none() && !given.is_empty() && !given.values().any(Value::is_object) {
        let all = Value::Object(std::mem::take(&mut given));
        return part(given, name, names, Some(all));
    }
    part(given, name, names, of_columns)
}

pub(super) fn rename(_: &str, given: RawParameters) -> Formed {
    mapping(given, "rename", &["columns", "mapping", "names", "mapper", "map"])
}

pub(super) fn cast(name: &str, mut given: RawParameters) -> Formed {
    let of_name = match name {
        "to_datetime" | "to_date" => Some("datetime"),
        "to_numeric" | "to_number" => Some("float"),
        "to_string" => Some("text"),
        _ => None,
    };
    let one = take(&mut given.clone(), &["dtype", "type", "to"]).filter(Value::is_string);
    if let Some(target) = one.or(of_name.map(|name| json!(name)))
        && let Some(fields) = take(&mut given, FIELDS)
    {
        take(&mut given, &["dtype", "type", "to"]);
        let types = one_or_more(&fields)
            .into_iter()
            .filter_map(|field| Some((field.as_str()?.to_owned(), target.clone())));
        let types: RawParameters = types.collect();
        put(&mut given, "cast", Some(types.into()));
        return Ok((AnalysisType::Transform, given));
    }
    mapping(given, "cast", &["types", "dtype", "dtypes", "columns", "type", "mapping"])
}

pub(super) fn fill(name: &str, mut given: RawParameters) -> Formed {
    let fields = take(&mut given, &["field", "fields", "column", "columns", "subset"]);
    let value = take(&mut given, &["fill_null", "value", "fill_value", "values", "with"]);
    let method = match name {
        "ffill" | "pad" => Some(json!("previous")),
        "bfill" | "backfill" => Some(json!("next")),
        "interpolate" => Some(json!("linear")),
        _ => take(&mut given, &["method", "strategy"]),
    };
    if name == "interpolate" {
        take(&mut given, &["method"]);
    }
    if let Some(method) = method.filter(|_| value.is_none()) {
        let mut filled = Map::from_iter([("method".to_owned(), method)]);
        put(&mut filled, "fields", fields);
        put(&mut given, "fill_null", Some(filled.into()));
        return Ok((AnalysisType::Transform, given));
    }
    let value = match (fields, value) {
        (Some(Value::Array(names)), Some(value)) => {
            let names = names.iter().filter_map(Value::as_str);
            Some(
                names
                    .map(|name| (name.to_owned(), value.clone()))
                    .collect::<RawParameters>()
                    .into(),
            )
        }
        (Some(Value::String(name)), Some(value)) => Some(json!({name: value})),
        (fields, value) => value.or(fields),
    };
    put(&mut given, "fill_null", value);
    mapping(given, "fill_null", &[])
}

pub(super) fn compute(_: &str, mut given: RawParameters) -> Formed {
    let expression = take(&mut given, &["expression", "formula", "expr"]);
    if let Some(expression) = expression {
        let names = &["name", "as", "alias", "column", "new_column", "field", "output"];
        let name = match take(&mut given, names) {
            Some(Value::String(name)) => name,
            _ => "result".to_owned(),
        };
        put(&mut given, "computed", Some(json!({name: expression})));
        return Ok((AnalysisType::Transform, given));
    }
    mapping(given, "computed", &["expressions", "columns", "assign", "compute", "add", "fields"])
}

pub(super) fn drop_missing(_: &str, mut given: RawParameters) -> Formed {
    let fields = take(&mut given, &[FIELDS, &["on", "by"]].concat());
    let value = match (take(&mut given, &["drop_null"]), fields, take(&mut given, &["how"])) {
        (Some(value), ..) => value,
        (None, fields, Some(how)) => {
            let mut missing = Map::from_iter([("how".to_owned(), how)]);
            put(&mut missing, "fields", fields);
            missing.into()
        }
        (None, fields, None) => fields.unwrap_or(json!(true)),
    };
    put(&mut given, "drop_null", Some(value));
    Ok((AnalysisType::Transform, given))
}

pub(super) fn unique(_: &str, mut given: RawParameters) -> Formed {
    let names = [&["select"], FIELDS, &["by", "on"]].concat();
    let fields = take(&mut given, &names);
    put(&mut given, "select", fields);
    put(&mut given, "deduplicate", Some(json!(true)));
    Ok((AnalysisType::Transform, given))
}

pub(super) fn deduplicate(_: &str, given: RawParameters) -> Formed {
    let names = [&["subset", "by", "on", "keys"], FIELDS].concat();
    if take(&mut given.clone(), &["keep"]) == Some(json!(false)) {
        return only_unique(given, &names);
    }
    part(given, "deduplicate", &names, Some(json!(true)))
}

/// Returns the name of a count beside these keys: `row_count` if one of them is called `count`.
pub(super) fn count_name(keys: &Value) -> &'static str {
    let is_count = |key: &Value| key == "count";
    match keys {
        Value::Array(keys) if keys.iter().any(is_count) => "row_count",
        key if is_count(key) => "row_count",
        _ => "count",
    }
}

pub(super) fn count(_: &str, mut given: RawParameters) -> Formed {
    let fields = take(&mut given, FIELDS);
    let aggregations = match fields {
        Some(Value::Array(fields)) => {
            let count = |field| json!({"field": field, "function": "count"});
            fields.into_iter().map(count).collect::<Vec<_>>().into()
        }
        Some(field) => json!([{"field": field, "function": "count"}]),
        None => json!([{"function": "count", "as": "count"}]),
    };
    put(&mut given, "aggregations", Some(aggregations));
    Ok((AnalysisType::Aggregate, given))
}

pub(super) fn value_counts(name: &str, mut given: RawParameters) -> Formed {
    let names = [FIELDS, &["by", "group_by", "groupby", "on"]].concat();
    let Some(fields) = take(&mut given, &names) else {
        let examples = [json!({"field": "<text>"}), json!({"field": "<column>"})];
        return Err(missing(name, "field", &given, &examples));
    };
    if let Some(bins) = take(&mut given, &["bins"]) {
        given.extend([("field".to_owned(), fields), ("bins".to_owned(), bins)]);
        return Ok((AnalysisType::Histogram, given));
    }
    let has_shares = take(&mut given, &["normalize", "percent", "percentage"]) == Some(json!(true));
    let count = count_name(&fields);
    let is_ascending = take(&mut given, &["ascending", "asc"]) == Some(json!(true));
    let sort = match take(&mut given, &["sort"]) {
        Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) | None if is_ascending => Some(json!(count)),
        Some(Value::Bool(true)) | None => Some(json!(format!("-{count}"))),
        other => other,
    };
    let drops = take(&mut given, &["dropna"]) == Some(json!(true));
    if has_shares {
        return shares(&fields, sort.as_ref(), drops, given);
    }
    if drops {
        let is_there = |field: &Value| json!({"field": field, "operator": "is_not_null"});
        let conditions: Vec<Value> = one_or_more(&fields).iter().map(is_there).collect();
        put(&mut given, "filter", Some(conditions.into()));
    }
    put(&mut given, "group_by", Some(fields));
    put(&mut given, "aggregations", Some(json!([{"function": "count", "as": count}])));
    put(&mut given, "sort", sort);
    Ok((AnalysisType::Aggregate, given))
}

/// Returns the values of a list; any other value counts as a list of one.
pub(super) fn one_or_more(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values.clone(),
        one => vec![one.clone()],
    }
}

/// Converts one function of some columns, or of all columns with numbers.
pub(super) fn figure(name: &str, mut given: RawParameters) -> Formed {
    let function = match name {
        "total" => "sum",
        "nunique" => "count_distinct",
        "stdev" | "stdev.s" | "stdev_s" => "std",
        "var.s" => "var",
        "counta" => "count",
        other => other,
    };
    put(&mut given, "aggregations", Some(json!([function])));
    Ok((AnalysisType::Aggregate, given))
}

pub(super) fn test(name: &str, mut given: RawParameters) -> Formed {
    let ends = (
        take(&mut given, &["a", "x", "sample1", "group1"]),
        take(&mut given, &["b", "y", "sample2", "group2"]),
    );
    if let (Some(first), Some(second)) = ends {
        put(&mut given, "fields", Some(json!([first, second])));
    }
    let test = take(&mut given, &["test"]).unwrap_or(json!(name));
    put(&mut given, "test", Some(test));
    Ok((AnalysisType::Test, given))
}

/// Converts a query of SQL, or a condition as in pandas' `query`.
pub(super) fn query(_: &str, mut given: RawParameters) -> Formed {
    let names = &["query", "sql", "statement", "expr", "expression", "q"];
    let text = take(&mut given, names).unwrap_or_default();
    let begins = |word: &str| {
        let first = text.as_str().unwrap_or_default().trim_start().get(..word.len());
        first.is_some_and(|first| first.eq_ignore_ascii_case(word))
    };
    let (kind, name) = match ["select", "with", "from", "values"].into_iter().any(begins) {
        true => (AnalysisType::Sql, "query"),
        false => (AnalysisType::Filter, "conditions"),
    };
    put(&mut given, name, Some(text).filter(|text| !text.is_null()));
    Ok((kind, given))
}
