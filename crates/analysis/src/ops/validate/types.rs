//! Rules about the type of a value.

use std::sync::LazyLock;

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    logical_expr::{Expr, cast, lit, not},
    prelude::{abs, floor},
};
use regex::Regex;
use serde::de::IgnoredAny;

use super::{bounds::on_clock, entry::Coerce, plan::Subject, text};
use crate::{
    error::Result,
    ops::{names::word, numbers::read_number},
    times::{self, Precision},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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

const KINDS: [(&str, &[&str], Kind); 10] = [
    ("numeric", &["number", "float", "double", "decimal"], Kind::Numeric),
    ("integer", &["int", "whole"], Kind::Integer),
    ("string", &["text", "str"], Kind::Text),
    ("boolean", &["bool"], Kind::Boolean),
    ("date", &["day"], Kind::Date),
    ("datetime", &["timestamp", "date_time", "time"], Kind::DateTime),
    ("email", &["e_mail", "mail"], Kind::Email),
    ("url", &["uri", "link"], Kind::Url),
    ("uuid", &["guid"], Kind::Uuid),
    ("json", &["object", "array"], Kind::Json),
];

/// One `@`, a name before it and a domain with a dot after it, without spaces.
const EMAIL: &str = r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$";
/// A scheme, a host and no spaces.
const URL: &str = r"^[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]+[^\s]*$";
const UUID: &str = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";

/// When a value is not of a type, and how that is said.
pub(super) fn violated(
    path: &str,
    kind: &str,
    subject: &Subject,
    coerce: Coerce,
) -> Result<(Expr, String)> {
    let kind = word(path, kind, &KINDS)?;
    let name = KINDS.iter().find(|(_, _, known)| *known == kind).map_or("", |(name, _, _)| name);
    let article = if matches!(kind, Kind::Integer | Kind::Email) { "an" } else { "a" };
    let message = match kind {
        Kind::Numeric => "is not numeric".to_owned(),
        Kind::Text => "is not text".to_owned(),
        Kind::Json => "is not JSON".to_owned(),
        Kind::Url | Kind::Uuid => format!("is not {article} {}", name.to_uppercase()),
        _ => format!("is not {article} {name}"),
    };
    Ok((not_of(kind, subject, coerce)?, message))
}

/// What text of a type reads as, if that is more than text.
pub(super) fn written_as(path: &str, kind: &str) -> Result<Option<&'static str>> {
    Ok(match word(path, kind, &KINDS)? {
        Kind::Numeric | Kind::Integer => Some("a number"),
        Kind::Boolean => Some("true or false"),
        _ => None,
    })
}

fn not_of(kind: Kind, subject: &Subject, coerce: Coerce) -> Result<Expr> {
    let column = subject.column.clone();
    let (never, always) = (lit(false), subject.is_there());
    let data_type = &subject.data_type;
    Ok(match kind {
        _ if *data_type == DataType::Null => never,
        _ if data_type.is_string() => not_written_as(kind, subject, coerce)?,
        Kind::Numeric if data_type.is_numeric() => never,
        Kind::Integer if data_type.is_integer() => never,
        Kind::Integer if data_type.is_numeric() => not(is_whole(cast(column, DataType::Float64))),
        Kind::Boolean if *data_type == DataType::Boolean => never,
        Kind::Boolean if data_type.is_numeric() && coerce == Coerce::Anything => {
            column.in_list(vec![lit(0), lit(1)], true)
        }
        Kind::Date if matches!(data_type, DataType::Date32) => never,
        Kind::Date if is_time(data_type) => {
            let plain = DataType::Timestamp(TimeUnit::Microsecond, None);
            let time = cast(on_clock(subject), plain.clone());
            cast(cast(time.clone(), DataType::Date32), plain).not_eq(time)
        }
        Kind::DateTime if is_time(data_type) || *data_type == DataType::Date32 => never,
        Kind::Json if !is_time(data_type) && *data_type != DataType::Date32 => never,
        _ => always,
    })
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _) | DataType::Date64)
}

/// Infinity is its own floor, on either side of zero.
fn is_whole(number: Expr) -> Expr {
    floor(number.clone()).eq(number.clone()).and(abs(number).lt(lit(f64::INFINITY)))
}

fn not_written_as(kind: Kind, subject: &Subject, coerce: Coerce) -> Result<Expr> {
    let text = cast(subject.column.clone(), DataType::Utf8);
    let number = read_number(subject.column.clone());
    let is_not = |name: &str, test: fn(&str) -> bool| {
        not(text::predicate(name, test).call(vec![text.clone()]))
    };
    Ok(match kind {
        Kind::Text => lit(false),
        Kind::Numeric | Kind::Integer | Kind::Boolean if coerce == Coerce::Nothing => {
            subject.is_there()
        }
        Kind::Numeric => number.is_null().and(subject.is_there()),
        Kind::Integer => subject.unless(is_whole(number))?,
        Kind::Boolean if coerce == Coerce::Anything => is_not("is_boolean_or_bit", |text| {
            ["true", "false", "1", "0"].contains(&text.trim().to_lowercase().as_str())
        }),
        Kind::Boolean => is_not("is_boolean", |text| {
            ["true", "false"].contains(&text.trim().to_lowercase().as_str())
        }),
        Kind::Date => is_not("is_date", |text| {
            times::parse(text).is_some_and(|time| time.precision == Precision::Day)
        }),
        Kind::DateTime => is_not("is_datetime", |text| {
            times::parse(text).is_some_and(|time| time.precision >= Precision::Day)
        }),
        Kind::Json => is_not("is_json", |text| serde_json::from_str::<IgnoredAny>(text).is_ok()),
        Kind::Email => is_not("is_email", |text| {
            static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(EMAIL).ok());
            PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text)) && !text.contains("..")
        }),
        Kind::Url => is_not("is_url", |text| {
            static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(URL).ok());
            PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
        }),
        Kind::Uuid => is_not("is_uuid", |text| {
            static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(UUID).ok());
            PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(text))
        }),
    })
}
