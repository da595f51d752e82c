//! The values of conditions, as values of the column that they are compared with.

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    logical_expr::{Expr, lit},
    scalar::ScalarValue,
};
use serde_json::Value;

use crate::{
    error::{AnalysisError, Result},
    ops::{
        numbers::{is_text, plain_type},
        reading::short,
    },
};

/// What a column is compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    Number,
    /// A number that is read from text.
    NumberInText,
    Text,
    Boolean,
    Time,
}

impl Nature {
    /// How a column of this type is compared with these values.
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

/// A value as one of a column's.
pub(crate) fn literal(
    path: &str,
    column: &str,
    nature: Nature,
    data_type: &DataType,
    value: &Value,
) -> Result<Expr> {
    let found = match nature {
        Nature::Number | Nature::NumberInText => number(value),
        Nature::Text => plain_text(value).map(lit),
        Nature::Boolean => boolean(value).map(lit),
        Nature::Time => time(data_type, value),
    };
    found.ok_or_else(|| {
        let (held, one) = match nature {
            Nature::Number | Nature::NumberInText => ("numbers", "one"),
            Nature::Text => ("text", "text"),
            Nature::Boolean => ("true and false", "either"),
            Nature::Time => ("times", "one as 2026-03-01 or 2026-03-01T12:30:00Z"),
        };
        let reason = format!("column {column:?} holds {held}, and {} is not {one}", short(value));
        AnalysisError::parameter(path, reason)
    })
}

fn number(value: &Value) -> Option<Expr> {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Some(lit(whole)),
            (None, Some(whole)) => Some(lit(whole)),
            (None, None) => number.as_f64().map(lit),
        },
        Value::String(text) => {
            let text = text.trim();
            let whole = text.parse::<i64>().ok().map(lit);
            whole.or_else(|| text.parse::<f64>().ok().filter(|number| !number.is_nan()).map(lit))
        }
        _ => None,
    }
}

/// A plain value as text; lists and objects have none.
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

/// A date may be compared with a time of a day.
fn time(data_type: &DataType, value: &Value) -> Option<Expr> {
    let text = ScalarValue::Utf8(Some(value.as_str()?.trim().to_owned()));
    let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
    let read = |data_type| text.cast_to(data_type).ok().filter(|value| !value.is_null());
    read(data_type).or_else(|| read(&moment)).map(lit)
}
