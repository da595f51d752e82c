//! Series as a table.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{
            ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
        },
        datatypes::{Field, Schema},
    },
    prelude::DataFrame,
};
use serde_json::{Map, Value};

use super::{
    load::{LoadedTimes, Source},
    series::{SeriesColumn, TimeSeries},
};
use crate::{
    error::{AnalysisError, Result},
    ops::{arrays::HeldArrays, groups::Groups, names::free_name, rows::made},
    times::{DAY, format, format_date, on_clock},
    work::{AnalysisContext, OpOutput},
};

/// The context in which result tables are made.
pub(super) struct SeriesTable<'a> {
    pub(super) work: &'a AnalysisContext,
    pub(super) source: &'a Source<'a>,
    pub(super) read: &'a LoadedTimes,
    pub(super) groups: &'a Groups,
    /// The groups by their values.
    pub(super) order: &'a [usize],
}

/// A column of a result with its name.
pub(super) type NamedArray = (String, ArrayRef);

impl SeriesTable<'_> {
    /// Returns the series themselves, one after the other.
    pub(super) fn outcome(&self, series: &[TimeSeries], held: HeldArrays) -> Result<OpOutput> {
        let rows: usize = series.iter().map(|series| series.times.len()).sum();
        let width = series.first().map_or(1, |series| series.columns.len() + 1);
        held.add(rows * width * size_of::<f64>())?;
        let times: Vec<i64> =
            series.iter().flat_map(|series| series.times.iter().copied()).collect();
        let counts = series.iter().map(|series| series.times.len());
        let mut columns = self.group_columns(counts)?;
        columns.push((self.source.time.clone(), self.times(&times)));
        let width = series.first().map_or(0, |series| series.columns.len());
        for at in 0..width {
            let parts: Vec<&SeriesColumn> =
                series.iter().map(|series| &series.columns[at]).collect();
            columns.push((parts[0].name.clone(), numbers(&parts)));
        }
        let facts = self.facts(
            series.iter().flat_map(|series| series.times.first().copied()),
            series.iter().flat_map(|series| series.times.last().copied()),
        );
        Ok(OpOutput { facts, frame: Some(self.frame(columns, held)?), later: None })
    }

    /// Returns the facts that all results have.
    pub(super) fn facts(
        &self,
        firsts: impl Iterator<Item = i64>,
        lasts: impl Iterator<Item = i64>,
    ) -> Map<String, Value> {
        let time = |time: Option<i64>| time.map_or(Value::Null, |time| self.text(time).into());
        let mut facts = Map::new();
        facts.insert("count".to_owned(), self.read.rows.into());
        facts.insert("start".to_owned(), time(firsts.min()));
        facts.insert("end".to_owned(), time(lasts.max()));
        if !self.source.group_by.is_empty() {
            facts.insert("group_count".to_owned(), self.groups.len().into());
        }
        facts
    }

    /// Writes a time as text.
    pub(super) fn text(&self, time: i64) -> String {
        match &self.read.zone {
            Some((_, zone)) => format(time, Some(on_clock(time, *zone) - time)),
            None if self.read.has_dates_only => format_date(time),
            None => format(time, None),
        }
    }

    /// Returns the columns that were grouped by, with each group repeated for its number of rows.
    pub(super) fn group_columns(
        &self,
        counts: impl Iterator<Item = usize>,
    ) -> Result<Vec<NamedArray>> {
        let groups: Vec<usize> = self
            .order
            .iter()
            .zip(counts)
            .flat_map(|(&group, count)| std::iter::repeat_n(group, count))
            .collect();
        Ok(self.source.group_by.iter().cloned().zip(self.groups.columns(&groups)?).collect())
    }

    pub(super) fn times(&self, times: &[i64]) -> ArrayRef {
        match &self.read.zone {
            Some((zone, _)) => Arc::new(
                TimestampMicrosecondArray::from_iter_values(times.iter().copied())
                    .with_timezone(zone.as_str()),
            ),
            None if self.read.has_dates_only => {
                let days = times.iter().map(|time| i32::try_from(time.div_euclid(DAY)).ok());
                Arc::new(days.collect::<Date32Array>())
            }
            None => Arc::new(TimestampMicrosecondArray::from_iter_values(times.iter().copied())),
        }
    }

    /// Makes a table. Where two columns have the same name, the later one gets another.
    pub(super) fn frame(&self, columns: Vec<NamedArray>, held: HeldArrays) -> Result<DataFrame> {
        let mut names: Vec<String> = Vec::new();
        let mut fields = Vec::new();
        for (name, column) in &columns {
            names.push(free_name(name, &names));
            fields.push(Field::new(&names[names.len() - 1], column.data_type().clone(), true));
        }
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
            .map_err(|error| AnalysisError::Internal(error.to_string()))?;
        let frame = made(self.work, batch, held)?;
        match self.source.limit {
            Some(limit) => Ok(frame.limit(0, Some(limit))?),
            None => Ok(frame),
        }
    }
}

/// Joins the same column of several series.
fn numbers(parts: &[&SeriesColumn]) -> ArrayRef {
    let values = parts.iter().flat_map(|column| column.values.iter().copied());
    if parts.iter().all(|column| column.is_count) {
        return Arc::new(values.map(|value| Some(value as i64)).collect::<Int64Array>());
    }
    optional(values)
}

/// Numbers, where NaN is a missing one.
pub(super) fn optional(values: impl Iterator<Item = f64>) -> ArrayRef {
    let known = |value: f64| (!value.is_nan()).then_some(value);
    Arc::new(values.map(known).collect::<Float64Array>())
}
