//! Reads columns as times.

#[cfg(test)]
mod tests;
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

pub(crate) use texts::{
    Texts, TimeForm, ValueOrder, comparable, meant, note_texts, sort_value, with_time, without_time,
};

use super::{columns, numbers::plain_type};
use crate::{
    error::{AnalysisError, Result},
    times::{DAY, Precision, Time, days_of, format_offset, parse},
    work::AnalysisContext,
};

/// Twelve thousand years. Times that are farther away count as none, so that nothing overflows.
const FARTHEST: i64 = 12_000 * 366 * DAY;

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
const MAX_NUMBER: f64 = 9.3e18;

impl Numbers {
    /// Goes through a column, if it has numbers.
    pub(crate) async fn of(work: &AnalysisContext, frame: &DataFrame, name: &str) -> Result<Self> {
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
        let may_be_time = number.between(lit(-MAX_NUMBER), lit(MAX_NUMBER));
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
        if number.is_nan() || number.abs() >= MAX_NUMBER {
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
pub(crate) async fn zone(
    work: &AnalysisContext,
    frame: &DataFrame,
    name: &str,
) -> Result<Option<String>> {
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
