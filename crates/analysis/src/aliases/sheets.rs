//! Functions of Excel and Google Sheets: figures with conditions, and lookups.

use serde_json::{Map, Value, json};

use super::{
    forms::{Formed, RawParameters, missing, one_or_more, put, take},
    shapes::conditions_of,
};
use crate::{error::AnalysisError, kind::AnalysisType, suggestion::Suggestion};

/// Converts `sumif`, `countifs` and the like: a figure of the rows for which conditions hold.
pub(super) fn figure_if(name: &str, mut given: RawParameters) -> Formed {
    let function = match name.trim_end_matches('s').trim_end_matches("if").trim_end_matches('_') {
        "average" | "avg" | "mean" => "mean",
        "count" => "count",
        "min" => "min",
        "max" => "max",
        _ => "sum",
    };
    let wanted = ["sum_range", "average_range", "min_range", "max_range", "sum", "values", "of"];
    let range = take(&mut given, &["range", "criteria_range", "where_column"]);
    let criteria = take(
        &mut given,
        &["criteria", "condition", "conditions", "criterion", "where", "filter", "equals"],
    );
    let mut field = take(&mut given, &wanted);
    let column = take(&mut given, &["field", "column", "value_column"]);
    let value = take(&mut given, &["value"]);
    let conditions = match (range, criteria, value) {
        (Some(range), Some(criteria), _) | (Some(range), None, Some(criteria)) => {
            Some(json!([criterion(&range, &criteria)]))
        }
        (None, Some(criteria @ (Value::Object(_) | Value::Array(_))), _) => {
            Some(conditions_of(criteria))
        }
        // ">5" is about the column; what names one itself is a condition of rows.
        (None, Some(Value::String(text)), None)
            if function == "count" && starts_as_comparison(&text) =>
        {
            column.as_ref().map(|column| json!([criterion(column, &json!(text))]))
        }
        (None, Some(text), _) => Some(text),
        (None, None, Some(value)) => {
            column.as_ref().map(|column| json!([criterion(column, &value)]))
        }
        (Some(_), None, None) | (None, None, None) => None,
    };
    let is_count = function == "count";
    if field.is_none() && !is_count {
        field = column;
    }
    let Some(conditions) = conditions.filter(|_| is_count || field.is_some()) else {
        let example = match is_count {
            true => json!({"range": "<number>", "criteria": ">0"}),
            false => json!({"range": "<number>", "criteria": ">0", "sum_range": "<number>"}),
        };
        return Err(missing(name, "criteria", &Map::new(), &[example]));
    };
    put(&mut given, "filter", Some(conditions));
    let figures = match field.filter(|_| !is_count) {
        Some(field) => json!([{"field": field, "function": function}]),
        None => json!([{"function": "count", "as": "count"}]),
    };
    put(&mut given, "aggregations", Some(figures));
    Ok((AnalysisType::Aggregate, given))
}

const COMPARISONS: [&str; 6] = [">=", "<=", "<>", ">", "<", "="];

fn starts_as_comparison(text: &str) -> bool {
    COMPARISONS.iter().any(|sign| text.trim_start().starts_with(sign))
}

/// Converts a criterion such as `">5"` or `"North"` into a condition on a column.
fn criterion(field: &Value, criterion: &Value) -> Value {
    let text = criterion.as_str().map(str::trim_start);
    let sign = text.and_then(|text| COMPARISONS.iter().find(|sign| text.starts_with(**sign)));
    let (Some(text), Some(sign)) = (text, sign) else {
        return json!({"field": field, "operator": "==", "value": criterion});
    };
    let rest = text[sign.len()..].trim();
    let value = serde_json::from_str::<Value>(rest).ok().filter(Value::is_number);
    json!({"field": field, "operator": sign, "value": value.unwrap_or_else(|| json!(rest))})
}

/// Converts `vlookup` and the like: columns of another table by a key, or a row of this one by a value.
pub(super) fn lookup(name: &str, mut given: RawParameters) -> Formed {
    let table = take(&mut given, &["table", "lookup_table", "table_array", "with", "right"]);
    let key = take(
        &mut given,
        &[
            "lookup_column",
            "key",
            "on",
            "lookup_key",
            "lookup_array",
            "lookup_range",
            "match_column",
        ],
    );
    let wanted = take(
        &mut given,
        &[
            "return_column",
            "return_array",
            "return",
            "result_column",
            "column",
            "columns",
            "return_range",
        ],
    );
    let value = take(&mut given, &["lookup_value", "value"]);
    match (table, key, value) {
        (Some(table), Some(key), None) => {
            put(&mut given, "join", Some(json!({"with": table, "on": key, "how": "left"})));
            // The columns of the other table that are not asked for stay: none is lost by it.
            Ok((AnalysisType::Transform, given))
        }
        (None, Some(key), Some(value)) => {
            let conditions = json!([{"field": key, "operator": "==", "value": value}]);
            put(&mut given, "conditions", Some(conditions));
            put(&mut given, "select", wanted.map(|wanted| one_or_more(&wanted).into()));
            put(&mut given, "limit", Some(json!(1)));
            Ok((AnalysisType::Filter, given))
        }
        (table, key, value) => {
            let reason = "name the other table and the column that both have, or the column of this \
                          one and the value";
            let mut suggestion = Suggestion::default();
            if let (Some(table), Some(key), Some(value)) = (&table, &key, &value) {
                let table = table.as_str().unwrap_or_default().replace('"', "\"\"");
                let key = super::queries::named(key);
                let value = value.as_str().unwrap_or_default().replace('\'', "''");
                let query = format!("select * from \"{table}\" where {key} = '{value}'");
                suggestion = suggestion.or_call("sql", json!({ "query": query }));
            }
            let table = table.unwrap_or_else(|| json!("<table 2>"));
            let suggestion = suggestion
                .or_call(name, json!({"table": table, "key": key.unwrap_or(json!("<text>"))}))
                .or_call(
                    "filter",
                    json!({"conditions": [
                    {"field": "<column>", "operator": "is_not_null"}], "limit": 1}),
                );
            Err(AnalysisError::suggesting("table", reason, suggestion))
        }
    }
}
