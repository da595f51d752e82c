use serde_json::{Value, json};

use crate::{
    kind::AnalysisType,
    ops::testing::{TestOutput, analyse},
};

async fn test(rows: Value, parameters: Value) -> TestOutput {
    analyse(AnalysisType::Test, rows, parameters).await.unwrap()
}

async fn error(rows: Value, parameters: Value) -> String {
    analyse(AnalysisType::Test, rows, parameters).await.unwrap_err().to_string()
}

fn near(value: &Value, wanted: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - wanted).abs() < 1e-9)
}

/// The ages at which diabetes was found, as in SciPy's documentation; and further groups.
fn rows() -> Value {
    let of = |group: &str, values: &[i64]| -> Vec<Value> {
        values.iter().map(|value| json!({"group": group, "age": value})).collect()
    };
    let mut rows = of("males", &[19, 22, 16, 29, 24]);
    rows.extend(of("females", &[20, 11, 17, 12]));
    rows.into()
}

#[tokio::test]
async fn groups_of_a_column_are_compared() {
    let parameters = json!({"test": "mann_whitney", "field": "age", "group_by": "group",
        "groups": ["males", "females"]});
    let given = test(rows(), parameters).await;
    assert_eq!(given.facts["statistic"], 17.0);
    assert!(near(&given.facts["p_value"], 0.111_111_111_111_111_1), "{:?}", given.facts);
    assert_eq!(given.facts["significant"], false);
    assert_eq!(given.facts["method"], "exact");
    assert_eq!(given.facts["effect_size"]["name"], "rank_biserial");
    assert!(near(&given.facts["effect_size"]["value"], 0.7));
    assert_eq!(given.facts["effect_size"]["magnitude"], "large");
    assert_eq!(
        given.facts["groups"][1],
        json!({"group": "females", "n": 4, "mean": 15.0, "std": 18f64.sqrt(), "median": 14.5})
    );
}

#[tokio::test]
async fn a_one_sided_alternative_is_about_the_first_group() {
    let parameters = |groups: Value| {
        json!({"test": "U test", "field": "age", "group_by": "group", "groups": groups,
            "alternative": "less"})
    };
    let given = test(rows(), parameters(json!(["females", "males"]))).await;
    assert!(near(&given.facts["p_value"], 0.055_555_555_555_555_55), "{:?}", given.facts);
    assert_eq!(given.facts["alternative"], "less");
}

#[tokio::test]
async fn tests_of_means_have_an_interval() {
    let parameters = json!({"test": "ttest_ind", "field": "age", "group_by": "group",
        "groups": ["females", "males"], "alpha": 0.05});
    let given = test(rows(), parameters).await;
    assert!(near(&given.facts["statistic"], -2.239_334_696_520_584), "{:?}", given.facts);
    assert_eq!(given.facts["degrees_of_freedom"], 7.0);
    assert!(near(&given.facts["difference"]["mean"], -7.0));
    assert!(given.facts["difference"]["high"].as_f64().unwrap() > 0.0);
    assert!(given.notes.iter().any(|note| note.contains("only 4 values")), "{:?}", given.notes);
    let hedges = json!({"test": "t", "field": "age", "group_by": "group", "hedges": true});
    let hedges = test(rows(), hedges).await;
    assert_eq!(hedges.facts["effect_size"]["name"], "hedges_g");
    let (d, g) = (&given.facts["effect_size"]["value"], &hedges.facts["effect_size"]["value"]);
    assert!(near(g, d.as_f64().unwrap() * (1.0 - 3.0 / 27.0)));
}

#[tokio::test]
async fn one_sample_is_compared_with_a_value() {
    let given = test(rows(), json!({"test": "t", "field": "age", "value": 18})).await;
    assert_eq!(given.facts["groups"][0]["n"], 9);
    assert!(near(&given.facts["difference"]["mean"], 170.0 / 9.0 - 18.0));
}

#[tokio::test]
async fn columns_are_compared() {
    let rows = json!([
        {"before": 1.0, "after": 2.0}, {"before": 2.0, "after": 2.5}, {"before": 3.0, "after": null},
        {"before": 4.0, "after": 6.0}, {"before": null, "after": 1.0},
    ]);
    let fields = json!(["after", "before"]);
    let given = test(rows.clone(), json!({"test": "paired_t", "fields": fields})).await;
    assert_eq!(given.facts["groups"][0]["n"], 3);
    assert!(near(&given.facts["difference"]["mean"], 3.5 / 3.0));
    assert!(given.notes.iter().any(|note| note == "2 pairs left out"), "{:?}", given.notes);
    let given = test(rows, json!({"test": "welch", "fields": fields})).await;
    assert_eq!(given.facts["groups"][0]["n"], 4);
    assert!(
        given.notes.iter().any(|note| note == "2 missing values left out"),
        "{:?}",
        given.notes
    );
}

#[tokio::test]
async fn counts_are_compared() {
    let mut rows = Vec::new();
    for (count, group, outcome) in
        [(12, "a", "yes"), (5, "a", "no"), (29, "b", "yes"), (2, "b", "no")]
    {
        rows.extend(vec![json!({"group": group, "outcome": outcome}); count]);
    }
    rows.push(json!({"group": "a", "outcome": null}));
    let given =
        test(rows.clone().into(), json!({"test": "chi2", "fields": ["group", "outcome"]})).await;
    // scipy.stats.chi2_contingency([[12, 5], [29, 2]])
    assert!(near(&given.facts["p_value"], 0.083_986_541_714_992_35), "{:?}", given.facts);
    assert_eq!(given.facts["n"], 48);
    assert_eq!(given.rows.len(), 4);
    assert_eq!(given.rows[0]["observed"], 5);
    assert!(given.notes.iter().any(|note| note.starts_with("1 row with")), "{:?}", given.notes);
    assert!(
        given.notes.iter().any(|note| note.starts_with("in 2 of 4 cells")),
        "{:?}",
        given.notes
    );

    let expected = json!({"yes": 0.75, "no": 0.2, "maybe": 0.05});
    let given =
        test(rows.into(), json!({"test": "chi_square", "field": "outcome", "expected": expected}));
    let given = given.await;
    assert_eq!(
        (&given.rows[0]["outcome"], &given.rows[0]["observed"]),
        (&json!("maybe"), &json!(0))
    );
    assert!(near(&given.rows[0]["expected"], 2.4));
    assert_eq!(given.facts["degrees_of_freedom"], 2.0);
}

#[tokio::test]
async fn a_sample_is_compared_with_the_normal_distribution() {
    let rows: Value = (0..40).map(|at| json!({"x": (at * 37 % 40) as f64 / 10.0})).collect();
    let given = test(rows.clone(), json!({"test": "ks", "field": "x"})).await;
    assert!(given.facts["p_value"].as_f64().unwrap() > 0.5);
    assert!(given.notes[0].contains("from the values themselves"), "{:?}", given.notes);
    let given = test(rows, json!({"test": "ks", "field": "x", "mean": 10, "std": 1})).await;
    assert_eq!(given.facts["significant"], true);
    assert!(given.notes.is_empty(), "{:?}", given.notes);
}

#[tokio::test]
async fn unequal_variances_are_noted() {
    let rows: Value = (0..60)
        .map(|at| json!({"g": at % 2 == 0, "x": if at % 2 == 0 { at as f64 } else { 20.0 + at as f64 / 9.0 }}))
        .collect();
    let given = test(rows.clone(), json!({"test": "t", "field": "x", "group_by": "g"})).await;
    assert!(given.notes.iter().any(|note| note.contains("welch")), "{:?}", given.notes);
    let given = test(rows, json!({"test": "welch", "field": "x", "group_by": "g"})).await;
    assert!(given.notes.is_empty(), "{:?}", given.notes);
    assert_eq!(given.facts["groups"][0]["group"], "false");
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let mut three = rows().as_array().unwrap().clone();
    three.push(json!({"group": "unknown", "age": 4}));
    let three = Value::from(three);
    let cases = [
        (json!({}), "test: which test is missing; there are t, welch"),
        (json!({"test": "anovva", "field": "age"}), "did you mean anova?"),
        (json!({"test": "t"}), "field: which numbers"),
        (json!({"test": "t", "fields": [1]}), "fields[0]: no column \"1\""),
        (json!({"test": "t", "alpha": "low"}), "alpha: must be a number, not \"low\""),
        (json!({"test": "t", "field": "agee"}), "field: no column \"agee\"; did you mean age?"),
        (
            json!({"test": "t", "field": "age", "group_by": "group"}),
            "group_by: t compares two groups, not 3; `groups` chooses two of them, or the test anova \
             compares all; there are females, males, unknown",
        ),
        (
            json!({"test": "t", "field": "age", "group_by": "group", "groups": ["males", "femals"]}),
            "groups[1]: no group \"femals\"; there are females, males, unknown",
        ),
        (
            json!({"test": "t", "field": "age", "group_by": "group", "groups": ["males", "males"]}),
            "groups[1]: the group \"males\" is named twice",
        ),
        (
            json!({"test": "t", "field": "age", "group_by": "group", "groups": ["males", "unknown"]}),
            "field: \"unknown\" has 1 value, and at least 2 are needed",
        ),
        (json!({"test": "t", "field": "group"}), "holds text that is no number"),
        (
            json!({"test": "anova", "field": "age", "alternative": "less"}),
            "alternative: the test anova",
        ),
        (json!({"test": "welch", "field": "age"}), "fields: welch compares two groups, not 1"),
        (
            json!({"test": "paired_t", "field": "age", "group_by": "group"}),
            "group_by: pairs are in",
        ),
        (json!({"test": "t", "field": "age", "alpha": 5}), "alpha: it is between 0 and 1"),
        (
            json!({"test": "t", "field": "age", "alternative": "sideways"}),
            "alternative: no \"sideways\"",
        ),
        (
            json!({"test": "chi_square", "field": "group", "expected": {"males": 1}}),
            "expected: \"females\" occurs and is not in it; there are males",
        ),
        (json!({"test": "t", "field": "age", "values": 3}), "values: there is no such parameter"),
    ];
    for (parameters, wanted) in cases {
        let said = error(three.clone(), parameters.clone()).await;
        assert!(said.contains(wanted), "{parameters}: {said}");
    }
    let same = json!([{"x": 3, "g": 1}, {"x": 3, "g": 1}, {"x": 3, "g": 2}, {"x": 3, "g": 2}]);
    for name in ["t", "welch", "anova"] {
        let said = error(same.clone(), json!({"test": name, "field": "x", "group_by": "g"})).await;
        assert!(said.contains("values are the same"), "{said}");
    }
    let said = error(json!([{"x": null, "g": 1}]), json!({"test": "t", "field": "x"})).await;
    assert!(said.contains("has 0 values"), "{said}");
}
