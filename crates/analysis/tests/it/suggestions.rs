//! What an answer says that works is sent next, and has to work for the data at hand.

use narrows_analysis::{
    Analysis, AnalysisError, Answer, Input, Output, Request, Understood, type_names, understand,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::analysis;

/// Tables of several kinds, each with the types that have to have a suggestion for it.
fn data_sets() -> Vec<(&'static str, Value)> {
    vec![
        (
            "stocks",
            json!([
                {"stock_id": 1, "sector": "Tech", "roi": 15.5, "day": "2026-01-02"},
                {"stock_id": 2, "sector": "Health", "roi": 8.0, "day": "2026-01-03"},
                {"stock_id": 3, "sector": "Tech", "roi": 12.0, "day": "2026-01-05"},
                {"stock_id": 4, "sector": "Health", "roi": 9.0, "day": "2026-01-06"},
            ]),
        ),
        (
            "odd names",
            json!([{"2010": 1, "a \"b\"": "x", "order": 3}, {"2010": 2, "a \"b\"": "y", "order": 5}]),
        ),
        ("texts", json!([{"word": "a", "Other Word": "b"}, {"word": "c", "Other Word": null}])),
        ("numbers", json!([{"n": 1.5}, {"n": 2.5}, {"n": 7.0}])),
    ]
}

async fn ask(
    analysis: &Analysis,
    rows: &Value,
    name: &str,
    parameters: Map<String, Value>,
) -> Result<Answer, AnalysisError> {
    let Understood { kind, parameters, refusal, .. } = understand(name, parameters)?;
    let request = Request { kind, parameters, output: Output::default(), refusal };
    let other = json!([{"sector": "Tech", "head": "Ann"}]);
    let tables = vec![
        ("rows".to_owned(), Input::Json(rows.clone())),
        ("heads".to_owned(), Input::Json(other)),
    ];
    analysis.run(request, tables, None, CancellationToken::new()).await
}

/// The call that a message says, of the type that was asked for if it names none.
fn said_call(said: &str, asked: &str) -> Option<(String, Map<String, Value>)> {
    let start =
        ["as in ", "has it: "].into_iter().find_map(|lead| Some(said.find(lead)? + lead.len()))?;
    let call: Value =
        serde_json::from_str(&said[start..]).unwrap_or_else(|error| panic!("{error}: {said}"));
    Some(match (call.get("analysis_type"), call.get("parameters")) {
        (Some(Value::String(name)), Some(Value::Object(parameters))) => {
            (name.clone(), parameters.clone())
        }
        _ => (asked.to_owned(), call.as_object().unwrap().clone()),
    })
}

/// What is asked of every type for the first data set: too little, and what no type has.
fn slips() -> [Value; 2] {
    [json!({}), json!({"frobnicate": 1})]
}

/// Slips of some types, which are made with every data set.
fn others() -> Vec<(&'static str, Value)> {
    vec![
        ("top_n", json!({"n": 3, "field": "amount", "by": "region"})),
        ("top_n", json!({"n": 3})),
        ("filter", json!({"where": "amount > 3", "groupBy": "region"})),
        ("validate", json!({"required": true})),
        ("validate", json!({"types": "numeric"})),
        ("validate", json!({"unique": true})),
        ("validate", json!({})),
        ("value_counts", json!({"column": "sector", "normalize": true, "having": "count > 1"})),
        ("value_counts", json!({})),
        ("percentiles", json!({"group_by": "sector", "bins": 3})),
        ("percentiles", json!({"frobnicate": 1})),
        ("histogram", json!({})),
        ("aggregate", json!({"frobnicate": 1})),
        ("transform", json!({"frobnicate": 1})),
        ("time_series", json!({"frobnicate": 1})),
        ("correlation", json!({"frobnicate": 1})),
        ("sql", json!({})),
        ("rank", json!({})),
        ("sumif", json!({})),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_that_an_answer_suggests_works_for_its_data() {
    let analysis = analysis(2, 1 << 30);
    let mut answered = Vec::new();
    for (set, rows) in data_sets() {
        let every = type_names().flat_map(|name| slips().map(|slip| (name, slip)));
        for (name, slip) in every.filter(|_| set == "stocks").chain(others()) {
            let given = slip.as_object().unwrap().clone();
            let Err(error) = ask(&analysis, &rows, name, given).await else { continue };
            let said = error.to_string();
            let Some((call, parameters)) = said_call(&said, name) else { continue };
            let again = ask(&analysis, &rows, &call, parameters).await;
            assert!(again.is_ok(), "{set}, {name} {slip}: {said}\n{}", again.unwrap_err());
            answered.push((set, name, slip));
        }
    }
    let has = |name: &str, slip: &Value| {
        answered.iter().any(|it| (it.0, it.1) == ("stocks", name) && it.2 == *slip)
    };
    for name in [
        "sort",
        "rename",
        "cast",
        "compute",
        "shift",
        "outliers",
        "regression",
        "union",
        "cut",
        "clip",
        "zscore",
        "top_n",
        "vlookup",
    ] {
        assert!(has(name, &json!({})), "{name} has no call for {{}}");
    }
    for (name, slip) in others() {
        assert!(has(name, &slip), "{name} has no call for {slip}");
    }
}

/// What was given stays in the suggestion if it can, and not if it cannot.
#[tokio::test]
async fn a_suggestion_has_what_was_given_as_far_as_it_works() {
    let analysis = analysis(2, 1 << 30);
    let rows = &data_sets()[0].1;
    for (name, parameters, wanted) in [
        (
            "top_n",
            json!({"n": 3}),
            r#"by: is missing; as in {"analysis_type": "top_n", "parameters": {"by":"roi","n":3}}"#,
        ),
        (
            "top_n",
            json!({"n": 3, "field": "roi", "by": "sector"}),
            r#"by: say what the order is by and what the groups are; as in {"analysis_type": "top_n", "parameters": {"by":"roi","group_by":"sector","n":3}}"#,
        ),
        (
            "top_n",
            json!({"n": 3, "field": "amount", "by": "roi"}),
            r#"by: say what the order is by and what the groups are; as in {"analysis_type": "top_n", "parameters": {"by":"roi","n":3}}"#,
        ),
        (
            "histogram",
            json!({"bins": 3}),
            r#"field: is missing; as in {"analysis_type": "histogram", "parameters": {"bins":3,"field":"roi"}}"#,
        ),
        (
            "percentiles",
            json!({"q": [50], "by": "region", "frobnicate": 1}),
            r#"; as in {"analysis_type": "percentiles", "parameters": {"fields":["roi"],"percentiles":[50,95,99]}}"#,
        ),
        (
            "histogram",
            json!({"field": "sector"}),
            r#"; as in {"analysis_type": "value_counts", "parameters": {"field":"sector"}}"#,
        ),
    ] {
        let asked = parameters.as_object().unwrap().clone();
        let said = ask(&analysis, rows, name, asked).await.unwrap_err().to_string();
        assert!(said.ends_with(wanted), "{said}");
    }
}
