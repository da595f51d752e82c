//! Reads columns as numbers.

use datafusion::{
    arrow::{datatypes::DataType, util::display::array_value_to_string},
    functions::expr_fn::{btrim, coalesce, left, ltrim, nullif, trunc},
    functions_aggregate::expr_fn::count,
    logical_expr::{Expr, cast, lit, try_cast, when},
    prelude::{DataFrame, ident},
};

use super::columns;
use crate::{
    error::{AnalysisError, Result},
    work::AnalysisContext,
};

/// Returns a column as a number: unchanged, or parsed from text, which is noted. NaN counts as missing,
/// as in pandas.
pub(crate) async fn numeric(
    work: &AnalysisContext,
    frame: &DataFrame,
    parameter: &str,
    name: &str,
) -> Result<Expr> {
    let column = work.column(frame, parameter, name)?;
    let data_type = columns::data_type(frame, name);
    match plain_type(&data_type) {
        DataType::Boolean => Ok(cast(column, DataType::Int64)),
        number if number.is_numeric() => Ok(without_nan(column, &data_type)),
        text if is_text(text) => {
            let number = read_number(column.clone());
            let (given, read) = counts(work, frame, &column, &number).await?;
            if given > 0 && read == 0 {
                let reason = format!("column {name:?} holds text that is no number");
                return Err(AnalysisError::parameter(parameter, reason));
            }
            note_text(work, name, given, given - read);
            Ok(number)
        }
        other => {
            let reason = format!("column {name:?} holds {other}, not numbers");
            Err(AnalysisError::parameter(parameter, reason))
        }
    }
}

/// How the values of a column are sorted.
pub(crate) enum NumericOrder {
    /// By themselves. If they are text, this is one that is not a number.
    Plain(Option<String>),
    /// As numbers, because all texts of the column are.
    Number(Expr),
}

/// Decides how a column is sorted: by its values, or by numbers if it is text and all of it is numbers,
/// which is noted. Text with leading zeros or a plus sign is a code and stays text.
pub(crate) async fn order(
    work: &AnalysisContext,
    frame: &DataFrame,
    name: &str,
) -> Result<NumericOrder> {
    let plain = columns::value(frame, name);
    if !plain_type(&columns::data_type(frame, name)).is_string() {
        return Ok(NumericOrder::Plain(None));
    }
    let (number, whole) = (read_number(ident(name)), read_whole(ident(name)));
    let start = left(ltrim(vec![trimmed(ident(name)), lit("-")]), lit(2_i64));
    let is_code = start.clone().between(lit("00"), lit("09"));
    let is_code = is_code.or(start.between(lit("+0"), lit("+9")));
    let is_other = plain.clone().is_not_null().and(number.clone().is_null().or(is_code));
    // In most columns of text the first row already is not a number.
    let other = frame.clone().filter(is_other)?.select(vec![plain.clone()])?.limit(0, Some(1))?;
    let others = work.collect(other).await?;
    if let Some(other) = others.iter().find(|batch| batch.num_rows() > 0) {
        return Ok(NumericOrder::Plain(array_value_to_string(other.column(0), 0).ok()));
    }
    let (given, read) = counts(work, frame, &plain, &whole).await?;
    if given == 0 {
        return Ok(NumericOrder::Plain(None));
    }
    note_text(work, name, given, 0);
    Ok(NumericOrder::Number(if read == given { whole } else { number }))
}

/// Returns the type of a dictionary's values; any other type unchanged.
pub(crate) fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain_type(values),
        other => other,
    }
}

/// Tells whether a column is text. One without any value counts as text too.
pub(crate) fn is_text(data_type: &DataType) -> bool {
    let plain = plain_type(data_type);
    plain.is_string() || plain.is_null()
}

/// Replaces NaN by null.
pub(crate) fn without_nan(value: Expr, data_type: &DataType) -> Expr {
    match data_type {
        DataType::Float64 => nullif(value, lit(f64::NAN)),
        DataType::Float16 | DataType::Float32 => {
            nullif(cast(value, DataType::Float64), lit(f64::NAN))
        }
        _ => value,
    }
}

/// Parses text as a number; null where it is not a number.
pub(crate) fn read_number(text: Expr) -> Expr {
    without_nan(try_cast(trimmed(text), DataType::Float64), &DataType::Float64)
}

/// Parses text as an integer, with all its digits; null where it is not an integer.
fn read_whole(text: Expr) -> Expr {
    try_cast(trimmed(text), DataType::Int64)
}

/// Compares text as a number. Integers are compared as such, because a float cannot hold all of them.
pub(crate) fn compared(text: Expr, compare: impl Fn(Expr) -> Expr) -> Result<Expr> {
    let (whole, number) = (read_whole(text.clone()), read_number(text));
    Ok(when(whole.clone().is_not_null(), compare(whole)).otherwise(compare(number))?)
}

/// Parses text as an integer of a type, with all its digits; "3.0" is one as well.
pub(crate) fn read_any_whole(text: Expr, data_type: &DataType) -> Result<Expr> {
    let number = read_number(text.clone());
    let is_whole = number.clone().eq(trunc(vec![number.clone()]));
    let whole = when(is_whole, try_cast(number, data_type.clone())).end()?;
    Ok(coalesce(vec![try_cast(trimmed(text), data_type.clone()), whole]))
}

fn trimmed(text: Expr) -> Expr {
    btrim(vec![cast(text, DataType::Utf8)])
}

pub(crate) fn note_text(work: &AnalysisContext, name: &str, given: usize, unread: usize) {
    let failed = match unread {
        0 => String::new(),
        count => format!("; {count} of {given} values could not be read and count as missing"),
    };
    work.note(format!("column {name:?} holds text and was read as numbers{failed}"));
}

async fn counts(
    work: &AnalysisContext,
    frame: &DataFrame,
    text: &Expr,
    number: &Expr,
) -> Result<(usize, usize)> {
    let figures = vec![count(text.clone()), count(number.clone())];
    let figures = columns::figures(work, frame.clone(), figures).await?;
    Ok((figures[0], figures[1]))
}
