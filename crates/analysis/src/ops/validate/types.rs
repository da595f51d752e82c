//! Rules about the type of a value.

use std::sync::LazyLock;

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    logical_expr::{Expr, cast, lit, not},
    prelude::{abs, floor},
};
use regex::Regex;
use serde::de::IgnoredAny;

use super::{bounds::on_clock, entry::Coerce, plan::CheckedColumn, text};
use crate::{
    error::Result,
    ops::{names::word, numbers::read_number},
    times::{self, Precision},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueType {
    Numeric,
    Integer,
    Text,
    Boolean,
    Date,
    DateTime,
    Email,
    Url,
    Uuid,
    Json,
}

const KINDS: [(&str, &[&str], ValueType); 10] = [
    ("numeric", &["number", "float", "double", "decimal"], ValueType::Numeric),
    ("integer", &["int", "whole"], ValueType::Integer),
    ("string", &["text", "str"], ValueType::Text),
    ("boolean", &["bool"], ValueType::Boolean),
    ("date", &["day"], ValueType::Date),
    ("datetime", &["timestamp", "date_time", "time"], ValueType::DateTime),
    ("email", &["e_mail", "mail"], ValueType::Email),
    ("url", &["uri", "link"], ValueType::Url),
    ("uuid", &["guid"], ValueType::Uuid),
    ("json", &["object", "array"], ValueType::Json),
];

/// One `@`, a name before it and a domain with a dot after it, without spaces.
const EMAIL: &str = r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$";
/// A scheme, a host and no spaces.
const URL: &str = r"^[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]+[^\s]*$";
const UUID: &str = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";

/// Returns a condition for values that are not of a type, and the message about them.
pub(super) fn violated(
    path: &str,
    kind: &str,
    subject: &CheckedColumn,
    coerce: Coerce,
) -> Result<(Expr, String)> {
    let kind = word(path, kind, &KINDS)?;
    let name = KINDS.iter().find(|(_, _, known)| *known == kind).map_or("", |(name, _, _)| name);
    let article = if matches!(kind, ValueType::Integer | ValueType::Email) { "an" } else { "a" };
    let message = match kind {
        ValueType::Numeric => "is not numeric".to_owned(),
        ValueType::Text => "is not text".to_owned(),
        ValueType::Json => "is not JSON".to_owned(),
        ValueType::Url | ValueType::Uuid => format!("is not {article} {}", name.to_uppercase()),
        _ => format!("is not {article} {name}"),
    };
    Ok((not_of(kind, subject, coerce)?, message))
}

/// Returns what text of a type is read as, if that is more than text.
pub(super) fn written_as(path: &str, kind: &str) -> Result<Option<&'static str>> {
    Ok(match word(path, kind, &KINDS)? {
        ValueType::Numeric | ValueType::Integer => Some("a number"),
        ValueType::Boolean => Some("true or false"),
        _ => None,
    })
}

fn not_of(kind: ValueType, subject: &CheckedColumn, coerce: Coerce) -> Result<Expr> {
    let column = subject.column.clone();
    let (never, always) = (lit(false), subject.is_there());
    let data_type = &subject.data_type;
    Ok(match kind {
        _ if *data_type == DataType::Null => never,
        _ if data_type.is_string() => not_written_as(kind, subject, coerce)?,
        ValueType::Numeric if data_type.is_numeric() => never,
        ValueType::Integer if data_type.is_integer() => never,
        ValueType::Integer if data_type.is_numeric() => {
            not(is_whole(cast(column, DataType::Float64)))
        }
        ValueType::Boolean if *data_type == DataType::Boolean => never,
        ValueType::Boolean if data_type.is_numeric() && coerce == Coerce::Anything => {
            column.in_list(vec![lit(0), lit(1)], true)
        }
        ValueType::Date if matches!(data_type, DataType::Date32) => never,
        ValueType::Date if is_time(data_type) => {
            let plain = DataType::Timestamp(TimeUnit::Microsecond, None);
            let time = cast(on_clock(subject), plain.clone());
            cast(cast(time.clone(), DataType::Date32), plain).not_eq(time)
        }
        ValueType::DateTime if is_time(data_type) || *data_type == DataType::Date32 => never,
        ValueType::Json if !is_time(data_type) && *data_type != DataType::Date32 => never,
        _ => always,
    })
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _) | DataType::Date64)
}

/// Returns a condition for integers. Infinity is excluded, because it is its own floor.
fn is_whole(number: Expr) -> Expr {
    floor(number.clone()).eq(number.clone()).and(abs(number).lt(lit(f64::INFINITY)))
}

fn not_written_as(kind: ValueType, subject: &CheckedColumn, coerce: Coerce) -> Result<Expr> {
    let text = cast(subject.column.clone(), DataType::Utf8);
    let number = read_number(subject.column.clone());
    let is_not = |name: &str, test: fn(&str) -> bool| {
        not(text::predicate(name, test).call(vec![text.clone()]))
    };
    Ok(match kind {
        ValueType::Text => lit(false),
        ValueType::Numeric | ValueType::Integer | ValueType::Boolean
            if coerce == Coerce::Nothing =>
        {
            subject.is_there()
        }
        ValueType::Numeric => number.is_null().and(subject.is_there()),
        ValueType::Integer => subject.unless(is_whole(number))?,
        ValueType::Boolean if coerce == Coerce::Anything => is_not("is_boolean_or_bit", |text| {
            ["true", "false", "1", "0"].contains(&text.trim().to_lowercase().as_str())
        }),
        ValueType::Boolean => is_not("is_boolean", |text| {
            ["true", "false"].contains(&text.trim().to_lowercase().as_str())
        }),
        ValueType::Date => is_not("is_date", |text| {
            times::parse(text).is_some_and(|time| time.precision == Precision::Day)
        }),
        ValueType::DateTime => is_not("is_datetime", |text| {
            times::parse(text).is_some_and(|time| time.precision >= Precision::Day)
        }),
        ValueType::Json => {
            is_not("is_json", |text| serde_json::from_str::<IgnoredAny>(text).is_ok())
        }
        ValueType::Email => is_not("is_email", |text| {
            static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(EMAIL).ok());
            PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text)) && !text.contains("..")
        }),
        ValueType::Url => is_not("is_url", |text| {
            static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(URL).ok());
            PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
        }),
        ValueType::Uuid => is_not("is_uuid", |text| {
            static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(UUID).ok());
            PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
        }),
    })
}
