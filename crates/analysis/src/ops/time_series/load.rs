//! Loads rows as time series.

use std::str::FromStr;

use datafusion::{
    arrow::{
        array::{RecordBatch, timezone::Tz},
        datatypes::{DataType, FieldRef},
    },
    functions_aggregate::expr_fn::count,
    logical_expr::{Expr, cast},
    prelude::{DataFrame, ident},
};
use futures::TryStreamExt;
use narrows_model::nearest;

use super::{interval::Interval, parameters::SeriesRequest, series::TimeSeries};
use crate::{
    error::{AnalysisError, Result},
    ops::{
        arrays::{HeldArrays, floats},
        columns,
        groups::Groups,
        names::{Names, counted},
        numbers::{numeric, plain_type},
        rows::in_order,
        time_columns::{self, Numbers, figure},
    },
    suggestion::TIME_NAMES,
    times::{self, Precision, on_clock},
    work::AnalysisContext,
};

/// The most columns of values.
const MAX_VALUES: usize = 50;
/// The most groups, each with a series of its own.
pub(super) const MAX_GROUPS: usize = 100_000;

/// The time axis on which periods are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// Local time in the zone; a day may have 23 or 25 hours.
    Clock,
    /// UTC.
    World,
}

/// The rows of a table as times and values.
pub(super) struct Source<'a> {
    work: &'a AnalysisContext,
    frame: DataFrame,
    pub(super) time: String,
    pub(super) values: Vec<String>,
    pub(super) group_by: Vec<String>,
    pub(super) axis: Axis,
    resample: Option<Interval>,
    /// The distance between the times of a result, if it was asked for.
    step: Option<Interval>,
    pub(super) limit: Option<usize>,
    zone: Option<(String, Tz)>,
    /// The meaning of the times, if they are numbers.
    numbers: Numbers,
    seen: Seen,
}

/// Counts of what was found while reading.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    read: u64,
    zoned: u64,
    missing: u64,
    unread: u64,
    infinite: u64,
    times_of_day: u64,
    years: u64,
}

/// What is known about the times once all rows were read.
#[derive(Clone, Debug)]
pub(super) struct LoadedTimes {
    pub(super) rows: u64,
    /// The zone of the times of a result; without one they are local times of an unknown zone.
    pub(super) zone: Option<(String, Tz)>,
    pub(super) has_dates_only: bool,
}

/// A row: its group, its time on the axis, and its values.
pub(super) struct Row<'a> {
    pub(super) group: usize,
    pub(super) time: i64,
    pub(super) values: &'a mut dyn Iterator<Item = f64>,
}

impl<'a> Source<'a> {
    pub(super) async fn open(
        work: &'a AnalysisContext,
        asked: &SeriesRequest,
        axis: Axis,
    ) -> Result<Self> {
        let frame = work.main().await?;
        let time = match &asked.time {
            Some(time) => time.clone(),
            None => find_time(work, &frame).await?.ok_or_else(|| no_time(&frame))?,
        };
        let mut selected: Vec<Expr> = Vec::new();
        asked.group_by.check_distinct("group_by")?;
        for (path, name) in asked.group_by.with_paths("group_by") {
            selected.push(work.column(&frame, &path, name)?.alias(format!("g{}", selected.len())));
        }
        selected.push(time_column(work, &frame, &time)?.alias("t"));
        let group_by = asked.group_by.as_slice().to_vec();
        let (path, values) = match &asked.values {
            Some(values) => values.clone(),
            None if asked.gaps.is_some() => (String::new(), Names::default()),
            None => {
                let others = [&group_by[..], std::slice::from_ref(&time)].concat();
                ("values".to_owned(), numeric_fields(work, &frame, &others))
            }
        };
        values.check_distinct(&path)?;
        for (path, name) in values.with_paths(&path) {
            if group_by.iter().any(|group| group == name) || name == time {
                let reason = format!("{name:?} is the time or in `group_by` too");
                return Err(AnalysisError::parameter(path, reason));
            }
            let number = cast(numeric(work, &frame, &path, name).await?, DataType::Float64);
            selected.push(number.alias(format!("v{}", selected.len())));
        }
        let zone = match &asked.timezone {
            Some(name) => Some(zone(name)?),
            None => {
                time_columns::zone(work, &frame, &time).await?.and_then(|name| zone(&name).ok())
            }
        };
        let numbers = Numbers::of(work, &frame, &time).await?;
        Ok(Self {
            work,
            frame: frame.select(selected)?,
            time,
            values: values.as_slice().to_vec(),
            group_by,
            axis,
            resample: asked.resample,
            step: asked.step(),
            limit: asked.limit,
            zone,
            numbers,
            seen: Seen::default(),
        })
    }

    pub(super) fn groups(&self) -> Result<Groups> {
        let fields = self.frame.schema().fields().iter().take(self.group_by.len());
        Groups::new(fields.map(|field| field.data_type().clone()).collect())
    }

    /// Reads all rows in their order, and hands each to `take`.
    pub(super) async fn each(
        &mut self,
        groups: &mut Groups,
        mut take: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.seen = Seen::default();
        let mut rows = in_order(self.frame.clone()).await?;
        while let Some(batch) = rows.try_next().await? {
            self.batch(&batch, groups, &mut take)?;
        }
        Ok(())
    }

    fn batch(
        &mut self,
        batch: &RecordBatch,
        groups: &mut Groups,
        take: &mut impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let (keys, rest) = batch.columns().split_at(self.group_by.len());
        let (time, values) = rest.split_at(1);
        let places = groups.of(keys, batch.num_rows())?;
        if groups.len() > MAX_GROUPS {
            let reason = format!("there are more than {MAX_GROUPS} groups");
            return Err(AnalysisError::parameter("group_by", reason));
        }
        let mut columns: Vec<Vec<f64>> = values.iter().map(floats).collect::<Result<_>>()?;
        let seen = &mut self.seen;
        for value in columns.iter_mut().flatten().filter(|value| value.is_infinite()) {
            seen.infinite += 1;
            *value = f64::NAN;
        }
        let nulls = time[0].logical_nulls();
        for (row, time_read) in time_columns::read(&time[0], self.numbers)?.into_iter().enumerate()
        {
            let Some(moment) = time_read else {
                let is_missing = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                seen.missing += u64::from(is_missing);
                seen.unread += u64::from(!is_missing);
                continue;
            };
            seen.read += 1;
            seen.zoned += u64::from(moment.is_zoned());
            seen.times_of_day += u64::from(moment.precision == Precision::Time);
            seen.years += u64::from(moment.precision == Precision::Year);
            let time = match &self.zone {
                Some((_, zone)) if moment.is_zoned() && self.axis == Axis::Clock => {
                    on_clock(moment.micros, *zone)
                }
                _ => moment.micros,
            };
            let mut values = columns.iter().map(|column| column[row]);
            take(Row { group: places[row], time, values: &mut values })?;
        }
        Ok(())
    }

    /// Tells whether periods may begin off the full hours of UTC, because midnight of the zone may.
    pub(super) fn may_begin_off_the_hour(&self) -> bool {
        self.axis == Axis::World && self.zone.as_ref().is_some_and(|(name, _)| name != "UTC")
    }

    /// Returns the time from which the periods of a series are counted, by the local time of its zone.
    pub(super) fn origin(&self, interval: Interval, first: i64) -> i64 {
        let offset = match &self.zone {
            Some((_, zone)) if self.axis == Axis::World && self.seen.zoned > 0 => {
                on_clock(first, *zone) - first
            }
            _ => 0,
        };
        interval.origin(first.saturating_add(offset)).saturating_sub(offset)
    }

    /// Notes what was found, once all rows were read. Fails if there was no time among them.
    pub(super) fn finish(&self) -> Result<LoadedTimes> {
        let seen = self.seen;
        if seen.read == 0 && seen.unread > 0 {
            let reason = format!(
                "none of the {} of {:?} is a time; times are written as 2024-02-29 or \
                 2024-02-29T13:05:00Z",
                counted(seen.unread, "value"),
                self.time
            );
            return Err(AnalysisError::parameter("time", reason));
        }
        let note = |count: u64, what: &str, rest: &str| {
            if count > 0 {
                self.work.note(format!("{}{rest}", counted(count, what)));
            }
        };
        let name = &self.time;
        note(seen.unread, "row", &format!(" left out whose {name:?} is no time"));
        note(seen.missing, "row", &format!(" left out without {name:?}"));
        note(seen.infinite, "infinite value", " left out");
        let plain = seen.read - seen.zoned;
        if seen.zoned > 0 && plain > 0 {
            note(plain, "time", " without a zone taken to be UTC, as others have a zone");
        } else if seen.zoned == 0
            && seen.read > 0
            && let Some((zone, _)) = &self.zone
        {
            self.work.note(format!("the times have no zone and are taken to be of {zone}"));
        }
        if seen.zoned > 0 && self.zone.is_none() && self.axis == Axis::Clock {
            self.work.note("days are those of UTC; `timezone` names another zone");
        }
        let zone = (seen.zoned > 0 && self.axis == Axis::World).then(|| {
            self.zone.clone().or_else(|| Some(("UTC".to_owned(), Tz::from_str("UTC").ok()?)))
        });
        // Steps of less than a day lead to times of a day, even from dates.
        let has_dates_only = self.resample.is_some_and(Interval::is_calendar)
            || seen.times_of_day == 0 && self.step.is_none_or(Interval::is_whole_days);
        Ok(LoadedTimes { rows: seen.read, zone: zone.flatten(), has_dates_only })
    }
}

fn zone(name: &str) -> Result<(String, Tz)> {
    times::zone_named(name).ok_or_else(|| {
        let reason =
            format!("no time zone {name:?}; it is written as Europe/Berlin, UTC or +02:00");
        AnalysisError::parameter("timezone", reason)
    })
}

fn time_column(work: &AnalysisContext, frame: &DataFrame, name: &str) -> Result<Expr> {
    let column = work.column(frame, "time", name)?;
    let data_type = frame.schema().field_with_unqualified_name(name)?.data_type();
    if !time_columns::can_read(data_type) {
        let reason = format!("{name:?} has values of type {data_type}, which are no times");
        return Err(AnalysisError::parameter("time", reason));
    }
    Ok(column)
}

/// Finds a column that is a time by its type, or by its name and its values.
pub(super) async fn find_time(work: &AnalysisContext, frame: &DataFrame) -> Result<Option<String>> {
    let fields = frame.schema().fields();
    let is_time = |data_type: &DataType| {
        matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _))
    };
    let by_type = fields.iter().find(|field| is_time(field.data_type()));
    let mut found = by_type.map(|field| field.name().clone());
    for name in TIME_NAMES {
        let is_named = |field: &&FieldRef| field.name().to_lowercase() == name;
        let Some(field) = fields.iter().find(is_named).filter(|_| found.is_none()) else {
            continue;
        };
        if has_times(work, frame, field).await? {
            found = Some(field.name().clone());
        }
    }
    if let Some(name) = &found {
        work.note(format!("the times are those of {name:?}"));
    }
    Ok(found)
}

/// Tells whether a column has times: any text that is one, or numbers, except those of months, weeks and
/// days.
async fn has_times(work: &AnalysisContext, frame: &DataFrame, field: &FieldRef) -> Result<bool> {
    let data_type = plain_type(field.data_type());
    if data_type.is_numeric() {
        let is_part = ["day", "month", "week"].contains(&field.name().to_lowercase().as_str());
        return Ok(!is_part);
    }
    if !data_type.is_string() {
        return Ok(false);
    }
    let time = figure(ident(field.name()), data_type, Numbers::default(), |time| Some(time.micros));
    Ok(columns::figures(work, frame.clone(), vec![count(time)]).await?[0] > 0)
}

fn no_time(frame: &DataFrame) -> AnalysisError {
    let known = columns::names(frame);
    let known = known.iter().map(String::as_str);
    let near = nearest("time", known.clone());
    let reason =
        format!("which column has the times is missing{near}{}", crate::error::available(known));
    AnalysisError::parameter("time", reason)
}

/// Returns the columns of numbers apart from `others`, as many as there may be.
pub(super) fn numeric_fields(
    work: &AnalysisContext,
    frame: &DataFrame,
    others: &[String],
) -> Names {
    let is_value = |name: &String| !others.contains(name);
    let fields = frame.schema().fields().iter();
    let mut names: Vec<String> = fields
        .filter(|field| field.data_type().is_numeric() && is_value(field.name()))
        .map(|field| field.name().clone())
        .collect();
    if names.len() > MAX_VALUES {
        work.note(format!(
            "only the first {MAX_VALUES} of {} columns of numbers are taken; `values` chooses others",
            names.len()
        ));
        names.truncate(MAX_VALUES);
    }
    Names::Many(names)
}

/// Reads all rows, each group in the order of time.
pub(super) async fn all(
    source: &mut Source<'_>,
    held: &HeldArrays,
) -> Result<(Groups, Vec<TimeSeries>)> {
    let mut groups = source.groups()?;
    let names = source.values.clone();
    let mut series: Vec<TimeSeries> = Vec::new();
    // A row is held twice while it is sorted.
    let size = 2 * size_of::<f64>() * (1 + names.len());
    let mut left = 0;
    source
        .each(&mut groups, |row| {
            if left == 0 {
                left = 1 << 16;
                held.add(left * size)?;
            }
            left -= 1;
            while series.len() <= row.group {
                series.push(TimeSeries::new(&names));
            }
            series[row.group].push(row.time, row.values);
            Ok(())
        })
        .await?;
    series.iter_mut().for_each(TimeSeries::sort);
    series.resize_with(groups.len(), || TimeSeries::new(&names));
    Ok((groups, series))
}
