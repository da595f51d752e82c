//! Figures along rows that have no times: the values are those of pandas.

use narrows_analysis::{Input, Understood, understand};
use serde_json::{Value, json};

use crate::support::{run_with, table};

/// As pandas' `DataFrame` was given them.
fn sales() -> Value {
    json!([
        {"shop": "n", "seq": 6, "amount": 10.0, "units": 1, "name": "b"},
        {"shop": "s", "seq": 5, "amount": 4.0, "units": 2, "name": "a"},
        {"shop": "n", "seq": 4, "amount": null, "units": 4, "name": "a"},
        {"shop": "s", "seq": 3, "amount": 8.0, "units": 8, "name": null},
        {"shop": "n", "seq": 2, "amount": 15.0, "units": 16, "name": "c"},
        {"shop": "s", "seq": 1, "amount": 8.0, "units": 32, "name": "a"},
    ])
}

/// The last column of what comes back, and how it is called.
async fn last_column(name: &str, parameters: &Value) -> (String, Vec<Value>) {
    let parameters = parameters.as_object().unwrap().clone();
    let Understood { kind, parameters, refusal, .. } = understand(name, parameters).unwrap();
    assert!(refusal.is_none(), "{name}: {refusal:?}");
    let tables = vec![("sales".to_owned(), Input::Json(sales()))];
    let answer = run_with(3, kind, tables, &Value::Object(parameters)).await;
    let answer = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut names, rows) = table(&answer);
    let last = rows.into_iter().map(|mut row| row.pop().unwrap()).collect();
    (names.pop().unwrap(), last)
}

fn is_near(found: &[Value], wanted: &Value) -> bool {
    let wanted = wanted.as_array().unwrap();
    found.len() == wanted.len()
        && found.iter().zip(wanted).all(|pair| match (pair.0.as_f64(), pair.1.as_f64()) {
            (Some(found), Some(wanted)) => (found - wanted).abs() < 1e-12,
            _ => pair.0 == pair.1,
        })
}

#[tokio::test]
async fn what_pandas_does_along_rows_needs_no_times() {
    for (name, parameters, column, wanted) in [
        (
            "pct_change",
            json!({"column": "amount"}),
            "amount_change_fraction",
            json!([null, -0.6, null, null, 0.875, -0.466_666_666_666_666_7]),
        ),
        (
            "pct_change",
            json!({"column": "units", "periods": 2}),
            "units_change_fraction",
            json!([null, null, 3.0, 3.0, 3.0, 3.0]),
        ),
        (
            "pct_change",
            json!({"column": "units", "group_by": "shop"}),
            "units_change_fraction",
            json!([null, null, 3.0, 3.0, 3.0, 3.0]),
        ),
        (
            "growth",
            json!({"column": "units"}),
            "units_change_percent",
            json!([null, 100.0, 100.0, 100.0, 100.0, 100.0]),
        ),
        (
            "diff",
            json!({"column": "amount"}),
            "amount_change",
            json!([null, -6.0, null, null, 7.0, -7.0]),
        ),
        (
            "diff",
            json!({"column": "units", "periods": 2}),
            "units_change",
            json!([null, null, 3, 6, 12, 24]),
        ),
        (
            "diff",
            json!({"column": "units", "periods": -1}),
            "units_change",
            json!([-1, -2, -4, -8, -16, null]),
        ),
        (
            "diff",
            json!({"column": "amount", "by": "shop"}),
            "amount_change",
            json!([null, null, null, 4, null, 0]),
        ),
        (
            "cumsum",
            json!({"column": "amount"}),
            "amount_cumulative_sum",
            json!([10, 14, null, 22, 37, 45]),
        ),
        (
            "cumsum",
            json!({"column": "amount", "groupby": "shop"}),
            "amount_cumulative_sum",
            json!([10, 4, null, 12, 25, 20]),
        ),
        (
            "cummax",
            json!({"column": "amount"}),
            "amount_cumulative_max",
            json!([10, 10, null, 10, 15, 15]),
        ),
        (
            "cummin",
            json!({"column": "amount", "by": ["shop"]}),
            "amount_cumulative_min",
            json!([10, 4, null, 4, 10, 4]),
        ),
        ("shift", json!({"column": "amount"}), "amount_shift", json!([null, 10, 4, null, 8, 15])),
        (
            "shift",
            json!({"column": "units", "periods": -2}),
            "units_shift",
            json!([4, 8, 16, 32, null, null]),
        ),
        ("shift", json!({"column": "name"}), "name_shift", json!([null, "b", "a", "a", null, "c"])),
        (
            "lag",
            json!({"column": "amount", "partition_by": "shop"}),
            "amount_shift",
            json!([null, null, 10, 4, null, 8]),
        ),
        (
            "rolling",
            json!({"column": "units", "window": 2}),
            "units_rolling_mean",
            json!([null, 1.5, 3, 6, 12, 24]),
        ),
        (
            "rolling",
            json!({"column": "amount", "window": 3, "function": "sum", "min_periods": 1}),
            "amount_rolling_sum",
            json!([10, 14, 14, 12, 23, 31]),
        ),
        (
            "rolling",
            json!({"column": "units", "window": 2, "agg": "sum", "by": "shop"}),
            "units_rolling_sum",
            json!([null, null, 5, 10, 20, 40]),
        ),
        (
            "rolling",
            json!({"column": "units", "window": 3, "func": "std"}),
            "units_rolling_std",
            json!([
                null,
                null,
                1.527_525_231_651_946_5,
                3.055_050_463_303_893,
                6.110_100_926_607_786,
                12.220_201_853_215_572,
            ]),
        ),
        (
            "rolling",
            json!({"column": "amount", "window": 3, "function": "median", "min_periods": 2}),
            "amount_rolling_median",
            json!([null, 7, 7, 6, 11.5, 8]),
        ),
        (
            "rolling",
            json!({"column": "amount", "window": 2, "function": "max"}),
            "amount_rolling_max",
            json!([null, 10, null, null, 15, 15]),
        ),
        ("rank", json!({"column": "amount"}), "amount_rank", json!([4, 1, null, 2.5, 5, 2.5])),
        (
            "rank",
            json!({"column": "amount", "method": "min"}),
            "amount_rank",
            json!([4, 1, null, 2, 5, 2]),
        ),
        (
            "rank",
            json!({"column": "amount", "method": "max"}),
            "amount_rank",
            json!([4, 1, null, 3, 5, 3]),
        ),
        ("row_number", json!({"by": "amount"}), "amount_rank", json!([4, 1, null, 2, 5, 3])),
        ("dense_rank", json!({"by": "amount"}), "amount_rank", json!([3, 1, null, 2, 4, 2])),
        (
            "rank",
            json!({"column": "amount", "method": "min", "ascending": false}),
            "amount_rank",
            json!([2, 5, null, 3, 1, 3]),
        ),
        (
            "rank",
            json!({"column": "amount", "pct": true}),
            "amount_rank",
            json!([0.8, 0.2, null, 0.5, 1.0, 0.5]),
        ),
        (
            "rank",
            json!({"column": "amount", "by": "shop", "as": "place"}),
            "place",
            json!([1, 1, null, 2.5, 2, 2.5]),
        ),
        (
            "rank",
            json!({"column": "amount", "group_by": "shop", "pct": true, "method": "max"}),
            "amount_rank",
            json!([0.5, 1.0 / 3.0, null, 1, 1, 1]),
        ),
        (
            "rank",
            json!({"column": "name", "method": "min"}),
            "name_rank",
            json!([4, 1, 1, null, 5, 1]),
        ),
        // In the order of a column.
        (
            "cumsum",
            json!({"column": "amount", "order_by": "seq"}),
            "amount_cumulative_sum",
            json!([8, 23, 31, null, 35, 45]),
        ),
        (
            "diff",
            json!({"column": "units", "sort_by": "seq", "ascending": false}),
            "units_change",
            json!([null, 1, 2, 4, 8, 16]),
        ),
        (
            "shift",
            json!({"column": "units", "sort": "seq", "group_by": "shop"}),
            "units_shift",
            json!([null, null, 32, 16, 8, 4]),
        ),
    ] {
        let (found_name, found) = last_column(name, &parameters).await;
        assert_eq!(found_name, column, "{name} {parameters}");
        assert!(is_near(&found, &wanted), "{name} {parameters}: {found:?}, not {wanted}");
    }
}

/// All columns stay, and rows of many streams stay in their order.
#[tokio::test]
async fn rows_stay_as_they_are() {
    let rows: Vec<Value> =
        (0..20_000).map(|at| json!({"at": at, "group": at % 7, "x": 1})).collect();
    let tables = vec![("rows".to_owned(), Input::Json(rows.into()))];
    let asked = json!({"column": "x", "group_by": "group"});
    let Understood { kind, parameters, .. } =
        understand("cumsum", asked.as_object().unwrap().clone()).unwrap();
    let answer = run_with(4, kind, tables, &Value::Object(parameters)).await.unwrap();
    let (names, rows) = table(&answer);
    assert_eq!(names, ["at", "group", "x", "x_cumulative_sum"]);
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row[0], at);
        assert_eq!(row[3], (at / 7 + 1) as f64, "{at}");
    }
    assert!(answer.notes.iter().any(|note| note.contains("order of the rows")));
}

/// A column of months by name is no time, and one of times is.
#[tokio::test]
async fn times_are_followed_where_there_are_any() {
    let answer = async |rows: Value, parameters: Value| {
        let parameters = parameters.as_object().unwrap().clone();
        let Understood { kind, parameters, .. } = understand("cumsum", parameters).unwrap();
        let tables = vec![("rows".to_owned(), Input::Json(rows))];
        run_with(2, kind, tables, &Value::Object(parameters)).await
    };
    let months = json!([{"month": "Feb", "x": 1}, {"month": "Jan", "x": 2}]);
    let found = table(&answer(months.clone(), json!({"column": "x"})).await.unwrap()).1;
    assert_eq!(json!(found), json!([["Feb", 1, 1.0], ["Jan", 2, 3.0]]));
    let numbers = json!([{"month": 2, "x": 1}, {"month": 1, "x": 2}]);
    let found = table(&answer(numbers, json!({"column": "x"})).await.unwrap()).1;
    assert_eq!(json!(found), json!([[2, 1, 1.0], [1, 2, 3.0]]));
    let days = json!([{"day": "2026-02-02", "x": 1}, {"day": "2026-02-01", "x": 2}]);
    let found = table(&answer(days, json!({"column": "x"})).await.unwrap()).1;
    assert_eq!(json!(found), json!([["2026-02-01", 2.0, 2.0], ["2026-02-02", 1.0, 3.0]]));
    let said = answer(months, json!({"column": "x", "freq": "1d"})).await.unwrap_err().to_string();
    assert!(said.starts_with("time: which column has the times is missing"), "{said}");
}
