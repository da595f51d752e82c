//! Comparisons with values and with other columns.

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    functions::expr_fn::to_local_time,
    logical_expr::{Expr, Operator as SqlOperator, binary_expr, cast, lit, try_cast},
};
use serde_json::Value;

use super::{plain, plan::Subject};
use crate::{
    error::{AnalysisError, Result},
    ops::{
        names::word,
        times::{self, Numbers, Time},
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
}

const OPERATORS: [(&str, &[&str], Operator); 6] = [
    ("==", &["=", "eq", "equals", "equal"], Operator::Equal),
    ("!=", &["<>", "ne", "not_equals", "not_equal"], Operator::Unequal),
    ("<", &["lt", "less_than", "below"], Operator::Below),
    ("<=", &["le", "lte", "at_most"], Operator::AtMost),
    (">", &["gt", "greater_than", "above"], Operator::Above),
    (">=", &["ge", "gte", "at_least"], Operator::AtLeast),
];

impl Operator {
    pub(super) fn read(path: &str, text: &str) -> Result<Self> {
        word(path, text, &OPERATORS)
    }

    pub(super) fn symbol(self) -> &'static str {
        OPERATORS.iter().find(|(_, _, known)| *known == self).map_or("", |(symbol, _, _)| symbol)
    }

    fn holds(self, left: Expr, right: Expr) -> Expr {
        let operator = match self {
            Self::Equal => SqlOperator::Eq,
            Self::Unequal => SqlOperator::NotEq,
            Self::Below => SqlOperator::Lt,
            Self::AtMost => SqlOperator::LtEq,
            Self::Above => SqlOperator::Gt,
            Self::AtLeast => SqlOperator::GtEq,
        };
        binary_expr(left, operator, right)
    }
}

/// Whether a value compares to a given one; null if that cannot be said of it, as of text and a
/// number.
pub(super) fn bound(
    path: &str,
    subject: &Subject,
    operator: Operator,
    value: &Value,
    coerce: bool,
) -> Result<Expr> {
    let column = subject.column.clone();
    let unfit = || {
        let reason = format!(
            "{} cannot be compared with {:?}, which has values of type {}",
            value, subject.field, subject.data_type
        );
        Err(AnalysisError::parameter(path, reason))
    };
    let data_type = &subject.data_type;
    match value {
        _ if *data_type == DataType::Null => Ok(lit(true)),
        Value::Number(number) if data_type.is_numeric() => {
            Ok(operator.holds(column, number_of(number)))
        }
        Value::Number(number) if data_type.is_string() => {
            Ok(operator.holds(text_as_number(subject, coerce), number_of(number)))
        }
        Value::Bool(flag) if *data_type == DataType::Boolean => {
            Ok(operator.holds(column, lit(*flag)))
        }
        Value::String(given) if is_time(data_type) => match times::parse(given) {
            Some(time) if time.is_zoned() => Ok(operator.holds(micros(column), lit(time.micros))),
            Some(time) => Ok(operator.holds(micros(on_clock(subject)), lit(time.micros))),
            None => unfit(),
        },
        Value::String(given) if data_type.is_string() => {
            let Some(time) = times::parse(given) else {
                return Ok(operator.holds(cast(column, DataType::Utf8), lit(given.as_str())));
            };
            // A time without a zone is one of the clock that each was written by.
            let of: fn(Time) -> Option<i64> = match time.is_zoned() {
                true => |time| Some(time.micros),
                false => |time| Some(time.on_clock()),
            };
            let times = times::figure(column, data_type, Numbers::default(), of);
            Ok(operator.holds(times, lit(time.micros)))
        }
        _ => unfit(),
    }
}

fn number_of(number: &serde_json::Number) -> Expr {
    match number.as_i64() {
        Some(whole) => lit(whole),
        None => lit(number.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Text is no number, unless it may stand for one.
fn text_as_number(subject: &Subject, coerce: bool) -> Expr {
    if coerce {
        try_cast(subject.column.clone(), DataType::Float64)
    } else {
        lit(datafusion::common::ScalarValue::Float64(None))
    }
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64)
}

pub(super) fn has_zone(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

/// What a clock in the zone of the column shows; a time without a zone as it is.
pub(super) fn on_clock(subject: &Subject) -> Expr {
    let column = subject.column.clone();
    if has_zone(&subject.data_type) { to_local_time(vec![column]) } else { column }
}

fn micros(column: Expr) -> Expr {
    let plain = DataType::Timestamp(TimeUnit::Microsecond, None);
    cast(cast(column, plain), DataType::Int64)
}

/// Whether a value is one of those in a list.
pub(super) fn list(path: &str, subject: &Subject, values: &[Value], coerce: bool) -> Result<Expr> {
    let data_type = &subject.data_type;
    let column = subject.column.clone();
    let (column, values): (Expr, Vec<Expr>) = if data_type.is_numeric() {
        let numbers = values.iter().filter_map(|value| match value {
            Value::Number(number) => Some(number_of(number)),
            Value::String(text) if coerce => text.trim().parse::<f64>().ok().map(lit),
            _ => None,
        });
        (column, numbers.collect())
    } else if *data_type == DataType::Boolean {
        (column, values.iter().filter_map(Value::as_bool).map(lit).collect())
    } else {
        let texts = values.iter().filter_map(|value| match value {
            Value::String(text) => Some(text.clone()),
            other if coerce => Some(plain(other)),
            _ => None,
        });
        (subject.as_text(path)?, texts.map(lit).collect())
    };
    Ok(if values.is_empty() { lit(false) } else { column.in_list(values, false) })
}

/// Whether two values of a row compare; null if one is missing.
pub(super) fn compare(
    path: &str,
    left: &Subject,
    operator: Operator,
    right: &Subject,
    coerce: bool,
) -> Result<Expr> {
    let are = |test: fn(&DataType) -> bool| test(&left.data_type) && test(&right.data_type);
    let (a, b) = (left.column.clone(), right.column.clone());
    if are(DataType::is_numeric) || left.data_type == right.data_type {
        return Ok(operator.holds(a, b));
    }
    if are(DataType::is_string) {
        return Ok(operator.holds(cast(a, DataType::Utf8), cast(b, DataType::Utf8)));
    }
    if are(has_zone) {
        return Ok(operator.holds(micros(a), micros(b)));
    }
    if are(is_time) {
        return Ok(operator.holds(micros(on_clock(left)), micros(on_clock(right))));
    }
    if are(|data_type| data_type.is_numeric() || data_type.is_string()) && coerce {
        let number = |column| try_cast(column, DataType::Float64);
        return Ok(operator.holds(number(a), number(b)));
    }
    let reason = format!(
        "{:?} has values of type {} and {:?} of type {}{}",
        left.field,
        left.data_type,
        right.field,
        right.data_type,
        if coerce { "" } else { "; `coerce` reads text as numbers" }
    );
    Err(AnalysisError::parameter(path, reason))
}
