//! Analyses as models ask for them that know pandas, SQL and Excel: each gives the right values, or
//! its answer has a call that works.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::support::{real::Site, state::Client};

/// What comes of a request.
enum Answer {
    /// These rows.
    Rows(Value),
    /// A message with this in it, and a call that works.
    Leads(&'static str),
}
use Answer::{Leads, Rows};

type Requests = Vec<(&'static str, Value, Answer)>;

/// What the requests are about.
const TABLES: &str = r#"
orders = [
    dict(id=1, day="2026-01-05", region="North", product="pen", quantity=10, price=2.5, buyer="k1"),
    dict(id=2, day="2026-01-20", region="South", product="ink", quantity=3, price=8.0, buyer="k2"),
    dict(id=3, day="2026-02-03", region="North", product="ink", quantity=4, price=7.5, buyer="k1"),
    dict(id=4, day="2026-02-14", region="South", product="pen", quantity=12, price=None, buyer="k3"),
    dict(id=5, day="2026-03-01", region="North", product="pen", quantity=6, price=3.0, buyer="k2"),
]
buyers = [dict(buyer="k1", segment="retail"), dict(buyer="k2", segment="school")]
"#;

/// Figures of groups, as pandas has them.
fn of_groups() -> Requests {
    vec![
        (
            "groupby",
            json!({"by": "region", "agg": {"quantity": "sum", "price": ["mean", "max"]}}),
            Rows(json!([["North", 20, 4.3333, 7.5], ["South", 15, 8.0, 8.0]])),
        ),
        (
            "groupby",
            json!({"by": "region", "total": ["quantity", "sum"], "as_index": false}),
            Rows(json!([["North", 20], ["South", 15]])),
        ),
        (
            "groupby",
            json!({"by": ["region"], "agg": {"total": ["quantity", "sum"], "p": ["price", "mean"]}}),
            Rows(json!([["North", 20, 4.3333], ["South", 15, 8.0]])),
        ),
        (
            "groupby",
            json!({"by": "region", "agg": {"buyer": "nunique"}, "sort": false}),
            Rows(json!([["North", 2], ["South", 2]])),
        ),
        (
            "pivot_table",
            json!({"index": "region", "columns": "product", "values": "quantity",
                "aggfunc": "sum", "fill_value": 0}),
            Rows(json!([["North", 4, 16], ["South", 3, 12]])),
        ),
        (
            "pivot_table",
            json!({"index": "region", "values": ["quantity", "price"], "aggfunc": "mean"}),
            Rows(json!([["North", 6.6667, 4.3333], ["South", 7.5, 8.0]])),
        ),
        (
            "pivot_table",
            json!({"index": "region", "columns": "product", "values": "quantity", "margins": true}),
            Leads("margins: there is no such parameter"),
        ),
        (
            "crosstab",
            json!({"index": "region", "columns": "product"}),
            Rows(json!([["North", 1, 2], ["South", 1, 1]])),
        ),
        (
            "crosstab",
            json!({"index": "region", "columns": "product", "normalize": "index"}),
            Rows(json!([
                ["North", "ink", 0.3333],
                ["North", "pen", 0.6667],
                ["South", "ink", 0.5],
                ["South", "pen", 0.5],
            ])),
        ),
        (
            "resample",
            json!({"rule": "ME", "on": "day", "agg": {"quantity": "sum", "price": "mean"}}),
            Rows(json!([
                ["2026-01-01", 13, 5.25],
                ["2026-02-01", 16, 7.5],
                ["2026-03-01", 6, 3.0],
            ])),
        ),
        (
            "value_counts",
            json!({"column": "region", "normalize": true}),
            Rows(json!([["North", 3, 0.6], ["South", 2, 0.4]])),
        ),
        (
            "value_counts",
            json!({"column": "quantity", "bins": 3}),
            Rows(json!([[3, 6, 2, 40], [6, 9, 1, 20], [9, 12, 2, 40]])),
        ),
        ("value_counts", json!({}), Leads("field: is missing")),
        (
            "quantile",
            json!({"column": "price", "q": [0.25, 0.5]}),
            Rows(json!([["price", 4, 2.875, 5.25]])),
        ),
        ("describe", json!({"percentiles": [0.1, 0.9]}), Leads("percentiles has it")),
        ("skew", json!({"column": "quantity"}), Rows(json!([[0.4303]]))),
        (
            "percent_of_total",
            json!({"column": "quantity", "by": "region"}),
            Rows(json!([["North", 20, 57.1429], ["South", 15, 42.8571]])),
        ),
        ("duplicated", json!({"subset": ["buyer"]}), Rows(json!([["k1", 2], ["k2", 2]]))),
    ]
}

/// Rows that are chosen, and columns that become others.
fn of_rows() -> Requests {
    let only = |rows: Value| Rows(rows);
    vec![
        (
            "nlargest",
            json!({"n": 2, "columns": "quantity", "keep": "first", "select": ["id"]}),
            only(json!([[4], [1]])),
        ),
        ("top_n", json!({"n": 2}), Leads("by: is missing")),
        ("idxmax", json!({"column": "quantity", "select": "id"}), only(json!([[4]]))),
        (
            "filter",
            json!({"query": "quantity > 5 and region == \"North\"", "select": "id"}),
            only(json!([[1], [5]])),
        ),
        (
            "filter",
            json!({"where": {"region": "North", "quantity": {"$gt": 5}}, "select": "id"}),
            only(json!([[1], [5]])),
        ),
        (
            "filter",
            json!({"conditions": [["quantity", ">", 5]], "select": "id"}),
            only(json!([[1], [4], [5]])),
        ),
        (
            "filter",
            json!({"column": "product", "contains": "en", "select": ["id"]}),
            only(json!([[1], [4], [5]])),
        ),
        ("filter", json!({"region": "North"}), Leads("region: there is no such parameter")),
        ("dropna", json!({"select": "id"}), only(json!([[1], [2], [3], [5]]))),
        (
            "drop_duplicates",
            json!({"subset": "buyer", "keep": false, "columns": null}),
            only(json!([[4, "2026-02-14", "South", "pen", 12, null, "k3"]])),
        ),
        (
            "sort_values",
            json!({"by": "price", "na_position": "first", "select": "id", "limit": 2}),
            only(json!([[4], [1]])),
        ),
        (
            "fillna",
            json!({"method": "ffill", "select": "price"}),
            only(json!([[2.5], [8.0], [7.5], [7.5], [3.0]])),
        ),
        (
            "fillna",
            json!({"column": "price", "method": "mean", "select": "price"}),
            only(json!([[2.5], [8.0], [7.5], [5.25], [3.0]])),
        ),
        (
            "astype",
            json!({"dtype": {"quantity": "float64", "id": "str"}, "select": ["id"], "limit": 1}),
            only(json!([["1"]])),
        ),
        (
            "assign",
            json!({"computed": {"total": "quantity * price"}, "select": "total", "limit": 2}),
            only(json!([[25.0], [24.0]])),
        ),
        (
            "melt",
            json!({"id_vars": ["id"], "value_vars": ["quantity", "price"], "limit": 2}),
            only(json!([[1, "quantity", 10.0], [1, "price", 2.5]])),
        ),
        (
            "merge",
            json!({"right": "buyers", "how": "left", "select": ["id", "segment"], "limit": 2}),
            only(json!([[1, "retail"], [2, "school"]])),
        ),
        (
            "merge",
            json!({"right": [{"buyer": "k3", "segment": "office"}], "on": "buyer", "select": ["id", "segment"]}),
            only(json!([[4, "office"]])),
        ),
        (
            "round",
            json!({"column": "price", "decimals": 0, "select": "price", "limit": 3}),
            only(json!([[3.0], [8.0], [8.0]])),
        ),
        (
            "replace",
            json!({"column": "region", "to_replace": "North", "value": "N", "select": "region",
            "limit": 2}),
            only(json!([["N"], ["South"]])),
        ),
        (
            "compute",
            json!({"name": "label", "formula": "region + product"}),
            Leads("texts are joined by ||"),
        ),
    ]
}

/// Figures along rows, which need no times.
fn along_rows() -> Requests {
    vec![
        (
            "pct_change",
            json!({"column": "quantity", "order_by": "id", "limit": 2}),
            Rows(json!([
                [1, "2026-01-05", "North", "pen", 10, 2.5, "k1", null],
                [2, "2026-01-20", "South", "ink", 3, 8.0, "k2", -0.7],
            ])),
        ),
        (
            "cumsum",
            json!({"column": "quantity", "group_by": "region", "time": "day", "limit": 3}),
            Rows(json!([
                ["North", "2026-01-05", 10.0, 10.0],
                ["North", "2026-02-03", 4.0, 14.0],
                ["North", "2026-03-01", 6.0, 20.0],
            ])),
        ),
        (
            "rank",
            json!({"column": "quantity", "ascending": false, "method": "min", "select": "quantity_rank"}),
            Rows(json!([[2], [5], [4], [1], [3]])),
        ),
        (
            "window",
            json!({"function": "row_number", "partition_by": "region", "order_by": "quantity",
            "select": "quantity_rank"}),
            Rows(json!([[3], [1], [1], [2], [2]])),
        ),
        ("rank", json!({}), Leads("field: is missing")),
        ("shift", json!({}), Leads("column: is missing")),
        (
            "cut",
            json!({"column": "quantity", "bins": [0, 5, 10, 100], "labels": ["low", "mid", "high"]}),
            Rows(json!([
                [1, "2026-01-05", "North", "pen", 10, 2.5, "k1", "mid"],
                [2, "2026-01-20", "South", "ink", 3, 8.0, "k2", "low"],
                [3, "2026-02-03", "North", "ink", 4, 7.5, "k1", "low"],
                [4, "2026-02-14", "South", "pen", 12, null, "k3", "high"],
                [5, "2026-03-01", "North", "pen", 6, 3.0, "k2", "mid"],
            ])),
        ),
    ]
}

/// What Excel has, and SQL.
fn of_sheets_and_sql() -> Requests {
    vec![
        (
            "sumif",
            json!({"range": "region", "criteria": "North", "sum_range": "quantity"}),
            Rows(json!([[20]])),
        ),
        ("countif", json!({"range": "quantity", "criteria": ">5"}), Rows(json!([[3]]))),
        (
            "averageif",
            json!({"range": "region", "criteria": "North", "average_range": "price"}),
            Rows(json!([[4.3333]])),
        ),
        (
            "sumifs",
            json!({"sum_range": "quantity", "criteria": {"region": "North", "product": "pen"}}),
            Rows(json!([[16]])),
        ),
        ("sumif", json!({}), Leads("criteria: is missing")),
        ("average", json!({"column": "price"}), Rows(json!([[5.25]]))),
        ("STDEV.S", json!({"column": "price"}), Rows(json!([[2.9011]]))),
        ("PERCENTILE.INC", json!({"array": "price", "k": 0.9}), Rows(json!([["price", 4, 7.85]]))),
        ("sumproduct", json!({"columns": ["quantity", "price"]}), Rows(json!([[97.0]]))),
        ("large", json!({"column": "quantity", "k": 2}), Rows(json!([[10]]))),
        (
            "vlookup",
            json!({"lookup_column": "buyer", "table": "buyers", "return_column": "segment",
            "select": ["segment"], "limit": 2}),
            Rows(json!([["retail"], ["school"]])),
        ),
        (
            "xlookup",
            json!({"lookup_value": "k2", "lookup_array": "buyer", "return_array": "product"}),
            Rows(json!([["ink"]])),
        ),
        (
            "vlookup",
            json!({"lookup_value": "k1", "table": "buyers", "key": "buyer"}),
            Leads("table: name"),
        ),
        (
            "weighted_average",
            json!({"value": "price", "weight": "quantity"}),
            Rows(json!([[4.2174]])),
        ),
        ("sql", json!({"query": "SELECT TOP 2 * FROM data"}), Leads("write LIMIT 10 at the end")),
        (
            "sql",
            json!({"query": "select sum(quantity) s from data where region = 'North'"}),
            Rows(json!([[20]])),
        ),
        ("regression", json!({}), Leads("x: a regression here")),
        ("outliers", json!({}), Leads("field: is missing")),
    ]
}

/// Asks for all of them in one program: what `analyze` gave, or said.
fn asked(client: &Client, requests: &[(String, Value)]) -> Vec<Value> {
    let code = format!(
        "{TABLES}\n\
         requests = json.loads({})\n\
         def plain(value):\n    return round(value, 4) if isinstance(value, float) else value\n\
         result = []\n\
         for name, parameters in requests:\n    \
         try:\n        \
         answer = await analyze(name, orders, parameters, tables={{'buyers': buyers}})\n        \
         result.append({{'rows': [[plain(value) for value in row.values()] for row in answer.get('data', [])]}})\n    \
         except Exception as error:\n        \
         result.append({{'error': str(error)}})\n",
        Value::String(json!(requests).to_string())
    );
    let answers = client.run(&code);
    answers.as_array().unwrap_or_else(|| panic!("{answers}")).clone()
}

/// The call that a message suggests.
fn suggested(said: &str) -> Option<(String, Value)> {
    let start = said.find("{\"analysis_type\"")?;
    let mut calls = serde_json::Deserializer::from_str(&said[start..]).into_iter::<Value>();
    let call = calls.next()?.ok()?;
    Some((call["analysis_type"].as_str()?.to_owned(), call["parameters"].clone()))
}

fn same(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|pair| same(pair.0, pair.1))
        }
        (Value::Number(found), Value::Number(wanted)) => found.as_f64() == wanted.as_f64(),
        _ => found == wanted,
    }
}

#[test]
fn what_models_know_from_elsewhere_works_or_leads_to_what_does() {
    let Some(site) = Site::new() else { return };
    let client = Client::alone(&site);
    let all: Requests =
        [of_groups(), of_rows(), along_rows(), of_sheets_and_sql()].into_iter().flatten().collect();
    let requests: Vec<(String, Value)> =
        all.iter().map(|(name, parameters, _)| ((*name).to_owned(), parameters.clone())).collect();
    let answers = asked(&client, &requests);
    let (mut wrong, mut second) = (Vec::new(), Vec::new());
    for ((name, parameters, expected), answer) in all.iter().zip(&answers) {
        match expected {
            Rows(rows) if same(&answer["rows"], rows) => {}
            Leads(hint) => {
                match (answer["error"].as_str(), answer["error"].as_str().and_then(suggested)) {
                    (Some(said), call) if said.contains(hint) => second.extend(call),
                    _ => wrong.push(format!("{name} {parameters}: {answer}, without {hint:?}")),
                }
            }
            Rows(rows) => wrong.push(format!("{name} {parameters}: {answer}, not {rows}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(second.len() > 8, "{second:?}");
    for (request, answer) in second.iter().zip(asked(&client, &second)) {
        assert!(answer["error"].is_null(), "{request:?}: {answer}");
    }
}
