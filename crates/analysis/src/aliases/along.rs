//! Types for figures along rows and ranks, as pandas and SQL name them.

use serde_json::{Value, json};

use super::{
    forms::{FIELDS, Formed, RawParameters, missing, object, one_or_more, put, take},
    parameters::{RANK, ROLLING},
    queries::{named, query_instead},
};
use crate::kind::AnalysisType;

pub(super) fn rolling(name: &str, mut given: RawParameters) -> Formed {
    if name == "expanding" {
        let min = take(&mut given, &["min_periods"]).unwrap_or(json!(1));
        given.extend([("window".to_owned(), json!(u32::MAX)), ("min_periods".to_owned(), min)]);
    }
    Ok(object(given, AnalysisType::TimeSeries, "rolling", &ROLLING))
}

pub(super) fn change(name: &str, mut given: RawParameters) -> Formed {
    let kind = match name {
        "diff" | "change" => "absolute",
        "percent_change" | "growth" => "percent",
        _ => "fraction",
    };
    let kind = take(&mut given, &["kind", "method"]).unwrap_or(json!(kind));
    let periods = take(&mut given, &["periods", "lag"]).unwrap_or(json!(1));
    put(&mut given, "change", Some(json!({"kind": kind, "periods": periods})));
    Ok((AnalysisType::TimeSeries, given))
}

pub(super) fn cumulative(name: &str, mut given: RawParameters) -> Formed {
    let kind = match name {
        "cummax" => "max",
        "cummin" => "min",
        "cumprod" => "product",
        _ => "sum",
    };
    let kind = take(&mut given, &["cumulative", "function", "agg"]).unwrap_or(json!(kind));
    put(&mut given, "cumulative", Some(kind));
    Ok((AnalysisType::TimeSeries, given))
}

/// Converts `rank` and the like. Groups may be called `by` too, if another parameter names the columns.
pub(super) fn rank(name: &str, mut given: RawParameters) -> Formed {
    let function = take(&mut given, &["function", "func"]);
    let name = match (name, function.as_ref().and_then(Value::as_str)) {
        ("window", Some("rank")) => "sql_rank",
        ("window", Some(function)) => function,
        (name, _) => name,
    };
    let (kind, mut given) = object(given, AnalysisType::Transform, "rank", &RANK);
    let Some(Value::Object(rank)) = given.get_mut("rank") else { return Ok((kind, given)) };
    let fields = take(rank, FIELDS);
    let by = take(rank, &["by", "order_by", "orderby", "sort_by", "sort", "on", "metric"]);
    let (field, group) = match (fields, by) {
        (Some(field), by) => (Some(field), by),
        (None, by) => (by, None),
    };
    let Some(field) = field else {
        let examples = [json!({"field": "<number>"}), json!({"field": "<column>"})];
        let given = rank.clone();
        return Err(missing(name, "field", &given, &examples));
    };
    rank.insert("field".to_owned(), field);
    if let Some(group) = group
        && take(&mut rank.clone(), &["group_by"]).is_none()
    {
        rank.insert("group_by".to_owned(), group);
    }
    let method = match name {
        "row_number" => Some("first"),
        "dense_rank" => Some("dense"),
        "sql_rank" => Some("min"),
        _ => None,
    };
    if let Some(method) = method.filter(|_| !rank.contains_key("method")) {
        rank.insert("method".to_owned(), json!(method));
    }
    Ok((kind, given))
}

pub(super) fn shift(name: &str, mut given: RawParameters) -> Formed {
    let periods = take(&mut given, &["shift", "periods", "n", "offset"]).unwrap_or(json!(1));
    let periods = match (name, periods.as_i64()) {
        ("lead", Some(periods)) => json!(-periods),
        _ => periods,
    };
    put(&mut given, "shift", Some(periods));
    if take(&mut given.clone(), FIELDS).is_none() {
        let examples = [json!({"column": "<number>"}), json!({"column": "<column>"})];
        return Err(missing(name, "column", &given, &examples));
    }
    Ok((AnalysisType::TimeSeries, given))
}

/// Converts `cumcount`: the place of each row in its group, from 0 on.
pub(super) fn cumcount(_: &str, mut given: RawParameters) -> Formed {
    let groups = take(&mut given, &["group_by", "groupby", "by", "group", "partition_by"]);
    let names = groups.iter().flat_map(one_or_more).map(|name| named(&name));
    let groups: Vec<String> = names.collect();
    let groups = match groups.as_slice() {
        [] => String::new(),
        groups => format!("partition by {}", groups.join(", ")),
    };
    query_instead(
        "cumcount",
        given,
        &format!("select *, row_number() over ({groups}) - 1 as cumcount from data"),
    )
}
