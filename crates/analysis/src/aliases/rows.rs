//! Types that choose rows: the first by a value, those between two values, duplicates.

use serde_json::{Value, json};

use super::forms::{
    COUNTS, FIELDS, Formed, RawParameters, count_name, missing, one_or_more, put, take,
};
use crate::{error::AnalysisError, kind::AnalysisType, suggestion::Suggestion};

pub(super) fn top(name: &str, given: RawParameters) -> Formed {
    first_rows(name, given, true)
}

pub(super) fn bottom(name: &str, given: RawParameters) -> Formed {
    first_rows(name, given, false)
}

/// Converts `nlargest` and the like: the rows with the largest or smallest values, of all or of each
/// group.
fn first_rows(name: &str, mut given: RawParameters, largest: bool) -> Formed {
    let is_one = name.starts_with("idx") || name.starts_with("arg");
    let count = take(&mut given, COUNTS).unwrap_or(if is_one { json!(1) } else { json!(10) });
    take(&mut given, &["keep"]);
    let groups = take(&mut given, &["group_by", "groupby", "group", "per", "within"]);
    let by = take(&mut given, &["by", "sort_by", "order_by", "sort", "metric", "on"]);
    let fields = take(&mut given, FIELDS);
    let by = match (by, fields) {
        // What it is by may be among the columns that are wanted.
        (Some(by), Some(fields)) if one_or_more(&fields).contains(&by) => {
            put(&mut given, "select", Some(fields).filter(Value::is_array));
            by
        }
        (Some(by), Some(fields)) => {
            let reason = "say what the order is by and what the groups are";
            let meant = json!({"by": fields, "group_by": by, "n": count});
            let suggestion = Suggestion::call(name, meant)
                .or_call(name, json!({"by": by, "n": count}))
                .or_call(name, json!({"by": "<number>", "n": count}));
            return Err(AnalysisError::suggesting("by", reason, suggestion));
        }
        (Some(by), None) | (None, Some(by)) => by,
        (None, None) => {
            put(&mut given, "group_by", groups);
            let examples =
                [json!({"by": "<number>", "n": count}), json!({"by": "<column>", "n": count})];
            return Err(missing(name, "by", &given, &examples));
        }
    };
    let Some(groups) = groups else {
        put(&mut given, "sort", Some(by));
        put(&mut given, "descending", Some(json!(largest)));
        put(&mut given, "limit", Some(count));
        return Ok((AnalysisType::Transform, given));
    };
    let by = match by {
        Value::Array(mut by) if by.len() == 1 => by.remove(0),
        by => by,
    };
    let function = if largest { "top" } else { "bottom" };
    put(&mut given, "group_by", Some(groups));
    let figure = json!([{"function": function, "n": count, "by": by}]);
    put(&mut given, "aggregations", Some(figure));
    Ok((AnalysisType::Aggregate, given))
}

/// Converts `duplicated`: rows that occur several times, and how often.
pub(super) fn duplicated(_: &str, mut given: RawParameters) -> Formed {
    let names = [&["subset", "by", "on", "keys", "group_by"], FIELDS].concat();
    let Some(fields) = take(&mut given, &names) else {
        let examples = [json!({"fields": "<text>"}), json!({"fields": "<column>"})];
        return Err(missing("duplicated", "fields", &given, &examples));
    };
    take(&mut given, &["keep"]);
    let count = count_name(&fields);
    put(&mut given, "group_by", Some(fields));
    put(&mut given, "aggregations", Some(json!([{"function": "count", "as": count}])));
    put(&mut given, "having", Some(json!([{"field": count, "operator": ">", "value": 1}])));
    Ok((AnalysisType::Aggregate, given))
}

/// Converts a comparison of one column: pandas' `between` and `isin`.
pub(super) fn compared(name: &str, mut given: RawParameters) -> Formed {
    let field = take(&mut given, &["field", "column", "col", "x", "subset", "on"]);
    let (operator, value) = match name {
        "isin" => ("in", take(&mut given, &["values", "value", "list", "in"])),
        _ => {
            let range = take(&mut given, &["range", "values", "value", "between"]);
            let ends = (
                take(&mut given, &["left", "low", "lower", "min", "from", "start"]),
                take(&mut given, &["right", "high", "upper", "max", "to", "end"]),
            );
            let ends = match ends {
                (Some(low), Some(high)) => Some(json!([low, high])),
                _ => None,
            };
            ("between", range.or(ends))
        }
    };
    let (Some(field), Some(value)) = (field, value) else {
        let reason = "a column and values are needed";
        let value = if operator == "in" { json!([1, 2]) } else { json!([0, 10]) };
        let condition = json!({"field": "<number>", "operator": operator, "value": value});
        let suggestion = Suggestion::call("filter", json!({"conditions": [condition]}));
        return Err(AnalysisError::suggesting("field", reason, suggestion));
    };
    let condition = json!([{"field": field, "operator": operator, "value": value}]);
    put(&mut given, "conditions", Some(condition));
    Ok((AnalysisType::Filter, given))
}

/// Converts a slice of rows by their places, as Python slices a list.
pub(super) fn slice(_: &str, mut given: RawParameters) -> Formed {
    let start = take(&mut given, &["start", "offset", "from"]).unwrap_or(json!(0));
    let stop = take(&mut given, &["stop", "end", "to"]);
    if let (Some(start), Some(stop)) = (start.as_u64(), stop.as_ref().and_then(Value::as_u64)) {
        put(&mut given, "limit", Some(json!(stop.saturating_sub(start))));
    }
    put(&mut given, "offset", Some(start));
    Ok((AnalysisType::Transform, given))
}

/// Refuses what pandas has and tables here do not have, with the nearest alternative.
pub(super) fn not_here(name: &str, given: RawParameters) -> Formed {
    let mut rest = given;
    let field = take(&mut rest, &[FIELDS, &["keys", "key"]].concat());
    let (reason, call, parameters) = match name {
        "ewm" => (
            "weights that fade are not there; windows are",
            "rolling",
            json!({"column": field.unwrap_or(json!("<number>")), "window": 3}),
        ),
        "transpose" => (
            "rows stay rows; a row of each value is",
            "melt",
            json!({"id_vars": field.unwrap_or(json!("<column>"))}),
        ),
        _ => (
            "rows have no index: all columns are always there, in an order that is",
            "sort",
            json!({"by": field.unwrap_or(json!("<column>"))}),
        ),
    };
    Err(AnalysisError::suggesting(name, reason, Suggestion::call(call, parameters)))
}
