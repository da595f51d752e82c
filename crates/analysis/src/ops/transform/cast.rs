//! Converts values into another type.

use datafusion::{
    arrow::{
        compute::can_cast_types,
        datatypes::{DataType, TimeUnit},
        util::display::array_value_to_string,
    },
    functions::expr_fn::{btrim, lower},
    functions_aggregate::expr_fn::count,
    logical_expr::{Expr, cast, lit, try_cast, when},
    prelude::{DataFrame, ident},
};
use serde_json::Value;

use crate::{
    error::{AnalysisError, Result},
    ops::{
        columns,
        numbers::{is_text, plain_type, read_any_whole, read_number},
        params::{self, ParamName, pairs},
        row_order::OrderedRows,
        time_columns::{self, Numbers},
    },
    times::Time,
    work::AnalysisContext,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Int,
    Float,
    Text,
    Bool,
    Date,
    DateTime,
}

const TARGETS: &[(&str, Target)] = &[
    ("int", Target::Int),
    ("float", Target::Float),
    ("text", Target::Text),
    ("bool", Target::Bool),
    ("date", Target::Date),
    ("datetime", Target::DateTime),
    ("integer", Target::Int),
    ("number", Target::Float),
    ("string", Target::Text),
    ("str", Target::Text),
    ("boolean", Target::Bool),
    ("timestamp", Target::DateTime),
    ("int64", Target::Int),
    ("int32", Target::Int),
    ("bigint", Target::Int),
    ("float64", Target::Float),
    ("float32", Target::Float),
    ("double", Target::Float),
    ("numeric", Target::Float),
    ("object", Target::Text),
    ("category", Target::Text),
    ("varchar", Target::Text),
    ("datetime64[ns]", Target::DateTime),
    ("datetime64", Target::DateTime),
];

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Int => "a whole number",
            Self::Float => "a number",
            Self::Text => "text",
            Self::Bool => "true or false",
            Self::Date => "a date",
            Self::DateTime => "a time",
        }
    }
}

/// Applies `{"price": "float"}`. A value that cannot be converted becomes null, which is noted, or is an
/// error if `strict`.
pub(super) async fn apply(
    work: &AnalysisContext,
    rows: OrderedRows,
    path: &str,
    value: &Value,
    strict: bool,
) -> Result<OrderedRows> {
    let frame = rows.table()?;
    let mut wanted: Vec<(ParamName, Target, Expr)> = Vec::new();
    for (column, target) in pairs(path, value)? {
        work.column(&frame, &column.path, &column.name)?;
        let target = params::text(&column.path, target)?;
        let target = params::choice(&column.path, target, TARGETS)?;
        let data_type = columns::data_type(&frame, &column.name);
        let numbers = match target {
            Target::Date | Target::DateTime => Numbers::of(work, &frame, &column.name).await?,
            _ => Numbers::default(),
        };
        let value = converted(ident(&column.name), plain_type(&data_type), target, numbers);
        let value = value.ok_or_else(|| {
            let reason = format!(
                "column {:?} holds {data_type}, which cannot become {}",
                column.name,
                target.name()
            );
            AnalysisError::parameter(&column.path, reason)
        })?;
        wanted.push((column, target, value));
    }
    check(work, &frame, &wanted, strict).await?;
    rows.with(wanted.into_iter().map(|(column, _, value)| (column.name, value)).collect())
}

fn converted(value: Expr, data_type: &DataType, target: Target, numbers: Numbers) -> Option<Expr> {
    let is_plain = data_type.is_numeric() || *data_type == DataType::Boolean;
    let text = || btrim(vec![cast(value.clone(), DataType::Utf8)]);
    let has_fractions = data_type.is_numeric() && !data_type.is_integer();
    let converted = match target {
        Target::Text if can_cast_types(data_type, &DataType::Utf8) => cast(value, DataType::Utf8),
        Target::Int if is_text(data_type) => read_any_whole(value, &DataType::Int64).ok()?,
        Target::Int if has_fractions => without_fraction(value, data_type).ok()?,
        Target::Int if is_plain => try_cast(value, DataType::Int64),
        Target::Float if is_text(data_type) => read_number(value),
        Target::Float if is_plain => try_cast(value, DataType::Float64),
        Target::Bool if is_text(data_type) => try_cast(lower(text()), DataType::Boolean),
        Target::Bool if *data_type == DataType::Boolean => value,
        Target::Bool if is_plain => value.not_eq(lit(0)),
        Target::Date | Target::DateTime => {
            let moment = DataType::Timestamp(TimeUnit::Microsecond, None);
            let is_date = target == Target::Date;
            match data_type {
                given if is_text(given) || given.is_numeric() => {
                    // A date is that of the clock that it was written by.
                    let of: fn(Time) -> Option<i64> = match is_date {
                        true => |time| Some(time.on_clock()),
                        false => |time| Some(time.micros),
                    };
                    let time = cast(time_columns::figure(value, given, numbers, of), moment);
                    if is_date { cast(time, DataType::Date32) } else { time }
                }
                // In the zone of the column, if it has one.
                time if time.is_temporal() && is_date => try_cast(value, DataType::Date32),
                time if time.is_temporal() => try_cast(value, moment),
                _ => return None,
            }
        }
        Target::Int | Target::Float | Target::Text | Target::Bool => return None,
    };
    Some(converted)
}

/// Converts a number into an integer; null where it has a fraction.
fn without_fraction(value: Expr, data_type: &DataType) -> Result<Expr> {
    let whole = try_cast(value.clone(), DataType::Int64);
    let is_same = try_cast(whole.clone(), data_type.clone()).eq(value);
    Ok(when(is_same, whole).end()?)
}

/// Counts the values that cannot be converted, in one pass.
async fn check(
    work: &AnalysisContext,
    frame: &DataFrame,
    wanted: &[(ParamName, Target, Expr)],
    strict: bool,
) -> Result<()> {
    let uncertain: Vec<&(ParamName, Target, Expr)> =
        wanted.iter().filter(|(_, target, _)| *target != Target::Text).collect();
    let counts = uncertain.iter().flat_map(|(column, _, value)| {
        [count(columns::value(frame, &column.name)), count(value.clone())]
    });
    let counts: Vec<Expr> = counts.collect();
    if counts.is_empty() {
        return Ok(());
    }
    let counts = columns::figures(work, frame.clone(), counts).await?;
    for ((column, target, value), counts) in uncertain.into_iter().zip(counts.chunks(2)) {
        let (given, read) = (counts[0], counts[1]);
        let failed = given.saturating_sub(read);
        if failed == 0 {
            continue;
        }
        let ParamName { path, name } = column;
        let example = example(work, frame, name, value).await?;
        let failed = format!(
            "{failed} of {given} values of column {name:?} cannot be read as {}, such as {example:?}",
            target.name()
        );
        if strict {
            return Err(AnalysisError::parameter(path, failed));
        }
        work.note(format!("{failed}; they are null now"));
    }
    Ok(())
}

/// Returns a value that cannot be converted, as an example.
async fn example(
    work: &AnalysisContext,
    frame: &DataFrame,
    name: &str,
    value: &Expr,
) -> Result<String> {
    let given = columns::value(frame, name);
    let failed = given.clone().is_not_null().and(value.clone().is_null());
    let failed = frame.clone().filter(failed)?.select(vec![given])?.limit(0, Some(1))?;
    let batches = work.collect(failed).await?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0);
    Ok(batch.and_then(|batch| array_value_to_string(batch.column(0), 0).ok()).unwrap_or_default())
}
