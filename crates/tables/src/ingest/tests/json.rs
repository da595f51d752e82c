//! Forms of JSON.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_list_of_objects() {
    assert_json(
        json!([{"a": 1, "b": "x"}, {"b": "y", "c": true}, {}, null]),
        "a: Int64, b: Utf8, c: Boolean",
        json!([
            {"a": 1, "b": "x", "c": null},
            {"a": null, "b": "y", "c": true},
            {"a": null, "b": null, "c": null},
            {"a": null, "b": null, "c": null},
        ]),
        &[],
    )
    .await;
}

#[tokio::test]
async fn one_object_is_one_row() {
    let row = json!({"a": 1, "b": {"c": 2}});
    assert_json(row, "a: Int64, b.c: Int64", json!([{"a": 1, "b.c": 2}]), &[]).await;
    let lists = json!({"a": [1, 2], "b": [3]});
    let row = json!([{"a": "[1,2]", "b": "[3]"}]);
    assert_json(lists, "a: Utf8, b: Utf8", row, &[]).await;
    assert_json(json!({"a": []}), "a: Utf8", json!([{"a": "[]"}]), &[]).await;
    assert_json(json!({"a": [], "b": []}), "a: Utf8, b: Utf8", json!([]), &[]).await;
    assert_json(json!({"a": [1], "b": 2}), "a: Utf8, b: Int64", json!([{"a": "[1]", "b": 2}]), &[])
        .await;
}

#[tokio::test]
async fn an_object_of_equal_lists_is_columns() {
    assert_json(
        json!({"a": [1, 2, null], "b": ["x", null, "z"], "c": [{"d": 1}, {"d": 2}, {"e": []}]}),
        "a: Int64, b: Utf8, c.d: Int64, c.e: Utf8",
        json!([
            {"a": 1, "b": "x", "c.d": 1, "c.e": null},
            {"a": 2, "b": null, "c.d": 2, "c.e": null},
            {"a": null, "b": "z", "c.d": null, "c.e": "[]"},
        ]),
        &[],
    )
    .await;
}

#[tokio::test]
async fn plain_values_have_one_column() {
    let rows = json!([{"value": 3}, {"value": null}, {"value": 5}]);
    assert_json(json!([3, null, 5]), "value: Int64", rows, &[]).await;
    assert_json(json!([null]), "value: Utf8", json!([{"value": null}]), &[]).await;
    assert_json(
        json!([1, {"a": 2}, [3]]),
        "value: Utf8",
        json!([{"value": "1"}, {"value": "{\"a\":2}"}, {"value": "[3]"}]),
        &["value: 2 lists or objects and 1 plain value: all kept as JSON text"],
    )
    .await;
}

#[tokio::test]
async fn objects_among_other_things() {
    assert_json(
        json!([{"a": 1}, 5, [6]]),
        "a: Int64, value: Utf8",
        json!([{"a": 1, "value": null}, {"a": null, "value": "5"}, {"a": null, "value": "[6]"}]),
        &["value: 1 list or object and 1 plain value: all kept as JSON text"],
    )
    .await;
}

#[tokio::test]
async fn lists_of_lists() {
    assert_json(
        json!([[1, "x"], [2], [3, "y", {"z": 4}]]),
        "c0: Int64, c1: Utf8, c2.z: Int64",
        json!([
            {"c0": 1, "c1": "x", "c2.z": null},
            {"c0": 2, "c1": null, "c2.z": null},
            {"c0": 3, "c1": "y", "c2.z": 4},
        ]),
        &[],
    )
    .await;
    // Nothing tells that the first row would be names.
    assert_json(
        json!([["a", "b"], ["c", null]]),
        "c0: Utf8, c1: Utf8",
        json!([{"c0": "a", "c1": "b"}, {"c0": "c", "c1": null}]),
        &[],
    )
    .await;
}

#[tokio::test]
async fn lists_with_a_header() {
    assert_json(
        json!([["id", "name", "empty"], [1, "x"], [2, "y"]]),
        "id: Int64, name: Utf8, empty: Utf8",
        json!([{"id": 1, "name": "x", "empty": null}, {"id": 2, "name": "y", "empty": null}]),
        &[],
    )
    .await;
    assert_json(
        json!([["id", "id", ""], [1, 2, 3]]),
        "id: Int64, id_2: Int64, c2: Int64",
        json!([{"id": 1, "id_2": 2, "c2": 3}]),
        &[
            "1 column without a name in the header: named by position (c0, c1, …)",
            "1 column with a name that was there before in the header: numbered (_2, _3, …)",
        ],
    )
    .await;
}

#[tokio::test]
async fn names_of_a_header_stay_apart() {
    assert_json(
        json!([["x", "x.y"], [{"y": 1}, 2]]),
        "x.y: Int64, x.y_2: Int64",
        json!([{"x.y": 2, "x.y_2": 1}]),
        &["1 column with the dotted name of another one: numbered (_2, _3, …)"],
    )
    .await;
}

#[tokio::test]
async fn empty_tables() {
    assert_json(json!([]), "", json!([]), &[]).await;
    assert_json(json!([{}, {}]), "", json!([{}, {}]), &[]).await;
    assert_json(json!({}), "", json!([{}]), &[]).await;
}

#[tokio::test]
async fn single_values_are_no_table() {
    for value in [json!(1), json!("x"), json!(null), json!(true)] {
        let reason = complaint(Input::Json(value)).await;
        assert!(reason.contains("single value"), "{reason}");
    }
}

#[tokio::test]
async fn objects_come_apart() {
    assert_json(
        json!([
            {"id": 1, "address": {"city": "Bern", "geo": {"lat": 46.9}}},
            {"id": 2, "address": null},
            {"id": 3, "address": {}, "z": 1},
            {"id": 4, "address": {"zip": "3000"}},
        ]),
        "id: Int64, address.city: Utf8, address.geo.lat: Float64, z: Int64, address.zip: Utf8",
        json!([
            {"id": 1, "address.city": "Bern", "address.geo.lat": 46.9, "z": null, "address.zip": null},
            {"id": 2, "address.city": null, "address.geo.lat": null, "z": null, "address.zip": null},
            {"id": 3, "address.city": null, "address.geo.lat": null, "z": 1, "address.zip": null},
            {"id": 4, "address.city": null, "address.geo.lat": null, "z": null, "address.zip": "3000"},
        ]),
        &[],
    )
    .await;
    assert_json(json!([{"a": {}}]), "a: Utf8", json!([{"a": null}]), &[]).await;
}

#[tokio::test]
async fn objects_among_plain_values_stay_whole() {
    assert_json(
        json!([{"a": {"x": 1, "y": {"z": 2}}}, {"a": 5}, {"a": null}, {"a": "t"}, {"b": {"c": 1}}]),
        "a: Utf8, b.c: Int64",
        json!([
            {"a": "{\"x\":1,\"y\":{\"z\":2}}", "b.c": null},
            {"a": "5", "b.c": null},
            {"a": null, "b.c": null},
            {"a": "\"t\"", "b.c": null},
            {"a": null, "b.c": 1},
        ]),
        &["a: 1 list or object and 2 plain values: all kept as JSON text"],
    )
    .await;
}

#[tokio::test]
async fn objects_and_lists_together_are_json() {
    assert_json(
        json!([{"a": {"x": 1}}, {"a": [1]}]),
        "a: Utf8",
        json!([{"a": "{\"x\":1}"}, {"a": "[1]"}]),
        &[],
    )
    .await;
}

#[tokio::test]
async fn lists_are_json() {
    assert_json(
        json!([{"tags": ["a", "b\n\"\u{1}ü"]}, {"tags": []}, {"tags": [1.0, 2, null, true, {"k": [1e300]}]}]),
        "tags: Utf8",
        json!([
            {"tags": "[\"a\",\"b\\n\\\"\\u0001ü\"]"},
            {"tags": "[]"},
            {"tags": "[1.0,2,null,true,{\"k\":[1e300]}]"},
        ]),
        &[],
    )
    .await;
}

#[tokio::test]
async fn objects_with_many_keys_stay_whole() {
    let prices: Map<String, Value> = (0..600).map(|n| (format!("k{n}"), json!(n))).collect();
    let more: Map<String, Value> = (600..1200).map(|n| (format!("k{n}"), json!(n))).collect();
    let value = json!([
        {"id": 1, "prices": prices, "other": {"x": 1}},
        {"id": 2, "prices": more, "other": {"x": 2}},
    ]);
    let plain = plain(Input::Json(value)).await.expect("a table");
    assert_eq!(plain.columns, "id: Int64, prices: Utf8, other.x: Int64");
    assert_eq!(plain.rows[1]["prices"], Value::Object(more).to_string());
    assert_eq!(plain.notes, ["prices: objects with too many different keys: kept as JSON text"]);
}

#[tokio::test]
async fn keys_that_are_data_end_in_one_column() {
    // Each row has a key of its own, in many objects.
    let row = |n: usize| json!({format!("o{}", n % 700): {format!("k{n}"): n}});
    let value: Value = (0..5_000).map(row).collect();
    let plain = plain(Input::Json(value)).await.expect("a table");
    assert_eq!(plain.columns.split(", ").count(), 700);
    assert!(plain.notes[0].contains("objects with too many different keys"), "{:?}", plain.notes);
    let flat: Value = (0..20_000).map(|n| json!({format!("k{n}"): n})).collect();
    let reason = complaint(Input::Json(flat)).await;
    assert!(reason.contains("more than 10000 different keys"), "{reason}");
}

#[tokio::test]
async fn wide_rows_without_objects_are_fine() {
    let row: Map<String, Value> = (0..1_500).map(|n| (format!("k{n}"), json!(n))).collect();
    let plain = plain(Input::Json(json!([row]))).await.expect("a table");
    assert_eq!(plain.columns.split(", ").count(), 1_500);
    assert_eq!(plain.notes, [""; 0]);
}

#[tokio::test]
async fn deep_objects_end_in_json() {
    let deep = (0..20).fold(json!(1), |inner, _| json!({"a": inner}));
    let plain = plain(Input::Json(json!([deep]))).await.expect("a table");
    let name = ["a"; 17].join(".");
    assert_eq!(plain.columns, format!("{name}: Utf8"));
    assert_eq!(plain.rows[0][&name], "{\"a\":{\"a\":{\"a\":1}}}");
    assert_eq!(plain.notes, ["objects nested more than 16 levels deep: kept as JSON text"]);
    let open = "[".repeat(100_000);
    let reason = complaint(Input::Text(open)).await;
    assert!(reason.contains("nested more than 128 levels"), "{reason}");
}

#[tokio::test]
async fn names_may_be_anything() {
    assert_json(
        json!([{"": 1, "a.b": 2, "a": {"b": 3}, "ü \"x\"": 4, "A": 5}]),
        ": Int64, a.b: Int64, a.b_2: Int64, ü \"x\": Int64, A: Int64",
        json!([{"": 1, "a.b": 2, "a.b_2": 3, "ü \"x\"": 4, "A": 5}]),
        &["1 column with the dotted name of another one: numbered (_2, _3, …)"],
    )
    .await;
}

#[tokio::test]
async fn keys_with_dots_are_told_from_objects() {
    let note = "1 column with the dotted name of another one: numbered (_2, _3, …)";
    assert_json(
        json!([{"x": {"y": 1}, "x.y": 2}, {"x.y": 3}, {"x": {"y": 4}}]),
        "x.y: Int64, x.y_2: Int64",
        json!([{"x.y": 1, "x.y_2": 2}, {"x.y": null, "x.y_2": 3}, {"x.y": 4, "x.y_2": null}]),
        &[note],
    )
    .await;
    assert_json(
        json!([{"x.y": "a", "x": {"y": {"z": 1}, "y.z": 2}}]),
        "x.y: Utf8, x.y.z: Int64, x.y.z_2: Int64",
        json!([{"x.y": "a", "x.y.z": 1, "x.y.z_2": 2}]),
        &[note],
    )
    .await;
    // Which comes first differs between the pieces that the rows are read in.
    let mut rows = vec![json!({"x.y": 1}); 70_000];
    rows.push(json!({"x": {"y": 2}, "x.y": 3}));
    let plain = plain(Input::Json(Value::Array(rows))).await.expect("a table");
    assert_eq!(plain.rows[0], json!({"x.y": 1, "x.y_2": null}));
    assert_eq!(plain.rows[70_000], json!({"x.y": 3, "x.y_2": 2}));
    assert_eq!(plain.notes, [note]);
}

#[tokio::test]
async fn of_keys_that_come_twice_the_last_wins() {
    let text = r#"[{"a":1,"b":2,"a":3},{"b":4,"a":5,"b":null},{"a":{"x":1},"a":6,"b":7}]"#;
    let plain = plain(Input::Text(text.to_owned())).await.expect("a table");
    assert_eq!(
        plain.rows,
        [json!({"a": 3, "b": 2}), json!({"a": 5, "b": null}), json!({"a": 6, "b": 7})]
    );
    let text = r#"[{"a":{"x":1,"y":2},"a":{"y":3}},{"a":{"x":4},"a":null},{"a":{"x":5}}]"#;
    let plain = super::plain(Input::Text(text.to_owned())).await.expect("a table");
    assert_eq!(plain.columns, "a.x: Int64, a.y: Int64");
    assert_eq!(
        plain.rows,
        [
            json!({"a.x": null, "a.y": 3}),
            json!({"a.x": null, "a.y": null}),
            json!({"a.x": 5, "a.y": null})
        ]
    );
}

#[tokio::test]
async fn text_that_is_no_json_says_where() {
    let broken = [
        ("", "nothing in it"),
        (" \n ", "nothing in it"),
        ("[1, 2", "line 1, column 6: expected a comma or the end of the list, but the text ends"),
        ("[1,\n 2,]", "line 2, column 4: expected a value, found ']'"),
        ("{\"a\": 1,}", "line 1, column 9: expected a key in double quotes, found '}'"),
        ("{a: 1}", "expected a key in double quotes, found 'a'"),
        ("{\"a\" 1}", "expected a colon, found '1'"),
        ("[01]", "this is no number"),
        ("[1.]", "this is no number"),
        ("[-]", "this is no number"),
        ("[1e]", "this is no number"),
        ("[\"a]", "a text is not closed"),
        ("[\"a\tb\"]", "control character"),
        ("[\"\\x\"]", "this is no escape"),
        ("[\"\\u12g4\"]", "this is no escape"),
        ("[tru]", "expected a value, found 't'"),
        ("[1] x", "there is something after the value"),
        ("a,b\n1,2\n", "expected a value, found 'a'"),
        ("[1 2]", "expected a comma"),
    ];
    for (text, expected) in broken {
        let reason = complaint(Input::Text(text.to_owned())).await;
        assert!(reason.contains(expected), "{text:?}: {reason}");
    }
}

#[tokio::test]
async fn text_may_have_what_python_writes() {
    let text = "\u{feff}[{\"a\": NaN, \"b\": \"\\ud83d\\ude00 \\ud83d \\u00e9\\/\\b\"}, \
                {\"a\": -Infinity}, {\"a\": Infinity}]";
    let plain = plain(Input::Text(text.to_owned())).await.expect("a table");
    assert_eq!(plain.columns, "a: Float64, b: Utf8");
    assert_eq!(plain.rows[0], json!({"a": "float NaN", "b": "😀 \u{fffd} é/\u{8}"}));
    assert_eq!(plain.rows[1]["a"], "float -inf");
    assert_eq!(plain.rows[2]["a"], "float inf");
}

#[tokio::test]
async fn text_may_be_lines() {
    let plain = plain(Input::Text("{\"a\":1}\n\n{\"a\":2}\n".to_owned())).await.expect("a table");
    assert_eq!(plain.rows, [json!({"a": 1}), json!({"a": 2})]);
    let reason = complaint(Input::Text("{\"a\":1}\n{\"a\":2}\n{\"a\"\n".to_owned())).await;
    assert!(reason.contains("line 3, column 5: expected a colon, but the line ends"), "{reason}");
}
