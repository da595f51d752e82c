use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray};
use serde_json::{Value, json};

use crate::{
    kind::AnalysisType,
    ops::testing::{TestOutput, analyse, analyse_tables, batch},
    work::MAIN,
};

async fn series(rows: Value, parameters: Value) -> TestOutput {
    analyse(AnalysisType::TimeSeries, rows, parameters).await.unwrap()
}

async fn error(rows: Value, parameters: Value) -> String {
    analyse(AnalysisType::TimeSeries, rows, parameters).await.unwrap_err().to_string()
}

fn column(given: &TestOutput, name: &str) -> Vec<Value> {
    given.rows.iter().map(|row| row.get(name).cloned().unwrap_or_default()).collect()
}

/// Prices out of order, with one missing and a day left out.
fn prices() -> Value {
    json!([
        {"date": "2024-01-03", "price": 4.0, "name": "b"},
        {"date": "2024-01-01", "price": 1.0, "name": "a"},
        {"date": "2024-01-02", "price": null, "name": "a"},
        {"date": "2024-01-05", "price": 6.0, "name": "b"},
        {"date": "2024-01-05", "price": 8.0, "name": "a"},
    ])
}

#[tokio::test]
async fn without_options_there_is_an_overview() {
    let given = series(prices(), json!({"time": "date", "value": "price"})).await;
    let mut facts = given.facts.clone();
    let values = facts.remove("values").unwrap();
    assert_eq!(
        Value::from(facts),
        json!({"count": 5, "start": "2024-01-01", "end": "2024-01-05",
        "step": "1d", "gap_count": 1, "missing_count": 1, "repeated_times": 1})
    );
    let slope = values[0]["slope_per_day"].as_f64().unwrap();
    assert!((slope - 1.5).abs() < 1e-12, "{slope}");
    assert_eq!(
        (&values[0]["first"], &values[0]["last"], &values[0]["n"]),
        (&json!(1.0), &json!(8.0), &json!(4))
    );
    let given =
        series(prices(), json!({"time": "date", "value": "price", "group_by": "name"})).await;
    assert_eq!(column(&given, "name"), ["a", "b"]);
    assert_eq!(column(&given, "last"), [8.0, 6.0]);
    assert_eq!(column(&given, "start"), ["2024-01-01", "2024-01-03"]);
}

#[tokio::test]
async fn periods_are_filled_as_asked() {
    let cases = [
        ("none", json!([1.0, null, 4.0, 7.0])),
        ("null", json!([1.0, null, 4.0, null, 7.0])),
        ("zero", json!([1.0, 0.0, 4.0, 0.0, 7.0])),
        ("previous", json!([1.0, 1.0, 4.0, 4.0, 7.0])),
        ("linear", json!([1.0, 2.5, 4.0, 5.5, 7.0])),
    ];
    for (fill, wanted) in cases {
        let parameters = json!({"time": "date", "value": "price", "resample": "1d", "fill": fill});
        let given = series(prices(), parameters).await;
        assert_eq!(Value::from(column(&given, "price")), wanted, "{fill}");
        assert_eq!(given.rows[0]["date"], "2024-01-01");
    }
}

#[tokio::test]
async fn periods_below_a_day_have_times_of_day() {
    let rows = json!([{"when": "2024-01-01", "x": 1.0}, {"when": "2024-01-02", "x": 2.0}]);
    let parameters = |resample: &str| json!({"time": "when", "value": "x", "resample": resample, "fill": "previous"});
    let given = series(rows.clone(), parameters("6h")).await;
    let wanted = [
        "2024-01-01T00:00:00",
        "2024-01-01T06:00:00",
        "2024-01-01T12:00:00",
        "2024-01-01T18:00:00",
        "2024-01-02T00:00:00",
    ];
    assert_eq!(column(&given, "when"), wanted);
    assert_eq!(given.facts["end"], "2024-01-02T00:00:00");
    for days in ["1d", "24h"] {
        let given = series(rows.clone(), parameters(days)).await;
        assert_eq!(column(&given, "when"), ["2024-01-01", "2024-01-02"], "{days}");
    }
    let given = series(rows, json!({"time": "when", "gaps": {"expected": "12h"}})).await;
    assert_eq!(given.rows[0]["from"], "2024-01-01T12:00:00");
}

#[tokio::test]
async fn periods_have_functions() {
    let parameters =
        json!({"time": "date", "value": "price", "resample": "1w", "function": "ohlc"});
    let given = series(prices(), parameters).await;
    assert_eq!(
        given.rows,
        [json!({"date": "2024-01-01", "open": 1.0, "high": 8.0, "low": 1.0, "close": 8.0})]
    );
    let parameters = json!({"time": "date", "values": ["price"], "resample": "1M", "group_by": ["name"],
        "functions": ["sum", "count"]});
    let given = series(prices(), parameters).await;
    assert_eq!(
        given.rows,
        [
            json!({"name": "a", "date": "2024-01-01", "price_sum": 9.0, "price_count": 2}),
            json!({"name": "b", "date": "2024-01-01", "price_sum": 10.0, "price_count": 2}),
        ]
    );
}

#[tokio::test]
async fn figures_follow_the_series() {
    let parameters = json!({"time": "date", "value": "price", "fill": "previous", "rolling": 2,
        "change": "percent", "cumulative": ["sum", "max"]});
    let given = series(prices(), parameters).await;
    assert_eq!(Value::from(column(&given, "price")), json!([1.0, 1.0, 4.0, 6.0, 8.0]));
    assert_eq!(
        Value::from(column(&given, "price_rolling_mean")),
        json!([null, 1.0, 2.5, 5.0, 7.0])
    );
    assert_eq!(
        Value::from(column(&given, "price_change_percent")),
        json!([null, 0.0, 300.0, 50.0, (8.0 / 6.0 - 1.0) * 100.0])
    );
    assert_eq!(
        Value::from(column(&given, "price_cumulative_sum")),
        json!([1.0, 2.0, 6.0, 12.0, 20.0])
    );
    assert_eq!(
        Value::from(column(&given, "price_cumulative_max")),
        json!([1.0, 1.0, 4.0, 6.0, 8.0])
    );
    let parameters = json!({"time": "date", "value": "price", "group_by": "name", "limit": 3,
        "rolling": {"window": "3d", "functions": ["min", "median"]}});
    let given = series(prices(), parameters).await;
    assert_eq!(column(&given, "name"), ["a", "a", "a"]);
    assert_eq!(Value::from(column(&given, "price_rolling_min")), json!([1.0, 1.0, 8.0]));
}

#[tokio::test]
async fn a_change_says_whether_it_is_in_per_cent() {
    let asked = |change: Value| {
        let mut parameters = json!({"time": "date", "value": "price", "fill": "previous"});
        parameters.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        parameters
    };
    for (change, name, second) in [
        (json!({"change": "percent"}), "price_change_percent", 300.0),
        (json!({"change": "pct"}), "price_change_percent", 300.0),
        // As in pandas.
        (json!({"change": "pct_change"}), "price_change_fraction", 3.0),
        (json!({"pct_change": true}), "price_change_fraction", 3.0),
        (json!({"change": "log"}), "price_change_log", 4.0_f64.ln()),
        (json!({"change": true}), "price_change", 3.0),
        (json!({"diff": 1}), "price_change", 3.0),
    ] {
        let given = series(prices(), asked(change.clone())).await;
        assert_eq!(Value::from(column(&given, name))[2], json!(second), "{change}");
    }
}

#[tokio::test]
async fn gaps_are_found() {
    let given = series(prices(), json!({"time": "date", "gaps": true})).await;
    assert_eq!(given.rows, [json!({"from": "2024-01-04", "to": "2024-01-04", "missing": 1})]);
    assert_eq!((&given.facts["step"], &given.facts["missing_count"]), (&json!("1d"), &json!(1)));

    let months = json!([{"m": "2023-11"}, {"m": "2023-12"}, {"m": "2024-03"}, {"m": "2024-04"}]);
    let given = series(months, json!({"time": "m", "gaps": {}})).await;
    assert_eq!(given.facts["step"], "1M");
    assert_eq!(given.rows, [json!({"from": "2024-01-01", "to": "2024-02-01", "missing": 2})]);

    let hours = json!([{"t": "2024-01-01T00:02:00Z"}, {"t": "2024-01-01T00:58:00Z"}, {"t": "2024-01-01T04:00:00Z"}]);
    let given = series(hours, json!({"time": "t", "gaps": {"expected": "1h"}})).await;
    assert_eq!(
        given.rows,
        [json!({"from": "2024-01-01T01:58:00Z", "to": "2024-01-01T02:58:00Z", "missing": 2})]
    );

    // A Friday, a Monday and the Wednesday after it.
    let days =
        json!([{"t": "2024-01-04"}, {"t": "2024-01-05"}, {"t": "2024-01-08"}, {"t": "2024-01-10"}]);
    let given = series(days.clone(), json!({"time": "t", "gaps": true})).await;
    assert_eq!(given.facts["gap_count"], 2);
    assert!(given.notes[0].starts_with("1 of 2 gaps are weekends"), "{:?}", given.notes);
    let given = series(days, json!({"time": "t", "gaps": {"expected": "1b"}})).await;
    assert_eq!(given.rows, [json!({"from": "2024-01-09", "to": "2024-01-09", "missing": 1})]);
}

#[tokio::test]
async fn months_end_on_different_days() {
    let gaps = async |days: &[&str], gaps: Value| {
        let rows = days.iter().map(|day| json!({"t": day})).collect();
        let given = series(rows, json!({"time": "t", "gaps": gaps})).await;
        (given.facts["step"].clone(), given.rows)
    };
    let gap = |from: &str, to: &str, missing: i64| {
        vec![json!({"from": from, "to": to, "missing": missing})]
    };
    let ends = ["2024-01-31", "2024-02-29", "2024-03-31", "2024-05-31"];
    let missing = gap("2024-04-30", "2024-04-30", 1);
    assert_eq!(gaps(&ends, json!(true)).await, (json!("1M"), missing));
    // Also after a month that is shorter than what is missing.
    let ends = ["2023-01-31", "2023-02-28", "2023-05-31", "2023-06-30", "2023-07-31"];
    let missing = gap("2023-03-31", "2023-04-30", 2);
    assert_eq!(gaps(&ends, json!(true)).await, (json!("1M"), missing.clone()));
    assert_eq!(gaps(&ends, json!({"expected": "1M"})).await, (json!("1M"), missing));
    // The 30th, or the end of February.
    let days = ["2023-12-30", "2024-01-30", "2024-02-29", "2024-04-30"];
    let missing = gap("2024-03-30", "2024-03-30", 1);
    assert_eq!(gaps(&days, json!(true)).await, (json!("1M"), missing));
    // Every 30 days is not every month.
    let days = ["2024-01-01", "2024-01-31", "2024-03-01", "2024-03-31"];
    assert_eq!(gaps(&days, json!(true)).await, (json!("30d"), Vec::new()));
}

#[tokio::test]
async fn days_are_those_of_the_zone() {
    // Summer time began in Berlin on 2024-03-31 at 01:00 UTC.
    let rows = json!([
        {"t": "2024-03-30T22:59:00Z", "x": 1}, {"t": "2024-03-30T23:00:00Z", "x": 2},
        {"t": "2024-03-31T00:30:00+01:00", "x": 4}, {"t": "2024-03-31T21:59:59Z", "x": 8},
        {"t": "2024-03-31T22:00:00Z", "x": 16},
    ]);
    let parameters = |zone: Option<&str>, resample: &str| json!({"time": "t", "value": "x", "resample": resample, "function": "sum", "timezone": zone});
    let given = series(rows.clone(), parameters(Some("Europe/Berlin"), "1d")).await;
    assert_eq!(column(&given, "t"), ["2024-03-30", "2024-03-31", "2024-04-01"]);
    assert_eq!(column(&given, "x"), [1.0, 14.0, 16.0]);
    let given = series(rows.clone(), parameters(None, "1d")).await;
    assert_eq!(column(&given, "x"), [7.0, 24.0]);
    assert_eq!(given.notes, ["days are those of UTC; `timezone` names another zone"]);
    let given = series(rows.clone(), parameters(Some("Europe/Berlin"), "2h")).await;
    assert_eq!(given.rows[1]["t"], "2024-03-31T00:00:00+01:00");
    assert_eq!(
        given.rows[2]["t"], "2024-03-31T23:00:00+02:00",
        "two hours have passed since 22:00 summer time"
    );
    assert_eq!(given.facts["end"], "2024-03-31T23:00:00+02:00");
    let said = error(rows, parameters(Some("Berlin"), "1d")).await;
    assert!(said.starts_with("timezone: no time zone \"Berlin\""), "{said}");
}

#[tokio::test]
async fn times_may_have_a_zone_themselves() {
    // Half past midnight, noon and half past midnight again on a clock of Berlin.
    let micros = [1_720_045_800, 1_720_087_200, 1_720_132_200].map(|second| second * 1_000_000);
    let times = TimestampMicrosecondArray::from_iter_values(micros).with_timezone("Europe/Berlin");
    let columns: Vec<(&str, ArrayRef)> =
        vec![("t", Arc::new(times)), ("x", Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0])))];
    let typed = RecordBatch::try_from_iter(columns).unwrap();
    let text = batch(&json!([
        {"t": "2024-07-04T00:30:00+02:00", "x": 1}, {"t": "2024-07-04T12:00:00+02:00", "x": 2},
        {"t": "2024-07-05T00:30:00+02:00", "x": 4},
    ]));
    let parameters = |resample: &str| json!({"time": "t", "value": "x", "resample": resample, "function": "sum"});
    for table in [typed, text] {
        let sums = async |resample: &str| {
            let tables = vec![(MAIN, table.clone())];
            let given =
                analyse_tables(AnalysisType::TimeSeries, tables, parameters(resample)).await;
            let given = given.unwrap();
            assert!(given.notes.is_empty(), "{:?}", given.notes);
            (column(&given, "t"), column(&given, "x"))
        };
        let (days, values) = sums("1d").await;
        assert_eq!(days, ["2024-07-04", "2024-07-05"]);
        assert_eq!(values, [3.0, 4.0]);
        let (times, _) = sums("12h").await;
        assert_eq!(times[1], "2024-07-04T12:00:00+02:00");
    }
}

#[tokio::test]
async fn times_are_read_from_text_and_numbers() {
    let rows =
        json!([{"ts": 1704067200, "x": 1}, {"ts": 1704070800, "x": 2}, {"ts": null, "x": 3}]);
    let given = series(rows, json!({"value": "x", "change": true})).await;
    assert_eq!(column(&given, "ts"), ["2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z"]);
    assert!(given.notes.contains(&"the times are those of \"ts\"".to_owned()), "{:?}", given.notes);
    assert!(given.notes.contains(&"1 row left out without \"ts\"".to_owned()), "{:?}", given.notes);
    // One unit for all, which is that of the largest; years only if all can be.
    let times = async |numbers: [i64; 3]| {
        let rows = numbers.iter().map(|number| json!({"ts": number, "x": 1})).collect();
        column(&series(rows, json!({"time": "ts", "value": "x", "change": true})).await, "ts")
    };
    assert_eq!(
        times([500, 1500, 20_000]).await,
        ["1970-01-01T00:08:20Z", "1970-01-01T00:25:00Z", "1970-01-01T05:33:20Z"]
    );
    assert_eq!(
        times([31_536_000_000, 1500, 157_766_400_000]).await,
        ["1970-01-01T00:00:01.500Z", "1971-01-01T00:00:00Z", "1975-01-01T00:00:00Z"]
    );
    let rows = json!([{"year": 1999, "x": 1}, {"year": 2001, "x": 2}, {"year": 2000, "x": 3}]);
    let given = series(rows, json!({"time": "year", "value": "x", "cumulative": "sum"})).await;
    assert_eq!(column(&given, "year"), ["1999-01-01", "2000-01-01", "2001-01-01"]);
    let rows = json!([{"t": "2024-01-01", "x": 1}, {"t": "soon", "x": 2}, {"t": "2024-01-01T00:00:00Z", "x": 3}]);
    let given = series(rows, json!({"time": "t", "value": "x", "change": true})).await;
    assert!(
        given.notes.contains(&"1 row left out whose \"t\" is no time".to_owned()),
        "{:?}",
        given.notes
    );
    assert!(
        given.notes.iter().any(|note| note.contains("without a zone taken to be UTC")),
        "{:?}",
        given.notes
    );
}

#[tokio::test]
async fn the_order_of_rows_decides_between_equal_times() {
    let rows: Value = (0..9000).map(|at| json!({"t": "2024-01-01T00:00:00", "x": at})).collect();
    let parameters =
        json!({"time": "t", "value": "x", "resample": "1d", "functions": ["first", "last"]});
    let given = series(rows.clone(), parameters).await;
    assert_eq!(given.rows, [json!({"t": "2024-01-01", "x_first": 0.0, "x_last": 8999.0})]);
    let given = series(rows, json!({"time": "t", "value": "x", "change": true})).await;
    assert!(column(&given, "x_change")[1..].iter().all(|change| *change == 1.0));
}

#[tokio::test]
async fn names_do_not_collide() {
    let rows = json!([{"time": "2024-01-01", "x": 1, "x_change": 5}, {"time": "2024-01-02", "x": 3, "x_change": 6}]);
    let given = series(rows, json!({"values": ["x", "x_change"], "change": true})).await;
    assert_eq!(
        given.rows[1],
        json!({"time": "2024-01-02", "x": 3.0, "x_change": 6.0, "x_change_": 2.0, "x_change_change": 1.0})
    );
}

#[tokio::test]
async fn what_is_empty_gives_nothing() {
    let rows = json!([{"t": null, "x": 1.5}]);
    let given =
        series(rows.clone(), json!({"time": "t", "value": "x", "resample": "1d", "fill": "zero"}))
            .await;
    assert_eq!((given.rows.len(), &given.facts["start"]), (0, &Value::Null));
    let given = series(rows.clone(), json!({"time": "t", "value": "x"})).await;
    assert_eq!((&given.facts["count"], &given.facts["step"]), (&json!(0), &Value::Null));
    let given = series(rows, json!({"time": "t", "gaps": true})).await;
    assert_eq!(given.facts["gap_count"], 0);
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let cases = [
        (json!({"time": "day"}), "time: no column \"day\""),
        (
            json!({"time": "name", "value": "price"}),
            "time: none of the 5 values of \"name\" is a time",
        ),
        (
            json!({"time": "date", "value": "prize"}),
            "value: no column \"prize\"; did you mean price?",
        ),
        (json!({"time": "date", "values": ["prize"]}), "values[0]: no column \"prize\""),
        (json!({"time": "date", "resample": "1x"}), "resample: \"1x\" is no length of time"),
        (json!({"time": "date", "resample": "1b"}), "resample: periods of weekdays"),
        (
            json!({"time": "date", "function": "sum"}),
            "function: a function is for the values of a period",
        ),
        (
            json!({"time": "date", "functions": ["sum"]}),
            "functions: a function is for the values of a period",
        ),
        (
            json!({"time": "date", "resample": "1d", "function": "median"}),
            "function: no \"median\" here",
        ),
        (
            json!({"time": "date", "resample": "1d", "functions": ["sum", "median"]}),
            "functions[1]: no \"median\" here",
        ),
        (json!({"time": "date", "fill": "ffil"}), "fill: no \"ffil\""),
        (json!({"time": "date", "rolling": 0}), "rolling: it has at least one row"),
        (json!({"time": "date", "rolling": -1}), "rolling: must be a whole number from 0, not -1"),
        (
            json!({"time": "date", "rolling": {"windw": 3}}),
            "rolling.windw: there is no such parameter; did you mean window?; there are window",
        ),
        (json!({"time": "date", "rolling": {"function": "sum"}}), "rolling.window: is missing"),
        (
            json!({"time": "date", "rolling": {"window": [3]}}),
            "rolling.window: must be a number of rows or a length of time, as 7 or \"7d\", not [3]",
        ),
        (
            json!({"time": "date", "change": {"knd": "percent"}}),
            "change.knd: there is no such parameter; did you mean kind?",
        ),
        (
            json!({"time": "date", "change": "precent"}),
            "change: no \"precent\" here; did you mean percent?",
        ),
        (json!({"time": "date", "change": 2}), "change: must be true, \"percent\" or an object"),
        (
            json!({"time": "date", "gaps": "1d"}),
            "gaps: must be true or an object such as {\"expected\": \"1d\"}, not \"1d\"",
        ),
        (json!({"time": "date", "value": 5}), "value: no column \"5\""),
        (json!({"time": "date", "values": ["price", 5]}), "values[1]: no column \"5\""),
        (
            json!({"time": "date", "value": "price", "values": "price"}),
            "values: is the same as `value`; give one of them",
        ),
        (
            json!({"time": "date", "rolling": {"window": "1M"}}),
            "rolling.window: \"1M\" is not always",
        ),
        (
            json!({"time": "date", "rolling": {"window": 2, "min_periods": 3}}),
            "rolling.min_periods",
        ),
        (
            json!({"time": "date", "rolling": {"window": 2, "function": "mode"}}),
            "rolling.function: no \"mode\" here",
        ),
        (json!({"time": "date", "change": {"periods": 0}}), "change.periods: it is 1 or more"),
        (
            json!({"time": "date", "cumulative": 3}),
            "cumulative: must be \"sum\", \"min\", \"max\" or a list of them, not 3",
        ),
        (json!({"time": "date", "cumulative": ["mean"]}), "cumulative[0]: no \"mean\" here"),
        (json!({"time": "date", "gaps": true, "resample": "1d"}), "gaps: gaps are looked for"),
        (
            json!({"time": "date", "value": "price", "group_by": "price"}),
            "value: \"price\" is the time",
        ),
        (json!({"time": "date", "resampel": "1d"}), "did you mean resample?"),
        (
            json!({"time": "date", "resample": "1us", "fill": "null"}),
            "resample: there are more than 5000000",
        ),
    ];
    for (parameters, wanted) in cases {
        let said = error(prices(), parameters.clone()).await;
        assert!(said.contains(wanted), "{parameters}: {said}");
    }
    let said = error(json!([{"a": 1}]), json!({})).await;
    assert!(said.starts_with("time: which column has the times is missing"), "{said}");
}
