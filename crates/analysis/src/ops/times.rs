//! Points in time, as microseconds since 1970.

mod clock;
mod texts;

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{Array, ArrayRef, AsArray, Int64Array},
        compute::cast,
        datatypes::{DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType},
    },
    common::exec_datafusion_err,
    functions::expr_fn::trunc,
    functions_aggregate::expr_fn::{bool_and, max, min},
    logical_expr::{self as expr, ColumnarValue, Expr, Volatility, create_udf, lit},
    prelude::{DataFrame, ident},
};

pub(crate) use clock::{last_of_clock, of_clock, on_clock, zone_named};
pub(crate) use texts::{
    Form, Texts, ValueOrder, comparable, meant, note_texts, sort_value, with_time, without_time,
};

use super::{columns, numbers::plain_type};
use crate::{
    error::{AnalysisError, Result},
    work::Work,
};

pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

/// Twelve thousand years. Times that are farther away count as none, so that nothing overflows.
const FARTHEST: i64 = 12_000 * 366 * DAY;

/// How exactly a time was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Precision {
    Year,
    Month,
    Day,
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    /// Of the world's time if it has a zone, else of a clock somewhere.
    pub(crate) micros: i64,
    /// How far the clock that it was written by is from the world's time, if it has a zone.
    pub(crate) offset: Option<i64>,
    pub(crate) precision: Precision,
}

impl Time {
    pub(crate) fn is_zoned(self) -> bool {
        self.offset.is_some()
    }

    /// What the clock shows that it was written by.
    pub(crate) fn on_clock(self) -> i64 {
        self.micros + self.offset.unwrap_or_default()
    }
}

/// The number of days from 1970 to a date of the Gregorian calendar.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the leap day is its last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The year, month and day of a number of days since 1970.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Reads a time in a form of ISO 8601: a year, month or day, or a day and a time, with or without
/// a zone; slashes may stand for dashes and a space for the T.
pub(crate) fn parse(text: &str) -> Option<Time> {
    let mut rest = Rest(text.trim().as_bytes());
    let year = rest.number(4)?;
    let (month, day, precision) = rest.date()?;
    let is_date =
        (1..=12).contains(&month) && day >= 1 && date_of(days_of(year, month, day)).2 == day;
    if !is_date {
        return None;
    }
    let mut time = Time { micros: days_of(year, month, day) * DAY, offset: None, precision };
    if precision == Precision::Day && (rest.skip(b'T') || rest.skip(b't') || rest.skip(b' ')) {
        time.micros += rest.time_of_day()?;
        time.precision = Precision::Time;
        time.offset = rest.zone()?;
        time.micros -= time.offset.unwrap_or_default();
    }
    rest.0.is_empty().then_some(time)
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.0.first() == Some(&byte);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    fn has_digit(&self) -> bool {
        self.0.first().is_some_and(u8::is_ascii_digit)
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number.iter().try_fold(0, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
        })
    }

    fn date(&mut self) -> Option<(i64, i64, Precision)> {
        if self.0.is_empty() {
            return Some((1, 1, Precision::Year));
        }
        let separator = [b'-', b'/'].into_iter().find(|&separator| self.skip(separator));
        let month = self.number(2)?;
        let Some(separator) = separator else {
            return Some((month, self.number(2)?, Precision::Day));
        };
        if !self.skip(separator) {
            return Some((month, 1, Precision::Month));
        }
        Some((month, self.number(2)?, Precision::Day))
    }

    fn time_of_day(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        let (mut minute, mut second, mut fraction) = (0, 0, 0);
        let is_spaced = self.skip(b':');
        if is_spaced || self.has_digit() {
            minute = self.number(2)?;
            if is_spaced && self.skip(b':') || !is_spaced && self.has_digit() {
                second = self.number(2)?;
                if self.skip(b'.') || self.skip(b',') {
                    fraction = self.fraction()?;
                }
            }
        }
        let is_time = hour < 24 && minute < 60 && second < 60;
        is_time.then_some(hour * HOUR + minute * MINUTE + second * SECOND + fraction)
    }

    /// Digits after the point, of which the first six count.
    fn fraction(&mut self) -> Option<i64> {
        let mut unit = SECOND;
        let mut fraction = 0;
        if !self.has_digit() {
            return None;
        }
        while self.has_digit() {
            unit /= 10;
            fraction += unit * self.number(1)?;
        }
        Some(fraction)
    }

    /// The distance from the world's time; the outer option is none if it cannot be read.
    fn zone(&mut self) -> Option<Option<i64>> {
        if self.0.is_empty() {
            return Some(None);
        }
        self.skip(b' ');
        for name in ["Z", "z", "UTC", "GMT"] {
            if self.0 == name.as_bytes() {
                self.0 = &[];
                return Some(Some(0));
            }
        }
        let sign = if self.skip(b'+') {
            1
        } else if self.skip(b'-') {
            -1
        } else {
            return None;
        };
        let hours = self.number(2)?;
        let minutes = if self.skip(b':') || self.has_digit() { self.number(2)? } else { 0 };
        (hours < 24 && minutes < 60).then_some(Some(sign * (hours * HOUR + minutes * MINUTE)))
    }
}

/// A time as it is written; the offset of its zone, if it has one, is in its last part.
pub(crate) fn format(micros: i64, offset: Option<i64>) -> String {
    let clock = micros.saturating_add(offset.unwrap_or_default());
    let (year, month, day) = date_of(clock.div_euclid(DAY));
    let rest = clock.rem_euclid(DAY);
    let (hour, minute, second) = (rest / HOUR, rest / MINUTE % 60, rest / SECOND % 60);
    let fraction = match rest % SECOND {
        0 => String::new(),
        micros if micros % 1000 == 0 => format!(".{:03}", micros / 1000),
        micros => format!(".{micros:06}"),
    };
    let zone = match offset {
        None => String::new(),
        Some(0) => "Z".to_owned(),
        Some(offset) => format_offset(offset),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}")
}

fn format_offset(offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let size = offset.abs();
    format!("{sign}{:02}:{:02}", size / HOUR, size / MINUTE % 60)
}

/// The day of a time, as it is written.
pub(crate) fn format_date(micros: i64) -> String {
    let (year, month, day) = date_of(micros.div_euclid(DAY));
    format!("{year:04}-{month:02}-{day:02}")
}

/// What the numbers of a column stand for, which is the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Numbers {
    Years,
    /// Times since 1970, in units of so many microseconds.
    Since1970(f64),
}

impl Default for Numbers {
    /// Seconds.
    fn default() -> Self {
        Self::Since1970(1e6)
    }
}

/// No number from here on is a time in any unit.
const MOST_NUMBER: f64 = 9.3e18;

impl Numbers {
    /// Goes through a column, if it has numbers.
    pub(crate) async fn of(work: &Work, frame: &DataFrame, name: &str) -> Result<Self> {
        if !plain_type(&columns::data_type(frame, name)).is_numeric() {
            return Ok(Self::default());
        }
        let number = expr::cast(ident(name), DataType::Float64);
        let is_whole = number.clone().eq(trunc(vec![number.clone()]));
        let figures = vec![
            min(number.clone()).alias("least"),
            max(number.clone()).alias("most"),
            bool_and(is_whole).alias("are_whole"),
        ];
        let may_be_time = number.between(lit(-MOST_NUMBER), lit(MOST_NUMBER));
        let figures = frame.clone().filter(may_be_time)?.aggregate(Vec::new(), figures)?;
        let batches = work.collect(figures).await?;
        let row = batches.iter().find(|batch| batch.num_rows() > 0);
        let number = |at: usize| {
            let column = row?.column(at).as_primitive_opt::<Float64Type>()?;
            column.iter().next().flatten()
        };
        let are_whole = row.and_then(|row| row.column(2).as_boolean_opt()?.iter().next().flatten());
        let (least, most) = (number(0).unwrap_or_default(), number(1).unwrap_or_default());
        Ok(Self::between(least, most, are_whole.unwrap_or_default()))
    }

    /// Years if all have four digits. Otherwise seconds or, if the largest is too large for that,
    /// milliseconds, microseconds or nanoseconds.
    fn between(least: f64, most: f64, are_whole: bool) -> Self {
        if are_whole && least >= 1000.0 && most <= 9999.0 {
            return Self::Years;
        }
        let size = most.max(-least);
        Self::Since1970(match size {
            _ if size < 1e11 => 1e6,
            _ if size < 1e14 => 1e3,
            _ if size < 1e17 => 1.0,
            _ => 1e-3,
        })
    }

    fn time(self, number: f64) -> Option<Time> {
        if number.is_nan() || number.abs() >= MOST_NUMBER {
            return None;
        }
        Some(match self {
            Self::Years => {
                let micros = days_of(number as i64, 1, 1) * DAY;
                Time { micros, offset: None, precision: Precision::Year }
            }
            Self::Since1970(unit) => {
                let micros = (number * unit).round() as i64;
                Time { micros, offset: Some(0), precision: Precision::Time }
            }
        })
    }
}

/// A column as times; none where there is no value, or where it cannot be read.
pub(crate) fn read(column: &ArrayRef, numbers: Numbers) -> Result<Vec<Option<Time>>> {
    let as_type = |data_type: &DataType| {
        cast(column, data_type).map_err(|error| AnalysisError::Internal(error.to_string()))
    };
    match column.data_type() {
        DataType::Null => Ok(vec![None; column.len()]),
        DataType::Dictionary(_, values) => read(&as_type(values)?, numbers),
        data_type if data_type.is_string() => {
            let texts = as_type(&DataType::Utf8)?;
            Ok(texts.as_string::<i32>().iter().map(|text| parse(text?)).collect())
        }
        data_type if data_type.is_numeric() => {
            let given = as_type(&DataType::Float64)?;
            let given = given.as_primitive::<Float64Type>().iter();
            Ok(given.map(|number| numbers.time(number?)).collect())
        }
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _) => {
            let zone = match column.data_type() {
                DataType::Timestamp(_, zone) => zone.clone(),
                _ => None,
            };
            let is_date = matches!(column.data_type(), DataType::Date32);
            let precision = if is_date { Precision::Day } else { Precision::Time };
            let offset = zone.is_some().then_some(0);
            let times = as_type(&DataType::Timestamp(TimeUnit::Microsecond, zone))?;
            let time = |micros| Time { micros, offset, precision };
            let times = times.as_primitive::<TimestampMicrosecondType>();
            let is_near = |micros: &i64| (-FARTHEST..=FARTHEST).contains(micros);
            Ok(times.iter().map(|micros| micros.filter(is_near).map(time)).collect())
        }
        other => Err(AnalysisError::Internal(format!("a column of type {other} has no times"))),
    }
}

/// A figure of the time that a text or a number is; null where it is none.
pub(crate) fn figure(
    value: Expr,
    data_type: &DataType,
    numbers: Numbers,
    of: fn(Time) -> Option<i64>,
) -> Expr {
    let given = if data_type.is_numeric() { DataType::Float64 } else { DataType::Utf8 };
    let run = move |values: &[ColumnarValue]| {
        let values = ColumnarValue::values_to_arrays(values)?;
        let times = read(&values[0], numbers).map_err(|error| exec_datafusion_err!("{error}"))?;
        let figures: Int64Array = times.into_iter().map(|time| of(time?)).collect();
        Ok(ColumnarValue::Array(Arc::new(figures)))
    };
    let (types, result) = (vec![given.clone()], DataType::Int64);
    let figure = create_udf("time", types, result, Volatility::Immutable, Arc::new(run));
    figure.call(vec![expr::cast(value, given)])
}

/// The zone that the times of a column have themselves: that of its type, or the offset that all
/// texts have.
pub(crate) async fn zone(work: &Work, frame: &DataFrame, name: &str) -> Result<Option<String>> {
    let data_type = columns::data_type(frame, name);
    let text = match plain_type(&data_type) {
        DataType::Timestamp(_, zone) => return Ok(zone.as_ref().map(ToString::to_string)),
        text if text.is_string() => text,
        _ => return Ok(None),
    };
    let offset = figure(ident(name), text, Numbers::default(), |time| time.offset);
    let ends = vec![min(offset.clone()).alias("least"), max(offset).alias("most")];
    let batches = work.collect(frame.clone().aggregate(Vec::new(), ends)?).await?;
    let row = batches.iter().find(|batch| batch.num_rows() > 0);
    let end = |at: usize| row?.column(at).as_primitive_opt::<Int64Type>()?.iter().next().flatten();
    Ok(match (end(0), end(1)) {
        (Some(0), Some(0)) => Some("UTC".to_owned()),
        (Some(least), Some(most)) if least == most => Some(format_offset(least)),
        _ => None,
    })
}

/// Whether a column of this type can have times.
pub(crate) fn can_read(data_type: &DataType) -> bool {
    if let DataType::Dictionary(_, values) = data_type {
        return can_read(values);
    }
    data_type.is_string()
        || data_type.is_numeric()
        || matches!(
            data_type,
            DataType::Null | DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _)
        )
}

#[cfg(test)]
mod tests;
