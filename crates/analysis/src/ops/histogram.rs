//! The analysis `histogram`: how many values of a field are in each of some intervals.
//!
//! Bins are those of NumPy: of equal width from the smallest to the largest value, or between the
//! edges that are given. Each has its beginning in it and not its end, except for the last.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrayRef, Float64Array, Int64Array, RecordBatch},
        datatypes::DataType,
    },
    functions_aggregate::expr_fn::{count, max, min},
    logical_expr::{Expr, cast, lit, when},
    prelude::DataFrame,
};
use futures::TryStreamExt;
use serde_json::{Map, Value, json};

use super::{
    arrays::floats,
    names::counted,
    numbers::numeric,
    params::{self, ParamName, Params, list_of_names, one_or_more, wrong},
    row_order::OrderedRows,
};
use crate::{
    error::{AnalysisError, Result},
    kind::AnalysisType,
    suggestion::Suggestion,
    work::{AnalysisContext, OpOutput},
};

/// The default number of bins, as in NumPy.
const DEFAULT_BINS: usize = 10;

/// The most bins. More would be a table of values, not a picture of them.
const MAX_BINS: usize = 1000;

pub(crate) async fn run(
    work: &AnalysisContext,
    parameters: &Map<String, Value>,
) -> Result<OpOutput> {
    let given = Params::parameters(AnalysisType::Histogram, parameters)?;
    let field = given.read("field", only_name)?.ok_or_else(|| given.missing("field"))?;
    let bins = given.read("bins", Bins::read)?.unwrap_or(Bins::Count(DEFAULT_BINS));
    let range = given.read("range", read_range)?;
    let frame = work.main().await?;
    let number = numeric(work, &frame, &field.path, &field.name).await;
    let number = cast(number.map_err(|error| with_advice(error, &field))?, DataType::Float64);
    let extent = Extent::of(work, frame.clone(), &number).await?;
    let edges = match (bins, range) {
        (Bins::Edges(_), Some((path, _))) => {
            let reason = "the edges of `bins` are the range already; give one of them";
            return Err(AnalysisError::parameter(path, reason));
        }
        (Bins::Edges(edges), None) => edges,
        (Bins::Count(count), range) => {
            let (low, high) = range.map_or(extent.ends(), |(_, range)| range);
            equal_bins(&field, low, high, count)?
        }
    };
    let counts = fill(frame, &number, &edges).await?;
    outcome(work, &field, &extent, &edges, &counts)
}

/// Parses one name, which may stand in a list.
fn only_name(path: &str, value: &Value) -> Result<ParamName> {
    let mut names = list_of_names(path, value)?;
    match (names.pop(), names.is_empty()) {
        (Some(name), true) => Ok(name),
        _ => Err(AnalysisError::parameter(path, "it is one field; ask for each by itself")),
    }
}

/// Adds to an error that `value_counts` counts the values of a column without numbers.
fn with_advice(error: AnalysisError, field: &ParamName) -> AnalysisError {
    match error {
        AnalysisError::Parameter { parameter, reason, .. } => {
            let reason = format!("{reason}; value_counts counts its values");
            let call = Suggestion::call("value_counts", json!({ "field": field.name }));
            AnalysisError::suggesting(parameter, reason, call)
        }
        other => other,
    }
}

/// The bins that are asked for: their number, or their edges.
enum Bins {
    Count(usize),
    Edges(Vec<f64>),
}

impl Bins {
    fn read(path: &str, value: &Value) -> Result<Self> {
        if !value.is_array() {
            return match params::count(path, value) {
                Ok(count @ 1..=MAX_BINS) => Ok(Self::Count(count)),
                Ok(_) => Err(AnalysisError::parameter(path, format!("is from 1 to {MAX_BINS}"))),
                Err(_) => Err(wrong(path, "a number of bins, or a list of edges", value)),
            };
        }
        let edges = one_or_more(path, value);
        let edges = edges.iter().map(|(path, value)| params::number(path, value));
        let edges = edges.collect::<Result<Vec<f64>>>()?;
        if !(2..=MAX_BINS + 1).contains(&edges.len()) {
            let reason = format!("there are from 2 to {} edges", MAX_BINS + 1);
            return Err(AnalysisError::parameter(path, reason));
        }
        if !edges.is_sorted_by(|a, b| a < b) {
            return Err(AnalysisError::parameter(path, "each edge is larger than the one before"));
        }
        Ok(Self::Edges(edges))
    }
}

/// The range of the bins, after its place in the parameters.
type BinRange = (String, (f64, f64));

fn read_range(path: &str, value: &Value) -> Result<BinRange> {
    let Value::Array(ends) = value else { return Err(wrong(path, "[smallest, largest]", value)) };
    let [low, high] = ends.as_slice() else {
        return Err(wrong(path, "[smallest, largest]", value));
    };
    let (low, high) = (params::number(path, low)?, params::number(path, high)?);
    match low < high {
        true => Ok((path.to_owned(), (low, high))),
        false => Err(AnalysisError::parameter(path, "the first is smaller than the second")),
    }
}

/// The number and the extremes of the values, without infinite ones.
struct Extent {
    rows: i64,
    known: i64,
    finite: i64,
    min: f64,
    max: f64,
}

impl Extent {
    async fn of(work: &AnalysisContext, frame: DataFrame, number: &Expr) -> Result<Self> {
        let is_finite = number.clone().between(lit(f64::MIN), lit(f64::MAX));
        let finite = when(is_finite, number.clone()).end()?;
        let figures = vec![
            count(lit(1)).alias("rows"),
            count(number.clone()).alias("known"),
            count(finite.clone()).alias("finite"),
            min(finite.clone()).alias("min"),
            max(finite).alias("max"),
        ];
        let batches = work.collect(frame.aggregate(Vec::new(), figures)?).await?;
        let row = batches.iter().find(|batch| batch.num_rows() > 0);
        let figure = |at: usize| -> Result<f64> {
            let values = row.map(|row| floats(row.column(at))).transpose()?.unwrap_or_default();
            Ok(values.first().copied().filter(|value| !value.is_nan()).unwrap_or_default())
        };
        Ok(Self {
            rows: figure(0)? as i64,
            known: figure(1)? as i64,
            finite: figure(2)? as i64,
            min: figure(3)?,
            max: figure(4)?,
        })
    }
}

impl Extent {
    /// Returns the smallest and the largest value; without any, a range that can be divided.
    fn ends(&self) -> (f64, f64) {
        if self.finite == 0 { (0.0, 1.0) } else { (self.min, self.max) }
    }
}

/// Returns the edges of bins of equal width. If all values are the same, the bins lie around it.
fn equal_bins(field: &ParamName, low: f64, high: f64, count: usize) -> Result<Vec<f64>> {
    let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
    let step = (high - low) / count as f64;
    let mut edges: Vec<f64> = (0..count).map(|at| low + step * at as f64).collect();
    edges.push(high);
    match edges.is_sorted_by(|a, b| a < b) && step.is_finite() {
        true => Ok(edges),
        false => {
            let reason = format!(
                "the values of column {:?} are too far apart, or too near each other, for {count} \
                 bins; give the edges as `bins`, or a `range`",
                field.name
            );
            Err(AnalysisError::parameter(&field.path, reason))
        }
    }
}

/// Counts the values of each bin in one pass over the rows.
async fn fill(frame: DataFrame, number: &Expr, edges: &[f64]) -> Result<Vec<i64>> {
    let mut counts = vec![0; edges.len() - 1];
    let mut rows = frame.select(vec![number.clone().alias("number")])?.execute_stream().await?;
    while let Some(batch) = rows.try_next().await? {
        for value in floats(batch.column(0))? {
            if let Some(bin) = bin_of(value, edges) {
                counts[bin] += 1;
            }
        }
    }
    Ok(counts)
}

fn bin_of(value: f64, edges: &[f64]) -> Option<usize> {
    let (first, last) = (edges.first()?, edges.last()?);
    if !(*first..=*last).contains(&value) {
        return None;
    }
    let after = edges.partition_point(|edge| *edge <= value);
    Some((after - 1).min(edges.len() - 2))
}

fn outcome(
    work: &AnalysisContext,
    field: &ParamName,
    extent: &Extent,
    edges: &[f64],
    counts: &[i64],
) -> Result<OpOutput> {
    let counted_in: i64 = counts.iter().sum();
    let infinite = extent.known - extent.finite;
    if infinite > 0 {
        work.note(format!("{} left out", counted(infinite.unsigned_abs(), "infinite value")));
    }
    let mut facts = Map::new();
    facts.insert("field".to_owned(), json!(field.name));
    facts.insert("count".to_owned(), json!(counted_in));
    facts.insert("missing_count".to_owned(), json!(extent.rows - extent.known));
    if extent.finite > counted_in {
        facts.insert("outside_count".to_owned(), json!(extent.finite - counted_in));
    }
    if extent.finite > 0 {
        facts.insert("min".to_owned(), json!(extent.min));
        facts.insert("max".to_owned(), json!(extent.max));
    }
    let percent = |count: &i64| match counted_in {
        0 => 0.0,
        all => *count as f64 * 100.0 / all as f64,
    };
    let numbers = |values: &[f64]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let columns: [(&str, ArrayRef); 4] = [
        ("bin_start", numbers(&edges[..counts.len()])),
        ("bin_end", numbers(&edges[1..])),
        ("count", Arc::new(Int64Array::from(counts.to_vec()))),
        ("percent", Arc::new(counts.iter().map(percent).collect::<Float64Array>())),
    ];
    let table = RecordBatch::try_from_iter(columns)
        .map_err(|error| AnalysisError::Internal(error.to_string()))?;
    let frame = OrderedRows::of(work.context().read_batch(table)?).finish()?;
    Ok(OpOutput { facts, frame: Some(frame), later: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::analyse;

    #[tokio::test]
    async fn values_are_counted_as_numpy_counts_them() {
        let rows = json!([
            {"v": 1.0}, {"v": 2.0}, {"v": 2.5}, {"v": 4.0}, {"v": 5.0}, {"v": null}, {"v": 3.0}
        ]);
        let given =
            analyse(AnalysisType::Histogram, rows.clone(), json!({"field": "v", "bins": 4}));
        let given = given.await.unwrap();
        assert_eq!(
            given.rows[..2],
            [
                json!({"bin_start": 1.0, "bin_end": 2.0, "count": 1, "percent": 100.0 / 6.0}),
                json!({"bin_start": 2.0, "bin_end": 3.0, "count": 2, "percent": 200.0 / 6.0}),
            ]
        );
        // The last bin has its end in it.
        assert_eq!(given.rows[3]["count"], 2);
        assert_eq!(given.facts["missing_count"], 1);
        let edges = json!({"column": "v", "buckets": [0, 2, 3]});
        let given = analyse(AnalysisType::Histogram, rows.clone(), edges).await.unwrap();
        let counts: Vec<&Value> = given.rows.iter().map(|row| &row["count"]).collect();
        assert_eq!(counts, [&json!(1), &json!(3)]);
        assert_eq!(given.facts["outside_count"], 2);
        let same = analyse(AnalysisType::Histogram, json!([{"v": 3}, {"v": 3}]), json!({"x": "v"}));
        let same = same.await.unwrap();
        assert_eq!((&same.rows[0]["bin_start"], &same.rows[5]["count"]), (&json!(2.5), &json!(2)));
    }

    #[tokio::test]
    async fn mistakes_are_told() {
        let rows = json!([{"v": 1.0, "t": "a"}, {"v": 1e308, "t": "b"}, {"v": -1e308, "t": "c"}]);
        for (parameters, told) in [
            (json!({}), "field: is missing; as in {\"field\":\"amount\",\"bins\":10}"),
            (json!({"field": ["v", "t"]}), "field: it is one field"),
            (json!({"field": "v", "bins": 0}), "bins: is from 1 to 1000"),
            (json!({"field": "v", "bins": "auto"}), "bins: must be a number of bins, or a list"),
            (json!({"field": "v", "bins": [1]}), "bins: there are from 2 to 1001 edges"),
            (json!({"field": "v", "bins": [2, 1]}), "bins: each edge is larger"),
            (json!({"field": "v", "range": [2, 1]}), "range: the first is smaller"),
            (json!({"field": "v"}), "field: the values of column \"v\" are too far apart"),
            (json!({"field": "v", "bins": [1, 2], "range": [1, 2]}), "range: the edges of `bins`"),
            (
                json!({"field": "t"}),
                "field: column \"t\" holds text that is no number; value_counts counts its values; as \
                 in {\"analysis_type\": \"value_counts\", \"parameters\": {\"field\":\"t\"}}",
            ),
        ] {
            let said =
                analyse(AnalysisType::Histogram, rows.clone(), parameters).await.unwrap_err();
            assert!(said.to_string().starts_with(told), "{said}");
        }
    }
}
