//! Compares columns with values and with other columns.

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    functions::expr_fn::to_local_time,
    logical_expr::{Expr, Operator as SqlOperator, binary_expr, cast, lit, not, when},
};
use serde_json::Value;

use super::{
    contents::{Content, order},
    entry::{Coerce, Listed},
    plan::CheckedColumn,
};
use crate::{
    error::{AnalysisError, Result},
    ops::{
        conditions::literal::{ComparisonType, literal},
        names::word,
        numbers::{compared, read_number},
        time_columns::comparable,
    },
    times::{self, Time},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundOperator {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
}

const OPERATORS: [(&str, &[&str], BoundOperator); 6] = [
    ("==", &["=", "eq", "equals", "equal"], BoundOperator::Equal),
    ("!=", &["<>", "ne", "not_equals", "not_equal"], BoundOperator::Unequal),
    ("<", &["lt", "less_than", "below"], BoundOperator::Below),
    ("<=", &["le", "lte", "at_most"], BoundOperator::AtMost),
    (">", &["gt", "greater_than", "above"], BoundOperator::Above),
    (">=", &["ge", "gte", "at_least"], BoundOperator::AtLeast),
];

impl BoundOperator {
    pub(super) fn read(path: &str, text: &str) -> Result<Self> {
        word(path, text, &OPERATORS)
    }

    pub(super) fn symbol(self) -> &'static str {
        OPERATORS.iter().find(|(_, _, known)| *known == self).map_or("", |(symbol, _, _)| symbol)
    }

    pub(super) fn holds(self, left: Expr, right: Expr) -> Expr {
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

/// The comparison of a column with a given value.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) holds: Expr,
    /// A condition for values that cannot be compared with the given one, and what such a value is not.
    pub(super) unread: Option<(Expr, &'static str)>,
}

impl Bound {
    /// Makes the comparison of values which can all be compared.
    fn of_all(holds: Expr) -> Self {
        Self { holds, unread: None }
    }

    /// Counts values that cannot be compared with the given one as different from it.
    fn or_another(self) -> Result<Self> {
        let Self { holds, unread } = self;
        Ok(Self::of_all(match unread {
            Some((is_unread, _)) => when(is_unread, lit(true)).otherwise(holds)?,
            None => holds,
        }))
    }
}

/// Compares a column with a given value. Fails if no value of the column's type can be compared with it.
pub(super) fn bound(
    path: &str,
    subject: &CheckedColumn,
    operator: BoundOperator,
    value: &Value,
    coerce: Coerce,
) -> Result<Bound> {
    let column = subject.column.clone();
    let data_type = &subject.data_type;
    let bound = match value {
        _ if *data_type == DataType::Null => Bound::of_all(lit(true)),
        Value::Number(number) if data_type.is_numeric() => {
            Bound::of_all(operator.holds(column, number_of(number)))
        }
        Value::Number(number) if data_type.is_string() => {
            number_in_text(subject, operator, &number_of(number), coerce)?
        }
        Value::Bool(flag) if *data_type == DataType::Boolean => {
            Bound::of_all(operator.holds(column, lit(*flag)))
        }
        Value::String(given) if is_time(data_type) => match times::parse(given) {
            Some(time) if time.is_zoned() => {
                Bound::of_all(operator.holds(micros(column), lit(time.micros)))
            }
            Some(time) => {
                Bound::of_all(operator.holds(micros(on_clock(subject)), lit(time.micros)))
            }
            None => return Err(unfit(path, subject, value)),
        },
        Value::String(given) if data_type.is_string() => {
            text_in_text(subject, operator, given, coerce)?
        }
        _ => return Err(unfit(path, subject, value)),
    };
    if operator == BoundOperator::Unequal { bound.or_another() } else { Ok(bound) }
}

fn unfit(path: &str, subject: &CheckedColumn, value: &Value) -> AnalysisError {
    let reason = format!(
        "{} cannot be compared with {:?}, which has values of type {}",
        value, subject.field, subject.data_type
    );
    AnalysisError::parameter(path, reason)
}

/// Compares a number with the numbers in a column of text.
fn number_in_text(
    subject: &CheckedColumn,
    operator: BoundOperator,
    number: &Expr,
    coerce: Coerce,
) -> Result<Bound> {
    const WANTED: &str = "a number";
    if coerce == Coerce::Nothing {
        return Ok(Bound { holds: lit(false), unread: Some((subject.is_there(), WANTED)) });
    }
    let holds = compared(subject.column.clone(), |side| operator.holds(side, number.clone()))?;
    let is_unread = read_number(subject.column.clone()).is_null();
    Ok(Bound { holds, unread: Some((is_unread, WANTED)) })
}

/// Compares a text with a column of text: as the number or the time that is written in it, else as text.
fn text_in_text(
    subject: &CheckedColumn,
    operator: BoundOperator,
    given: &str,
    coerce: Coerce,
) -> Result<Bound> {
    let text = cast(subject.column.clone(), DataType::Utf8);
    let bound = match times::parse(given) {
        Some(time) if coerce != Coerce::Nothing => time_in_text(subject, operator, time),
        _ => Bound::of_all(operator.holds(text.clone(), lit(given))),
    };
    if coerce == Coerce::Nothing || Content::of(given) != Content::Number {
        return Ok(bound);
    }
    let is_number = Content::Number.is_in(text.clone());
    let holds = operator.holds(order(text, lit(given)), lit(0_i64));
    let is_other = not(is_number.clone());
    Ok(Bound {
        holds: when(is_number, holds).otherwise(bound.holds)?,
        unread: bound.unread.map(|(is_unread, wanted)| (is_unread.and(is_other), wanted)),
    })
}

fn time_in_text(subject: &CheckedColumn, operator: BoundOperator, time: Time) -> Bound {
    let times = comparable(subject.column.clone(), time);
    let is_unread = times.clone().is_null();
    let holds = operator.holds(times, lit(time.micros));
    Bound { holds, unread: Some((is_unread, "a time")) }
}

fn number_of(number: &serde_json::Number) -> Expr {
    match number.as_i64() {
        Some(whole) => lit(whole),
        None => lit(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64)
}

pub(super) fn has_zone(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

/// Returns a time column in the local time of its zone; times without a zone stay unchanged.
pub(super) fn on_clock(subject: &CheckedColumn) -> Expr {
    let column = subject.column.clone();
    if has_zone(&subject.data_type) { to_local_time(vec![column]) } else { column }
}

fn micros(column: Expr) -> Expr {
    let plain = DataType::Timestamp(TimeUnit::Microsecond, None);
    cast(cast(column, plain), DataType::Int64)
}

/// Returns a condition for whether a value is in a list, like the condition `in`. Null stands for a
/// missing value.
pub(super) fn list(subject: &CheckedColumn, listed: &Listed, coerce: Coerce) -> Result<Expr> {
    let Listed { path, values } = listed;
    // Text that stands only for itself is no number, and none of them.
    let is_only_text = coerce == Coerce::Nothing && subject.data_type.is_string();
    let may_be = |value: &Value| value.is_string() || !is_only_text && !value.is_null();
    let given: Vec<(usize, &Value)> =
        values.iter().enumerate().filter(|(_, value)| may_be(value)).collect();
    let plain: Vec<&Value> = given.iter().map(|(_, value)| *value).collect();
    // What has no values to compare, as a list, is compared as it is written.
    let nature = ComparisonType::of(&subject.data_type, &plain).unwrap_or(ComparisonType::Text);
    let literal = |(at, value): &(usize, &Value)| {
        literal(&format!("{path}[{at}]"), &subject.field, nature, &subject.data_type, value)
    };
    let mut literals = given.iter().map(literal).collect::<Result<Vec<Expr>>>()?;
    // A time between two of the column's is neither of them.
    literals
        .retain(|value| nature != ComparisonType::Time || is_literal_of(value, &subject.data_type));
    let is_in = |side: Expr| side.in_list(literals.clone(), false);
    let is_listed = match nature {
        _ if literals.is_empty() => lit(false),
        ComparisonType::NumberInText => compared(subject.column.clone(), is_in)?,
        ComparisonType::Text => is_in(subject.as_text(path)?),
        ComparisonType::Number | ComparisonType::Boolean | ComparisonType::Time => {
            is_in(subject.column.clone())
        }
    };
    let has_null = values.iter().any(Value::is_null);
    Ok(if has_null { is_listed.or(subject.column.clone().is_null()) } else { is_listed })
}

fn is_literal_of(value: &Expr, data_type: &DataType) -> bool {
    matches!(value, Expr::Literal(value, _) if value.data_type() == *data_type)
}

/// Compares two values of a row; null if one is missing.
pub(super) fn compare(
    path: &str,
    left: &CheckedColumn,
    operator: BoundOperator,
    right: &CheckedColumn,
    coerce: Coerce,
) -> Result<Expr> {
    let are = |test: fn(&DataType) -> bool| test(&left.data_type) && test(&right.data_type);
    let (a, b) = (left.column.clone(), right.column.clone());
    if are(DataType::is_string) {
        let (a, b) = (cast(a, DataType::Utf8), cast(b, DataType::Utf8));
        return Ok(match coerce {
            Coerce::Nothing => operator.holds(a, b),
            Coerce::Written | Coerce::Anything => operator.holds(order(a, b), lit(0_i64)),
        });
    }
    if are(DataType::is_numeric) || left.data_type == right.data_type {
        return Ok(operator.holds(a, b));
    }
    if are(has_zone) {
        return Ok(operator.holds(micros(a), micros(b)));
    }
    if are(is_time) {
        return Ok(operator.holds(micros(on_clock(left)), micros(on_clock(right))));
    }
    let is_coerced = coerce == Coerce::Anything;
    if are(|data_type| data_type.is_numeric() || data_type.is_string()) && is_coerced {
        return Ok(operator.holds(number(left), number(right)));
    }
    let reason = format!(
        "{:?} has values of type {} and {:?} of type {}{}",
        left.field,
        left.data_type,
        right.field,
        right.data_type,
        if is_coerced { "" } else { "; `coerce` reads text as numbers" }
    );
    Err(AnalysisError::parameter(path, reason))
}

fn number(subject: &CheckedColumn) -> Expr {
    let column = subject.column.clone();
    match subject.data_type.is_string() {
        true => read_number(column),
        false => cast(column, DataType::Float64),
    }
}
