use serde_json::{Value, json};

use crate::{
    kind::AnalysisType,
    ops::testing::{TestOutput, analyse},
};

async fn correlation(rows: Value, parameters: Value) -> TestOutput {
    analyse(AnalysisType::Correlation, rows, parameters).await.unwrap()
}

async fn error(kind: AnalysisType, rows: Value, parameters: Value) -> String {
    analyse(kind, rows, parameters).await.unwrap_err().to_string()
}

/// Twelve rows with a trend, a mirror of it, and something else.
fn rows() -> Value {
    let rows = (0..12).map(|at| {
        json!({
            "x": at,
            "twice": 2 * at,
            "down": -at,
            "waves": (at % 4 - 1) * (at % 2 - 1),
            "name": format!("n{at}"),
            "side": if at < 6 { "left" } else { "right" },
        })
    });
    rows.collect()
}

fn near(value: &Value, wanted: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - wanted).abs() < 1e-12)
}

#[tokio::test]
async fn two_fields_are_facts() {
    let given = correlation(rows(), json!({"fields": ["x", "twice"]})).await;
    assert_eq!(given.facts["method"], "pearson");
    assert!(near(&given.facts["correlation"], 1.0), "{:?}", given.facts);
    assert!(near(&given.facts["p_value"], 0.0), "{:?}", given.facts);
    assert_eq!(given.facts["n"], 12);
    assert!(given.rows.is_empty() && given.notes.is_empty(), "{:?}", given.notes);
}

#[tokio::test]
async fn more_fields_are_a_matrix() {
    let given = correlation(rows(), json!({"method": "kendall"})).await;
    assert_eq!(given.rows.len(), 4, "only numbers, by default");
    assert_eq!(given.rows[2]["field"], "down");
    assert!(near(&given.rows[2]["x"], -1.0) && near(&given.rows[2]["down"], 1.0));
    assert_eq!(given.rows[0]["waves"], given.rows[3]["x"], "it is symmetric");
    let strongest = given.facts["strongest"].as_array().unwrap();
    assert_eq!(strongest.len(), 6);
    assert_eq!(strongest[0]["fields"], json!(["x", "twice"]));
}

#[tokio::test]
async fn covariances_have_the_variances_in_the_diagonal() {
    let given =
        analyse(AnalysisType::Covariance, rows(), json!({"fields": ["x", "twice", "down"]}));
    let given = given.await.unwrap();
    assert!(near(&given.rows[0]["x"], 13.0) && near(&given.rows[0]["twice"], 26.0));
    assert!(near(&given.rows[2]["twice"], -26.0));
    let given = analyse(AnalysisType::Covariance, rows(), json!({"fields": ["x", "down"]}));
    let given = given.await.unwrap();
    assert!(near(&given.facts["covariance"], -13.0));
    assert!(near(&given.facts["variances"][1], 13.0));
}

#[tokio::test]
async fn groups_have_their_own() {
    for method in ["pearson", "spearman", "kendall"] {
        let parameters = json!({"fields": ["x", "down"], "group_by": "side", "method": method});
        let given = correlation(rows(), parameters).await;
        assert_eq!(given.rows.len(), 2);
        assert_eq!((&given.rows[1]["side"], &given.rows[1]["n"]), (&json!("right"), &json!(6)));
        assert!(near(&given.rows[1]["correlation"], -1.0));
    }
    let fields = json!(["x", "down", "twice"]);
    let given = correlation(rows(), json!({"fields": fields, "group_by": ["side"]})).await;
    assert_eq!(given.rows.len(), 6);
    assert_eq!(
        (&given.rows[4]["side"], &given.rows[4]["field"]),
        (&json!("right"), &json!("down"))
    );
}

#[tokio::test]
async fn missing_values_are_left_out_pair_by_pair() {
    let rows = json!([
        {"a": 1, "b": 2.0, "c": 9}, {"a": 2, "b": null, "c": 7}, {"a": 3, "b": 6.0, "c": null},
        {"a": 4, "b": 8.0, "c": 1}, {"a": null, "b": 1.5, "c": 3},
    ]);
    for method in ["pearson", "spearman", "kendall"] {
        let given = correlation(rows.clone(), json!({"method": method})).await;
        assert!(near(&given.rows[0]["b"], 1.0), "{method}: {:?}", given.rows);
        assert!(given.notes[0].contains("from 3 to 3 of up to 4 rows"), "{:?}", given.notes);
    }
}

#[tokio::test]
async fn what_never_changes_correlates_with_nothing() {
    let rows = json!([{"a": 0.1, "b": 1}, {"a": 0.1, "b": 2}, {"a": 0.1, "b": 5}]);
    for method in ["pearson", "spearman", "kendall"] {
        let given = correlation(rows.clone(), json!({"method": method})).await;
        assert_eq!(given.facts["correlation"], Value::Null);
        assert!(given.notes[0].contains("a is the same in all rows"), "{:?}", given.notes);
    }
}

#[tokio::test]
async fn text_is_read_as_numbers() {
    let rows =
        json!([{"a": "1", "b": 1}, {"a": "2.5", "b": 2}, {"a": "?", "b": 5}, {"a": "4", "b": 3}]);
    let given = correlation(rows, json!({"fields": ["a", "b"]})).await;
    assert_eq!(given.facts["n"], 3);
    assert!(given.notes[0].contains("1 of 4 values"), "{:?}", given.notes);
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let said = error(AnalysisType::Correlation, rows(), json!({"fields": ["x", "twize"]})).await;
    assert!(said.starts_with("fields[1]: no column \"twize\"; did you mean twice?"), "{said}");
    let said = error(AnalysisType::Correlation, rows(), json!({"fields": {"x": 1}})).await;
    assert_eq!(said, "fields: must be a text, not {\"x\":1}");
    let said = error(AnalysisType::Correlation, rows(), json!({"fields": ["x"]})).await;
    assert!(said.contains("at least two columns"), "{said}");
    let said = error(AnalysisType::Correlation, rows(), json!({"fields": ["x", "x"]})).await;
    assert!(said.contains("twice"), "{said}");
    let said = error(AnalysisType::Correlation, rows(), json!({"fields": ["x", "name"]})).await;
    assert!(said.contains("holds text that is no number"), "{said}");
    let said = error(AnalysisType::Correlation, rows(), json!({"method": "spearmen"})).await;
    assert!(said.contains("did you mean spearman"), "{said}");
    let said = error(AnalysisType::Covariance, rows(), json!({"method": "kendall"})).await;
    assert!(said.starts_with("method: there is no such parameter"), "{said}");
    let said = error(AnalysisType::Correlation, json!([]), json!({})).await;
    assert!(said.contains("at least two columns"), "{said}");
}
