use serde_json::json;

use super::*;

fn read(name: &str, parameters: Value) -> Understood {
    let parameters = parameters.as_object().unwrap().clone();
    understand(name, parameters).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn refused(name: &str, parameters: Value) -> String {
    match understand(name, parameters.as_object().unwrap().clone()) {
        Ok(understood) => understood.refusal.unwrap().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn no_name_stands_for_two_types() {
    let mut seen = std::collections::HashSet::new();
    let names = SAME.iter().map(|(names, _)| *names).chain(FORMS.iter().map(|(names, _)| *names));
    for name in names.flatten().copied().chain(AnalysisType::ALL.map(AnalysisType::name)) {
        assert!(seen.insert(name), "{name} is there twice");
        assert_eq!(snake_case(name), name);
    }
}

#[test]
fn what_pandas_and_sql_call_a_type_is_understood() {
    for (name, parameters, kind, meant) in [
        ("Histogram", json!({"column": "a"}), AnalysisType::Histogram, json!({"column": "a"})),
        ("profile", json!({}), AnalysisType::Describe, json!({})),
        ("percentile", json!({"q": 0.5}), AnalysisType::Percentiles, json!({"q": 0.5})),
        ("groupBy", json!({"by": "a"}), AnalysisType::Aggregate, json!({"by": "a"})),
        (
            "top_n",
            json!({"by": "roi", "n": 3}),
            AnalysisType::Transform,
            json!({"sort": "roi", "descending": true, "limit": 3}),
        ),
        (
            "nsmallest",
            json!({"n": 2, "columns": ["roi"], "group_by": "sector"}),
            AnalysisType::Aggregate,
            json!({
                "group_by": "sector",
                "aggregations": [{"function": "bottom", "n": 2, "by": "roi"}],
            }),
        ),
        (
            "value_counts",
            json!({"column": "sector", "limit": 2}),
            AnalysisType::Aggregate,
            json!({
                "limit": 2,
                "group_by": "sector",
                "aggregations": [{"function": "count", "as": "count"}],
                "sort": "-count",
            }),
        ),
        (
            "pivot_table",
            json!({"index": "a", "columns": "b", "values": "c", "aggfunc": "mean", "limit": 5}),
            AnalysisType::Transform,
            json!({
                "limit": 5,
                "pivot": {"index": "a", "columns": "b", "values": "c", "aggfunc": "mean"},
            }),
        ),
        (
            "crosstab",
            json!({"index": "a", "columns": "b"}),
            AnalysisType::Transform,
            json!({"pivot": {"index": "a", "columns": "b", "function": "count"}}),
        ),
        (
            "merge",
            json!({"right": "heads", "on": "region", "how": "left"}),
            AnalysisType::Transform,
            json!({"join": {"right": "heads", "on": "region", "how": "left"}}),
        ),
        (
            "sort_values",
            json!({"by": ["a", "b"], "ascending": [true, false]}),
            AnalysisType::Transform,
            json!({"ascending": [true, false], "sort": ["a", "b"]}),
        ),
        ("head", json!({"n": 3}), AnalysisType::Transform, json!({"limit": 3})),
        ("tail", json!({}), AnalysisType::Transform, json!({"tail": 5})),
        (
            "count",
            json!({}),
            AnalysisType::Aggregate,
            json!({"aggregations": [{"function": "count", "as": "count"}]}),
        ),
        (
            "unique",
            json!({"column": "sector"}),
            AnalysisType::Transform,
            json!({"select": "sector", "deduplicate": true}),
        ),
        (
            "mean",
            json!({"column": "roi", "by": "sector"}),
            AnalysisType::Aggregate,
            json!({"column": "roi", "by": "sector", "aggregations": ["mean"]}),
        ),
        ("rename", json!({"a": "b"}), AnalysisType::Transform, json!({"rename": {"a": "b"}})),
        (
            "rename",
            json!({"columns": {"a": "b"}}),
            AnalysisType::Transform,
            json!({"rename": {"a": "b"}}),
        ),
        ("fillna", json!({"value": 0}), AnalysisType::Transform, json!({"fill_null": 0})),
        (
            "fillna",
            json!({"column": "a", "value": 0}),
            AnalysisType::Transform,
            json!({"fill_null": {"a": 0}}),
        ),
        ("dropna", json!({"subset": ["a"]}), AnalysisType::Transform, json!({"drop_null": ["a"]})),
        ("dropna", json!({}), AnalysisType::Transform, json!({"drop_null": true})),
        (
            "dropna",
            json!({"columns": "a", "how": "all"}),
            AnalysisType::Transform,
            json!({"drop_null": {"how": "all", "fields": "a"}}),
        ),
        (
            "value_counts",
            json!({"column": "se\"x", "normalize": true, "n": 2}),
            AnalysisType::Sql,
            json!({"query": "select \"se\"\"x\", count(*) as count, count(*) * 1.0 / \
                sum(count(*)) over () as proportion from data group by \"se\"\"x\" \
                order by count desc, \"se\"\"x\" limit 2"}),
        ),
        (
            "nlargest",
            json!({"n": 2, "by": "roi", "columns": ["symbol", "roi"]}),
            AnalysisType::Transform,
            json!({"select": ["symbol", "roi"], "sort": "roi", "descending": true, "limit": 2}),
        ),
        (
            "rank",
            json!({"column": "roi", "by": "sector", "pct": true}),
            AnalysisType::Transform,
            json!({"rank": {"pct": true, "field": "roi", "group_by": "sector"}}),
        ),
        (
            "dense_rank",
            json!({"order_by": "roi", "descending": true, "limit": 3}),
            AnalysisType::Transform,
            json!({"limit": 3, "rank": {"descending": true, "field": "roi", "method": "dense"}}),
        ),
        (
            "lead",
            json!({"column": "roi", "periods": 2}),
            AnalysisType::TimeSeries,
            json!({"column": "roi", "shift": -2}),
        ),
        (
            "compute",
            json!({"name": "x", "expression": "a * b"}),
            AnalysisType::Transform,
            json!({"computed": {"x": "a * b"}}),
        ),
        (
            "pct_change",
            json!({"time": "day", "value": "v"}),
            AnalysisType::TimeSeries,
            json!({"time": "day", "value": "v", "change": {"kind": "fraction", "periods": 1}}),
        ),
        (
            "rolling",
            json!({"window": 7, "time": "day"}),
            AnalysisType::TimeSeries,
            json!({"time": "day", "rolling": {"window": 7}}),
        ),
        (
            "anova",
            json!({"field": "a"}),
            AnalysisType::Test,
            json!({"field": "a", "test": "anova"}),
        ),
        (
            "query",
            json!({"query": "roi > 3"}),
            AnalysisType::Filter,
            json!({"conditions": "roi > 3"}),
        ),
        ("query", json!({"sql": "SELECT 1"}), AnalysisType::Sql, json!({"query": "SELECT 1"})),
    ] {
        let understood = read(name, parameters);
        assert_eq!(understood.kind, kind, "{name}");
        assert_eq!(Value::Object(understood.parameters), meant, "{name}");
    }
}

#[test]
fn a_form_is_told_to_whoever_did_not_know_it() {
    let note = read("top_n", json!({"by": "roi", "n": 3})).note.unwrap();
    let told = "top_n is transform with {\"sort\":\"roi\",\"descending\":true,\"limit\":3}";
    assert_eq!(note, told);
    assert_eq!(read("filter", json!({})).note, None);
    assert_eq!(read("profile", json!({})).note, None);
}

#[test]
fn what_is_missing_or_not_there_is_answered_with_a_call_that_works() {
    for (name, parameters, told) in [
        (
            "top_n",
            json!({"n": 3}),
            "by: is missing; as in {\"analysis_type\": \"top_n\", \"parameters\": \
             {\"by\":\"amount\",\"n\":3}}",
        ),
        (
            "top_n",
            json!({"n": 3, "field": "amount", "by": "region"}),
            "by: say what the order is by and what the groups are; as in {\"analysis_type\": \
             \"top_n\", \"parameters\": {\"by\":\"amount\",\"group_by\":\"region\",\"n\":3}}",
        ),
        (
            "value_counts",
            json!({"column": "sector", "normalize": true, "having": "count > 1"}),
            "having: value_counts is a query here, of which it has to be a part; as in \
             {\"analysis_type\": \"sql\", \"parameters\": {\"query\":\"select \\\"sector\\\"",
        ),
        (
            "regression",
            json!({"y": "price"}),
            "x: a regression here is of one column on another; as in {\"analysis_type\": \
             \"regression\", \"parameters\": {\"y\":",
        ),
        ("histogrm", json!({}), "analysis_type: no type \"histogrm\"; did you mean histogram?"),
        (
            "valu_counts",
            json!({}),
            "analysis_type: no type \"valu_counts\"; did you mean value_counts?",
        ),
    ] {
        let said = refused(name, parameters);
        assert!(said.starts_with(told), "{said}");
    }
}

#[test]
fn parameters_of_another_form_are_understood() {
    for (name, parameters, meant) in [
        (
            "filter",
            json!({"column": "roi", "op": ">", "value": 10, "limit": 2}),
            json!({"limit": 2, "conditions": [{"field": "roi", "operator": ">", "value": 10}]}),
        ),
        (
            "filter",
            json!({"field": "sector", "value": "Tech"}),
            json!({"conditions": [{"field": "sector", "value": "Tech", "operator": "=="}]}),
        ),
        ("filter", json!({"columns": ["roi"]}), json!({"columns": ["roi"]})),
        (
            "filter",
            json!({"where": {"sector": "Tech", "roi": {"$gt": 3}}}),
            json!({"where": {"and": [
                {"field": "sector", "operator": "==", "value": "Tech"},
                {"field": "roi", "operator": "gt", "value": 3},
            ]}}),
        ),
        (
            "filter",
            json!({"conditions": [["roi", ">", 3], {"not": {"sector": ["a", "b"]}}]}),
            json!({"conditions": [
                {"field": "roi", "operator": ">", "value": 3},
                {"not": {"field": "sector", "operator": "in", "value": ["a", "b"]}},
            ]}),
        ),
        (
            "filter",
            json!({"column": "symbol", "contains": "A"}),
            json!({"conditions": [{"field": "symbol", "operator": "contains", "value": "A"}]}),
        ),
        (
            "groupby",
            json!({"by": "sector", "total": ["roi", "sum"], "as_index": false, "sort": true}),
            json!({"by": "sector", "aggregations": {"total": ["roi", "sum"]}}),
        ),
        (
            "sumif",
            json!({"range": "roi", "criteria": ">=3", "sum_range": "x"}),
            json!({
                "filter": [{"field": "roi", "operator": ">=", "value": 3}],
                "aggregations": [{"field": "x", "function": "sum"}],
            }),
        ),
        (
            "filter",
            json!({"where": "roi > 3", "sort_by": "roi", "order": "desc"}),
            json!({"where": "roi > 3", "sort_by": "roi", "descending": true}),
        ),
        (
            "sort",
            json!({"column": "roi", "direction": "desc"}),
            json!({"descending": true, "sort": "roi"}),
        ),
        (
            "group_by",
            json!({"columns": ["sector"], "aggregations": {"roi": "mean"}}),
            json!({"aggregations": {"roi": "mean"}, "group_by": ["sector"]}),
        ),
        (
            "resample",
            json!({"time": "day", "freq": "1d", "agg": {"roi": "sum"}}),
            json!({"time": "day", "freq": "1d", "values": ["roi"], "functions": "sum"}),
        ),
        (
            "percentiles",
            json!({"field": "roi", "percentiles": ["p50", "95%", 99]}),
            json!({"field": "roi", "percentiles": [50.0, 95.0, 99]}),
        ),
        ("histogram", json!({"field": "roi", "bins": "auto"}), json!({"field": "roi"})),
        (
            "validate",
            json!({"schema": {"type": "object", "required": ["id"], "properties": {
                "id": {"type": "integer", "description": "the key"},
                "roi": {"type": ["number", "null"], "minimum": 0},
            }}}),
            json!({
                "schema": {"id": {"type": "integer"}, "roi": {"type": "numeric", "min": 0}},
                "required": ["id"],
            }),
        ),
    ] {
        assert_eq!(
            Value::Object(read(name, parameters.clone()).parameters),
            meant,
            "{name} {parameters}"
        );
    }
}
