//! The analyses `aggregate` and `percentiles`.

use std::{
    io::{Read, Seek},
    sync::Arc,
};

use datafusion::arrow::{
    array::{
        Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array, RecordBatch,
        StringArray, UInt64Array,
    },
    datatypes::Float64Type,
    util::display::array_value_to_string,
};
use narrows_analysis::{
    AnalysisType, FileFormat, FileSink, Input, Output, Request, ResultTable, SpillTarget,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{analysis, refusal, rows, run, run_with, table};

fn sales() -> Value {
    json!([
        {"region": "EU", "amount": 10, "price": 1.5, "code": "7"},
        {"region": null, "amount": 1, "price": null, "code": "x"},
        {"region": "EU", "amount": 30, "price": 2.5, "code": "8"},
        {"region": "Asia", "amount": 5, "price": null, "code": null},
    ])
}

#[tokio::test]
async fn the_way_callers_write_it() {
    let found = rows(AnalysisType::Aggregate, sales(), json!({"group_by": "region"})).await;
    assert_eq!(
        found,
        json!([
            {"region": "Asia", "count": 1, "amount_sum": 5, "amount_mean": 5.0, "amount_min": 5, "amount_max": 5,
             "price_sum": 0.0, "price_mean": null, "price_min": null, "price_max": null},
            {"region": "EU", "count": 2, "amount_sum": 40, "amount_mean": 20.0, "amount_min": 10, "amount_max": 30,
             "price_sum": 4.0, "price_mean": 2.0, "price_min": 1.5, "price_max": 2.5},
            {"region": null, "count": 1, "amount_sum": 1, "amount_mean": 1.0, "amount_min": 1, "amount_max": 1,
             "price_sum": 0.0, "price_mean": null, "price_min": null, "price_max": null},
        ])
    );
}

#[tokio::test]
async fn figures_may_be_written_in_many_ways() {
    let figures = json!({"amount": ["sum", {"function": "percentile", "p": 50}], "n": {"field": "price", "function": "count"}, "*": "count"});
    let found = rows(AnalysisType::Aggregate, sales(), json!({"aggregations": figures})).await;
    assert_eq!(found, json!([{"amount_sum": 46, "amount_p50": 7.5, "n": 2, "count": 4}]));
    let figures = json!([
        {"field": "amount", "op": "quantile", "q": 0.25, "as": "lower"},
        {"field": "price", "function": "std"},
        {"function": "count"},
        {"field": "code", "function": "sum", "alias": "codes"},
    ]);
    let answer = run(
        AnalysisType::Aggregate,
        sales(),
        json!({"group_by": ["region"], "aggregations": figures}),
    );
    let answer = answer.await.expect("an answer");
    let (names, found) = table(&answer);
    assert_eq!(names, ["region", "lower", "price_std", "count", "codes"]);
    assert_eq!(found[1], [json!("EU"), json!(15.0), json!(0.5f64.sqrt()), json!(2), json!(15.0)]);
    assert_eq!(found[0][2], Value::Null, "one row has no deviation");
    assert!(answer.notes[0].contains("1 of 3 values could not be read"), "{:?}", answer.notes);
}

#[tokio::test]
async fn having_sort_and_limit() {
    let parameters = json!({
        "group_by": "region",
        "aggregations": {"amount": "sum"},
        "having": [{"field": "amount_sum", "operator": ">", "value": 2}],
        "sort": [{"field": "amount_sum", "order": "desc"}],
        "limit": 1,
    });
    let found = rows(AnalysisType::Aggregate, sales(), parameters).await;
    assert_eq!(found, json!([{"region": "EU", "amount_sum": 40}]));
}

#[tokio::test]
async fn mistakes_are_told_with_their_place() {
    for (parameters, said) in [
        (json!({"group_by": "regio"}), "group_by: no column \"regio\"; did you mean region?"),
        (json!({"group_by": ["region", "region"]}), "group_by[1]: \"region\" is there twice"),
        (
            json!({"aggregations": {"amount": "summ"}}),
            "aggregations.amount: no function \"summ\"; did you mean sum?; there are count, count_distinct, sum",
        ),
        (
            json!({"aggregations": {"amont": "sum"}}),
            "aggregations.amont: no column \"amont\"; did you mean amount?",
        ),
        (
            json!({"aggregations": [{"function": "sum"}]}),
            "aggregations[0].field: sum needs a field",
        ),
        (
            json!({"aggregations": {"amount": "percentile"}}),
            "aggregations.amount: percentile needs \"p\", such as 95",
        ),
        (
            json!({"aggregations": {"amount": "p101"}}),
            "aggregations.amount: must be from 0 to 100, not 101",
        ),
        (
            json!({"aggregations": {"region": "mean"}}),
            "aggregations.region: column \"region\" holds text that is no number",
        ),
        (
            json!({"aggregations": [{"field": "amount", "function": "sum", "as": "x"}, {"field": "price", "function": "sum", "as": "x"}]}),
            "aggregations: two columns of the result would be called \"x\"",
        ),
        (
            json!({"aggregations": [{"function": "count"}, {"function": "top", "by": "amount"}]}),
            "aggregations[1]: gives rows",
        ),
        (json!({"limit": -1}), "limit: must be a whole number from 0, not -1"),
        (json!({"aggregations": []}), "aggregations: there is none, and nothing to group by"),
        (json!({"aggregations": {}}), "aggregations: there is none, and nothing to group by"),
        (json!({"aggregations": {"amount": []}}), "aggregations: there is none"),
    ] {
        let refused = refusal(AnalysisType::Aggregate, sales(), parameters).await;
        assert!(refused.starts_with(said), "{refused}");
    }
}

fn of_columns(columns: Vec<(&str, ArrayRef)>, batch_rows: usize) -> Vec<(String, Input)> {
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let total_rows = batch.num_rows();
    let slice = |start: usize| batch.slice(start, batch_rows.min(total_rows - start));
    let batches = (0..total_rows).step_by(batch_rows).map(slice).collect();
    let input = Input::Batches { schema: batch.schema(), batches };
    vec![("data".to_owned(), input)]
}

#[tokio::test]
async fn a_sum_that_does_not_fit_is_no_other_number() {
    let numbers = |values| of_columns(vec![("n", Arc::new(Int64Array::from(values)))], 1);
    let parameters = json!({"aggregations": {"n": ["sum", "mean"]}});
    let largest = vec![i64::MAX, 1, -1];
    let answer = run_with(2, AnalysisType::Aggregate, numbers(largest), &parameters).await;
    assert_eq!(table(&answer.expect("an answer")).1[0][0], json!(i64::MAX));
    let too_large = vec![i64::MAX, i64::MAX];
    let answer = run_with(2, AnalysisType::Aggregate, numbers(too_large), &parameters).await;
    let refused = answer.expect_err("no room").to_string();
    let said = "aggregations.n: the sum of column \"n\" is too large for a whole number";
    assert!(refused.contains(said), "{refused}");
}

#[tokio::test]
async fn a_sum_of_numbers_without_a_sign_has_room() {
    let numbers = UInt64Array::from(vec![Some(u64::MAX), None, Some(u64::MAX), Some(3)]);
    let groups = StringArray::from(vec!["a", "a", "a", "b"]);
    let columns: Vec<(&str, ArrayRef)> = vec![("g", Arc::new(groups)), ("n", Arc::new(numbers))];
    let parameters = json!({"group_by": "g"});
    let answer = run_with(2, AnalysisType::Aggregate, of_columns(columns, 1), &parameters).await;
    let answer = answer.expect("an answer").table.expect("a table");
    let sums = answer.batches.iter().filter_map(|batch| batch.column_by_name("n_sum"));
    let texts = |column: &ArrayRef| -> Vec<String> {
        let text = |row| array_value_to_string(column, row).expect("a text");
        (0..column.len()).map(text).collect()
    };
    assert_eq!(sums.flat_map(texts).collect::<Vec<_>>(), ["36893488147419103230", "3"]);
}

/// The numbers of a column, which JSON has no form for if they are infinite.
fn floats(table: &ResultTable, name: &str) -> Vec<Option<f64>> {
    let columns = table.batches.iter().filter_map(|batch| batch.column_by_name(name));
    columns.flat_map(|column| column.as_primitive::<Float64Type>().iter()).collect()
}

#[tokio::test]
async fn infinity_can_be_the_smallest_and_the_largest() {
    let (most, infinite) = (f64::MAX, f64::INFINITY);
    let groups = StringArray::from(vec!["a", "a", "b", "b", "c", "c", "d", "e"]);
    let numbers = Float64Array::from(vec![
        Some(infinite),
        Some(infinite),
        Some(-infinite),
        None,
        Some(most),
        Some(infinite),
        None,
        Some(-0.5),
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![("g", Arc::new(groups)), ("n", Arc::new(numbers))];
    let parameters = json!({"group_by": "g", "aggregations": {"n": ["min", "max"]}});
    let answer = run_with(4, AnalysisType::Aggregate, of_columns(columns, 1), &parameters).await;
    let found = answer.expect("an answer").table.expect("a table");
    let (least, largest) = (Some(-infinite), Some(infinite));
    assert_eq!(floats(&found, "n_min"), [largest, least, Some(most), None, Some(-0.5)]);
    assert_eq!(floats(&found, "n_max"), [largest, least, largest, None, Some(-0.5)]);
}

#[tokio::test]
async fn what_is_missing_is_not_collected() {
    let data = json!([
        {"g": "a", "n": 1}, {"g": "a", "n": null}, {"g": "b", "n": null}, {"g": "a", "n": 3},
    ]);
    let parameters = json!({"group_by": "g", "aggregations": {"n": "collect"}});
    let found = rows(AnalysisType::Aggregate, data, parameters).await;
    assert_eq!(found, json!([{"g": "a", "n_collect": [1, 3]}, {"g": "b", "n_collect": []}]));
}

#[tokio::test]
async fn lists_are_json_in_a_file_of_csv() {
    let mut file = tempfile::tempfile().expect("a file");
    let kept = file.try_clone().expect("the same file");
    let keep = SpillTarget {
        format: FileFormat::Csv,
        always: true,
        make: Box::new(move || Ok(("all.csv".to_owned(), Box::new(kept) as Box<dyn FileSink>))),
    };
    let parameters = json!({"group_by": "region", "aggregations": {"code": "collect"}});
    let request = Request {
        kind: AnalysisType::Aggregate,
        parameters: parameters.as_object().cloned().expect("parameters"),
        output: Output::default(),
        refusal: None,
    };
    let tables = vec![("data".to_owned(), Input::Json(sales()))];
    let analysis = analysis(2, 1 << 30);
    let answer = analysis.run(request, tables, Some(keep), CancellationToken::new()).await;
    answer.expect("an answer");
    let mut written = String::new();
    file.rewind().expect("the beginning");
    file.read_to_string(&mut written).expect("a text");
    let expected = "region,code_collect\nAsia,[]\nEU,\"[\"\"7\"\",\"\"8\"\"]\"\n,\"[\"\"x\"\"]\"\n";
    assert_eq!(written, expected);
}

/// Columns may be called as those that are made on the way.
#[tokio::test]
async fn names_are_only_names() {
    let data = json!([
        {"__0": "a", "__count_0": 1, "s": "x"},
        {"__0": "b", "__count_0": 2, "s": "y"},
    ]);
    let figures = json!({"s": ["mode", "count"], "__count_0": ["p50", "sum"]});
    let parameters = json!({"group_by": "__0", "aggregations": figures});
    let expected = json!([
        {"__0": "a", "s_mode": "x", "s_count": 1, "__count_0_p50": 1.0, "__count_0_sum": 1},
        {"__0": "b", "s_mode": "y", "s_count": 1, "__count_0_p50": 2.0, "__count_0_sum": 2},
    ]);
    assert_eq!(rows(AnalysisType::Aggregate, data, parameters).await, expected);
    for name in ["__count_0", "__all_0", "__0_0", "__field", "__count", "__p0"] {
        for method in ["exact", "approximate"] {
            let data = json!([{name: "a", "n": 1}, {name: "b", "n": 2}]);
            let parameters =
                json!({"field": "n", "percentiles": 50, "group_by": name, "method": method});
            let found = rows(AnalysisType::Percentiles, data, parameters).await;
            let expected = json!([
                {name: "a", "field": "n", "count": 1, "p50": 1.0},
                {name: "b", "field": "n", "count": 1, "p50": 2.0},
            ]);
            assert_eq!(found, expected, "{name} {method}");
        }
    }
}

#[tokio::test]
async fn a_sum_of_decimals_that_does_not_fit_is_no_other_number() {
    let large = 9 * 10_i128.pow(37);
    for (kind, parameters) in [
        (AnalysisType::Aggregate, json!({"aggregations": {"d": "sum"}})),
        (AnalysisType::Sql, json!({"query": "select sum(d) as s from data"})),
        (
            AnalysisType::Sql,
            json!({"query": "select sum(d) as s from data group by d > 0 or d <= 0"}),
        ),
    ] {
        let sum = async |values: Vec<i128>| {
            let decimals = Decimal128Array::from(values).with_precision_and_scale(38, 0);
            let decimals: ArrayRef = Arc::new(decimals.expect("decimals"));
            run_with(2, kind, of_columns(vec![("d", decimals)], 1), &parameters).await
        };
        let fits = sum(vec![large, large, -large, -large, 5]).await.expect("an answer");
        assert_eq!(table(&fits).1, [[json!(5.0)]]);
        let refused = sum(vec![large, large]).await.expect_err("no room").to_string();
        assert!(refused.contains("sum: the result is too large for a decimal number"), "{refused}");
    }
}

#[tokio::test]
async fn not_a_number_is_missing() {
    let values = Float64Array::from(vec![Some(f64::NAN), Some(2.0), None, Some(4.0)]);
    let tables = || of_columns(vec![("n", Arc::new(values.clone()))], 2);
    let parameters = json!({"aggregations": {"n": ["count", "sum", "mean", "min", "max", "median", "nunique", "first", "mode"]}});
    let answer =
        run_with(2, AnalysisType::Aggregate, tables(), &parameters).await.expect("an answer");
    let expected = json!([2, 6.0, 3.0, 2.0, 4.0, 3.0, 2, 2.0, 2.0]);
    assert_eq!(Value::Array(table(&answer).1.remove(0)), expected);
}

/// Each of many streams gets rows of every group.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn first_and_last_are_by_row() {
    let count = 100_000;
    let group = StringArray::from_iter_values((0..count).map(|row| format!("g{}", row % 7)));
    let number = Int64Array::from_iter_values(0..count);
    let columns: Vec<(&str, ArrayRef)> = vec![("g", Arc::new(group)), ("n", Arc::new(number))];
    let parameters = json!({"group_by": "g", "aggregations": {"n": ["first", "last", "collect"]}});
    let answer = run_with(8, AnalysisType::Aggregate, of_columns(columns, 500), &parameters).await;
    for (group, row) in table(&answer.expect("an answer")).1.into_iter().enumerate() {
        let last = (count - 1) - (count - 1 - group as i64) % 7;
        assert_eq!(row[1..3], [json!(group), json!(last)]);
        let collected = row[3].as_array().expect("a list");
        assert!(collected.windows(2).all(|pair| pair[0].as_i64() < pair[1].as_i64()));
    }
}

#[tokio::test]
async fn the_top_of_each_group() {
    let parameters =
        json!({"group_by": "region", "aggregations": {"amount": {"function": "top", "n": 1}}});
    let found = rows(AnalysisType::Aggregate, sales(), parameters).await;
    let amounts: Vec<&Value> =
        found.as_array().expect("rows").iter().map(|row| &row["amount"]).collect();
    assert_eq!(amounts, [&json!(5), &json!(30), &json!(1)]);
}

#[tokio::test]
async fn text_that_is_all_numbers_is_in_their_order() {
    let prices = |values: &[&str]| -> Value {
        values.iter().enumerate().map(|(n, p)| json!({"n": n, "p": p})).collect()
    };
    let figures = json!({"aggregations": {"p": ["sum", "min", "max"]}});
    let asked = async |values: &[&str]| {
        let answer =
            run(AnalysisType::Aggregate, prices(values), figures.clone()).await.expect("figures");
        (table(&answer).1.remove(0), answer.notes)
    };
    let note = "column \"p\" holds text and was read as numbers";
    let numbers = (vec![json!(119.0), json!(9), json!(100)], vec![note.to_owned()]);
    assert_eq!(asked(&["9", "10", " 100"]).await, numbers);
    let fractions = (vec![json!(19.5), json!(9.5), json!(10.0)], vec![note.to_owned()]);
    assert_eq!(asked(&["9.5", "10"]).await, fractions);
    // Every digit counts.
    let (ids, _) = asked(&["9007199254740993", "9007199254740992"]).await;
    assert_eq!(ids[1..], [json!(9007199254740992_i64), json!(9007199254740993_i64)]);
    let (codes, notes) = asked(&["00501", "10001"]).await;
    assert_eq!(codes[1..], ["00501", "10001"]);
    let said = "min and max of column \"p\" are those of its text";
    assert_eq!(notes, [note, said]);
    let (mixed, notes) = asked(&["9", "10", "none of it"]).await;
    assert_eq!(mixed, [json!(19.0), json!("10"), json!("none of it")]);
    let unread = format!("{note}; 1 of 3 values could not be read and count as missing");
    assert_eq!(notes, [unread.as_str(), said]);

    let top = json!({"aggregations": {"p": {"function": "top", "n": 1}}});
    let found = rows(AnalysisType::Aggregate, prices(&["9", "10"]), top).await;
    assert_eq!(found, json!([{"n": 1, "p": "10"}]));
    let sorted = async |kind: AnalysisType, parameters: Value, values: &[&str]| {
        let answer = run(kind, prices(values), parameters).await.expect("rows");
        let order: Vec<Value> = table(&answer).1.into_iter().map(|mut row| row.remove(1)).collect();
        (order, answer.notes)
    };
    let (order, notes) =
        sorted(AnalysisType::Transform, json!({"sort": "-p"}), &["9", "100", "10"]).await;
    assert_eq!(
        (order, notes),
        (vec![json!("100"), json!("10"), json!("9")], vec![note.to_owned()])
    );
    let (order, notes) =
        sorted(AnalysisType::Transform, json!({"sort": "p"}), &["9", "x", "10"]).await;
    assert_eq!((order, notes.len()), (vec![json!("10"), json!("9"), json!("x")], 0));
    // Those that are left are numbers.
    let conditions = json!([{"field": "p", "operator": "!=", "value": "x"}]);
    let parameters =
        json!({"conditions": conditions.clone(), "sort": {"field": "p", "order": "asc"}});
    let (order, _) = sorted(AnalysisType::Filter, parameters, &["x", "10", "9"]).await;
    assert_eq!(order, ["9", "10"]);
    // So are keys of groups, all of them or those that are left.
    let groups = async |mut parameters: Value, values: &[&str]| {
        parameters["group_by"] = json!("p");
        parameters["sort"] = json!("-p");
        let found = rows(AnalysisType::Aggregate, prices(values), parameters).await;
        found.as_array().expect("rows").iter().map(|row| row["p"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(groups(json!({}), &["9", "10", "100", "9"]).await, ["100", "10", "9"]);
    assert_eq!(groups(json!({}), &["9", "10", "x"]).await, ["x", "9", "10"]);
    let having = json!({"having": conditions});
    assert_eq!(groups(having, &["9", "10", "x"]).await, ["10", "9"]);
}

#[tokio::test]
async fn percentiles_may_be_fractions() {
    let data = json!([1, 2, 3, 4, 5]);
    let parameters = json!({"field": "value", "percentiles": [0.5, 0.95, 1]});
    let answer = run(AnalysisType::Percentiles, data.clone(), parameters).await.expect("an answer");
    let (names, found) = table(&answer);
    assert_eq!(names, ["field", "count", "p50", "p95", "p100"]);
    assert_eq!(found[0], [json!("value"), json!(5), json!(3.0), json!(4.8), json!(5.0)]);
    assert_eq!(answer.notes.len(), 1);
    let found = rows(AnalysisType::Percentiles, data.clone(), json!({"percentiles": [0, 1]})).await;
    assert_eq!(found, json!([{"field": "value", "count": 5, "p0": 1.0, "p1": 1.04}]));
    let parameters = json!({"method": "approximate", "percentiles": 50});
    let found = rows(AnalysisType::Percentiles, data.clone(), parameters).await;
    assert_eq!(found[0]["p50"], json!(3.0));
    for (parameters, said) in [
        (json!({"percentiles": [101]}), "percentiles[0]: must be from 0 to 100, not 101"),
        (json!({"percentiles": []}), "percentiles: is empty"),
        (json!({"percentiles": ["many"]}), "percentiles[0]: must be a number, not \"many\""),
        (json!({"fields": ["valu"]}), "fields[0]: no column \"valu\"; did you mean value?"),
        (json!({"method": "guess"}), "method: no \"guess\" here; there are exact, approximate"),
        (json!({"fields": []}), "fields: is empty"),
        (json!({"field": []}), "field: is empty"),
    ] {
        assert_eq!(
            refusal(AnalysisType::Percentiles, data.clone(), parameters)
                .await
                .split("; there are value")
                .next(),
            Some(said)
        );
    }
    let refused = refusal(AnalysisType::Percentiles, json!([{"a": "x"}]), json!({})).await;
    assert_eq!(refused, "fields: there is no column with numbers");
}

#[tokio::test]
async fn percentiles_of_infinite_numbers() {
    let values = vec![f64::NEG_INFINITY, 1.0, f64::INFINITY, f64::INFINITY, f64::NAN];
    let tables = of_columns(vec![("n", Arc::new(Float64Array::from(values)))], 2);
    let parameters = json!({"percentiles": [0, 50, 100]});
    let answer =
        run_with(2, AnalysisType::Percentiles, tables, &parameters).await.expect("an answer");
    let table = answer.table.expect("a table");
    let batch = table.batches.iter().find(|batch| batch.num_rows() == 1).expect("a row");
    let number = |index: usize| {
        let column = batch.column(index).as_any().downcast_ref::<Float64Array>();
        column.expect("numbers").value(0)
    };
    assert_eq!([2, 3, 4].map(number), [f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY]);
}

#[tokio::test]
async fn the_first_and_the_last_of_times_in_text_go_by_time() {
    let data = json!([
        {"g": "a", "t": "2024-01-02T05:00:00+02:00"}, {"g": "a", "t": "2024-01-02T04:00:00Z"},
        {"g": "a", "t": "2024-01-02 03:30"}, {"g": "b", "t": "2024-01-03"}, {"g": "b", "t": null},
    ]);
    let parameters = json!({"group_by": "g", "aggregations": {"t": ["min", "max"]}});
    let found = rows(AnalysisType::Aggregate, data, parameters).await;
    assert_eq!(
        found,
        json!([
            {"g": "a", "t_min": "2024-01-02T05:00:00+02:00", "t_max": "2024-01-02T04:00:00Z"},
            {"g": "b", "t_min": "2024-01-03", "t_max": "2024-01-03"},
        ])
    );
}
