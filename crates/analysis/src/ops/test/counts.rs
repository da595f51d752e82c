//! Tests of how often values occur.

use std::{collections::BTreeMap, sync::Arc};

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray},
        datatypes::{DataType, Field, Int64Type, Schema},
    },
    functions_aggregate::expr_fn::count,
    logical_expr::{cast, lit},
    prelude::DataFrame,
};
use futures::TryStreamExt;
use serde_json::json;

use super::{hypothesis::TestRequest, report};
use crate::{
    error::{AnalysisError, Result, available},
    ops::names::{Names, counted, free_name},
    stats::{expected_counts, goodness_of_fit, independence},
    work::{AnalysisContext, OpOutput},
};

/// The most values that a column may have.
const MAX_VALUES: usize = 1_000;
/// The most cells of a table of two columns.
const MAX_CELLS: usize = 100_000;
/// Where fewer rows are expected, the distribution is not as the test takes it to be.
const FEW: f64 = 5.0;

pub(super) async fn run(work: &AnalysisContext, asked: &TestRequest) -> Result<OpOutput> {
    let fields = fields(asked)?;
    match fields.as_slice() {
        [(path, field)] => fit(work, asked, path, field).await,
        [first, second] => independent(work, asked, first, second).await,
        _ => {
            let reason = "chi_square is about two columns, or one with `expected` counts";
            Err(AnalysisError::parameter("fields", reason))
        }
    }
}

/// Returns the columns with their paths in the parameters.
fn fields(asked: &TestRequest) -> Result<Vec<(String, String)>> {
    let given = &asked.parameters;
    if given.groups.is_some() {
        let reason = "chi_square takes all groups; filter the rows first for fewer";
        return Err(AnalysisError::parameter("groups", reason));
    }
    let mut fields = Vec::new();
    fields.extend(given.field.iter().map(|name| ("field".to_owned(), name.clone())));
    if let Some(names) = &given.fields {
        names.check_distinct("fields")?;
        let paths = Names::with_paths(names, "fields").into_iter();
        fields.extend(paths.map(|(path, name)| (path, name.to_owned())));
    }
    fields.extend(given.group_by.iter().map(|name| ("group_by".to_owned(), name.clone())));
    if fields.is_empty() {
        let reason = "which column is missing: `field`, or `fields` with two of them";
        return Err(AnalysisError::parameter("field", reason));
    }
    Ok(fields)
}

/// Counts each combination of values; rows with a missing value are left out.
async fn count_rows(
    work: &AnalysisContext,
    columns: &[(&str, &str)],
) -> Result<BTreeMap<Vec<String>, f64>> {
    let frame = work.main().await?;
    let mut keys = Vec::new();
    for (at, (path, name)) in columns.iter().enumerate() {
        let column = work.column(&frame, path, name)?;
        keys.push(cast(column, DataType::Utf8).alias(format!("k{at}")));
    }
    let grouped = frame.aggregate(keys, vec![count(lit(1_i64)).alias("count")])?;
    let mut counts = BTreeMap::new();
    let mut missing = 0.0;
    let mut batches = grouped.execute_stream().await?;
    while let Some(batch) = batches.try_next().await? {
        let numbers = batch.column(columns.len()).as_primitive::<Int64Type>();
        let keys: Vec<&StringArray> =
            batch.columns()[..columns.len()].iter().map(|key| key.as_string::<i32>()).collect();
        for row in 0..batch.num_rows() {
            let number = numbers.value(row) as f64;
            if keys.iter().any(|key| key.is_null(row)) {
                missing += number;
                continue;
            }
            counts.insert(keys.iter().map(|key| key.value(row).to_owned()).collect(), number);
        }
        if counts.len() > MAX_CELLS {
            let reason = "the columns have too many different values to count them";
            return Err(AnalysisError::parameter(columns[0].0, reason));
        }
    }
    if missing > 0.0 {
        work.note(format!("{} with a missing value left out", counted(missing as u64, "row")));
    }
    Ok(counts)
}

/// Tests whether two columns are independent.
async fn independent(
    work: &AnalysisContext,
    asked: &TestRequest,
    first: &(String, String),
    second: &(String, String),
) -> Result<OpOutput> {
    if asked.parameters.expected.is_some() {
        let reason = "expected counts are for one column, and there are two";
        return Err(AnalysisError::parameter("expected", reason));
    }
    let counts = count_rows(work, &[(&first.0, &first.1), (&second.0, &second.1)]).await?;
    let rows = values(&counts, 0, first)?;
    let columns = values(&counts, 1, second)?;
    if rows.len() * columns.len() > MAX_CELLS {
        let reason = "the columns have too many combinations of values";
        return Err(AnalysisError::parameter(&first.0, reason));
    }
    let cell = |row: &String, column: &String| {
        counts.get(&[row.clone(), column.clone()][..]).copied().unwrap_or_default()
    };
    let table: Vec<Vec<f64>> =
        rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect();
    let expected = expected_counts(&table);
    note_few(work, expected.iter().flatten());
    let mut facts = report::facts(asked, &independence(&table));
    facts.insert("n".to_owned(), json!(table.iter().flatten().sum::<f64>() as u64));

    let combinations =
        || rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
    let names = [
        (first.1.clone(), combinations().map(|(row, _)| row.as_str()).collect()),
        (
            free_name(&second.1, std::slice::from_ref(&first.1)),
            combinations().map(|(_, it)| it.as_str()).collect(),
        ),
    ];
    let cells = |table: Vec<Vec<f64>>| table.into_iter().flatten().collect();
    let frame = frame(work, names.into(), cells(table), cells(expected))?;
    Ok(OpOutput { facts, frame: Some(frame), later: None })
}

/// Returns the different values of one of the columns; fails if there are fewer than two.
fn values(
    counts: &BTreeMap<Vec<String>, f64>,
    at: usize,
    (path, name): &(String, String),
) -> Result<Vec<String>> {
    let mut values: Vec<String> = counts.keys().map(|key| key[at].clone()).collect();
    values.sort_unstable();
    values.dedup();
    if values.len() < 2 {
        let has = counted(values.len() as u64, "value");
        let reason = format!("{name:?} has {has}, and at least two are needed to compare them");
        return Err(AnalysisError::parameter(path, reason));
    }
    if values.len() > MAX_VALUES {
        let reason = format!(
            "{name:?} has {} different values; chi_square is about columns with few of them",
            values.len()
        );
        return Err(AnalysisError::parameter(path, reason));
    }
    Ok(values)
}

/// Tests whether the values of one column occur as often as expected.
async fn fit(
    work: &AnalysisContext,
    asked: &TestRequest,
    path: &str,
    field: &str,
) -> Result<OpOutput> {
    let counts = count_rows(work, &[(path, field)]).await?;
    let mut observed: BTreeMap<String, f64> =
        counts.into_iter().filter_map(|(key, n)| Some((key.into_iter().next()?, n))).collect();
    let expected = match &asked.parameters.expected {
        Some(expected) => shares(expected, &mut observed)?,
        None => vec![1.0; observed.len()],
    };
    if observed.len() < 2 || observed.len() > MAX_VALUES {
        let has = counted(observed.len() as u64, "different value");
        let reason = format!("{field:?} has {has}, and from 2 to {MAX_VALUES} are needed");
        return Err(AnalysisError::parameter(path, reason));
    }
    let n: f64 = observed.values().sum();
    let all: f64 = expected.iter().sum();
    let expected: Vec<f64> = expected.iter().map(|share| share / all * n).collect();
    note_few(work, expected.iter());
    let numbers: Vec<f64> = observed.values().copied().collect();
    let mut facts = report::facts(asked, &goodness_of_fit(&numbers, &expected));
    facts.insert("n".to_owned(), json!(n as u64));
    let names = vec![(field.to_owned(), observed.keys().map(String::as_str).collect())];
    let frame = frame(work, names, numbers, expected)?;
    Ok(OpOutput { facts, frame: Some(frame), later: None })
}

/// Returns the expected share of each value. A value that does not occur counts too; one that occurs
/// must be expected.
fn shares(
    expected: &serde_json::Map<String, serde_json::Value>,
    observed: &mut BTreeMap<String, f64>,
) -> Result<Vec<f64>> {
    for (value, share) in expected {
        let path = format!("expected.{value}");
        if !share.as_f64().is_some_and(|share| share > 0.0) {
            return Err(AnalysisError::parameter(path, "it is a count or a share above 0"));
        }
        observed.entry(value.clone()).or_default();
    }
    let share = |value: &String| {
        expected.get(value).and_then(serde_json::Value::as_f64).ok_or_else(|| {
            let known = available(expected.keys().map(String::as_str));
            AnalysisError::parameter(
                "expected",
                format!("{value:?} occurs and is not in it{known}"),
            )
        })
    };
    observed.keys().map(share).collect()
}

fn note_few<'a>(work: &AnalysisContext, expected: impl Iterator<Item = &'a f64>) {
    let (few, all) =
        expected.fold((0_u64, 0_u64), |(few, all), &count| (few + u64::from(count < FEW), all + 1));
    if few > 0 {
        work.note(format!(
            "in {few} of {all} cells fewer than {FEW} rows are expected, so the p-value is only \
             roughly right"
        ));
    }
}

/// Makes a frame with a row for each combination of values.
fn frame(
    work: &AnalysisContext,
    names: Vec<(String, Vec<&str>)>,
    observed: Vec<f64>,
    expected: Vec<f64>,
) -> Result<DataFrame> {
    let taken: Vec<String> = names.iter().map(|(name, _)| name.clone()).collect();
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for (name, values) in names {
        fields.push(Field::new(name, DataType::Utf8, false));
        columns.push(Arc::new(StringArray::from(values)));
    }
    let observed = observed.iter().map(|&count| count as i64);
    fields.push(Field::new(free_name("observed", &taken), DataType::Int64, false));
    columns.push(Arc::new(Int64Array::from_iter_values(observed)));
    fields.push(Field::new(free_name("expected", &taken), DataType::Float64, false));
    columns.push(Arc::new(Float64Array::from(expected)));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| AnalysisError::Internal(error.to_string()))?;
    Ok(work.context().read_batch(batch)?)
}
