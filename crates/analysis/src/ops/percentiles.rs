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
    aggregate::metrics::percentile_name,
    columns,
    numbers::numeric,
    params::{self, ParamName, Params, list_of_names, one_or_more},
    row_order::OrderedRows,
    sorting::by_keys,
};
use crate::{
    error::{AnalysisError, Result},
    functions::{quantile, quantiles},
    kind::AnalysisType,
    work::{AnalysisContext, OpOutput},
};

const DEFAULT: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PercentileMethod {
    Exact,
    Approximate,
}

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Percentiles, parameters)?;
    let frame = work.main().await?;
    let keys = given.names("group_by")?.unwrap_or_default();
    columns::check(work, &frame, &keys)?;
    let fields = match given.read("fields", read_fields)? {
        Some(fields) => fields,
        None => all_numbers(&frame, &keys)?,
    };
    let fractions = match given.value("percentiles") {
        Some((path, value)) => read_fractions(work, &path, value)?,
        None => DEFAULT.to_vec(),
    };
    let methods =
        [("exact", PercentileMethod::Exact), ("approximate", PercentileMethod::Approximate)];
    let method = given.choice("method", &methods)?.unwrap_or(PercentileMethod::Exact);
    table(work, frame, &keys, &fields, &fractions, method).await.map(OpOutput::from)
}

fn read_fields(path: &str, value: &Value) -> Result<Vec<ParamName>> {
    let fields = list_of_names(path, value)?;
    match fields.is_empty() {
        true => Err(AnalysisError::parameter(path, "is empty")),
        false => Ok(fields),
    }
}

fn all_numbers(frame: &DataFrame, keys: &[ParamName]) -> Result<Vec<ParamName>> {
    let fields = frame.schema().fields().iter();
    let fields: Vec<ParamName> = fields
        .filter(|field| field.data_type().is_numeric())
        .filter(|field| !keys.iter().any(|key| key.name == *field.name()))
        .map(|field| ParamName { path: "fields".to_owned(), name: field.name().clone() })
        .collect();
    match fields.is_empty() {
        true => Err(AnalysisError::parameter("fields", "there is no column with numbers")),
        false => Ok(fields),
    }
}

/// Parses percentiles from 0 to 100 into fractions. Numbers that are all at most 1, with one in between,
/// are taken as fractions.
fn read_fractions(work: &AnalysisContext, path: &str, value: &Value) -> Result<Vec<f64>> {
    let mut numbers: Vec<f64> = Vec::new();
    for (path, value) in one_or_more(path, value) {
        let number = params::number(&path, value)?;
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

/// Makes a table with one row for each field of each group.
async fn table(
    work: &AnalysisContext,
    frame: DataFrame,
    keys: &[ParamName],
    fields: &[ParamName],
    fractions: &[f64],
    method: PercentileMethod,
) -> Result<DataFrame> {
    let names: Vec<String> = fractions.iter().map(|fraction| percentile_name(*fraction)).collect();
    let fixed = ["field", "count"];
    let all = keys.iter().map(|key| key.name.as_str()).chain(fixed);
    columns::check_unique("group_by", all.chain(names.iter().map(String::as_str)))?;

    let mut aggregates = Vec::new();
    let mut figures = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let number = numeric(work, &frame, &field.path, &field.name).await?;
        let number = cast(number, DataType::Float64);
        let mut add = |name: String, aggregate: Expr| {
            let hidden = columns::unused(&frame, &name);
            aggregates.push(aggregate.alias(&hidden));
            ident(hidden)
        };
        let count = add(format!("count_{index}"), count(number.clone()));
        let percentiles = match method {
            PercentileMethod::Exact => {
                let all = add(format!("all_{index}"), quantiles(number, fractions));
                (0..fractions.len()).map(|place| quantile(all.clone(), place)).collect()
            }
            PercentileMethod::Approximate => {
                let estimate = |(place, fraction): (usize, &f64)| {
                    let sorted = number.clone().sort(true, false);
                    let percentile = approx_percentile_cont(sorted, lit(*fraction), None);
                    add(format!("{index}_{place}"), percentile)
                };
                fractions.iter().enumerate().map(estimate).collect()
            }
        };
        figures.push(FieldPercentiles { field: field.name.clone(), count, percentiles });
    }
    let groups = keys.iter().map(|key| columns::value(&frame, &key.name).alias(&key.name));
    let groups: Vec<Expr> = groups.collect();
    one_row_each(frame.aggregate(groups, aggregates)?, keys, &figures, &names)
}

/// The figures of one field, as expressions over the columns of a group.
struct FieldPercentiles {
    field: String,
    count: Expr,
    percentiles: Vec<Expr>,
}

/// Turns the columns of each field into rows.
fn one_row_each(
    frame: DataFrame,
    keys: &[ParamName],
    figures: &[FieldPercentiles],
    names: &[String],
) -> Result<DataFrame> {
    let list = |hidden: &str, of: &dyn Fn(&FieldPercentiles) -> Expr| {
        let values = figures.iter().map(of).collect();
        (columns::unused(&frame, hidden), make_array(values))
    };
    let mut lists = vec![
        ("field", list("field", &|figures: &FieldPercentiles| lit(&figures.field))),
        ("count", list("count", &|figures: &FieldPercentiles| figures.count.clone())),
    ];
    for (place, name) in names.iter().enumerate() {
        let percentile = |figures: &FieldPercentiles| figures.percentiles[place].clone();
        lists.push((name.as_str(), list(&format!("p{place}"), &percentile)));
    }
    let places = make_array((0..figures.len()).map(|index| lit(index as u64)).collect());
    let mut values: Vec<Expr> = keys.iter().map(|key| ident(&key.name)).collect();
    let kept = values.clone();
    values.extend(lists.iter().map(|(name, (hidden, _))| ident(hidden).alias(*name)));
    let lists = lists.into_iter().map(|(_, list)| list).collect();
    let sort = by_keys(&frame, keys);
    let rows = OrderedRows::sorted(frame, sort)?;
    rows.unnested(kept, lists, places, NullHandling::Preserve)?.select(values)?.finish()
}
