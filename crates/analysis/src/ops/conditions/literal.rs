//! Converts the values of conditions into the type of the column that they are compared with.

use std::{str::FromStr, sync::Arc};

use datafusion::{
    arrow::{
        array::timezone::Tz,
        datatypes::{DECIMAL256_MAX_PRECISION, DataType, TimeUnit},
    },
    logical_expr::{Expr, lit},
    scalar::ScalarValue,
};
use serde_json::Value;

use crate::{
    error::{AnalysisError, Result},
    ops::{
        numbers::{is_text, plain_type},
        params::short,
    },
    times::of_clock,
};

/// The type as which a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparisonType {
    Number,
    /// A number that is read from text.
    NumberInText,
    Text,
    Boolean,
    Time,
}

impl ComparisonType {
    /// Decides how a column of this type is compared with these values. None if it cannot be compared.
    pub(crate) fn of(data_type: &DataType, values: &[&Value]) -> Option<Self> {
        let are_numbers = values.iter().all(|value| value.is_number()) && !values.is_empty();
        match plain_type(data_type) {
            DataType::Boolean => Some(Self::Boolean),
            text if is_text(text) && are_numbers => Some(Self::NumberInText),
            text if is_text(text) => Some(Self::Text),
            number if number.is_numeric() => Some(Self::Number),
            time if time.is_temporal() => Some(Self::Time),
            _ => None,
        }
    }
}

/// Returns a value as a literal to compare with a column.
pub(crate) fn literal(
    path: &str,
    column: &str,
    nature: ComparisonType,
    data_type: &DataType,
    value: &Value,
) -> Result<Expr> {
    scalar(path, column, nature, data_type, value).map(lit)
}

/// Converts a value into the column's type, or into another type if it would not be the same value then.
pub(super) fn scalar(
    path: &str,
    column: &str,
    nature: ComparisonType,
    data_type: &DataType,
    value: &Value,
) -> Result<ScalarValue> {
    let found = match nature {
        ComparisonType::Number | ComparisonType::NumberInText => {
            number(plain_type(data_type), value)
        }
        ComparisonType::Text => plain_text(value).map(ScalarValue::from),
        ComparisonType::Boolean => boolean(value).map(ScalarValue::from),
        ComparisonType::Time => time(data_type, value),
    };
    found.ok_or_else(|| {
        let (held, one) = match nature {
            ComparisonType::Number | ComparisonType::NumberInText => ("numbers", "one"),
            ComparisonType::Text => ("text", "text"),
            ComparisonType::Boolean => ("true and false", "either"),
            ComparisonType::Time => ("times", "one as 2026-03-01 or 2026-03-01T12:30:00Z"),
        };
        let reason = format!("column {column:?} holds {held}, and {} is not {one}", short(value));
        AnalysisError::parameter(path, reason)
    })
}

/// Converts a value into another type, if it is still the same.
pub(super) fn fitting(value: &ScalarValue, data_type: &DataType) -> Option<ScalarValue> {
    let fitted = value.cast_to(data_type).ok()?;
    let back = fitted.cast_to(&value.data_type()).ok()?;
    (back == *value).then_some(fitted)
}

/// Returns a neighbour of a time that a type cannot hold, as dates cannot hold noon, and whether the
/// neighbour is before it. None if the type is the same. The query engine would take the neighbour for
/// the time itself.
pub(super) fn beside(time: &ScalarValue, data_type: &DataType) -> Option<(ScalarValue, bool)> {
    if time.data_type() == *data_type {
        return None;
    }
    let beside = time.cast_to(data_type).ok()?;
    let is_before = beside.cast_to(&time.data_type()).ok()? < *time;
    Some((beside, is_before))
}

fn number(data_type: &DataType, value: &Value) -> Option<ScalarValue> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    let float = text.parse::<f64>().ok().filter(|number| !number.is_nan())?;
    if data_type.is_decimal() {
        let digits = decimal(data_type, &text).or_else(|| decimal(data_type, &float.to_string()));
        return Some(digits.unwrap_or(ScalarValue::from(float)));
    }
    let whole = text.parse::<i64>().map(ScalarValue::from);
    let whole = whole.or_else(|_| text.parse::<u64>().map(ScalarValue::from));
    Some(whole.unwrap_or_else(|_| match data_type {
        DataType::Float32 => short_float(float),
        _ => ScalarValue::from(float),
    }))
}

/// Takes a float as the `f32` that is written with the same digits, such as 0.1, though it is not quite
/// the same number.
fn short_float(float: f64) -> ScalarValue {
    let short = float as f32;
    let is_written_so = short.to_string().parse() == Ok(float);
    if is_written_so { ScalarValue::from(short) } else { ScalarValue::from(float) }
}

/// Parses a decimal with all its digits, if it is written with digits, a sign and a point only.
fn decimal(data_type: &DataType, text: &str) -> Option<ScalarValue> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let length = u8::try_from(whole.len() + fraction.len()).ok()?;
    let has_room = (1..=DECIMAL256_MAX_PRECISION).contains(&length);
    if !has_room || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let exact = DataType::Decimal256(length, i8::try_from(fraction.len()).ok()?);
    let number = ScalarValue::from(text).cast_to(&exact).ok()?;
    Some(fitting(&number, data_type).unwrap_or(number))
}

/// Returns a plain value as text; none for lists, objects and null.
pub(crate) fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_f64()? {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        },
        Value::String(text) => match text.trim().to_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Parses a time, with more precision than the column's type if needed: a date may be compared with a
/// time of day, and a second with a part of it.
fn time(data_type: &DataType, value: &Value) -> Option<ScalarValue> {
    let text = ScalarValue::from(value.as_str()?.trim());
    let zone = match data_type {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let moment = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
    let exact = match data_type {
        DataType::Date32 | DataType::Date64 => &moment,
        DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) => &moment,
        other => other,
    };
    let read = |data_type| text.cast_to(data_type).ok().filter(|value| !value.is_null());
    let time = [exact, data_type, &moment].into_iter().find_map(read);
    let time = time.or_else(|| in_zone(&text, zone.as_ref()?))?;
    Some(fitting(&time, data_type).unwrap_or(time))
}

/// Converts a local time in a zone, also where it occurs twice or never because clocks are changed.
fn in_zone(text: &ScalarValue, zone: &Arc<str>) -> Option<ScalarValue> {
    let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
    let ScalarValue::TimestampMicrosecond(Some(clock), _) = text.cast_to(&moment).ok()? else {
        return None;
    };
    let micros = of_clock(clock, Tz::from_str(zone).ok()?);
    Some(ScalarValue::TimestampMicrosecond(Some(micros), Some(Arc::clone(zone))))
}
