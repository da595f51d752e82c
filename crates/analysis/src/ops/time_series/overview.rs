//! What a series is like.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use serde_json::{Map, Value, json};

use super::{
    gaps::{self, find, usual_step},
    series::{SeriesColumn, TimeSeries},
    table::SeriesTable,
};
use crate::{
    error::Result, ops::arrays::HeldArrays, stats::series::slope, times::DAY, work::OpOutput,
};

/// The figures of a column.
#[derive(Clone, Debug)]
struct ColumnOverview {
    name: String,
    n: usize,
    numbers: [(&'static str, Option<f64>); 6],
}

impl ColumnOverview {
    fn of(times: &[i64], column: &SeriesColumn) -> Self {
        let known = || column.values.iter().copied().filter(|value| !value.is_nan());
        let n = known().count();
        let first_time = times.first().copied().unwrap_or_default();
        let days: Vec<f64> =
            times.iter().map(|time| (time - first_time) as f64 / DAY as f64).collect();
        let figure = |value: f64| (n > 0 && value.is_finite()).then_some(value);
        let numbers = [
            ("min", figure(known().fold(f64::INFINITY, f64::min))),
            ("max", figure(known().fold(f64::NEG_INFINITY, f64::max))),
            ("mean", figure(known().sum::<f64>() / n as f64)),
            ("first", known().next()),
            ("last", known().next_back()),
            ("slope_per_day", slope(&days, &column.values)),
        ];
        Self { name: column.name.clone(), n, numbers }
    }

    fn fact(&self) -> Value {
        let mut fact = Map::from_iter([
            ("field".to_owned(), json!(self.name)),
            ("n".to_owned(), json!(self.n)),
        ]);
        fact.extend(self.numbers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        fact.into()
    }
}

pub(super) fn outcome(
    table: &SeriesTable<'_>,
    series: &[TimeSeries],
    held: HeldArrays,
) -> Result<OpOutput> {
    let step = usual_step(series);
    let gaps: Vec<_> = series.iter().map(|series| find(&series.times, step)).collect();
    let mut facts = table.facts(
        series.iter().filter_map(|series| series.times.first().copied()),
        series.iter().filter_map(|series| series.times.last().copied()),
    );
    facts.extend(gaps::facts(step, gaps.iter().flatten()));
    let repeated: usize = series
        .iter()
        .map(|series| series.times.windows(2).filter(|pair| pair[0] == pair[1]).count())
        .sum();
    if repeated > 0 {
        facts.insert("repeated_times".to_owned(), repeated.into());
    }
    let figures: Vec<Vec<ColumnOverview>> = series
        .iter()
        .map(|series| {
            series.columns.iter().map(|column| ColumnOverview::of(&series.times, column)).collect()
        })
        .collect();
    if table.source.group_by.is_empty() {
        let values: Vec<Value> = figures.iter().flatten().map(ColumnOverview::fact).collect();
        facts.insert("values".to_owned(), values.into());
        return Ok(OpOutput { facts, frame: None, later: None });
    }
    let frame = rows(table, series, &gaps, &figures, held)?;
    Ok(OpOutput { facts, frame: Some(frame), later: None })
}

/// Makes a table with a row for each column of each group.
fn rows(
    table: &SeriesTable<'_>,
    series: &[TimeSeries],
    gaps: &[Vec<gaps::Gap>],
    figures: &[Vec<ColumnOverview>],
    held: HeldArrays,
) -> Result<datafusion::prelude::DataFrame> {
    let mut columns = table.group_columns(figures.iter().map(Vec::len))?;
    let each = || {
        series
            .iter()
            .zip(gaps)
            .zip(figures)
            .flat_map(|((series, gaps), all)| all.iter().map(move |one| (series, gaps, one)))
    };
    let times = |of: fn(&TimeSeries) -> Option<i64>| -> ArrayRef {
        table
            .times(&each().map(|(series, _, _)| of(series).unwrap_or_default()).collect::<Vec<_>>())
    };
    let whole = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    let names: Vec<&str> = each().map(|(_, _, one)| one.name.as_str()).collect();
    let names = StringArray::from(names);
    columns.push(("field".to_owned(), Arc::new(names)));
    let n = Int64Array::from_iter_values(each().map(|(_, _, one)| whole(one.n)));
    columns.push(("n".to_owned(), Arc::new(n)));
    columns.push(("start".to_owned(), times(|series| series.times.first().copied())));
    columns.push(("end".to_owned(), times(|series| series.times.last().copied())));
    let found = Int64Array::from_iter_values(each().map(|(_, gaps, _)| whole(gaps.len())));
    columns.push(("gap_count".to_owned(), Arc::new(found)));
    let first = figures.iter().flatten().next();
    let numbers = first.map(|one| one.numbers.map(|(name, _)| name)).unwrap_or_default();
    for (at, name) in numbers.into_iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let values: Float64Array = each().map(|(_, _, one)| one.numbers[at].1).collect();
        columns.push((name.to_owned(), Arc::new(values)));
    }
    table.frame(columns, held)
}
