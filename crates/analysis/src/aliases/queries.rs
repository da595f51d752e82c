//! Types that become a query of SQL here, where pandas and Excel have a function.

use serde_json::{Map, Value, json};

use super::forms::{COUNTS, FIELDS, Formed, RawParameters, missing, one_or_more, take};
use crate::{
    error::AnalysisError,
    kind::AnalysisType,
    suggestion::{Suggestion, quoted},
};

/// Quotes the name of a column for SQL.
pub(super) fn named(name: &Value) -> String {
    quoted(&name.as_str().map_or_else(|| name.to_string(), str::to_owned))
}

fn unquoted(name: &str) -> String {
    let inner = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    inner.unwrap_or(name).replace("\"\"", "\"")
}

/// Takes the named columns, quoted for SQL.
fn columns(given: &mut RawParameters, names: &[&str]) -> Vec<String> {
    take(given, names).map_or(Vec::new(), |names| one_or_more(&names).iter().map(named).collect())
}

/// Writes a query for how often each value occurs, and its share of all: pandas' `normalize`.
pub(super) fn shares(
    fields: &Value,
    sort: Option<&Value>,
    drops: bool,
    mut given: RawParameters,
) -> Formed {
    let fields: Vec<String> = one_or_more(fields).iter().map(named).collect();
    let names = fields.join(", ");
    let mut query = format!(
        "select {names}, count(*) as count, count(*) * 1.0 / sum(count(*)) over () as proportion \
         from data"
    );
    if drops {
        query.push_str(&format!(" where {} is not null", fields.join(" is not null and ")));
    }
    query.push_str(&format!(" group by {names}"));
    match sort.and_then(Value::as_str) {
        None => {}
        Some(by) if by.starts_with('-') => {
            query.push_str(&format!(" order by count desc, {names}"))
        }
        Some(_) => query.push_str(&format!(" order by count, {names}")),
    }
    if let Some(count) = take(&mut given, COUNTS).as_ref().and_then(Value::as_u64) {
        query.push_str(&format!(" limit {count}"));
    }
    query_instead("value_counts", given, &query)
}

/// Answers with a query instead. Refuses other parameters, which would have to be part of the query.
pub(super) fn query_instead(name: &str, given: RawParameters, query: &str) -> Formed {
    if let Some((other, _)) = given.iter().find(|(_, value)| !value.is_null()) {
        let reason = format!("{name} is a query here, of which it has to be a part");
        let suggestion = Suggestion::call("sql", json!({ "query": query }));
        return Err(AnalysisError::suggesting(other, reason, suggestion));
    }
    Ok((AnalysisType::Sql, Map::from_iter([("query".to_owned(), json!(query))])))
}

/// Writes a query for the share of each pair of values: of its row, of its column, or of all.
pub(super) fn crossed_shares(mut given: RawParameters, normalize: &Value) -> Formed {
    let row = columns(&mut given, &["index", "rows", "row"]);
    let column = columns(&mut given, &["columns", "cols", "column"]);
    let ([row], [column]) = (row.as_slice(), column.as_slice()) else {
        let examples = [json!({"index": "<text>", "columns": "<text 2>"})];
        return Err(missing("crosstab", "index", &given, &examples));
    };
    let whole = match normalize.as_str() {
        Some("index" | "rows") => format!("partition by {row}"),
        Some("columns") => format!("partition by {column}"),
        _ => String::new(),
    };
    let query = format!(
        "select {row}, {column}, count(*) * 1.0 / sum(count(*)) over ({whole}) as share from data \
         group by {row}, {column} order by {row}, {column}"
    );
    query_instead("crosstab", given, &query)
}

pub(super) fn regression(name: &str, mut given: RawParameters) -> Formed {
    let mut y = columns(&mut given, &["y", "target", "dependent", "outcome"]);
    let mut x = columns(&mut given, &["x", "independent", "features", "predictor"]);
    for field in columns(&mut given, FIELDS) {
        if y.is_empty() { y.push(field) } else { x.push(field) }
    }
    let ([y], [x]) = (y.as_slice(), x.as_slice()) else {
        let reason = "a regression here is of one column on another";
        let suggestion = Suggestion::call(name, json!({"y": "<number>", "x": "<number 2>"}));
        return Err(AnalysisError::suggesting("x", reason, suggestion));
    };
    let query = format!(
        "select regr_slope({y}, {x}) as slope, regr_intercept({y}, {x}) as intercept, \
         regr_r2({y}, {x}) as r2 from data"
    );
    query_instead(name, given, &query)
}

pub(super) fn outliers(name: &str, mut given: RawParameters) -> Formed {
    let fields = columns(&mut given, FIELDS);
    let [field] = fields.as_slice() else {
        return Err(missing(name, "field", &given, &[json!({"field": "<number>"})]));
    };
    let query = format!(
        "select data.* from data, (select percentile_cont(0.25) within group (order by {field}) as \
         lower_quartile, percentile_cont(0.75) within group (order by {field}) as upper_quartile \
         from data) q where data.{field} < lower_quartile - 1.5 * (upper_quartile - lower_quartile) \
         or data.{field} > upper_quartile + 1.5 * (upper_quartile - lower_quartile)"
    );
    query_instead(name, given, &query)
}

pub(super) fn union(name: &str, mut given: RawParameters) -> Formed {
    let mut others = columns(&mut given, &["with", "table", "tables", "other", "right"]);
    others.retain(|other| other != "\"data\"");
    if others.is_empty() {
        return Err(missing(name, "with", &given, &[json!({"with": "<table 2>"})]));
    }
    let query = others.iter().fold("select * from data".to_owned(), |query, other| {
        format!("{query} union all by name select * from {other}")
    });
    query_instead(name, given, &query)
}

/// Writes a query for the range that each value is in: pandas' `cut`, or `qcut` for ranges with equally
/// many values.
pub(super) fn binned(name: &str, mut given: RawParameters) -> Formed {
    let fields = columns(&mut given, &["field", "column", "x", "value", "fields", "columns"]);
    let bins = take(&mut given, &["bins", "q", "edges", "n_bins", "n", "quantiles"]);
    let labels = take(&mut given, &["labels"]).filter(Value::is_array);
    let ends = match &bins {
        Some(Value::Number(count)) => {
            count.as_u64().filter(|count| (2..=50).contains(count)).map(Ends::Count)
        }
        Some(Value::Array(ends)) => {
            ends.iter().map(Value::as_f64).collect::<Option<_>>().map(Ends::At)
        }
        _ => None,
    };
    let ([field], Some(ends)) = (fields.as_slice(), ends) else {
        let reason = "a field is needed, and `bins`, a number from 2 to 50 or a list of edges";
        let parameter = if name == "qcut" { "q" } else { "bins" };
        let suggestion = Suggestion::call(name, json!({"field": "<number>", parameter: 4}));
        return Err(AnalysisError::suggesting(parameter, reason, suggestion));
    };
    let plain = unquoted(field);
    let is_by_rank = name == "qcut";
    let (edges, count, outside): (Vec<String>, usize, String) = match ends {
        Ends::Count(count) => {
            let edge = |at| match is_by_rank {
                true => format!(
                    "percentile_cont({}) within group (order by {field}) as edge{at}",
                    at as f64 / count as f64
                ),
                false => format!(
                    "min({field}) + {at} * (max({field}) - min({field})) / {count}.0 as edge{at}"
                ),
            };
            ((1..count).map(edge).collect(), count as usize, String::new())
        }
        Ends::At(ends) if is_by_rank => {
            let edge = |(at, end): (usize, &f64)| {
                format!("percentile_cont({end}) within group (order by {field}) as edge{}", at + 1)
            };
            let inner = ends.get(1..ends.len().saturating_sub(1)).unwrap_or_default();
            (
                inner.iter().enumerate().map(edge).collect(),
                ends.len().saturating_sub(1),
                String::new(),
            )
        }
        Ends::At(ends) => {
            let inner = ends.get(1..ends.len().saturating_sub(1)).unwrap_or_default();
            let edges =
                inner.iter().enumerate().map(|(at, end)| format!("{end:?} as edge{}", at + 1));
            let ends = [ends.first(), ends.last()].map(|end| end.copied().unwrap_or_default());
            let outside =
                format!(" or data.{field} <= {:?} or data.{field} > {:?}", ends[0], ends[1]);
            (edges.collect(), inner.len() + 1, outside)
        }
    };
    let above = (1..count)
        .map(|at| format!(" + case when data.{field} > edges.edge{at} then 1 else 0 end"));
    let place = format!("1{}", above.collect::<String>());
    let bin = match &labels {
        None => place,
        Some(labels) => {
            let labels = one_or_more(labels);
            let cases = labels
                .iter()
                .enumerate()
                .map(|(at, label)| format!(" when {} then {}", at + 1, text(label)));
            format!("case {place}{} end", cases.collect::<String>())
        }
    };
    let name_of_bin = quoted(&format!("{plain}_bin"));
    let is_outside = format!("data.{field} is null{outside}");
    let from = match edges.as_slice() {
        [] => "data".to_owned(),
        edges => {
            let source = if edges[0].contains('(') { " from data" } else { "" };
            format!("data, (select {}{source}) edges", edges.join(", "))
        }
    };
    let query = format!(
        "select data.*, case when {is_outside} then null else {bin} end as {name_of_bin} from {from}"
    );
    query_instead(name, given, &query)
}

/// The ranges that are asked for: their number, or their edges.
enum Ends {
    Count(u64),
    At(Vec<f64>),
}

/// Quotes a text for SQL.
fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("'{}'", text.replace('\'', "''"))
}

/// Writes a query for a figure of one column, or of two, that only SQL has.
pub(super) fn statistic(name: &str, mut given: RawParameters) -> Formed {
    let weights = columns(&mut given, &["weight", "weights", "w"]);
    let groups = columns(&mut given, &["group_by", "groupby", "by", "group"]);
    let mut fields = columns(&mut given, &[&["array", "range", "arrays"], FIELDS].concat());
    fields.extend(weights);
    let is_of_two = matches!(name, "sumproduct" | "weighted_average" | "weighted_mean");
    if fields.len() != 1 + usize::from(is_of_two) {
        let example = match (is_of_two, name) {
            (true, "sumproduct") => json!({"fields": ["<number>", "<number 2>"]}),
            (true, _) => json!({"field": "<number>", "weight": "<number 2>"}),
            (false, _) => json!({"field": "<number>"}),
        };
        return Err(missing(name, "field", &Map::new(), &[example]));
    }
    let x = &fields[0];
    let z = format!("({x} - mean) / deviation");
    let w = fields.last().unwrap_or(x);
    let (figure, from) = match name {
        "sumproduct" => (format!("sum({x} * {w})"), None),
        "weighted_average" | "weighted_mean" => {
            (format!("sum({x} * {w}) * 1.0 / sum(case when {x} is not null then {w} end)"), None)
        }
        "stdevp" | "stdev.p" | "std_pop" => (format!("stddev_pop({x})"), None),
        "varp" | "var.p" | "var_pop" => (format!("var_pop({x})"), None),
        "sem" => (format!("stddev({x}) / sqrt(count({x}))"), None),
        "range" | "value_range" => (format!("max({x}) - min({x})"), None),
        "skew" | "skewness" => (format!("n / ((n - 1) * (n - 2)) * sum(power({z}, 3))"), Some(x)),
        _ => (
            format!(
                "n * (n + 1) / ((n - 1) * (n - 2) * (n - 3)) * sum(power({z}, 4)) - \
                 3 * power(n - 1, 2) / ((n - 2) * (n - 3))"
            ),
            Some(x),
        ),
    };
    let keys = groups.join(", ");
    let over = if groups.is_empty() { String::new() } else { format!("partition by {keys}") };
    let from = match from {
        None => "data".to_owned(),
        Some(x) => format!(
            "(select *, avg({x}) over ({over}) as mean, stddev({x}) over ({over}) as deviation, \
             cast(count({x}) over ({over}) as double) as n from data)"
        ),
    };
    let has_n = from != "data";
    let by: Vec<&str> = [keys.as_str(), if has_n { "n" } else { "" }]
        .into_iter()
        .filter(|it| !it.is_empty())
        .collect();
    let select = if keys.is_empty() { String::new() } else { format!("{keys}, ") };
    let group = if by.is_empty() { String::new() } else { format!(" group by {}", by.join(", ")) };
    let order = if keys.is_empty() { String::new() } else { format!(" order by {keys}") };
    let alias = quoted(&name.replace('.', "_"));
    query_instead(
        name,
        given,
        &format!("select {select}{figure} as {alias} from {from}{group}{order}"),
    )
}

/// Writes a query for the distance of each value from the mean in standard deviations, or its place
/// between the extremes.
pub(super) fn scaled(name: &str, mut given: RawParameters) -> Formed {
    let fields = columns(&mut given, FIELDS);
    let groups = columns(&mut given, &["group_by", "groupby", "by", "group"]);
    let [x] = fields.as_slice() else {
        return Err(missing(name, "field", &Map::new(), &[json!({"field": "<number>"})]));
    };
    let over = if groups.is_empty() {
        String::new()
    } else {
        format!("partition by {}", groups.join(", "))
    };
    let (figure, ending) = match name {
        "zscore" | "z_score" | "standardize" => (
            format!("({x} - avg({x}) over ({over})) / nullif(stddev({x}) over ({over}), 0)"),
            "zscore",
        ),
        _ => (
            format!(
                "({x} - min({x}) over ({over})) / nullif(cast(max({x}) over ({over}) - min({x}) \
                 over ({over}) as double), 0)"
            ),
            "scaled",
        ),
    };
    let alias = quoted(&format!("{}_{ending}", unquoted(x)));
    query_instead(name, given, &format!("select *, {figure} as {alias} from data"))
}

/// Writes a query for the share of each group, or of each row, in per cent.
pub(super) fn part_of_whole(name: &str, mut given: RawParameters) -> Formed {
    let fields = columns(&mut given, FIELDS);
    let groups = columns(&mut given, &["group_by", "groupby", "by", "group"]).join(", ");
    let [x] = fields.as_slice() else {
        return Err(missing(name, "field", &Map::new(), &[json!({"field": "<number>"})]));
    };
    let query = match groups.as_str() {
        "" => format!("select *, {x} * 100.0 / sum({x}) over () as percent from data"),
        groups => format!(
            "select {groups}, sum({x}) as total, sum({x}) * 100.0 / sum(sum({x})) over () as \
             percent from data group by {groups} order by percent desc, {groups}"
        ),
    };
    query_instead(name, given, &query)
}

/// Writes a query for the rows whose values no other row has: pandas' `drop_duplicates` with
/// `keep=False`.
pub(super) fn only_unique(mut given: RawParameters, names: &[&str]) -> Formed {
    take(&mut given, &["keep"]);
    let fields = columns(&mut given, names).join(", ");
    if fields.is_empty() {
        let examples = [json!({"subset": ["<text>"], "keep": false})];
        return Err(missing("drop_duplicates", "subset", &Map::new(), &examples));
    }
    let query = format!("select * from data qualify count(*) over (partition by {fields}) = 1");
    query_instead("drop_duplicates", given, &query)
}

/// Writes a query for the nth value: Excel's `LARGE` and `SMALL`.
pub(super) fn nth(name: &str, mut given: RawParameters) -> Formed {
    let fields = columns(&mut given, &[&["array", "range"], FIELDS].concat());
    let place = take(&mut given, &["k", "n"]).as_ref().and_then(Value::as_u64);
    let ([x], Some(place)) = (fields.as_slice(), place.filter(|place| *place > 0)) else {
        return Err(missing(name, "field", &Map::new(), &[json!({"field": "<number>", "k": 1})]));
    };
    let order = if name == "large" { "desc" } else { "asc" };
    let query = format!(
        "select {x} from data where {x} is not null order by {x} {order} limit 1 offset {}",
        place - 1
    );
    query_instead(name, given, &query)
}

/// Writes a query that changes one column: pandas' `round`, `clip`, `replace` and its functions of text.
pub(super) fn changed(name: &str, mut given: RawParameters) -> Formed {
    let digits = take(&mut given, &["decimals", "digits", "n", "places", "ndigits"]);
    let lower = take(&mut given, &["lower", "min", "low"]);
    let upper = take(&mut given, &["upper", "max", "high"]);
    let mut pairs = take(&mut given, &["mapping", "map", "replacements", "dict"]);
    if let (None, Some(old)) = (&pairs, take(&mut given, &["to_replace", "old", "from", "find"])) {
        let new = take(&mut given, &["value", "new", "with", "to", "replacement"]);
        pairs = match (old, new) {
            (old @ Value::Object(_), _) => Some(old),
            (old, Some(new)) => Some(json!([[old, new]])),
            _ => None,
        };
    }
    let fields = take(&mut given, FIELDS);
    let names = fields.as_ref().map(one_or_more).unwrap_or_default();
    let computed = names.iter().filter_map(|field| {
        let x = named(field);
        let value = match name {
            "round" => {
                format!("round({x}, {})", digits.as_ref().and_then(Value::as_i64).unwrap_or(0))
            }
            "clip" => {
                let bound = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
                let from = bound(&lower).map_or(x.clone(), |end| format!("greatest({x}, {end:?})"));
                let all =
                    bound(&upper).map_or(from.clone(), |end| format!("least({from}, {end:?})"));
                format!("case when {x} is not null then {all} end")
            }
            "replace" | "map" => replaced(&x, pairs.as_ref()?, name == "map")?,
            function => format!("{function}({x})"),
        };
        Some((field.as_str()?.to_owned(), json!(value)))
    });
    let computed: RawParameters = computed.collect();
    if computed.is_empty() {
        let example = match name {
            "clip" => json!({"field": "<number>", "lower": 0, "upper": 10}),
            "round" | "abs" => json!({"field": "<number>"}),
            "replace" | "map" => json!({"field": "<text>", "mapping": {"old": "new"}}),
            _ => json!({"field": "<text>"}),
        };
        return Err(missing(name, "field", &Map::new(), &[example]));
    }
    given.insert("computed".to_owned(), computed.into());
    Ok((AnalysisType::Transform, given))
}

/// Writes a `CASE` that replaces some values. The others become null for a mapping, and stay unchanged
/// otherwise.
fn replaced(x: &str, pairs: &Value, is_mapping: bool) -> Option<String> {
    let literal = |value: &Value| match value {
        Value::Null => "null".to_owned(),
        Value::String(_) => text(value),
        value => value.to_string(),
    };
    let case = |old: &Value, new: &Value| format!(" when {} then {}", literal(old), literal(new));
    let cases: String = match pairs {
        Value::Object(pairs) => pairs.iter().map(|(old, new)| case(&json!(old), new)).collect(),
        Value::Array(pairs) => pairs.iter().map(|pair| case(&pair[0], &pair[1])).collect(),
        _ => return None,
    };
    let rest = if is_mapping { "null" } else { x };
    (!cases.is_empty()).then(|| format!("case {x}{cases} else {rest} end"))
}
