//! The analysis `percentiles`: exact ones with linear interpolation, or quick approximate ones.

use datafusion::{
    arrow::datatypes::DataType,
    common::NullHandling,
    functions_aggregate::expr_fn::{approx_percentile_cont, count},
    functions_nested::expr_fn::make_array,
    logical_expr::{Expr, cast, lit},
    prelude::{DataFrame, ident},
};
use serde_json::{Map, Value};

use super::{
    aggregate::figures::percentile_name,
    columns,
    numbers::numeric,
    order::Rows,
    reading::{self, Given, Named, one_or_more},
    sorting::by_keys,
};
use crate::{
    error::{AnalysisError, Result},
    functions::{quantile, quantiles},
    work::{Outcome, Work},
};

const KNOWN: &[&str] = &["field", "fields", "percentiles", "group_by", "method"];
const DEFAULT: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Exact,
    Approximate,
}

pub(crate) async fn run(work: &Work, parameters: &Map<String, Value>) -> Result<Outcome> {
    let given = Given::parameters(parameters, KNOWN)?;
    let frame = work.main().await?;
    let keys = given.names(&["group_by"])?.unwrap_or_default();
    columns::check(work, &frame, &keys)?;
    let fields = match given.names(&["fields", "field"])? {
        Some(fields) => fields,
        None => all_numbers(&frame, &keys)?,
    };
    let fractions = match given.value(&["percentiles"]) {
        Some((path, value)) => read_fractions(work, &path, value)?,
        None => DEFAULT.to_vec(),
    };
    let methods = [("exact", Method::Exact), ("approximate", Method::Approximate)];
    let method = given.choice(&["method"], &methods)?.unwrap_or(Method::Exact);
    table(work, frame, &keys, &fields, &fractions, method).await.map(Outcome::from)
}

fn all_numbers(frame: &DataFrame, keys: &[Named]) -> Result<Vec<Named>> {
    let fields = frame.schema().fields().iter();
    let fields: Vec<Named> = fields
        .filter(|field| field.data_type().is_numeric())
        .filter(|field| !keys.iter().any(|key| key.name == *field.name()))
        .map(|field| Named { path: "fields".to_owned(), name: field.name().clone() })
        .collect();
    match fields.is_empty() {
        true => Err(AnalysisError::parameter("fields", "there is no column with numbers")),
        false => Ok(fields),
    }
}

/// Percentiles from 0 to 100, or fractions if nothing else can be meant.
fn read_fractions(work: &Work, path: &str, value: &Value) -> Result<Vec<f64>> {
    let mut numbers: Vec<f64> = Vec::new();
    for (path, value) in one_or_more(path, value) {
        let number = reading::number(&path, value)?;
        if !(0.0..=100.0).contains(&number) {
            let reason = format!("must be from 0 to 100, not {number}");
            return Err(AnalysisError::parameter(path, reason));
        }
        if numbers.contains(&number) {
            return Err(AnalysisError::parameter(path, format!("{number} is there twice")));
        }
        numbers.push(number);
    }
    if numbers.is_empty() {
        return Err(AnalysisError::parameter(path, "is empty"));
    }
    let is_fraction = |number: &f64| *number > 0.0 && *number < 1.0;
    if numbers.iter().all(|number| *number <= 1.0) && numbers.iter().any(is_fraction) {
        work.note("the percentiles are all from 0 to 1 and were taken as fractions");
        return Ok(numbers);
    }
    Ok(numbers.into_iter().map(|number| number / 100.0).collect())
}

/// One row for each field, within each group.
async fn table(
    work: &Work,
    frame: DataFrame,
    keys: &[Named],
    fields: &[Named],
    fractions: &[f64],
    method: Method,
) -> Result<DataFrame> {
    let names: Vec<String> = fractions.iter().map(|fraction| percentile_name(*fraction)).collect();
    let fixed = ["field", "count"];
    let all = keys.iter().map(|key| key.name.as_str()).chain(fixed);
    columns::check_unique("group_by", all.chain(names.iter().map(String::as_str)))?;

    let mut aggregates = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let number = numeric(work, &frame, &field.path, &field.name).await?;
        let number = cast(number, DataType::Float64);
        aggregates.push(count(number.clone()).alias(format!("__count_{index}")));
        match method {
            Method::Exact => {
                aggregates.push(quantiles(number, fractions).alias(format!("__all_{index}")));
            }
            Method::Approximate => {
                aggregates.extend(fractions.iter().enumerate().map(|(place, fraction)| {
                    let sorted = number.clone().sort(true, false);
                    let percentile = approx_percentile_cont(sorted, lit(*fraction), None);
                    percentile.alias(format!("__{index}_{place}"))
                }));
            }
        }
    }
    let groups = keys.iter().map(|key| columns::value(&frame, &key.name).alias(&key.name));
    let groups: Vec<Expr> = groups.collect();
    let frame = frame.aggregate(groups, aggregates)?;
    let percentile = |index: usize, place: usize| match method {
        Method::Exact => quantile(ident(format!("__all_{index}")), place),
        Method::Approximate => ident(format!("__{index}_{place}")),
    };
    one_row_each(frame, keys, fields, &names, percentile)
}

/// From columns for each field to rows.
fn one_row_each(
    frame: DataFrame,
    keys: &[Named],
    fields: &[Named],
    names: &[String],
    percentile: impl Fn(usize, usize) -> Expr,
) -> Result<DataFrame> {
    let indices = || 0..fields.len();
    let list = |name: &str, values: Vec<Expr>| (name.to_owned(), make_array(values));
    let mut lists = vec![
        list("__field", fields.iter().map(|field| lit(&field.name)).collect()),
        list("__count", indices().map(|index| ident(format!("__count_{index}"))).collect()),
    ];
    for place in 0..names.len() {
        let values = indices().map(|index| percentile(index, place)).collect();
        lists.push(list(&format!("__p{place}"), values));
    }
    let places = make_array(indices().map(|index| lit(index as u64)).collect());
    let key_values = || keys.iter().map(|key| ident(&key.name));
    let sort = by_keys(&frame, keys);
    let rows = Rows::sorted(frame, sort)?;
    let rows = rows.unnested(key_values().collect(), lists, places, NullHandling::Preserve)?;
    let mut values: Vec<Expr> = key_values().collect();
    values.push(ident("__field").alias("field"));
    values.push(ident("__count").alias("count"));
    let renamed = |(place, name): (usize, &String)| ident(format!("__p{place}")).alias(name);
    values.extend(names.iter().enumerate().map(renamed));
    rows.select(values)?.finish()
}
