//! Columns as numbers.

use datafusion::{
    arrow::datatypes::DataType,
    functions::{core::expr_fn::nullif, string::expr_fn::btrim},
    functions_aggregate::expr_fn::count,
    logical_expr::{Expr, cast, lit, try_cast},
    prelude::DataFrame,
};

use super::columns;
use crate::{
    error::{AnalysisError, Result},
    work::Work,
};

/// A column as a number: as it is, or read from text, of which a note is made. NaN counts as
/// missing, as it does for pandas.
pub(crate) async fn numeric(
    work: &Work,
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

/// What a dictionary holds; any other type as it is.
pub(crate) fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain_type(values),
        other => other,
    }
}

/// A column without any value may be text as well.
pub(crate) fn is_text(data_type: &DataType) -> bool {
    let plain = plain_type(data_type);
    plain.is_string() || plain.is_null()
}

/// NaN becomes null.
pub(crate) fn without_nan(value: Expr, data_type: &DataType) -> Expr {
    match data_type {
        DataType::Float64 => nullif(value, lit(f64::NAN)),
        DataType::Float16 | DataType::Float32 => {
            nullif(cast(value, DataType::Float64), lit(f64::NAN))
        }
        _ => value,
    }
}

/// Text as a number; null where it is none.
pub(crate) fn read_number(text: Expr) -> Expr {
    let text = btrim(vec![cast(text, DataType::Utf8)]);
    without_nan(try_cast(text, DataType::Float64), &DataType::Float64)
}

pub(crate) fn note_text(work: &Work, name: &str, given: usize, unread: usize) {
    let failed = match unread {
        0 => String::new(),
        count => format!("; {count} of {given} values could not be read and count as missing"),
    };
    work.note(format!("column {name:?} holds text and was read as numbers{failed}"));
}

async fn counts(
    work: &Work,
    frame: &DataFrame,
    text: &Expr,
    number: &Expr,
) -> Result<(usize, usize)> {
    let figures = vec![count(text.clone()), count(number.clone())];
    let figures = columns::figures(work, frame.clone(), figures).await?;
    Ok((figures[0], figures[1]))
}
