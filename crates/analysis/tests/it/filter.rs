//! The analysis `filter`.

use std::sync::Arc;

use datafusion::arrow::{
    array::{
        ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array,
        Int64Array, ListArray, RecordBatch, TimestampMicrosecondArray, TimestampSecondArray,
    },
    datatypes::{Float32Type, Int32Type, Int64Type},
};
use narrows_analysis::{AnalysisType, Input};
use serde_json::{Value, json};

use crate::support::{of_columns, refusal, rows, run, run_with, table};

fn stocks() -> Value {
    json!([
        {"name": "A", "sector": "Tech", "roi": 12, "code": "10", "tags": ["new", "Big"]},
        {"name": "B", "sector": "tech", "roi": 8.5, "code": "9", "tags": []},
        {"name": "C", "sector": null, "roi": null, "code": "x", "tags": ["big"]},
        {"name": "Ö", "sector": "Energy", "roi": -3, "code": null, "tags": null},
    ])
}

async fn names(conditions: Value) -> Vec<String> {
    let parameters = json!({"conditions": conditions, "select": "name"});
    let rows = rows(AnalysisType::Filter, stocks(), parameters).await;
    let names = rows.as_array().expect("rows").iter();
    names.map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
}

async fn count_of(input: Input, condition: Value) -> usize {
    let parameters = json!({"conditions": [condition]});
    let answer =
        run_with(2, AnalysisType::Filter, vec![("data".to_owned(), input)], &parameters).await;
    table(&answer.expect("an answer")).1.len()
}

#[tokio::test]
async fn the_way_callers_write_it() {
    let parameters = json!({
        "conditions": [
            {"field": "sector", "operator": "==", "value": "Tech"},
            {"field": "roi", "operator": ">", "value": 10},
        ],
        "logic": "AND",
    });
    let answer = run(AnalysisType::Filter, stocks(), parameters).await.expect("an answer");
    assert_eq!(answer.facts["filtered_count"], json!(1));
    assert_eq!(answer.facts["total_count"], json!(4));
    assert_eq!(answer.facts["filtered_percentage"], json!(25.0));
    assert_eq!(table(&answer).1[0][0], json!("A"));
}

#[tokio::test]
async fn missing_values_fail_comparisons_but_not_their_opposites() {
    let sector = |operator: &str, value: Value| json!([{"field": "sector", "operator": operator, "value": value}]);
    assert_eq!(names(sector("!=", json!("Tech"))).await, ["B", "C", "Ö"]);
    assert_eq!(names(sector("not in", json!(["Tech", "tech"]))).await, ["C", "Ö"]);
    assert_eq!(names(sector("not_in", json!(["Tech", null]))).await, ["B", "Ö"]);
    assert_eq!(names(sector("in", json!(["Tech", null]))).await, ["A", "C"]);
    assert_eq!(names(sector("==", Value::Null)).await, ["C"]);
    assert_eq!(names(sector("is null", Value::Null)).await, ["C"]);
    assert_eq!(names(sector("is_null", json!(false))).await, ["A", "B", "Ö"]);
    let not = json!([{"not": {"field": "roi", "operator": ">", "value": 9}}]);
    assert_eq!(names(not).await, ["B", "C", "Ö"]);
}

#[tokio::test]
async fn groups_within_groups() {
    let nested = json!([
        {"or": [
            {"and": [{"field": "roi", "op": "gte", "value": 12}, {"field": "name", "op": "=", "value": "A"}]},
            {"NOT": {"logic": "or", "conditions": [
                {"field": "name", "operator": "in", "value": ["A", "B"]},
                {"field": "roi", "operator": "is_null"},
            ]}},
        ]},
    ]);
    assert_eq!(names(nested).await, ["A", "Ö"]);
    assert_eq!(names(json!([])).await.len(), 4);
    assert_eq!(names(json!({"field": "name", "operator": "==", "value": "Ö"})).await, ["Ö"]);
}

#[tokio::test]
async fn numbers_and_text_meet() {
    let text = json!([{"field": "roi", "operator": "<", "value": " 10 "}]);
    assert_eq!(names(text).await, ["B", "Ö"]);
    let parameters = json!({"conditions": [{"field": "code", "operator": ">=", "value": 9.5}]});
    let answer = run(AnalysisType::Filter, stocks(), parameters).await.expect("an answer");
    assert_eq!(table(&answer).1.len(), 1);
    let note = "column \"code\" holds text and was read as numbers; \
                1 of 3 values could not be read and count as missing";
    assert_eq!(answer.notes, [note]);
    // As texts "9" comes after "10".
    let text = json!([{"field": "code", "operator": ">=", "value": "9"}]);
    assert_eq!(names(text).await, ["B", "C"]);
}

#[tokio::test]
async fn whole_numbers_in_text_are_exact() {
    let ids = json!([{"id": "9007199254740993"}, {"id": " 9007199254740992"}, {"id": "3.0"}, {"id": "x"}]);
    for (operator, value, count) in [
        ("==", json!(9007199254740993_i64), 1),
        ("!=", json!(9007199254740993_i64), 3),
        (">", json!(9007199254740992_i64), 1),
        ("in", json!([9007199254740992_i64, 3]), 2),
        ("between", json!([3, 9007199254740992_i64]), 2),
        ("==", json!(3), 1),
        ("<", json!(3.5), 1),
    ] {
        let conditions = json!([{"field": "id", "operator": operator, "value": value}]);
        let found =
            rows(AnalysisType::Filter, ids.clone(), json!({"conditions": conditions})).await;
        assert_eq!(found.as_array().map(Vec::len), Some(count), "{operator} {value}");
    }
}

#[tokio::test]
async fn contains_is_membership_where_all_values_are_lists() {
    let tags = |value: Value, sensitive: bool| json!([{"field": "tags", "operator": "contains", "value": value, "case_sensitive": sensitive}]);
    assert_eq!(names(tags(json!("big"), true)).await, ["C"]);
    assert_eq!(names(tags(json!("big"), false)).await, ["A", "C"]);
    assert_eq!(names(tags(json!("bi"), true)).await, Vec::<String>::new());
    let mixed = json!([{"tags": ["ab"]}, {"tags": "b"}]);
    let parameters =
        json!({"conditions": [{"field": "tags", "operator": "contains", "value": "b"}]});
    let found = rows(AnalysisType::Filter, mixed, parameters).await;
    assert_eq!(
        found.as_array().map(Vec::len),
        Some(2),
        "text that is no list has other text in it"
    );
}

#[tokio::test]
async fn text_in_any_case() {
    let condition = |operator: &str, value: &str| json!([{"field": "sector", "operator": operator, "value": value, "case_sensitive": false}]);
    for (operator, value) in
        [("==", "TECH"), ("starts_with", "TE"), ("ends_with", "CH"), ("matches", "^T.CH$")]
    {
        assert_eq!(names(condition(operator, value)).await, ["A", "B"], "{operator}");
    }
}

#[tokio::test]
async fn mistakes_are_told_with_their_place() {
    for (conditions, said) in [
        (
            json!([{"field": "setor", "operator": "==", "value": 1}]),
            "conditions[0].field: no column \"setor\"; did you mean sector?; there are name, sector, roi, code, tags",
        ),
        (
            json!([{"field": "roi", "operator": "contain", "value": 1}]),
            "conditions[0].operator: no operator \"contain\"; did you mean contains?; there are ==, !=, >",
        ),
        (json!([{"field": "roi", "operator": ">"}]), "conditions[0].value: is missing"),
        (
            json!([{"or": [{"field": "roi", "operator": ">", "value": "many"}]}]),
            "conditions[0].or[0].value: column \"roi\" holds numbers, and \"many\" is not one",
        ),
        (
            json!([{"field": "sector", "operator": "matches", "value": "("}]),
            "conditions[0].value: \"(\" is no regular expression",
        ),
        (
            json!([{"field": "roi", "operator": "in", "value": 3}]),
            "conditions[0].value: must be a list, not 3",
        ),
        (
            json!([{"field": "roi", "operator": "between", "value": [1]}]),
            "conditions[0].value: must be a list of the lowest and the highest value, not [1]",
        ),
        (json!([{"or": []}]), "conditions[0].or: has no conditions in it"),
        (json!([{"roi": 3}]), "conditions[0]: must have \"field\", \"operator\" and \"value\""),
        (json!([3]), "conditions[0]: must be a condition or a list of conditions, not 3"),
        (
            json!([{"field": "roi", "operator": "==", "value": 1, "sensitive": true}]),
            "conditions[0].sensitive: there is no such parameter; did you mean case_sensitive?",
        ),
    ] {
        let refused =
            refusal(AnalysisType::Filter, stocks(), json!({"conditions": conditions})).await;
        assert!(refused.starts_with(said), "{refused}");
    }
    let refused = refusal(AnalysisType::Filter, stocks(), json!({})).await;
    let example = r#"{"analysis_type": "filter", "parameters": {"conditions":[{"field":"roi","operator":">","value":10}]}}"#;
    assert_eq!(refused, format!("conditions: is missing; as in {example}"));
    let refused =
        refusal(AnalysisType::Filter, stocks(), json!({"conditions": [], "logic": "xor"})).await;
    assert!(refused.starts_with("logic: no \"xor\" here"), "{refused}");
    let refused = refusal(AnalysisType::Filter, stocks(), json!({"conditon": []})).await;
    assert!(refused.starts_with("conditon: there is no such parameter; did you mean conditions"));
}

#[tokio::test]
async fn deep_and_long_conditions() {
    let mut deep = json!({"field": "roi", "operator": ">", "value": 0});
    for _ in 0..40 {
        deep = json!({"not": deep});
    }
    let refused = refusal(AnalysisType::Filter, stocks(), json!({"conditions": [deep]})).await;
    assert!(refused.ends_with("conditions are more than 32 groups deep"), "{refused}");
    let long = |count: i64| -> Vec<Value> {
        (0..count).map(|n| json!({"field": "roi", "operator": "!=", "value": n})).collect()
    };
    assert_eq!(names(json!(long(500))).await.len(), 3);
    let refused = refusal(AnalysisType::Filter, stocks(), json!({"conditions": long(501)})).await;
    assert!(refused.starts_with("conditions: there are more than 500 conditions"), "{refused}");
    let list: Vec<i64> = (0..100_000).collect();
    assert_eq!(names(json!([{"field": "roi", "operator": "in", "value": list}])).await, ["A"]);
}

#[tokio::test]
async fn whole_numbers_are_exact_to_the_end() {
    let numbers =
        || of_columns(vec![("n", Arc::new(Int64Array::from(vec![i64::MIN, 0, i64::MAX])))]);
    for (operator, value, count) in [
        ("==", json!(i64::MAX), 1),
        ("==", json!(i64::MAX - 1), 0),
        ("<", json!(i64::MAX), 2),
        (">=", json!(i64::MIN), 3),
        ("<", json!(u64::MAX), 3),
        ("<", json!(1e300), 3),
        ("in", json!([i64::MIN, 1]), 1),
    ] {
        let condition = json!({"field": "n", "operator": operator, "value": value});
        assert_eq!(count_of(numbers(), condition).await, count, "{operator} {value}");
    }
}

#[tokio::test]
async fn not_a_number_is_missing() {
    let numbers = || {
        let values = vec![Some(f64::NAN), Some(f64::INFINITY), Some(1.0), None];
        of_columns(vec![("n", Arc::new(Float64Array::from(values)))])
    };
    for (operator, value, count) in [
        (">", json!(0), 2),
        (">=", json!(1), 2),
        ("<", json!(2), 1),
        ("==", json!(1), 1),
        ("!=", json!(1), 3),
        ("is_null", Value::Null, 2),
        ("is_not_null", Value::Null, 2),
        ("between", json!([0, 1e308]), 1),
    ] {
        let condition = json!({"field": "n", "operator": operator, "value": value});
        assert_eq!(count_of(numbers(), condition).await, count, "{operator} {value}");
    }
}

#[tokio::test]
async fn other_types_than_those_of_json() {
    // 2026-03-01 and 2026-03-02.
    let days = || of_columns(vec![("d", Arc::new(Date32Array::from(vec![20_513, 20_514])))]);
    let condition =
        |operator: &str, value: &str| json!({"field": "d", "operator": operator, "value": value});
    assert_eq!(count_of(days(), condition("==", "2026-03-01")).await, 1);
    assert_eq!(count_of(days(), condition(">", "2026-03-01T12:00:00")).await, 1);
    let times = TimestampMicrosecondArray::from(vec![20_513 * 86_400_000_000, 0]);
    let times = of_columns(vec![("d", Arc::new(times))]);
    assert_eq!(count_of(times, condition(">=", "2026-03-01")).await, 1);
    let refused = {
        let parameters = json!({"conditions": [condition(">", "soon")]});
        run_with(1, AnalysisType::Filter, vec![("data".to_owned(), days())], &parameters).await
    };
    let refused = refused.expect_err("no time").to_string();
    assert!(refused.contains("column \"d\" holds times, and \"soon\" is not one"), "{refused}");

    let words: DictionaryArray<Int32Type> = vec!["a", "b", "a"].into_iter().collect();
    let words = of_columns(vec![("d", Arc::new(words))]);
    assert_eq!(count_of(words, condition("==", "a")).await, 2);
}

/// The places of the rows that a condition on texts chooses, and the notes.
async fn chosen(texts: &[&str], operator: &str, value: Value) -> (Vec<i64>, Vec<String>) {
    let data = texts.iter().enumerate().map(|(n, t)| json!({"n": n, "t": t})).collect();
    let condition = json!({"field": "t", "operator": operator, "value": value});
    let parameters = json!({"conditions": [condition]});
    let answer = run(AnalysisType::Filter, data, parameters).await.expect("an answer");
    let places = table(&answer).1.into_iter().map(|row| row[0].as_i64().expect("a place"));
    (places.collect(), answer.notes)
}

#[tokio::test]
async fn times_in_text_are_compared_as_times() {
    let as_times = vec!["column \"t\" holds text and was read as times".to_owned()];
    let spaced = ["2024-01-02 05:00:00", "2024-01-02 01:00:00", "2024-01-02 02:00"];
    for (operator, value, places) in [
        (">=", json!("2024-01-02T02:00:00"), vec![0, 2]),
        ("<", json!("2024-01-02T02:00:00"), vec![1]),
        ("==", json!("2024-01-02T02:00:00"), vec![2]),
        ("!=", json!("2024-01-02T02:00:00"), vec![0, 1]),
        ("in", json!(["2024-01-02T05:00", "2024-01-02T01:00:00.000", null]), vec![0, 1]),
        ("not_in", json!(["2024-01-02T05:00", "2024-01-02T01:00:00.000"]), vec![2]),
        ("between", json!(["2024-01-02T01:30", "2024-01-02 02:30"]), vec![2]),
        (">", json!("2024-01-02"), vec![0, 1, 2]),
        ("<=", json!("2024/01/02"), vec![]),
    ] {
        let found = chosen(&spaced, operator, value.clone()).await;
        assert_eq!(found, (places, as_times.clone()), "{operator} {value}");
    }

    // Four, one and three o'clock of the world's time; five o'clock of some clock.
    let offsets = [
        "2024-01-01T23:00:00-05:00",
        "2024-01-02T01:00:00Z",
        "2024-01-02T05:00:00+02:00",
        "2024-01-02T05:00:00",
    ];
    for (operator, value, places) in [
        (">", json!("2024-01-02T02:00:00Z"), vec![0, 2, 3]),
        ("<=", json!("2024-01-02T02:00:00Z"), vec![1]),
        ("==", json!("2024-01-02T04:00:00Z"), vec![0]),
        // Without a zone it is a time of each clock.
        (">=", json!("2024-01-02"), vec![1, 2, 3]),
        ("==", json!("2024-01-02T05:00:00"), vec![2, 3]),
        ("in", json!(["2024-01-02T05:00:00", "2024-01-02T04:00:00Z"]), vec![0, 2, 3]),
    ] {
        let found = chosen(&offsets, operator, value.clone()).await;
        assert_eq!(found, (places, as_times.clone()), "{operator} {value}");
    }
}

#[tokio::test]
async fn texts_that_are_no_times_stay_text() {
    // Texts of one form are in the order of their times.
    let alike = ["2024-01-02T05:00:00Z", "2024-01-02T01:00:00Z"];
    for (operator, places) in [(">=", vec![0]), ("==", vec![0]), ("<", vec![1])] {
        let found = chosen(&alike, operator, json!("2024-01-02T05:00:00Z")).await;
        assert_eq!(found, (places, Vec::new()), "{operator}");
    }
    let days = ["2024-01-02", "2023-12-31", "2024-01-03"];
    let found = chosen(&days, "between", json!(["2024-01-01", "2024-01-02"])).await;
    assert_eq!(found, (vec![0], Vec::new()));

    let note = "column \"t\" was compared as text: 1 of 3 values could not be read as times";
    let mixed = ["2024-01-02 05:00:00", "N/A", "2024-01-02 01:00:00"];
    let found = chosen(&mixed, ">=", json!("2024-01-02T02:00:00")).await;
    assert_eq!(found, (vec![1], vec![note.to_owned()]));

    for (texts, value) in [(["b", "a"], "2024-01-01"), (["20240102", "x"], "20240101")] {
        let found = chosen(&texts, ">=", json!(value)).await;
        assert_eq!(found, (vec![0, 1], Vec::new()), "{value}");
    }
    // Months and numbers may be anything.
    let found = chosen(&["2024-01", "2024-100"], ">", json!("2024-05")).await;
    assert_eq!(found, (vec![1], Vec::new()));
}

#[tokio::test]
async fn times_in_text_are_sorted_as_times() {
    let sorted = async |texts: &[&str], sort: &str| {
        let data = texts.iter().map(|t| json!({"t": t})).collect();
        let parameters = json!({"conditions": [], "sort": sort});
        let answer = run(AnalysisType::Filter, data, parameters).await.expect("an answer");
        let rows = table(&answer).1.into_iter();
        let texts: Vec<Value> = rows.map(|mut row| row.remove(0)).collect();
        (texts, answer.notes)
    };
    let offsets = ["2024-01-01T23:00:00-05:00", "2024-01-02T01:00:00Z", "2024-01-02 02:00:00"];
    let (order, notes) = sorted(&offsets, "t").await;
    assert_eq!(order, [offsets[1], offsets[2], offsets[0]]);
    assert_eq!(notes, ["column \"t\" holds text and was read as times"]);
    let (order, _) = sorted(&offsets, "-t").await;
    assert_eq!(order, [offsets[0], offsets[2], offsets[1]]);
    for texts in [["2024-01-02", "2024-01-01"], ["2024-01-02 05:00", "2024-01-01T05:00 or so"]] {
        let (order, notes) = sorted(&texts, "t").await;
        assert_eq!((order, notes.len()), (vec![json!(texts[1]), json!(texts[0])], 0));
    }
}

#[tokio::test]
async fn clocks_that_are_changed() {
    let berlin = |seconds: Vec<i64>| {
        let times = TimestampSecondArray::from(seconds).with_timezone("Europe/Berlin");
        of_columns(vec![("t", Arc::new(times))])
    };
    let hours =
        |start: i64, count: i64| (0..count).map(|hour| start + 3_600 * hour).collect::<Vec<_>>();
    // From midnight to four o'clock of the world's time; in Berlin it is two o'clock twice.
    let autumn = || berlin(hours(1_729_987_200, 5));
    for (operator, value, count) in [
        ("between", json!(["2024-10-27T02:00:00", "2024-10-27T03:00:00"]), 3),
        ("==", json!("2024-10-27T02:00:00"), 1),
        ("<=", json!("2024-10-27T02:00:00"), 1),
        (">", json!("2024-10-27T02:30:00"), 4),
        ("in", json!(["2024-10-27T02:00:00", "2024-10-27T02:00:00+01:00"]), 2),
    ] {
        let condition = json!({"field": "t", "operator": operator, "value": value});
        assert_eq!(count_of(autumn(), condition).await, count, "{operator} {value}");
    }
    // Here it is never two o'clock: what is after one o'clock is three o'clock.
    let spring = || berlin(hours(1_711_843_200, 4));
    for (operator, value, count) in [
        (">=", json!("2024-03-31T02:00:00"), 3),
        ("==", json!("2024-03-31T02:00:00"), 1),
        ("<", json!("2024-03-31T02:30:00"), 2),
    ] {
        let condition = json!({"field": "t", "operator": operator, "value": value});
        assert_eq!(count_of(spring(), condition).await, count, "{operator} {value}");
    }
}

#[tokio::test]
async fn values_are_not_bent_to_fit_the_column() {
    let check = async |column: ArrayRef, cases: &[(&str, Value, usize)]| {
        for (operator, value, count) in cases {
            let condition = json!({"field": "c", "operator": operator, "value": value});
            let input = of_columns(vec![("c", Arc::clone(&column))]);
            assert_eq!(count_of(input, condition).await, *count, "{operator} {value}");
        }
    };
    let lists = [Some(vec![Some(1), Some(2)]), None];
    let whole = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
    let has = |value: Value, count: usize| ("contains", value, count);
    let cases = [has(json!(1.5), 0), has(json!(1), 1), has(json!(2.0), 1), has(json!("1"), 1)];
    check(whole, &cases).await;
    let short = [Some(vec![Some(0.1), Some(0.25)])];
    let short = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(short));
    check(short, &[has(json!(0.1), 1), has(json!(0.2), 0), has(json!(0.25), 1)]).await;

    let short = Arc::new(Float32Array::from(vec![0.1, 0.25, 16_777_216.0, f32::INFINITY]));
    let cases = [
        ("==", json!(0.1), 1),
        ("==", json!("0.1"), 1),
        (">", json!(0.1), 3),
        ("in", json!([0.1, 0.25, 7]), 2),
        ("==", json!(16_777_217.5), 0),
        ("==", json!(1e300), 0),
    ];
    check(short, &cases).await;

    // The first day of 2024, and a day that nanoseconds since 1970 do not reach.
    let days = Arc::new(Date32Array::from(vec![19_723, 2_932_896]));
    let cases = [
        ("==", json!("2024-01-01T12:00:00"), 0),
        ("!=", json!("2024-01-01T12:00:00"), 2),
        ("==", json!("2024-01-01T00:00:00"), 1),
        ("<", json!("2024-01-01T12:00:00"), 1),
        (">=", json!("2024-01-01T12:00:00"), 1),
        ("in", json!(["2024-01-01", "9999-12-31", "2024-01-01T12:00:00"]), 2),
        ("in", json!(["2024-01-01T12:00:00"]), 0),
        ("between", json!(["2023-12-31T12:00:00", "2024-01-01"]), 1),
    ];
    check(days, &cases).await;
    let seconds = Arc::new(TimestampSecondArray::from(vec![-1, 0, 1]));
    let cases = [
        ("==", json!("1970-01-01T00:00:00.5"), 0),
        (">", json!("1970-01-01T00:00:00.5"), 1),
        ("<", json!("1970-01-01T00:00:00.5"), 2),
        (">=", json!("1969-12-31T23:59:59.5"), 2),
        ("<=", json!("1969-12-31T23:59:59.5"), 1),
        ("in", json!(["1970-01-01T00:00:00.5", "1970-01-01T00:00:01"]), 1),
    ];
    check(seconds, &cases).await;

    let decimals = |values: Vec<i128>, precision: u8, scale: i8| -> ArrayRef {
        let decimals = Decimal128Array::from(values).with_precision_and_scale(precision, scale);
        Arc::new(decimals.expect("decimals"))
    };
    let cases = [
        ("==", json!("12345678901234567.89"), 1),
        ("==", json!("12345678901234567.8900"), 1),
        ("==", json!("12345678901234567.891"), 0),
        ("<", json!("12345678901234567.891"), 2),
        ("==", json!(1.5), 1),
        ("in", json!([1.5, "12345678901234567.89"]), 2),
    ];
    check(decimals(vec![1_234_567_890_123_456_789, 150], 20, 2), &cases).await;
    let largest = "9".repeat(38);
    let cases = [
        ("==", json!(largest), 1),
        ("<", json!(largest), 2),
        (">", json!(1.5), 2),
        ("<", json!(-1.5), 0),
        ("==", json!("-1"), 1),
        (">=", json!("1e2"), 1),
    ];
    check(decimals(vec![10_i128.pow(38) - 1, 2, -1], 38, 0), &cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rows_stay_in_their_order() {
    let ids = Int64Array::from_iter_values(0..200_000);
    let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef)]).expect("a batch");
    let batches: Vec<RecordBatch> =
        (0..batch.num_rows()).step_by(1_000).map(|start| batch.slice(start, 1_000)).collect();
    let parameters = json!({"conditions": [{"field": "id", "operator": "!=", "value": 7}]});
    let tables = vec![("data".to_owned(), Input::Batches { schema: batch.schema(), batches })];
    let answer = run_with(8, AnalysisType::Filter, tables, &parameters).await.expect("an answer");
    let found = table(&answer).1;
    assert_eq!(found.len(), 199_999);
    assert!(found.windows(2).all(|pair| pair[0][0].as_i64() < pair[1][0].as_i64()));
}
