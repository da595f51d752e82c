use serde_json::{Value, json};

use crate::{
    kind::AnalysisType,
    ops::testing::{TestOutput, analyse, analyse_tables, batch},
    work::MAIN,
};

async fn validate(rows: Value, validations: Value) -> TestOutput {
    analyse(AnalysisType::Validate, rows, json!({"validations": validations})).await.unwrap()
}

async fn error(rows: Value, parameters: Value) -> String {
    analyse(AnalysisType::Validate, rows, parameters).await.unwrap_err().to_string()
}

/// The numbers of the rows that break a rule.
fn broken(given: &TestOutput, rule: &str) -> Vec<i64> {
    let rows = given.rows.iter().filter(|row| row["rule"] == rule);
    rows.map(|row| row["row"].as_i64().unwrap()).collect()
}

/// The numbers of the rows that break rules.
fn all_broken(given: &TestOutput) -> Vec<i64> {
    given.rows.iter().map(|row| row["row"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn violations_are_counted_and_listed() {
    let rows = json!([
        {"id": 1, "name": "Ann"}, {"id": null, "name": "Bob"}, {"id": 3, "name": null}, {"id": 4, "name": "é"},
    ]);
    let given = validate(
        rows,
        json!([
            {"field": "id", "type": "numeric", "required": true},
            {"field": "name", "type": "text", "required": true, "min_length": 2},
        ]),
    );
    let given = given.await;
    assert_eq!(given.facts["valid"], false);
    assert_eq!(given.facts["checked_count"], 4);
    assert_eq!(given.facts["violation_count"], 3);
    assert_eq!(given.facts["invalid_row_count"], 3);
    assert_eq!(
        given.facts["rules"],
        json!([
            {"field": "id", "rule": "required", "violations": 1},
            {"field": "id", "rule": "type", "violations": 0},
            {"field": "name", "rule": "required", "violations": 1},
            {"field": "name", "rule": "type", "violations": 0},
            {"field": "name", "rule": "min_length", "violations": 1},
        ])
    );
    assert_eq!(
        given.rows,
        json!([
            {"row": 1, "field": "id", "rule": "required", "message": "is missing"},
            {"row": 2, "field": "name", "rule": "required", "message": "is missing"},
            {"row": 3, "field": "name", "rule": "min_length", "value": "é",
                "message": "is shorter than 2 characters"},
        ])
        .as_array()
        .unwrap()
        .as_slice()
    );
}

#[tokio::test]
async fn rows_have_their_numbers_however_the_table_is_read() {
    let rows: Value = (0..20_000).map(|at| json!({"x": at, "key": at / 2, "always": 1})).collect();
    let given = validate(
        rows,
        json!([
            {"field": "x", "max": 9},
            {"field": "key", "unique": true},
            {"field": "x", "increasing": "strict"},
            {"field": "always", "references": {"table": "data", "field": "x"}},
        ]),
    );
    let given = given.await;
    assert_eq!(broken(&given, "max"), (10..20_000).collect::<Vec<_>>());
    assert_eq!(broken(&given, "unique"), (0..20_000).collect::<Vec<_>>());
    assert_eq!(broken(&given, "increasing"), Vec::<i64>::new());
    assert_eq!(broken(&given, "references"), Vec::<i64>::new());
    let is_ordered = given.rows.is_sorted_by_key(|row| row["row"].as_i64().unwrap());
    assert!(is_ordered);
    for row in given.rows.iter().filter(|row| row["rule"] == "max") {
        assert_eq!(row["value"].as_str().unwrap(), row["row"].to_string());
    }
}

#[tokio::test]
async fn values_are_of_a_type() {
    let rows = json!([
        {"n": 1.5, "i": 1, "s": "12", "b": true, "d": "2024-02-29", "t": "2024-02-29T10:00:00Z"},
        {"n": 2.0, "i": 2, "s": "x", "b": null, "d": "2024-02-30", "t": "2024-02-29"},
        {"n": null, "i": null, "s": "7.0", "b": false, "d": "today", "t": "10:00"},
    ]);
    let cases = [
        ("n", "numeric", vec![]),
        ("n", "integer", vec![0]),
        ("n", "string", vec![0, 1]),
        ("n", "boolean", vec![0, 1]),
        ("n", "date", vec![0, 1]),
        ("n", "json", vec![]),
        ("i", "integer", vec![]),
        ("i", "number", vec![]),
        ("i", "email", vec![0, 1]),
        ("s", "numeric", vec![1]),
        ("s", "integer", vec![1]),
        ("s", "text", vec![]),
        ("s", "boolean", vec![0, 1, 2]),
        ("s", "json", vec![1]),
        ("b", "boolean", vec![]),
        ("b", "numeric", vec![0, 2]),
        ("d", "date", vec![1, 2]),
        ("t", "datetime", vec![2]),
        ("t", "date", vec![0, 2]),
    ];
    for (field, kind, wanted) in cases {
        let given = validate(rows.clone(), json!([{"field": field, "type": kind}])).await;
        assert_eq!(broken(&given, "type"), wanted, "{field} {kind}");
    }
    let coerced = [
        ("s", "numeric", true, vec![1]),
        ("s", "integer", true, vec![1]),
        ("i", "boolean", true, vec![1]),
        ("s", "numeric", false, vec![0, 1, 2]),
        ("s", "integer", false, vec![0, 1, 2]),
        ("i", "integer", false, vec![]),
    ];
    for (field, kind, coerce, wanted) in coerced {
        let validations = json!([{"field": field, "type": kind, "coerce": coerce}]);
        let given = validate(rows.clone(), validations).await;
        assert_eq!(broken(&given, "type"), wanted, "{field} {kind} {coerce}");
    }
}

#[tokio::test]
async fn what_is_written_in_text_counts() {
    let texts = ["30", " 4.5", "abc", "true", "False", "1", "NaN", "-inf", "", "007"];
    let rows: Value = texts.map(|text| json!({"s": text})).into_iter().collect();
    let cases = [
        (json!({"type": "numeric"}), vec![2, 3, 4, 6, 8]),
        (json!({"type": "integer"}), vec![1, 2, 3, 4, 6, 7, 8]),
        (json!({"type": "boolean"}), vec![0, 1, 2, 5, 6, 7, 8, 9]),
        (json!({"type": "boolean", "coerce": true}), vec![0, 1, 2, 6, 7, 8, 9]),
        (json!({"type": "boolean", "coerce": false}), (0..10).collect()),
    ];
    for (mut rule, wanted) in cases {
        rule["field"] = json!("s");
        let given = validate(rows.clone(), json!([rule])).await;
        assert_eq!(broken(&given, "type"), wanted, "{rule}");
        let is_told = given.notes.iter().any(|note| note.contains("\"s\" holds text"));
        assert_eq!(is_told, rule["coerce"].is_null(), "{rule}: {:?}", given.notes);
    }
}

#[tokio::test]
async fn what_is_not_of_its_type_is_not_out_of_bounds_too() {
    let rows = json!([
        {"age": "30", "day": "2024-01-05"}, {"age": "200", "day": "2023-01-05"},
        {"age": "abc", "day": "soon"}, {"age": "2.5", "day": null},
    ]);
    let cases = [
        (
            json!({"field": "age", "type": "integer", "min": 0, "max": 120, "positive": true}),
            json!(["1 is above 120", "2 is not an integer", "3 is not an integer"]),
        ),
        // Without a type, a value that cannot be compared breaks the rule, for that reason.
        (json!({"field": "age", "max": 120}), json!(["1 is above 120", "2 is not a number"])),
        (json!({"field": "age", "type": "text", "positive": true}), json!(["2 is not a number"])),
        (
            json!({"field": "day", "min": 5, "coerce": false}),
            json!(["0 is not a number", "1 is not a number", "2 is not a number"]),
        ),
        (
            json!({"field": "day", "type": "date", "min": "2024-01-01"}),
            json!(["1 is below 2024-01-01", "2 is not a date"]),
        ),
        (
            json!({"field": "day", "max": "2024-01-01"}),
            json!(["0 is above 2024-01-01", "2 is not a time"]),
        ),
        // What cannot be compared with a value is another one.
        (
            json!({"field": "age", "compare": {"operator": "!=", "value": 200}}),
            json!(["1 is not != 200"]),
        ),
    ];
    for (rule, wanted) in cases {
        let given = validate(rows.clone(), json!([rule])).await;
        let said: Value = given
            .rows
            .iter()
            .map(|row| json!(format!("{} {}", row["row"], row["message"].as_str().unwrap())))
            .collect();
        assert_eq!(said, wanted, "{rule}");
    }
}

#[tokio::test]
async fn texts_are_compared_as_what_is_written_in_them() {
    let rows = json!([
        {"a": "9", "b": "10", "n": "1", "t": "2024-01-01T23:00:00Z"},
        {"a": "2024-01-01T23:00:00Z", "b": "2024-01-01T20:00:00-05:00", "n": "2",
         "t": "2024-01-01T20:00:00-05:00"},
        {"a": "b", "b": "a", "n": "abc", "t": "2024-01-02T03:00:00+03:00"},
        {"a": "10", "b": "9", "n": "10", "t": null},
        {"a": "1", "b": "1.0", "n": "9007199254740993", "t": "2024-01-02T01:00:00Z"},
        {"a": "007", "b": "7", "n": "9007199254740992", "t": "2024-01-02T01:00:00Z"},
    ]);
    let cases = [
        (json!({"field": "a", "compare": {"operator": "<", "field": "b"}}), vec![2, 3, 4]),
        (json!({"field": "a", "compare": {"operator": "==", "field": "b"}}), vec![0, 1, 2, 3, 5]),
        (json!({"field": "a", "compare": {"operator": "<", "value": "10"}}), vec![1, 2, 3]),
        (
            json!({"field": "a", "compare": {"operator": "<", "field": "b"}, "coerce": false}),
            vec![0, 1, 2],
        ),
        (json!({"field": "n", "increasing": true}), vec![5]),
        (json!({"field": "n", "increasing": "strict"}), vec![5]),
        (json!({"field": "n", "increasing": true, "coerce": false}), vec![3, 5]),
        (json!({"field": "n", "max": 9_007_199_254_740_992_i64, "type": "numeric"}), vec![2, 4]),
        (json!({"field": "t", "increasing": true}), vec![2]),
        (json!({"field": "t", "increasing": "strict"}), vec![2, 5]),
        (json!({"field": "b", "increasing": true}), vec![3, 4]),
    ];
    for (rule, wanted) in cases {
        let given = validate(rows.clone(), json!([rule])).await;
        assert_eq!(all_broken(&given), wanted, "{rule}: {:?}", given.rows);
    }
}

#[tokio::test]
async fn listed_values_are_of_the_columns_type() {
    let rows = json!([
        {"i": 5, "f": 0.5, "s": "5", "b": true}, {"i": 6, "f": 6.0, "s": "x", "b": false},
        {"i": 7, "f": null, "s": "6.0", "b": null},
    ]);
    let cases = [
        (json!({"field": "i", "not_in": ["5", "6"]}), vec![0, 1]),
        (json!({"field": "i", "allowed": ["5", " 6 "]}), vec![2]),
        (json!({"field": "i", "allowed": ["5", 6.0]}), vec![2]),
        (json!({"field": "f", "allowed": ["0.5"]}), vec![1]),
        (json!({"field": "f", "not_in": [6, null]}), vec![1, 2]),
        (json!({"field": "f", "allowed": [6, null]}), vec![0]),
        (json!({"field": "s", "allowed": [5, 6]}), vec![1]),
        (json!({"field": "s", "allowed": [5, "x"]}), vec![2]),
        (json!({"field": "b", "allowed": ["true"]}), vec![1]),
        (json!({"field": "b", "not_in": [0]}), vec![1]),
    ];
    for (rule, wanted) in cases {
        let given = validate(rows.clone(), json!([rule])).await;
        assert_eq!(all_broken(&given), wanted, "{rule}: {:?}", given.rows);
    }
}

#[tokio::test]
async fn a_rule_is_for_each_of_its_fields() {
    let rows = json!([
        {"id": 1, "low": 5, "key": 1}, {"id": null, "low": -5, "key": 1},
        {"id": 1, "low": 5, "key": 2},
    ]);
    let given = validate(
        rows.clone(),
        json!([{"fields": ["id", "low"], "required": true, "min": 0, "unique": true}]),
    );
    let given = given.await;
    assert_eq!(
        given.facts["rules"],
        json!([
            {"field": "id, low", "rule": "unique", "violations": 2},
            {"field": "id", "rule": "required", "violations": 1},
            {"field": "id", "rule": "min", "violations": 0},
            {"field": "low", "rule": "required", "violations": 0},
            {"field": "low", "rule": "min", "violations": 1},
        ])
    );
    let given = validate(rows.clone(), json!([{"fields": "id", "max": 0}])).await;
    assert_eq!(broken(&given, "max"), [0, 2]);
    let given = validate(
        rows,
        json!([{"fields": ["low", "id"], "compare": {"operator": ">=", "field": "key"}}]),
    );
    let given = given.await;
    assert_eq!(broken(&given, "compare"), [1, 2]);
}

#[tokio::test]
async fn forms_of_text_are_known() {
    let texts = [
        "a@b.de",
        "a@b",
        "a b@c.de",
        "a..b@c.de",
        "https://x.org/a?b#c",
        "x.org",
        "http:// x",
        "123e4567-e89b-12d3-a456-426614174000",
        "123e4567e89b12d3a456426614174000",
        "{\"a\": [1]}",
        "{a: 1}",
        "",
    ];
    let rows: Value = texts.map(|text| json!({"text": text})).into_iter().collect();
    for (kind, wanted) in
        [("email", vec![0]), ("url", vec![4]), ("uuid", vec![7]), ("json", vec![9])]
    {
        let given = validate(rows.clone(), json!([{"field": "text", "type": kind}])).await;
        let broken = broken(&given, "type");
        let valid: Vec<i64> = (0..12).filter(|row| !broken.contains(row)).collect();
        assert_eq!(valid, wanted, "{kind}");
    }
}

#[tokio::test]
async fn values_are_compared() {
    let rows = json!([
        {"low": 1, "high": 2.5, "kind": "a", "day": "2024-01-05", "text": "12",
         "early": "2024-01-01T00:30:00+02:00"},
        {"low": 3, "high": 2.5, "kind": "b", "day": "2023-12-31T23:00:00Z", "text": "3"},
        {"low": null, "high": -1.0, "kind": "c", "day": "soon", "text": null},
        {"low": 0, "high": null, "kind": null, "day": null, "text": "many"},
    ]);
    let cases = [
        (json!({"field": "low", "min": 1}), "min", vec![3]),
        (json!({"field": "low", "max": 2.5}), "max", vec![1]),
        (json!({"field": "high", "positive": true}), "positive", vec![2]),
        (json!({"field": "day", "min": "2024-01-01"}), "min", vec![1, 2]),
        (json!({"field": "early", "min": "2024-01-01"}), "min", vec![]),
        (json!({"field": "early", "min": "2024-01-01T00:00:00Z"}), "min", vec![0]),
        (json!({"field": "kind", "min": "b"}), "min", vec![0]),
        (json!({"field": "kind", "allowed": ["a", "b", 7]}), "allowed", vec![2]),
        (json!({"field": "kind", "in": []}), "allowed", vec![0, 1, 2]),
        (json!({"field": "low", "in": [1, 3.0]}), "allowed", vec![3]),
        (json!({"field": "low", "not_in": [0, 1]}), "not_in", vec![0, 3]),
        (json!({"field": "kind", "pattern": "^[ab]$"}), "pattern", vec![2]),
        (json!({"field": "low", "pattern": "^[01]"}), "pattern", vec![1]),
        (json!({"field": "text", "min": 5}), "min", vec![1, 3]),
        (json!({"field": "text", "min": 5, "coerce": true}), "min", vec![1, 3]),
        (json!({"field": "text", "min": 5, "coerce": false}), "min", vec![0, 1, 3]),
        (json!({"field": "text", "not_in": [3]}), "not_in", vec![1]),
        (json!({"field": "text", "not_in": [3], "coerce": false}), "not_in", vec![]),
        (json!({"field": "text", "in": [3, "many"], "coerce": false}), "allowed", vec![0, 1]),
        (json!({"field": "day", "min": "2024-01-01", "coerce": false}), "min", vec![1]),
        (
            json!({"field": "low", "compare": {"operator": "<=", "field": "high"}}),
            "compare",
            vec![1],
        ),
        (json!({"field": "low", "compare": {"operator": "lt", "value": 3}}), "compare", vec![1]),
        (json!({"field": "kind", "equals": "a"}), "equals", vec![1, 2]),
        (json!({"field": "low", "equals": {"field": "low"}}), "equals", vec![]),
        (
            json!({"field": "text", "compare": {"operator": "!=", "field": "low"}, "coerce": true}),
            "compare",
            vec![1],
        ),
        (json!({"expression": "high >= low"}), "expression", vec![1]),
        (json!({"field": "high", "max_length": 3}), "max_length", vec![2]),
        (json!({"field": "high", "increasing": true}), "increasing", vec![2]),
        (json!({"field": "high", "increasing": "strict"}), "increasing", vec![1, 2]),
    ];
    for (rule, name, wanted) in cases {
        let given = validate(rows.clone(), json!([rule])).await;
        assert_eq!(broken(&given, name), wanted, "{rule}: {:?}", given.rows);
    }
    let given = validate(rows, json!([{"expression": "high >= low"}])).await;
    assert_eq!(given.rows[0]["value"], "high=2.5, low=3");
    assert_eq!(given.rows[0]["message"], "high >= low does not hold");
}

#[tokio::test]
async fn what_occurs_again_is_found() {
    let rows = json!([
        {"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": null, "b": "y"}, {"a": null, "b": "y"}, {"a": 1, "b": "x"},
    ]);
    let given = validate(rows.clone(), json!([{"field": "a", "unique": true}])).await;
    assert_eq!(broken(&given, "unique"), [0, 1, 4]);
    for both in [json!({"unique": ["a", "b"]}), json!({"fields": ["a", "b"], "unique": true})] {
        let given = validate(rows.clone(), json!([both])).await;
        assert_eq!(broken(&given, "unique"), [0, 4]);
        assert_eq!(given.rows[0]["value"], "a=1, b=x");
    }
    // One rule need not be in a list.
    let given = validate(rows.clone(), json!({"field": "a", "unique": true})).await;
    assert_eq!(broken(&given, "unique"), [0, 1, 4]);
    let given = validate(rows, json!([{"field": "b", "unique": true}, {"unique": "b"}])).await;
    assert_eq!(given.facts["violation_count"], 10);
}

#[tokio::test]
async fn values_have_to_be_in_another_table() {
    let orders =
        batch(&json!([{"customer": 1}, {"customer": 9}, {"customer": null}, {"customer": 2}]));
    let customers = batch(&json!([{"id": "1"}, {"id": "2"}, {"id": "2"}, {"id": null}]));
    let parameters = json!({"rules": [
        {"field": "customer", "foreign_key": {"table": "customers", "field": "id"}}]});
    let tables = vec![(MAIN, orders.clone()), ("customers", customers.clone())];
    let given = analyse_tables(AnalysisType::Validate, tables, parameters).await.unwrap();
    assert_eq!(broken(&given, "references"), [1]);
    assert_eq!(given.rows[0]["message"], "is not in customers.id");
    let parameters = json!({"rules": [
        {"field": "customer", "references": {"table": "customer", "field": "id"}}]});
    let tables = vec![(MAIN, orders), ("customers", customers)];
    let said =
        analyse_tables(AnalysisType::Validate, tables, parameters).await.unwrap_err().to_string();
    assert!(said.starts_with("rules[0].references.table: no table \"customer\""), "{said}");
}

#[tokio::test]
async fn a_missing_column_is_missing_everywhere() {
    let rows = json!([{"email": "a"}, {"email": "b"}]);
    let given =
        validate(rows.clone(), json!([{"field": "e_mail", "required": true, "type": "email"}]))
            .await;
    assert_eq!(given.facts["violation_count"], 2);
    assert_eq!(given.facts["valid"], false);
    assert!(
        given.notes[0].contains("no column \"e_mail\"; did you mean email"),
        "{:?}",
        given.notes
    );
    let said = error(rows, json!({"validations": [{"field": "e_mail", "type": "email"}]})).await;
    assert!(
        said.starts_with("validations[0].field: no column \"e_mail\"; did you mean email"),
        "{said}"
    );
}

#[tokio::test]
async fn warnings_do_not_make_a_table_invalid() {
    let rows = json!([{"x": 1}, {"x": 20}]);
    let given = validate(
        rows,
        json!([
            {"field": "x", "max": 9, "severity": "warning"}, {"field": "x", "required": true}, {"row_count": {"min": 1}},
        ]),
    );
    let given = given.await;
    assert_eq!(given.facts["valid"], true);
    assert_eq!(given.facts["warning_count"], 1);
    assert_eq!(given.facts["invalid_row_count"], 0);
    assert_eq!(given.rows[0]["severity"], "warning");
}

#[tokio::test]
async fn the_number_of_rows_is_checked() {
    let rows = json!([{"x": 1}, {"x": 20}]);
    let given =
        validate(rows, json!([{"row_count": {"min": 3, "max": 9}}, {"field": "x", "max": 9}]))
            .await;
    assert_eq!(
        given.rows[0],
        json!({"rule": "row_count", "value": "2",
        "message": "the table has 2 rows, not 3 to 9"})
    );
    assert_eq!((given.rows.len(), &given.rows[1]["row"]), (2, &json!(1)));
    assert_eq!(given.facts["violation_count"], 2);
}

#[tokio::test]
async fn no_rows_break_no_rule() {
    let given = validate(json!([]), json!([{"field": "x", "required": true}])).await;
    assert_eq!(given.facts["valid"], true);
    assert_eq!((&given.facts["checked_count"], given.rows.len()), (&json!(0), 0));
}

#[tokio::test]
async fn columns_may_have_any_name() {
    let rows = json!([{"a.b": 1, "C \"d\"": "x", "row": 5, "c0": 2}, {"a.b": null, "C \"d\"": "y", "row": 5, "c0": 3}]);
    let given = validate(
        rows,
        json!([
            {"field": "a.b", "required": true}, {"field": "C \"d\"", "allowed": ["x"]},
            {"unique": ["row"]}, {"field": "c0", "max": 2},
        ]),
    );
    let given = given.await;
    assert_eq!(broken(&given, "required"), [1]);
    assert_eq!(broken(&given, "allowed"), [1]);
    assert_eq!(broken(&given, "unique"), [0, 1]);
    assert_eq!(broken(&given, "max"), [1]);
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let rows = json!([{"x": 1, "s": "a"}]);
    let cases = [
        (json!({}), "validations: there is no rule"),
        (json!({"validations": []}), "validations: there is no rule"),
        (json!({"validations": [{"field": "x"}]}), "validations[0]: nothing to check"),
        (json!({"validations": [{"type": "numeric"}]}), "validations[0].field: which field"),
        (
            json!({"validations": [{"field": "x", "type": "numbr"}]}),
            "validations[0].type: no \"numbr\"",
        ),
        (
            json!({"validations": [{"field": "x", "requird": true}]}),
            "validations[0].requird: there is no such parameter; did you mean required?; there are",
        ),
        (
            json!({"validations": [{"field": "x", "minimal": 1}]}),
            "validations[0].minimal: there is no such parameter; did you mean min",
        ),
        (json!({"validations": {"x": {"mn": 1}}}), "validations.x.mn: there is no such parameter"),
        (json!({"validations": {"y": {"min": 1}}}), "validations.y.field: no column \"y\""),
        (json!({"types": {"x": "numbr"}}), "types.x.type: no \"numbr\" here; there are numeric"),
        (json!({"types": "numeric"}), "types: for which fields is missing; as in {\"types\":"),
        (json!({"required": true}), "required: for which fields is missing; as in {\"required\":["),
        (json!({"ranges": {"x": 3}}), "ranges.x: must be [min, max] or an object, not 3"),
        (
            json!({"conditions": [{"field": "x", "operator": ">", "value": 1}]}),
            "conditions[0].expression: must be a text",
        ),
        (
            json!({"group_by": "x", "aggregations": {"x": "sum"}}),
            "aggregate has it: {\"analysis_type\": \"aggregate\", \"parameters\": {\"group_by\":\"x\"",
        ),
        (json!({"validations": "x"}), "validations: must be an object, not \"x\""),
        (
            json!({"validations": [{"row_count": 3}]}),
            "validations[0].row_count: must be an object with `min`, `max` or both, not 3",
        ),
        (
            json!({"validations": [{"field": "x", "increasing": "very"}]}),
            "validations[0].increasing: must be true, false or \"strict\", not \"very\"",
        ),
        (
            json!({"validations": [{"field": "x", "unique": 1}]}),
            "validations[0].unique: must be true, or fields that are unique together, not 1",
        ),
        (
            json!({"validations": [{"field": "x", "allowed": 1}]}),
            "validations[0].allowed: must be a list, not 1",
        ),
        (
            json!({"validations": [{"field": "x", "min": 1, "severity": "eror"}]}),
            "validations[0].severity: no \"eror\" here; did you mean error?",
        ),
        (
            json!({"validations": [{"field": "x", "references": {"table": "data"}}]}),
            "validations[0].references.field: is missing",
        ),
        (
            json!({"validations": [{"field": "s", "pattern": "("}]}),
            "validations[0].pattern: regex parse error",
        ),
        (
            json!({"validations": [{"field": "x", "min": "soon"}]}),
            "validations[0].min: \"soon\" cannot be compared",
        ),
        (json!({"validations": [{"field": "x", "min": [1]}]}), "cannot be compared"),
        (json!({"validations": [{"expression": "x + 1"}]}), "is of type Int64, not true or false"),
        (
            json!({"validations": [{"field": "x", "compare": {"operator": "=>", "field": "s"}}]}),
            "validations[0].compare.operator: no \"=>\"",
        ),
        (
            json!({"validations": [{"field": "x", "compare": {"operator": "<", "field": "s"}}]}),
            "`coerce` reads text as numbers",
        ),
        (
            json!({"validations": [{"unique": ["x", "y"]}]}),
            "validations[0].unique[1]: no column \"y\"",
        ),
        (
            json!({"validations": [{"fields": ["x", "y"], "min": 1}]}),
            "validations[0].fields[1]: no column \"y\"",
        ),
        (
            json!({"validations": [{"field": "x", "fields": ["s"], "required": true}]}),
            "validations[0].fields: either `field` or `fields`",
        ),
        (
            json!({"validations": [{"fields": [], "required": true}]}),
            "validations[0].field: which field is to be checked is missing, for `required`",
        ),
        (
            json!({"validations": [{"field": "x", "not_in": [5, "many"]}]}),
            "validations[0].not_in[1]: column \"x\" holds numbers, and \"many\" is not one",
        ),
        (
            json!({"validations": [{"field": "s", "in": ["a", ["b"]]}]}),
            "validations[0].in[1]: column \"s\" holds text, and [\"b\"] is not text",
        ),
        (json!({"checks": []}), "validations: there is no rule"),
        (json!({"checkz": []}), "checkz: there is no such parameter"),
    ];
    for (parameters, wanted) in cases {
        let said = error(rows.clone(), parameters.clone()).await;
        assert!(said.contains(wanted), "{parameters}: {said}");
    }
}

#[tokio::test]
async fn rules_may_be_written_by_facet() {
    let rows = json!([
        {"id": 1, "price": "5", "code": "AB"},
        {"id": 1, "price": "much", "code": "x"},
        {"id": null, "price": "-3", "code": null},
    ]);
    let by_field = json!({"validations": [
        {"field": "id", "required": true}, {"field": "price", "type": "numeric", "min": 0},
        {"field": "code", "required": true, "pattern": "^[A-Z]+$"},
    ]});
    let wanted = analyse(AnalysisType::Validate, rows.clone(), by_field).await.unwrap();
    assert_eq!(wanted.facts["violation_count"], 5);
    for parameters in [
        json!({
            "required": ["id", "code"], "types": {"price": "numeric"}, "min": {"price": 0},
            "pattern": {"code": "^[A-Z]+$"},
        }),
        json!({"schema": {
            "id": {"required": true}, "price": {"type": "numeric", "min": 0},
            "code": {"required": true, "regex": "^[A-Z]+$"},
        }}),
        json!({"rules": {
            "id": {"not_null": true}, "price": {"type": "numeric", "minimum": 0},
            "code": {"required": true, "pattern": "^[A-Z]+$"},
        }}),
        json!({
            "required_fields": ["id", "code"], "schema": {"price": "numeric"},
            "ranges": {"price": [0, null]}, "patterns": {"code": "^[A-Z]+$"},
        }),
    ] {
        let given =
            analyse(AnalysisType::Validate, rows.clone(), parameters.clone()).await.unwrap();
        let told = |given: &TestOutput| {
            let mut told: Vec<String> = given.rows.iter().map(ToString::to_string).collect();
            told.sort();
            told
        };
        assert_eq!(told(&given), told(&wanted), "{parameters}");
    }
    let one = json!({"column": "price", "type": "numeric"});
    let given = analyse(AnalysisType::Validate, rows.clone(), one).await.unwrap();
    assert_eq!(given.facts["violation_count"], 1);
    let of_rows = json!({"unique": ["id"], "expressions": ["id < 5"], "row_count": {"min": 4}});
    let given = analyse(AnalysisType::Validate, rows, of_rows).await.unwrap();
    assert_eq!(given.facts["valid"], false);
    assert_eq!(broken(&given, "unique"), [0, 1], "{:?}", given.rows);
}

#[tokio::test]
async fn rules_of_all_kinds_go_together() {
    let rows: Value =
        (0..50).map(|at| json!({"a": at, "b": at % 7, "s": format!("x{}", at % 3)})).collect();
    let given = validate(
        rows,
        json!([
            {"field": "a", "unique": true}, {"unique": ["b", "s"]}, {"expression": "a >= b"},
            {"field": "b", "references": {"table": "data", "field": "a"}},
            {"field": "a", "references": {"table": "data", "field": "b"}},
            {"field": "b", "increasing": true}, {"field": "b", "increasing": "strict"},
            {"field": "s", "type": "email"}, {"field": "b", "compare": {"operator": "<=", "field": "a"}},
        ]),
    )
    .await;
    let counts: Vec<&Value> =
        given.facts["rules"].as_array().unwrap().iter().map(|rule| &rule["violations"]).collect();
    assert_eq!(counts, [0, 50, 0, 0, 43, 7, 7, 50, 0]);
    assert_eq!(given.rows.len(), 157);
}
