//! From the parameters of a type that is a part of another one to those of the other.
//!
//! What a form does not take itself stays as it is: the type that it becomes knows its names.

use serde_json::{Map, Value, json};

use super::{
    parameters::{JOIN, PIVOT, ROLLING, UNPIVOT},
    scope::{Scope, call, snake_case},
    shapes::shaped,
};
use crate::{
    error::{AnalysisError, Result},
    request::Kind,
};

type Parameters = Map<String, Value>;

/// Reads the parameters of a type by this name.
pub(super) type Form = fn(&str, Parameters) -> Result<(Kind, Parameters)>;

type Formed = Result<(Kind, Parameters)>;

/// What columns are called under.
const FIELDS: &[&str] =
    &["field", "fields", "column", "columns", "col", "cols", "subset", "values", "value", "x"];

/// What a number of rows is called.
const COUNTS: &[&str] = &["n", "k", "limit", "count", "rows", "size", "top", "number", "top_n"];

/// Takes what is there under one of these names; null is nothing.
fn take(given: &mut Parameters, names: &[&str]) -> Option<Value> {
    let is_named = |key: &&String| {
        let plain = snake_case(key);
        names.contains(&plain.as_str()) && !given[*key].is_null()
    };
    // In the order of the names: the first is the one that is meant most surely.
    let mut found: Vec<String> = given.keys().filter(is_named).cloned().collect();
    found.sort_by_key(|key| names.iter().position(|name| *name == snake_case(key)));
    given.shift_remove(found.first()?)
}

fn put(given: &mut Parameters, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        given.insert(name.to_owned(), value);
    }
}

/// A type that is one parameter of transform, under one of these names.
fn part(mut given: Parameters, name: &str, names: &[&str], or: Option<Value>) -> Formed {
    let value = take(&mut given, &[name]).or_else(|| take(&mut given, names)).or(or);
    let Some(value) = value else {
        let reason = format!("is missing; as in {}", call(name, &example(name)));
        return Err(AnalysisError::parameter(names.first().copied().unwrap_or(name), reason));
    };
    put(&mut given, name, Some(value));
    Ok((Kind::Transform, given))
}

/// How a type that is a part is written.
fn example(name: &str) -> Parameters {
    let example = match name {
        "sort" => json!({"by": "amount", "ascending": false}),
        "rename" => json!({"columns": {"old": "new"}}),
        "fill_null" => json!({"value": 0}),
        "cast" => json!({"types": {"price": "float"}}),
        "computed" => json!({"computed": {"total": "price * quantity"}}),
        _ => json!({"columns": ["name"]}),
    };
    example.as_object().cloned().unwrap_or_default()
}

/// A type that is one object in the parameters of another: what the object has goes into it.
fn object(mut given: Parameters, kind: Kind, name: &str, scope: &Scope) -> (Kind, Parameters) {
    if given.get(name).is_some_and(Value::is_object) {
        return (kind, given);
    }
    let keys: Vec<String> =
        given.keys().filter(|key| scope.canonical(key).is_some()).cloned().collect();
    let within: Parameters =
        keys.into_iter().filter_map(|key| given.shift_remove_entry(&key)).collect();
    given.insert(name.to_owned(), Value::Object(within));
    (kind, given)
}

pub(super) fn pivot(_: &str, given: Parameters) -> Formed {
    Ok(object(given, Kind::Transform, "pivot", &PIVOT))
}

pub(super) fn crosstab(_: &str, given: Parameters) -> Formed {
    let (kind, mut given) = object(given, Kind::Transform, "pivot", &PIVOT);
    if let Some(Value::Object(pivot)) = given.get_mut("pivot")
        && !pivot.keys().any(|key| matches!(PIVOT.canonical(key), Some("function" | "values")))
    {
        pivot.insert("function".to_owned(), json!("count"));
    }
    Ok((kind, given))
}

pub(super) fn unpivot(_: &str, given: Parameters) -> Formed {
    Ok(object(given, Kind::Transform, "unpivot", &UNPIVOT))
}

pub(super) fn join(_: &str, given: Parameters) -> Formed {
    Ok(object(given, Kind::Transform, "join", &JOIN))
}

pub(super) fn sort(name: &str, given: Parameters) -> Formed {
    let names =
        [&["by", "sort_by", "order_by", "orderby", "keys", "key", "order"], FIELDS].concat();
    part(shaped(name, Kind::Transform, given), "sort", &names, None)
}

pub(super) fn head(_: &str, given: Parameters) -> Formed {
    part(given, "limit", COUNTS, Some(json!(5)))
}

pub(super) fn tail(_: &str, given: Parameters) -> Formed {
    part(given, "tail", COUNTS, Some(json!(5)))
}

pub(super) fn sample(_: &str, given: Parameters) -> Formed {
    part(given, "sample", COUNTS, Some(json!(5)))
}

pub(super) fn select(_: &str, given: Parameters) -> Formed {
    part(given, "select", FIELDS, None)
}

pub(super) fn drop_columns(_: &str, given: Parameters) -> Formed {
    part(given, "drop", &[&["labels"], FIELDS].concat(), None)
}

pub(super) fn flatten(_: &str, given: Parameters) -> Formed {
    part(given, "flatten", FIELDS, None)
}

/// An object of columns may be all that is given: `{"old": "new"}`.
fn mapping(mut given: Parameters, name: &str, names: &[&str]) -> Formed {
    let of_columns = take(&mut given, &[name]).or_else(|| take(&mut given, names));
    if of_columns.is_none() && !given.is_empty() && !given.values().any(Value::is_object) {
        let all = Value::Object(std::mem::take(&mut given));
        return part(given, name, names, Some(all));
    }
    part(given, name, names, of_columns)
}

pub(super) fn rename(_: &str, given: Parameters) -> Formed {
    mapping(given, "rename", &["columns", "mapping", "names", "mapper", "map"])
}

pub(super) fn cast(_: &str, given: Parameters) -> Formed {
    mapping(given, "cast", &["types", "dtype", "dtypes", "columns", "type", "mapping"])
}

pub(super) fn fill(_: &str, mut given: Parameters) -> Formed {
    let fields = take(&mut given, &["field", "fields", "column", "columns", "subset"]);
    let value = take(&mut given, &["fill_null", "value", "fill_value", "values", "with"]);
    let value = match (fields, value) {
        (Some(Value::Array(names)), Some(value)) => {
            let names = names.iter().filter_map(Value::as_str);
            Some(names.map(|name| (name.to_owned(), value.clone())).collect::<Parameters>().into())
        }
        (Some(Value::String(name)), Some(value)) => Some(json!({name: value})),
        (fields, value) => value.or(fields),
    };
    put(&mut given, "fill_null", value);
    mapping(given, "fill_null", &[])
}

pub(super) fn compute(_: &str, mut given: Parameters) -> Formed {
    let expression = take(&mut given, &["expression", "formula", "expr"]);
    if let Some(expression) = expression {
        let names = &["name", "as", "alias", "column", "new_column", "field", "output"];
        let name = match take(&mut given, names) {
            Some(Value::String(name)) => name,
            _ => "result".to_owned(),
        };
        put(&mut given, "computed", Some(json!({name: expression})));
        return Ok((Kind::Transform, given));
    }
    mapping(given, "computed", &["expressions", "columns", "assign", "compute", "add", "fields"])
}

pub(super) fn drop_missing(name: &str, mut given: Parameters) -> Formed {
    let Some(fields) = take(&mut given, &[FIELDS, &["on", "by"]].concat()) else {
        let form = call(name, &Map::from_iter([("fields".to_owned(), json!(["amount"]))]));
        let reason = format!("is missing: which fields have to be there; as in {form}");
        return Err(AnalysisError::parameter("fields", reason));
    };
    let fields = if let Value::Array(fields) = fields { fields } else { vec![fields] };
    let is_there = |field| json!({"field": field, "operator": "is_not_null"});
    let logic = match take(&mut given, &["how"]).as_ref().and_then(Value::as_str) {
        Some("all") => "OR",
        _ => "AND",
    };
    let conditions: Vec<Value> = fields.into_iter().map(is_there).collect();
    put(&mut given, "conditions", Some(conditions.into()));
    put(&mut given, "logic", Some(json!(logic)));
    Ok((Kind::Filter, given))
}

pub(super) fn unique(_: &str, mut given: Parameters) -> Formed {
    let names = [&["select"], FIELDS, &["by", "on"]].concat();
    let fields = take(&mut given, &names);
    put(&mut given, "select", fields);
    put(&mut given, "deduplicate", Some(json!(true)));
    Ok((Kind::Transform, given))
}

pub(super) fn deduplicate(_: &str, given: Parameters) -> Formed {
    let names = [&["subset", "by", "on", "keys"], FIELDS].concat();
    part(given, "deduplicate", &names, Some(json!(true)))
}

/// The name of a count that is beside these keys.
fn count_name(keys: &Value) -> &'static str {
    let is_count = |key: &Value| key == "count";
    match keys {
        Value::Array(keys) if keys.iter().any(is_count) => "row_count",
        key if is_count(key) => "row_count",
        _ => "count",
    }
}

pub(super) fn count(_: &str, mut given: Parameters) -> Formed {
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
    Ok((Kind::Aggregate, given))
}

pub(super) fn value_counts(name: &str, mut given: Parameters) -> Formed {
    let names = [FIELDS, &["by", "group_by", "groupby", "on"]].concat();
    let Some(fields) = take(&mut given, &names) else {
        let form = call(name, &Map::from_iter([("field".to_owned(), json!("region"))]));
        return Err(AnalysisError::parameter("field", format!("is missing; as in {form}")));
    };
    if let Some(Value::Bool(true)) = take(&mut given, &["normalize", "percent", "percentage"]) {
        let form = sql_call(&shares(&fields));
        let reason = format!("shares are a query; write {form}");
        return Err(AnalysisError::parameter("normalize", reason));
    }
    let count = count_name(&fields);
    let is_ascending = take(&mut given, &["ascending", "asc"]) == Some(json!(true));
    let sort = match take(&mut given, &["sort"]) {
        Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) | None if is_ascending => Some(json!(count)),
        Some(Value::Bool(true)) | None => Some(json!(format!("-{count}"))),
        other => other,
    };
    if take(&mut given, &["dropna"]) == Some(json!(true)) {
        let (_, kept) =
            drop_missing(name, Map::from_iter([("fields".to_owned(), fields.clone())]))?;
        put(&mut given, "filter", kept.get("conditions").cloned());
    }
    put(&mut given, "group_by", Some(fields));
    put(&mut given, "aggregations", Some(json!([{"function": "count", "as": count}])));
    put(&mut given, "sort", sort);
    Ok((Kind::Aggregate, given))
}

/// How often each value is there, in per cent.
fn shares(fields: &Value) -> String {
    let names = match fields {
        Value::Array(fields) => fields.iter().map(quoted).collect::<Vec<_>>().join(", "),
        field => quoted(field),
    };
    format!(
        "select {names}, count(*) as count, count(*) * 100.0 / sum(count(*)) over () as percent \
         from data group by {names} order by count desc"
    )
}

pub(super) fn top(name: &str, given: Parameters) -> Formed {
    first_rows(name, given, true)
}

pub(super) fn bottom(name: &str, given: Parameters) -> Formed {
    first_rows(name, given, false)
}

/// The rows with the largest or smallest values, of all or of each group.
fn first_rows(name: &str, mut given: Parameters, largest: bool) -> Formed {
    let count = take(&mut given, COUNTS).unwrap_or(json!(10));
    let groups = take(&mut given, &["group_by", "groupby", "group", "per", "within"]);
    let by = take(&mut given, &["by", "sort_by", "order_by", "sort", "metric", "on"]);
    let fields = take(&mut given, FIELDS);
    let by = match (by, fields) {
        (Some(by), Some(fields)) => {
            let meant = Map::from_iter([
                ("by".to_owned(), fields),
                ("group_by".to_owned(), by),
                ("n".to_owned(), count),
            ]);
            let reason = format!(
                "say what the order is by and what the groups are; as in {}",
                call(name, &meant)
            );
            return Err(AnalysisError::parameter("by", reason));
        }
        (Some(by), None) | (None, Some(by)) => by,
        (None, None) => {
            let form =
                Map::from_iter([("by".to_owned(), json!("amount")), ("n".to_owned(), count)]);
            let reason = format!("is missing; as in {}", call(name, &form));
            return Err(AnalysisError::parameter("by", reason));
        }
    };
    let Some(groups) = groups else {
        put(&mut given, "sort", Some(by));
        put(&mut given, "descending", Some(json!(largest)));
        put(&mut given, "limit", Some(count));
        return Ok((Kind::Transform, given));
    };
    let by = match by {
        Value::Array(mut by) if by.len() == 1 => by.remove(0),
        by => by,
    };
    let function = if largest { "top" } else { "bottom" };
    put(&mut given, "group_by", Some(groups));
    let figure = json!([{"function": function, "n": count, "by": by}]);
    put(&mut given, "aggregations", Some(figure));
    Ok((Kind::Aggregate, given))
}

/// One function of some columns, or of all numbers.
pub(super) fn figure(name: &str, mut given: Parameters) -> Formed {
    let function = match name {
        "total" => "sum",
        "nunique" => "count_distinct",
        other => other,
    };
    put(&mut given, "aggregations", Some(json!([function])));
    Ok((Kind::Aggregate, given))
}

pub(super) fn rolling(_: &str, given: Parameters) -> Formed {
    Ok(object(given, Kind::TimeSeries, "rolling", &ROLLING))
}

pub(super) fn change(name: &str, mut given: Parameters) -> Formed {
    let kind = match name {
        "diff" | "change" => "absolute",
        "percent_change" | "growth" => "percent",
        _ => "fraction",
    };
    let kind = take(&mut given, &["kind", "method"]).unwrap_or(json!(kind));
    let periods = take(&mut given, &["periods", "lag"]).unwrap_or(json!(1));
    put(&mut given, "change", Some(json!({"kind": kind, "periods": periods})));
    Ok((Kind::TimeSeries, given))
}

pub(super) fn cumulative(name: &str, mut given: Parameters) -> Formed {
    let kind = match name {
        "cummax" => "max",
        "cummin" => "min",
        _ => "sum",
    };
    let kind = take(&mut given, &["cumulative", "function", "agg"]).unwrap_or(json!(kind));
    put(&mut given, "cumulative", Some(kind));
    Ok((Kind::TimeSeries, given))
}

pub(super) fn test(name: &str, mut given: Parameters) -> Formed {
    let test = take(&mut given, &["test"]).unwrap_or(json!(name));
    put(&mut given, "test", Some(test));
    Ok((Kind::Test, given))
}

/// A query of SQL, or a condition as pandas' `query` has it.
pub(super) fn query(_: &str, mut given: Parameters) -> Formed {
    let names = &["query", "sql", "statement", "expr", "expression", "q"];
    let text = take(&mut given, names).unwrap_or_default();
    let begins = |word: &str| {
        let first = text.as_str().unwrap_or_default().trim_start().get(..word.len());
        first.is_some_and(|first| first.eq_ignore_ascii_case(word))
    };
    let (kind, name) = match ["select", "with", "from", "values"].into_iter().any(begins) {
        true => (Kind::Sql, "query"),
        false => (Kind::Filter, "conditions"),
    };
    put(&mut given, name, Some(text).filter(|text| !text.is_null()));
    Ok((kind, given))
}

/// A name as SQL has it.
fn quoted(name: &Value) -> String {
    let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A column that the caller named, or the one of the example.
fn named(given: &Parameters, names: &[&str], at: usize, example: &str) -> String {
    let value = take(&mut given.clone(), names);
    let name = match &value {
        Some(Value::Array(names)) => names.get(at),
        Some(name) if at == 0 => Some(name),
        _ => None,
    };
    quoted(name.unwrap_or(&json!(example)))
}

fn sql_call(query: &str) -> String {
    call("sql", &Map::from_iter([("query".to_owned(), json!(query))]))
}

pub(super) fn regression(given: &Parameters) -> String {
    let y = named(given, &["y", "target", "dependent", "fields", "columns"], 0, "y");
    let x = match take(&mut given.clone(), &["x", "independent", "features"]) {
        Some(_) => named(given, &["x", "independent", "features"], 0, "x"),
        None => named(given, &["fields", "columns"], 1, "x"),
    };
    sql_call(&format!(
        "select regr_slope({y}, {x}) as slope, regr_intercept({y}, {x}) as intercept, \
         regr_r2({y}, {x}) as r2 from data"
    ))
}

pub(super) fn ranking(given: &Parameters) -> String {
    let names = [FIELDS, &["by", "order_by", "sort_by"]].concat();
    let by = named(given, &names, 0, "amount");
    let group = take(&mut given.clone(), &["group_by", "groupby", "partition_by"]);
    let groups = group.map_or(String::new(), |group| match group {
        Value::Array(names) => {
            let names: Vec<String> = names.iter().map(quoted).collect();
            format!("partition by {} ", names.join(", "))
        }
        name => format!("partition by {} ", quoted(&name)),
    });
    sql_call(&format!("select *, rank() over ({groups}order by {by} desc) as rank from data"))
}

pub(super) fn outliers(given: &Parameters) -> String {
    let field = named(given, FIELDS, 0, "amount");
    sql_call(&format!(
        "select data.* from data, (select percentile_cont(0.25) within group (order by {field}) as \
         lower_quartile, percentile_cont(0.75) within group (order by {field}) as upper_quartile \
         from data) q where data.{field} < lower_quartile - 1.5 * (upper_quartile - lower_quartile) \
         or data.{field} > upper_quartile + 1.5 * (upper_quartile - lower_quartile)"
    ))
}

pub(super) fn union(given: &Parameters) -> String {
    let other = named(given, &["with", "table", "tables", "other", "right"], 0, "other");
    sql_call(&format!("select * from data union all by name select * from {other}"))
}
