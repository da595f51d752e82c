//! The analysis `transform`.

use std::sync::Arc;

use datafusion::arrow::{
    array::{
        ArrayRef, Decimal128Array, Int64Array, Int64Builder, ListBuilder, RecordBatch,
        StringBuilder, StructBuilder, TimestampSecondArray,
    },
    datatypes::{DataType, Field, Fields},
};
use narrows_analysis::{AnalysisType, Input};
use serde_json::{Map, Value, json};

use crate::support::{of_columns, refusal, rows, run, run_with, table};

fn users() -> Value {
    json!([
        {"id": 1, "name": "Ann", "age": 31, "city": "Oslo"},
        {"id": 2, "name": "Bob", "age": null, "city": "Roma"},
        {"id": 3, "name": "Ann", "age": 20, "city": "Oslo"},
    ])
}

async fn transformed(data: Value, parameters: Value) -> Value {
    rows(AnalysisType::Transform, data, parameters).await
}

#[tokio::test]
async fn the_way_callers_write_it() {
    let parameters = json!({"output_fields": ["id", "name"], "rename": {"name": "full_name"}});
    let found = transformed(users(), parameters).await;
    assert_eq!(found[1], json!({"id": 2, "full_name": "Bob"}));
    assert_eq!(found.as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn all_of_it_in_its_order() {
    let parameters = json!({
        "fill_null": {"age": 0},
        "computed": {"twice": "age * 2", "more": "twice + 1"},
        "filter": [{"field": "more", "operator": "<", "value": 60}],
        "sort": "-more",
        "select": ["id", "more"],
        "rename": {"more": "m"},
        "limit": 1,
    });
    assert_eq!(transformed(users(), parameters).await, json!([{"id": 3, "m": 41}]));
    let steps = json!({"steps": [{"limit": 2}, {"sort": "-id"}, {"select": "name", "limit": 1}]});
    assert_eq!(transformed(users(), steps).await, json!([{"name": "Bob"}]));
    // Alike after `select`, though not before.
    let parameters = json!({"select": ["name"], "deduplicate": true});
    assert_eq!(transformed(users(), parameters).await, json!([{"name": "Ann"}, {"name": "Bob"}]));
    // The newest of each.
    let parameters = json!({"sort": "-id", "deduplicate": "name", "select": "id"});
    assert_eq!(transformed(users(), parameters).await, json!([{"id": 3}, {"id": 2}]));
}

#[tokio::test]
async fn whole_numbers_are_divided_as_all_numbers() {
    let computed = json!({"computed": {"rate": "w / g", "part": "(w + 1) / g / 2"}});
    let found = transformed(json!([{"w": 3, "g": 4}]), computed.clone()).await;
    assert_eq!(found, json!([{"w": 3, "g": 4, "rate": 0.75, "part": 0.5}]));
    // The rows beside it do not depend on a row without games.
    let found = transformed(json!([{"w": 3, "g": 4}, {"w": 1, "g": 0}]), computed).await;
    assert_eq!(found[0]["rate"], json!(0.75));
    let data = json!([{"w": 3, "g": 4}, {"w": 1, "g": 4}]);
    let rules = json!({"validations": [{"expression": "w / g > 0.5"}]});
    let answer = run(AnalysisType::Validate, data, rules).await.expect("an answer");
    assert_eq!(answer.facts["violation_count"], json!(1));
}

#[tokio::test]
async fn names_are_only_names() {
    let data = json!([{"a.b": 1, "say \"hi\"": 2, "A": 3, "__row": 4, "-x": 2, "select": 6}]);
    let parameters = json!({
        "sort": ["-x", "a.b", "__row"],
        "computed": {"new \"one\"": "\"A\" + \"a.b\""},
        "drop": ["select"],
    });
    let found = transformed(data, parameters).await;
    let expected =
        json!([{"a.b": 1, "say \"hi\"": 2, "A": 3, "__row": 4, "-x": 2, "new \"one\"": 4}]);
    assert_eq!(found, expected);

    let data = json!([{"__variable": 1, "__value": 2, "__cell_0": 3, "__element_row_0": "[4]"}]);
    let unpivot = json!({"unpivot": {"id": ["__variable", "__value"], "values": "__cell_0"}});
    let found = transformed(data.clone(), unpivot).await;
    let expected = json!([{"__variable": 1, "__value": 2, "variable": "__cell_0", "value": 3}]);
    assert_eq!(found, expected);
    let pivot = json!({"index": "__cell_0", "columns": "__value", "values": "__variable"});
    let found = transformed(data.clone(), json!({"pivot": pivot})).await;
    assert_eq!(found, json!([{"__cell_0": 3, "2": 1}]));
    let flatten = json!({"flatten": "__element_row_0", "select": ["__element_row_0", "__cell_0"]});
    let found = transformed(data, flatten).await;
    assert_eq!(found, json!([{"__element_row_0": 4, "__cell_0": 3}]));
    let data = json!([{"count": "a", "what": "x"}, {"count": "a", "what": "x"}]);
    let pivot = json!({"pivot": {"index": "count", "columns": "what", "function": "count"}});
    assert_eq!(transformed(data, pivot).await, json!([{"count": "a", "x": 2}]));
}

#[tokio::test]
async fn casts_say_what_they_could_not_read() {
    let data = json!([{"n": "1.5"}, {"n": "many"}, {"n": null}, {"n": " 2 "}]);
    let answer = run(AnalysisType::Transform, data.clone(), json!({"cast": {"n": "float"}})).await;
    let answer = answer.expect("an answer");
    assert_eq!(table(&answer).1, [[json!(1.5)], [Value::Null], [Value::Null], [json!(2.0)]]);
    let note = "1 of 3 values of column \"n\" cannot be read as a number, such as \"many\"; \
                they are null now";
    assert_eq!(answer.notes, [note]);
    let parameters = json!({"cast": {"n": "int"}, "strict": true});
    let refused = refusal(AnalysisType::Transform, data, parameters).await;
    let said =
        "cast.n: 2 of 3 values of column \"n\" cannot be read as a whole number, such as \"1.5\"";
    assert_eq!(refused, said);
    // Numbers have the unit of the largest.
    for (unit, at) in [(1_i64, ""), (1_000, ".500"), (1_000_000, ".500"), (1_000_000_000, ".500")] {
        let last = 1_772_366_400 * unit + unit / 2;
        let numbers = json!([{"t": last}, {"t": -unit}, {"t": 2_000 * unit}]);
        let found = transformed(numbers, json!({"cast": {"t": "datetime"}})).await;
        assert_eq!(found[0]["t"], format!("2026-03-01T12:00:00{at}"), "{unit}");
        assert_eq!(found[1]["t"], "1969-12-31T23:59:59", "{unit}");
        assert_eq!(found[2]["t"], "1970-01-01T00:33:20", "{unit}");
    }
    let years = json!([{"t": 1999}, {"t": 2024}]);
    let found = transformed(years, json!({"cast": {"t": "date"}})).await;
    assert_eq!(found, json!([{"t": "1999-01-01"}, {"t": "2024-01-01"}]));
    // Text is read as elsewhere.
    let texts = ["2024-01-01 10:00", "2024-05", "20240229T1305Z", "soon"];
    let texts: Value = texts.into_iter().map(|text| json!({"t": text})).collect();
    let found = transformed(texts, json!({"cast": {"t": "datetime"}})).await;
    let expected = json!([
        {"t": "2024-01-01T10:00:00"}, {"t": "2024-05-01T00:00:00"},
        {"t": "2024-02-29T13:05:00"}, {"t": null},
    ]);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_number_with_a_fraction_is_no_whole_number() {
    let numbers = [json!(1e300), json!(-2.9), json!(2.0), Value::Null, json!(-4503599627370497.0)];
    let numbers: Value = numbers.into_iter().map(|number| json!({"n": number})).collect();
    let answer = run(AnalysisType::Transform, numbers.clone(), json!({"cast": {"n": "int"}})).await;
    let answer = answer.expect("an answer");
    let wanted = json!([[null], [null], [2], [null], [-4503599627370497_i64]]);
    assert_eq!(json!(table(&answer).1), wanted);
    let note = "2 of 4 values of column \"n\" cannot be read as a whole number";
    assert!(answer.notes[0].starts_with(note), "{:?}", answer.notes);
    let parameters = json!({"cast": {"n": "int"}, "strict": true});
    let refused = refusal(AnalysisType::Transform, numbers, parameters.clone()).await;
    assert!(refused.starts_with("cast.n: 2 of 4 values of column \"n\""), "{refused}");
    let whole = json!([{"n": 2.0}, {"n": -3.0}]);
    assert_eq!(transformed(whole, parameters.clone()).await, json!([{"n": 2}, {"n": -3}]));

    let decimals = Decimal128Array::from(vec![Some(150), Some(-200), None]);
    let decimals = decimals.with_precision_and_scale(38, 2).expect("decimals");
    let tables = || vec![("data".to_owned(), of_columns(vec![("n", Arc::new(decimals.clone()))]))];
    let answer =
        run_with(4, AnalysisType::Transform, tables(), &json!({"cast": {"n": "int"}})).await;
    assert_eq!(json!(table(&answer.expect("an answer")).1), json!([[null], [-2], [null]]));
    let refused =
        run_with(4, AnalysisType::Transform, tables(), &parameters).await.expect_err("a half");
    assert!(refused.to_string().ends_with("such as \"1.50\""), "{refused}");
}

#[tokio::test]
async fn what_cannot_become_text_is_told_with_its_place() {
    let fields = Fields::from(vec![Field::new("x", DataType::Int64, true)]);
    let objects = StructBuilder::new(fields, vec![Box::new(Int64Builder::new())]);
    let mut lists = ListBuilder::new(objects);
    lists.append(true);
    let tables = vec![("data".to_owned(), of_columns(vec![("l", Arc::new(lists.finish()))]))];
    let refused =
        run_with(4, AnalysisType::Transform, tables, &json!({"cast": {"l": "text"}})).await;
    let refused = refused.expect_err("no text").to_string();
    assert!(refused.starts_with("cast.l: column \"l\" holds List("), "{refused}");
    assert!(refused.ends_with("which cannot become text"), "{refused}");
}

#[tokio::test]
async fn a_date_is_that_of_the_zone() {
    // Half past midnight of 2024-07-04, in Berlin.
    let times = TimestampSecondArray::from(vec![1_720_045_800]).with_timezone("Europe/Berlin");
    let tables = vec![("data".to_owned(), of_columns(vec![("t", Arc::new(times))]))];
    let answer =
        run_with(4, AnalysisType::Transform, tables, &json!({"cast": {"t": "date"}})).await;
    assert_eq!(table(&answer.expect("an answer")).1, [[json!("2024-07-04")]]);
    let text = json!([{"t": "2024-07-04T00:30:00+02:00"}]);
    let found = transformed(text.clone(), json!({"cast": {"t": "date"}})).await;
    assert_eq!(found, json!([{"t": "2024-07-04"}]));
    let found = transformed(text, json!({"cast": {"t": "datetime"}})).await;
    assert_eq!(found, json!([{"t": "2024-07-03T22:30:00"}]));
}

#[tokio::test]
async fn filled_values_fit_their_columns() {
    let data = json!([{"n": 1, "t": null, "e": null}, {"n": null, "t": "x", "e": null}]);
    let found = transformed(data.clone(), json!({"fill_null": {"n": 0.5, "t": 7, "e": 3}})).await;
    assert_eq!(found, json!([{"n": 1.0, "t": "7", "e": 3}, {"n": 0.5, "t": "x", "e": 3}]));
    let found = transformed(data.clone(), json!({"fill_null": 9})).await;
    assert_eq!(found[1]["n"], json!(9));
    let refused = refusal(AnalysisType::Transform, data, json!({"fill_null": {"n": "none"}})).await;
    assert_eq!(refused, "fill_null.n: column \"n\" holds numbers, and \"none\" is not one");
}

async fn joined(left: Value, right: Value, join: Value) -> Result<Value, String> {
    let tables =
        vec![("data".to_owned(), Input::Json(left)), ("other".to_owned(), Input::Json(right))];
    let answer = run_with(4, AnalysisType::Transform, tables, &json!({"join": join})).await;
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(json!(table(&answer).1))
}

#[tokio::test]
async fn joins_keep_order_and_names() {
    let left = json!([{"k": 2, "v": "a"}, {"k": null, "v": "b"}, {"k": 1, "v": "c"}]);
    let right = json!([{"key": "1", "v": "x"}, {"key": "2", "v": "y"}, {"key": "2", "v": "z"}, {"key": "q", "v": "w"}]);
    let join = |how: &str| json!({"with": "other", "left_on": "k", "right_on": "key", "how": how});
    let found = joined(left.clone(), right.clone(), join("left")).await;
    let expected = json!([
        [2, "a", "2", "y"],
        [2, "a", "2", "z"],
        [null, "b", null, null],
        [1, "c", "1", "x"],
    ]);
    assert_eq!(found, Ok(expected));
    let found = joined(left.clone(), right.clone(), join("full")).await.expect("rows");
    assert_eq!(found.as_array().map(Vec::len), Some(5));
    assert_eq!(found[4], json!([null, null, "q", "w"]));
    let found = joined(left.clone(), right.clone(), join("anti")).await;
    assert_eq!(found, Ok(json!([[null, "b"]])));

    let refused = joined(left.clone(), right.clone(), json!({"with": "others", "on": "k"})).await;
    assert_eq!(refused, Err("join.with: no table \"others\"; there are data, other".to_owned()));
    let refused = joined(left.clone(), right.clone(), json!({"with": "other", "on": "k"})).await;
    assert!(refused.expect_err("no key").starts_with("join.on: no column \"k\""));
    let refused = joined(left, right, join("cross")).await;
    assert!(refused.expect_err("no way").starts_with("join.how: no \"cross\" here"));
}

#[tokio::test]
async fn joins_of_text_and_whole_numbers_are_exact() {
    let ids =
        json!([{"id": "9007199254740992"}, {"id": "9007199254740993"}, {"id": "3.0"}, {"id": "x"}]);
    let numbers = json!([{"n": 9007199254740993_i64}, {"n": 3}]);
    let join = json!({"with": "other", "left_on": "id", "right_on": "n"});
    let found = joined(ids.clone(), numbers.clone(), join).await;
    assert_eq!(found, Ok(json!([["9007199254740993", 9007199254740993_i64], ["3.0", 3]])));
    let join = json!({"with": "other", "left_on": "n", "right_on": "id"});
    let found = joined(numbers, ids, join).await;
    assert_eq!(found, Ok(json!([[9007199254740993_i64, "9007199254740993"], [3, "3.0"]])));
}

#[tokio::test]
async fn no_join_loses_keys() {
    let join = |how: &str| json!({"with": "other", "on": "id", "how": how});
    let texts = json!([{"id": "a1", "l": 1}, {"id": "2", "l": 2}]);
    let numbers = json!([{"id": 2, "r": 1}, {"id": 3, "r": 2}]);
    let found = joined(texts.clone(), numbers.clone(), join("full")).await;
    assert_eq!(found, Ok(json!([["a1", 1, null], ["2", 2, 1], ["3", null, 2]])));
    let found = joined(texts.clone(), numbers.clone(), join("right")).await;
    assert_eq!(found, Ok(json!([[2, 2, 1], [3, null, 2]])));
    let found = joined(numbers.clone(), texts.clone(), join("full")).await;
    assert_eq!(found, Ok(json!([["2", 1, 2], ["3", 2, null], ["a1", null, 1]])));
    let found = joined(numbers.clone(), texts, join("right")).await;
    assert_eq!(found, Ok(json!([["a1", null, 1], ["2", 1, 2]])));
    // Numbers of both kinds are numbers.
    let found = joined(json!([{"id": 2.5}]), numbers, join("full")).await;
    assert_eq!(found, Ok(json!([[2.5, null], [2.0, 1], [3.0, 2]])));
}

#[tokio::test]
async fn a_table_with_itself() {
    let join =
        json!({"join": {"with": "data", "left_on": "boss", "right_on": "id", "how": "left"}});
    let people = json!([{"id": 1, "boss": null}, {"id": 2, "boss": 1}]);
    let found = transformed(people, join).await;
    assert_eq!(found[1], json!({"id": 2, "boss": 1, "id_right": 1, "boss_right": null}));
}

#[tokio::test]
async fn pivots() {
    let data = json!([
        {"r": "b", "y": 2025, "v": 1, "w": 1.5},
        {"r": "a", "y": 2026, "v": 2, "w": null},
        {"r": "b", "y": 2025, "v": 4, "w": 2.0},
        {"r": "a", "y": null, "v": 8, "w": 1.0},
    ]);
    let pivot = json!({"pivot": {"index": "r", "columns": "y", "values": "v"}});
    let found = transformed(data.clone(), pivot).await;
    let expected = json!([
        {"r": "a", "2025": null, "2026": 2, "null": 8},
        {"r": "b", "2025": 5, "2026": null, "null": null},
    ]);
    assert_eq!(found, expected);
    let pivot = json!({"pivot": {"columns": "r", "values": ["v", "w"], "function": "max"}});
    let found = transformed(data.clone(), pivot).await;
    assert_eq!(found, json!([{"v_a": 8, "v_b": 4, "w_a": 1.0, "w_b": 2.0}]));
    let pivot = json!({"pivot": {"index": "r", "columns": "y", "function": "count"}});
    assert_eq!(transformed(data.clone(), pivot).await[1]["2025"], json!(2));
    let nothing = |pivot: Value| json!({"steps": [{"limit": 0}, {"pivot": pivot}]});
    let pivot = nothing(json!({"columns": "r", "values": "v"}));
    let refused = refusal(AnalysisType::Transform, data.clone(), pivot).await;
    assert!(refused.starts_with("steps[1].pivot.columns: there are no rows"), "{refused}");
    let pivot = nothing(json!({"index": "y", "columns": "r", "values": "v"}));
    assert_eq!(transformed(data, pivot).await, json!([]));

    let many: Vec<Value> = (0..201).map(|n| json!({"n": n})).collect();
    let pivot = json!({"pivot": {"columns": "n", "values": "n"}});
    let refused = refusal(AnalysisType::Transform, json!(many), pivot).await;
    assert!(refused.ends_with("has more than 200 different values: too many columns"), "{refused}");
}

#[tokio::test]
async fn what_was_pivoted_can_be_unpivoted() {
    let data: Vec<Value> = (0..60)
        .map(|n| json!({"r": n / 2, "what": if n % 2 == 0 { "x" } else { "a" }, "v": n}))
        .collect();
    let parameters = json!({"steps": [
        {"pivot": {"index": "r", "columns": "what", "values": "v"}},
        {"unpivot": {"id": "r"}},
    ]});
    let found = transformed(json!(data), parameters).await;
    for (index, row) in found.as_array().expect("rows").iter().enumerate() {
        let what = if index % 2 == 0 { "a" } else { "x" };
        assert_eq!((&row["r"], &row["variable"]), (&json!(index / 2), &json!(what)));
    }
    let parameters = json!({"unpivot": {"id": ["r"], "values": ["v", "what"]}});
    let answer = run(AnalysisType::Transform, json!(data), parameters).await.expect("an answer");
    assert_eq!(table(&answer).1[0], [json!(0), json!("v"), json!("0")]);
    assert_eq!(answer.notes.len(), 1);
}

#[tokio::test]
async fn lists_of_the_query_engine_are_flattened() {
    let fields = Fields::from(vec![
        Field::new("sku", DataType::Utf8, true),
        Field::new("count", DataType::Int64, true),
    ]);
    let objects = StructBuilder::new(
        fields,
        vec![Box::new(StringBuilder::new()), Box::new(Int64Builder::new())],
    );
    let mut lists = ListBuilder::new(objects);
    for (length, is_there) in [(2, true), (0, true), (0, false), (1, true)] {
        for count in 0..length {
            let object = lists.values();
            object.field_builder::<StringBuilder>(0).expect("text").append_value("s");
            object.field_builder::<Int64Builder>(1).expect("numbers").append_value(count);
            object.append(true);
        }
        lists.append(is_there);
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("items", Arc::new(lists.finish())),
        ("id", Arc::new(Int64Array::from_iter_values(0..4))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let input = || {
        let (schema, batches) = (batch.schema(), vec![batch.clone()]);
        vec![("data".to_owned(), Input::Batches { schema, batches })]
    };
    let answer = run_with(4, AnalysisType::Transform, input(), &json!({"flatten": "items"})).await;
    let (names, found) = table(&answer.expect("an answer"));
    assert_eq!(names, ["items.sku", "items.count", "id"]);
    let ids = |rows: &[Vec<Value>]| rows.iter().map(|row| row[2].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&found), [0, 0, 1, 2, 3]);
    assert_eq!(found[1], [json!("s"), json!(1), json!(0)]);
    assert_eq!(found[2], [Value::Null, Value::Null, json!(1)]);
    let parameters =
        json!({"steps": [{"sort": "-id"}, {"flatten": {"field": "items", "drop_empty": true}}]});
    let answer = run_with(4, AnalysisType::Transform, input(), &parameters).await;
    let found = table(&answer.expect("an answer")).1;
    assert_eq!(ids(&found), [3, 0, 0]);
    assert_eq!([&found[1][1], &found[2][1]], [0, 1]);
}

#[tokio::test]
async fn lists_as_text_are_flattened() {
    let data = json!([
        {"id": 1, "items": [{"a": {"b": 1}}, null, {"a": {"b": 2}, "c": [1]}]},
        {"id": 2, "items": []},
        {"id": 3, "items": null},
    ]);
    let found = transformed(data.clone(), json!({"flatten": "items"})).await;
    let expected = json!([
        {"id": 1, "items.a.b": 1, "items.c": null},
        {"id": 1, "items.a.b": null, "items.c": null},
        {"id": 1, "items.a.b": 2, "items.c": "[1]"},
        {"id": 2, "items.a.b": null, "items.c": null},
        {"id": 3, "items.a.b": null, "items.c": null},
    ]);
    assert_eq!(found, expected);
    let nothing = json!([{"id": 2, "items": []}, {"id": 3, "items": null}]);
    let found = transformed(nothing.clone(), json!({"flatten": ["items"]})).await;
    assert_eq!(found, json!([{"id": 2, "items": null}, {"id": 3, "items": null}]));
    let found = transformed(nothing, json!({"flatten": "items", "drop_empty": true})).await;
    assert_eq!(found, json!([]));
    let refused = refusal(AnalysisType::Transform, data, json!({"flatten": "id"})).await;
    assert_eq!(refused, "flatten: column \"id\" holds Int64, not lists");
}

#[tokio::test]
async fn a_sample_is_the_same_for_the_same_seed() {
    let data: Vec<Value> = (0..1_000).map(|n| json!({"n": n})).collect();
    let sample = async |seed: u64| {
        let found = transformed(json!(data), json!({"sample": {"n": 50, "seed": seed}})).await;
        let numbers = found.as_array().expect("rows").iter();
        numbers.map(|row| row["n"].as_i64().expect("a number")).collect::<Vec<_>>()
    };
    let first = sample(1).await;
    assert_eq!(first.len(), 50);
    assert!(first.is_sorted());
    assert_eq!(first, sample(1).await);
    assert_ne!(first, sample(2).await);
    let mean = first.iter().sum::<i64>() / 50;
    assert!((350..650).contains(&mean), "from everywhere: {mean}");
}

#[tokio::test]
async fn mistakes_are_told_with_their_place() {
    for (parameters, said) in [
        (json!({"selct": []}), "selct: there is no such parameter; did you mean select"),
        (json!({"select": ["nam"]}), "select[0]: no column \"nam\"; did you mean name?"),
        (json!({"drop": "nam"}), "drop: no column \"nam\""),
        (
            json!({"rename": {"name": "id"}}),
            "rename: two columns of the result would be called \"id\"",
        ),
        (json!({"rename": {"name": 3}}), "rename.name: must be a text, not 3"),
        (json!({"cast": {"age": "roman"}}), "cast.age: no \"roman\" here"),
        (json!({"steps": [{"limit": 1}], "limit": 1}), "limit: goes into one of the steps"),
        (json!({"steps": [{"steps": []}]}), "steps[0].steps: there is no such parameter"),
        (json!({"sample": -3}), "sample: must be a whole number from 0, not -3"),
        (json!({"keep": "all"}), "keep: no \"all\" here; there are first, last"),
        (json!({"limit": u64::MAX}), "limit: is too large"),
        (json!({"pivot": {"index": "id"}}), "pivot.columns: is missing"),
        (json!({"pivot": {"columns": "city"}}), "pivot.values: is missing"),
        (json!({"pivot": {"columns": "city", "values": []}}), "pivot.values: is missing"),
        (
            json!({"pivot": {"index": ["id", "city"], "columns": "city", "values": "age"}}),
            "pivot.columns: column \"city\" is in `index` too",
        ),
        (
            json!({"pivot": {"columns": "city", "values": "age", "function": "top"}}),
            "pivot.function: gives rows, not one value for each cell",
        ),
        (
            json!({"pivot": {"columns": "city", "values": "age", "function": {"function": "bottom", "n": 2}}}),
            "pivot.function: gives rows",
        ),
        (json!({"sort": [{"field": "age", "order": "up"}]}), "sort[0].order: no \"up\" here"),
    ] {
        let refused = refusal(AnalysisType::Transform, users(), parameters).await;
        assert!(refused.starts_with(said), "{refused}");
    }
    for expression in ["age +", "ages * 2", "name + 1", "substr(age, city)", "id::interval"] {
        let parameters = json!({"computed": {"fine": "id + 1", "x": expression, "y": "fine + 1"}});
        let refused = refusal(AnalysisType::Transform, users(), parameters).await;
        assert!(refused.starts_with("computed.x: "), "{refused}");
    }
}

#[tokio::test]
async fn there_is_an_end_to_everything() {
    let many = |count: usize, step: Value| json!(vec![step; count]);
    let sort = json!({"sort": "-id", "limit": 3});
    let found = transformed(users(), json!({"steps": many(49, sort.clone())})).await;
    assert_eq!(found[0]["id"], json!(3));
    let refused = refusal(AnalysisType::Transform, users(), json!({"steps": many(51, sort)})).await;
    assert_eq!(refused, "steps: there are more than 50");
    let join = json!({"with": "data", "on": "id"});
    let refused = refusal(AnalysisType::Transform, users(), json!({"join": many(21, join)})).await;
    assert_eq!(refused, "join: there are more than 20");

    let columns = |expression: fn(usize) -> String| {
        let columns = (0..1_000).map(|index| (format!("c{index}"), json!(expression(index))));
        json!({"computed": columns.collect::<Map<String, Value>>()})
    };
    let found = transformed(users(), columns(|index| format!("id + {index}"))).await;
    assert_eq!(found[2]["c999"], json!(1_002));
    let on_each_other = |index| match index {
        0 => "id".to_owned(),
        _ => format!("c{} + 1", index - 1),
    };
    let refused = refusal(AnalysisType::Transform, users(), columns(on_each_other)).await;
    assert_eq!(refused, "computed: columns build on each other more than 50 deep");
}

#[tokio::test]
async fn an_expression_that_fails_on_a_row_is_named() {
    let data = json!([{"a": "1", "b": 1}, {"a": "x", "b": 2}]);
    for (kind, parameters, told) in [
        (
            AnalysisType::Transform,
            json!({"computed": {"fine": "b + 1", "bad": "cast(a as int)"}}),
            "computed.bad: ",
        ),
        (
            AnalysisType::Filter,
            json!({"conditions": ["b > 0", "cast(a as int) > 0"]}),
            "conditions[1]: ",
        ),
    ] {
        let said = refusal(kind, data.clone(), parameters).await;
        assert!(said.starts_with(told) && said.contains('x'), "{said}");
    }
}
