//! Columns whose names look like something else, and analyses by the names that pandas and SQL have.

use std::io::{Seek, Write};

use narrows_analysis::{AnalysisType, Answer, FileFormat, Input, Understood, understand};
use serde_json::{Value, json};

use crate::support::{rows, run, run_with, table};

fn years() -> Value {
    json!([
        {"region": "n", "2010": 1, "2011": 4, "1e3": 0.5, "true": 7},
        {"region": "n", "2010": 2, "2011": 5, "1e3": 1.5, "true": 8},
        {"region": "s", "2010": 30, "2011": 6, "1e3": 2.5, "true": 9},
    ])
}

#[tokio::test]
async fn a_column_that_is_called_like_a_number_is_a_column() {
    for (kind, parameters, wanted) in [
        (
            AnalysisType::Aggregate,
            json!({"aggregations": {"2010": ["sum", "mean", "max"], "1e3": "sum", "true": "sum"}}),
            json!([{
                "2010_sum": 33, "2010_mean": 11.0, "2010_max": 30, "1e3_sum": 4.5, "true_sum": 24,
            }]),
        ),
        (
            AnalysisType::Aggregate,
            json!({"group_by": "region", "aggregations": [{"field": 2010, "function": "sum"}]}),
            json!([{"region": "n", "2010_sum": 3}, {"region": "s", "2010_sum": 30}]),
        ),
        (
            AnalysisType::Aggregate,
            json!({"group_by": 2011, "aggregations": {"2010": "sum"}, "having": [
                {"field": "2010_sum", "operator": ">", "value": 1},
            ]}),
            json!([{"2011": 5, "2010_sum": 2}, {"2011": 6, "2010_sum": 30}]),
        ),
        (
            AnalysisType::Filter,
            json!({"conditions": [{"field": "2010", "operator": ">", "value": 1}],
                "select": ["2010", "2011"], "sort": "-2010"}),
            json!([{"2010": 30, "2011": 6}, {"2010": 2, "2011": 5}]),
        ),
        (
            AnalysisType::Filter,
            json!({"conditions": [{"field": 2010, "operator": ">", "value": 2}], "select": 2011}),
            json!([{"2011": 6}]),
        ),
        (
            AnalysisType::Filter,
            json!({"conditions": "\"2010\" > 1 and \"2011\" < 6", "select": ["2010"]}),
            json!([{"2010": 2}]),
        ),
        (
            AnalysisType::Transform,
            json!({"computed": {"d": "\"2011\" - \"2010\""}, "select": ["d"]}),
            json!([{"d": 3}, {"d": 3}, {"d": -24}]),
        ),
        (
            AnalysisType::Transform,
            json!({"sort": "-2011", "select": ["2011"], "rename": {"2011": "2012"}}),
            json!([{"2012": 6}, {"2012": 5}, {"2012": 4}]),
        ),
        (
            AnalysisType::Transform,
            json!({"unpivot": {"id": "region", "values": ["2010", 2011]}, "limit": 2}),
            json!([
                {"region": "n", "variable": "2010", "value": 1},
                {"region": "n", "variable": "2011", "value": 4},
            ]),
        ),
        (
            AnalysisType::Percentiles,
            json!({"fields": ["2010"], "percentiles": [50]}),
            json!([{"field": "2010", "count": 3, "p50": 2.0}]),
        ),
        (
            AnalysisType::Sql,
            json!({"query": "select sum(\"2010\") s, max(data.\"2011\") m from data"}),
            json!([{"s": 33, "m": 6}]),
        ),
    ] {
        assert_eq!(rows(kind, years(), parameters.clone()).await, wanted, "{parameters}");
    }
}

#[tokio::test]
async fn a_header_of_years_names_columns() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"region,2010,2011\nn,1,4\nn,2,5\ns,30,6\n").unwrap();
    file.rewind().unwrap();
    let input = Input::File { file, format: FileFormat::Csv };
    let parameters = json!({"group_by": "region", "aggregations": {"2010": "sum"}});
    let tables = vec![("data".to_owned(), input)];
    let answer = run_with(2, AnalysisType::Aggregate, tables, &parameters).await.unwrap();
    assert_eq!(json!(table(&answer)), json!([["region", "2010_sum"], [["n", 3], ["s", 30]]]));
}

#[tokio::test]
async fn pivoted_columns_are_called_by_their_values() {
    let sales = json!([
        {"region": "n", "year": 2010, "v": 1}, {"region": "n", "year": 2011, "v": 4},
        {"region": "s", "year": 2010, "v": 30}, {"region": "n", "year": 2010, "v": 2},
    ]);
    let steps = json!({"steps": [
        {"pivot": {"index": "region", "columns": "year", "values": "v", "function": "sum"}},
        {"computed": {"both": "coalesce(\"2010\", 0) + coalesce(\"2011\", 0)"}},
        {"filter": [{"field": "2010", "operator": ">=", "value": 3}], "sort": "-2010"},
    ]});
    assert_eq!(
        rows(AnalysisType::Transform, sales, steps).await,
        json!([
            {"region": "s", "2010": 30, "2011": null, "both": 30},
            {"region": "n", "2010": 3, "2011": 4, "both": 7},
        ])
    );
}

#[tokio::test]
async fn a_number_that_is_the_name_of_a_column_too_is_told() {
    for (kind, parameters, is_told) in [
        (AnalysisType::Transform, json!({"computed": {"d": "\"2011\" - 2010"}}), true),
        (AnalysisType::Filter, json!({"conditions": "2010 > 5"}), true),
        (AnalysisType::Sql, json!({"query": "select sum(2010) from data"}), true),
        (AnalysisType::Transform, json!({"computed": {"d": "\"2011\" - \"2010\" - 2012"}}), false),
        (AnalysisType::Sql, json!({"query": "select sum(\"2010\") + 2012 from data"}), false),
    ] {
        let notes = run(kind, years(), parameters.clone()).await.unwrap().notes;
        let note = "2010 is a number here; the column of that name is \"2010\", in double quotes";
        assert_eq!(notes.iter().any(|told| told == note), is_told, "{parameters}: {notes:?}");
    }
}

async fn asked(name: &str, parameters: Value) -> Answer {
    let parameters = parameters.as_object().unwrap().clone();
    let Understood { kind, parameters, refusal, .. } = understand(name, parameters).unwrap();
    assert!(refusal.is_none(), "{name}: {refusal:?}");
    let stocks = json!([
        {"symbol": "A", "sector": "Tech", "roi": 15.5, "x": 1},
        {"symbol": "J", "sector": "Health", "roi": 8.0, "x": 2},
        {"symbol": "G", "sector": "Tech", "roi": 12.5, "x": 3},
        {"symbol": "I", "sector": "Tech", "roi": 4.0, "x": 4},
    ]);
    let heads = json!([{"sector": "Tech", "head": "Ann"}, {"sector": "Health", "head": "Bob"}]);
    let tables =
        vec![("stocks".to_owned(), Input::Json(stocks)), ("heads".to_owned(), Input::Json(heads))];
    let answer = run_with(2, kind, tables, &Value::Object(parameters.clone())).await;
    answer.unwrap_or_else(|error| panic!("{name} {parameters:?}: {error}"))
}

#[tokio::test]
async fn what_models_ask_for_is_done() {
    for (name, parameters, wanted) in [
        ("value_counts", json!({"column": "sector"}), json!([["Tech", 3], ["Health", 1]])),
        ("value_counts", json!({"column": "sector", "n": 1}), json!([["Tech", 3]])),
        (
            "top_n",
            json!({"n": 1, "by": "roi", "columns": null, "fields": null}),
            json!([["A", "Tech", 15.5, 1]]),
        ),
        (
            "top_n",
            json!({"n": 1, "by": "roi", "group_by": "sector"}),
            json!([["Health", "J", 8.0, 2], ["Tech", "A", 15.5, 1]]),
        ),
        ("count", json!({}), json!([[4]])),
        ("count", json!({"by": "sector"}), json!([["Health", 1], ["Tech", 3]])),
        ("unique", json!({"column": "sector"}), json!([["Tech"], ["Health"]])),
        ("mean", json!({"column": "roi"}), json!([[10.0]])),
        (
            "max",
            json!({"columns": ["roi", "x"], "by": "sector"}),
            json!([["Health", 8.0, 2], ["Tech", 15.5, 4]]),
        ),
        (
            "groupby",
            json!({"by": "sector", "agg": {"roi": "mean"}, "having": "roi_mean > 9"}),
            json!([["Tech", 32.0 / 3.0]]),
        ),
        (
            "aggregate",
            json!({"groupBy": ["sector"], "metrics": {"roi": "max"}, "where": "x > 1 and symbol <> 'I'",
                "orderBy": "roi_max desc"}),
            json!([["Tech", 12.5], ["Health", 8.0]]),
        ),
        ("head", json!({"n": 1, "columns": ["symbol"]}), json!([["A"]])),
        ("tail", json!({"n": 2, "columns": ["symbol"]}), json!([["G"], ["I"]])),
        (
            "sort",
            json!({"by": ["sector", "roi"], "ascending": [true, false], "columns": "symbol"}),
            json!([["J"], ["A"], ["G"], ["I"]]),
        ),
        (
            "merge",
            json!({"on": "sector", "how": "left", "select": ["symbol", "head"], "limit": 1}),
            json!([["A", "Ann"]]),
        ),
        (
            "pivot_table",
            json!({"index": "sector", "columns": "symbol", "values": "x", "aggfunc": "sum"}),
            json!([["Health", null, null, null, 2], ["Tech", 1, 3, 4, null]]),
        ),
        (
            "crosstab",
            json!({"index": "sector", "columns": "x"}),
            json!([["Health", null, 1, null, null], ["Tech", 1, null, 1, 1]]),
        ),
        ("percentile", json!({"column": "roi", "q": 0.5}), json!([["roi", 4, 10.25]])),
        (
            "query",
            json!({"query": "sector == 'Tech' and roi > 10", "columns": "symbol"}),
            json!([["A"], ["G"]]),
        ),
        ("query", json!({"query": "select count(*) n from stocks"}), json!([[4]])),
        (
            "dropna",
            json!({"subset": ["roi"], "columns": null, "limit": 1}),
            json!([["A", "Tech", 15.5, 1]]),
        ),
        (
            "hist",
            json!({"column": "roi", "bins": 2}),
            json!([[4.0, 9.75, 2, 50.0], [9.75, 15.5, 2, 50.0]]),
        ),
        ("corr", json!({"x": "roi", "y": "x", "where": "x < 4"}), json!(null)),
        // In another form.
        (
            "filter",
            json!({"column": "roi", "op": ">", "value": 13}),
            json!([["A", "Tech", 15.5, 1]]),
        ),
        (
            "filter",
            json!({"field": "symbol", "values": ["A", "J"], "sort_by": "roi", "order": "asc"}),
            json!([["J", "Health", 8.0, 2], ["A", "Tech", 15.5, 1]]),
        ),
        (
            "sort",
            json!({"column": "roi", "direction": "desc", "limit": 1}),
            json!([["A", "Tech", 15.5, 1]]),
        ),
        (
            "group_by",
            json!({"columns": ["sector"], "aggregations": {"x": "sum"}}),
            json!([["Health", 2], ["Tech", 8]]),
        ),
        ("aggregate", json!({"metric": "x", "function": "sum"}), json!([[10]])),
        (
            "percentiles",
            json!({"column": "roi", "percentiles": ["p50"]}),
            json!([["roi", 4, 10.25]]),
        ),
        (
            "validate",
            json!({"schema": {"type": "object", "required": ["symbol"],
                "properties": {"roi": {"type": "number", "minimum": 0, "title": "ROI"}}}}),
            json!(null),
        ),
    ] {
        let answer = asked(name, parameters.clone()).await;
        if wanted.is_null() {
            assert!(!answer.facts.is_empty(), "{name}");
            continue;
        }
        let found = table(&answer).1;
        assert_eq!(json!(found), wanted, "{name} {parameters}");
    }
}
