//! Data as it really is.

use serde_json::json;

use super::*;

/// A column of these values.
async fn assert_column(values: Value, kind: &str, expected: Value, note: Option<&str>) {
    let row = |value: &Value| json!({"a": value});
    let rows = |values: &Value| values.as_array().expect("list").iter().map(row).collect();
    let note = note.map(|note| format!("a: {note}"));
    let notes: Vec<&str> = note.iter().map(String::as_str).collect();
    assert_json(rows(&values), &format!("a: {kind}"), rows(&expected), &notes).await;
}

#[tokio::test]
async fn whole_and_decimal_numbers() {
    let mixed = json!([1, 2.5, 3, null]);
    assert_column(mixed, "Float64", json!([1.0, 2.5, 3.0, null]), None).await;
    let extremes = json!([i64::MAX, i64::MIN, 0]);
    assert_column(extremes.clone(), "Int64", extremes, None).await;
}

#[tokio::test]
async fn no_digit_is_lost() {
    let note = "whole numbers of more than 64 bits: all kept as text, to be exact";
    let values = json!([u64::MAX, 1, 0.5]);
    let texts = json!(["18446744073709551615", "1", "0.5"]);
    assert_column(values, "Utf8", texts, Some(note)).await;
    let note = "decimal numbers and whole numbers beyond 2^53: all kept as text, to be exact";
    for values in [json!([9007199254740993_i64, 0.5, 1]), json!([1, 0.5, 9007199254740993_i64])] {
        let texts: Value =
            values.as_array().expect("list").iter().map(|v| json!(v.to_string())).collect();
        assert_column(values, "Utf8", texts, Some(note)).await;
    }
    let exact = json!([9007199254740992_i64, 0.5]);
    assert_column(exact, "Float64", json!([9007199254740992.0, 0.5]), None).await;
    // Longer than any number type, in text only.
    let text = "[{\"a\": 123456789012345678901234567890}, {\"a\": -1}]".to_owned();
    let plain = plain(Input::Text(text)).await.expect("a table");
    assert_eq!(plain.rows[0]["a"], "123456789012345678901234567890");
    assert_eq!(plain.rows[1]["a"], "-1");
    assert_eq!(plain.notes.len(), 1);
}

#[tokio::test]
async fn numbers_as_text_among_numbers() {
    let values = json!([1, "2", " 3 ", "N/A", ""]);
    let note = "2 texts read as numbers, 2 as missing";
    assert_column(values, "Int64", json!([1, 2, 3, null, null]), Some(note)).await;
    let values = json!(["2.5", 1]);
    assert_column(values, "Float64", json!([2.5, 1.0]), Some("1 text read as numbers")).await;
}

#[tokio::test]
async fn nothing_among_numbers() {
    for marker in ["", "N/A", "n/a", "NA", "null", "none", "-", "nan"] {
        let note = Some("1 text read as missing");
        assert_column(json!([1, marker, 3]), "Int64", json!([1, null, 3]), note).await;
        assert_column(json!([marker, true]), "Boolean", json!([null, true]), note).await;
        assert_column(json!([marker, "x"]), "Utf8", json!([marker, "x"]), None).await;
    }
}

#[tokio::test]
async fn text_among_numbers() {
    let note = "2 numbers and 1 text: all kept as text";
    assert_column(json!([1, 2.5, "abc"]), "Utf8", json!(["1", "2.5", "abc"]), Some(note)).await;
    assert_column(json!(["abc", 1.0, 2]), "Utf8", json!(["abc", "1", "2"]), Some(note)).await;
    let note = "1 boolean, 1 number and 1 text: all kept as text";
    assert_column(json!([true, 1, "x"]), "Utf8", json!(["true", "1", "x"]), Some(note)).await;
}

#[tokio::test]
async fn codes_stay_text() {
    let codes = json!(["007", "8000", "3000"]);
    assert_column(codes.clone(), "Utf8", codes, None).await;
    let numbers = json!(["1", "2"]);
    assert_column(numbers.clone(), "Utf8", numbers, None).await;
    let note = "1 number and 1 text: all kept as text";
    assert_column(json!([8000, "007"]), "Utf8", json!(["8000", "007"]), Some(note)).await;
}

#[tokio::test]
async fn lists_among_plain_values() {
    assert_column(
        json!(["x", [1], 2, 0.5, true, null]),
        "Utf8",
        json!(["\"x\"", "[1]", "2", "0.5", "true", null]),
        Some("1 list or object and 4 plain values: all kept as JSON text"),
    )
    .await;
    // JSON has no such number.
    let text = "[{\"a\": NaN}, {\"a\": [NaN]}, {\"a\": 1}]".to_owned();
    let plain = plain(Input::Text(text)).await.expect("a table");
    assert_eq!(plain.rows, [json!({"a": null}), json!({"a": "[null]"}), json!({"a": "1"})]);
}

/// Pieces of a table are read apart; what one has in it decides about all.
#[tokio::test]
async fn types_are_those_of_the_whole() {
    let many = |value: Value| std::iter::repeat_n(json!({"a": value, "b": value}), 70_000);
    let mut rows: Vec<Value> = many(json!(1)).collect();
    rows.extend(many(json!("2")));
    rows.push(json!({"a": 2.5, "b": "x", "c": "new"}));
    let plain = plain(Input::Json(Value::Array(rows))).await.expect("a table");
    assert_eq!(plain.columns, "a: Float64, b: Utf8, c: Utf8");
    assert_eq!(
        plain.notes,
        ["a: 70,000 texts read as numbers", "b: 70,000 numbers and 70,001 texts: all kept as text"]
    );
    assert_eq!(plain.rows.len(), 140_001);
    assert_eq!(plain.rows[0], json!({"a": 1.0, "b": "1", "c": null}));
    assert_eq!(plain.rows[139_999], json!({"a": 2.0, "b": "2", "c": null}));
    assert_eq!(plain.rows[140_000], json!({"a": 2.5, "b": "x", "c": "new"}));
}
