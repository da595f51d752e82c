//! Columns of text that hold times.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{AsArray, BooleanArray, StringArray},
        datatypes::DataType,
    },
    error::Result as EngineResult,
    functions::expr_fn::substr,
    functions_aggregate::expr_fn::count,
    logical_expr::{ColumnarValue, Expr, Volatility, cast, create_udf, lit},
    prelude::{DataFrame, ident},
};

use super::{Numbers, figure};
use crate::{
    error::Result,
    ops::{
        columns,
        numbers::{NumericOrder, order},
    },
    times::{Precision, Time, parse},
    work::AnalysisContext,
};

/// The form in which a time is written. Texts of the same form sort like their times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TimeForm {
    /// An example of the form, with a zero for every digit before the zone.
    example: Box<[u8]>,
    /// The offset of the zone, which is the same in all texts.
    zone: usize,
}

impl TimeForm {
    /// Returns the form of a text, if it is a time.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let zone = if parse(text)?.is_zoned() { zone_start(text) } else { text.len() };
        let mut example: Box<[u8]> = text.as_bytes().into();
        for byte in example[..zone].iter_mut().filter(|byte| byte.is_ascii_digit()) {
            *byte = b'0';
        }
        Some(Self { example, zone })
    }

    /// Tells whether a text has this form. Such a text may still not be a time, such as 2024-02-30.
    pub(crate) fn has(&self, text: &str) -> bool {
        let (text, example) = (text.as_bytes(), &self.example);
        let is_alike = |(byte, of): (&u8, &u8)| byte == of || *of == b'0' && byte.is_ascii_digit();
        text.len() == example.len()
            && text[self.zone..] == example[self.zone..]
            && text[..self.zone].iter().zip(&example[..self.zone]).all(is_alike)
    }

    /// Returns an expression for whether a text has another form.
    fn is_other(&self, text: Expr) -> Expr {
        let form = self.clone();
        let run = move |values: &[ColumnarValue]| -> EngineResult<ColumnarValue> {
            let values = ColumnarValue::values_to_arrays(values)?;
            let texts = values[0].as_string::<i32>().iter();
            let others: BooleanArray = texts.map(|text| text.map(|text| !form.has(text))).collect();
            Ok(ColumnarValue::Array(Arc::new(others)))
        };
        let (types, result) = (vec![DataType::Utf8], DataType::Boolean);
        let is_other = create_udf("is_other", types, result, Volatility::Immutable, Arc::new(run));
        is_other.call(vec![cast(text, DataType::Utf8)])
    }
}

/// Returns where the zone of a time begins: after the date and the time of day.
fn zone_start(text: &str) -> usize {
    let bytes = text.as_bytes();
    let start = text.len() - text.trim_start().len();
    let is_end_of_day = |byte: &u8| matches!(byte, b'T' | b't' | b' ');
    let day = bytes[start..].iter().position(is_end_of_day).unwrap_or_default();
    let clock = start + day + 1;
    let is_clock = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b',');
    clock + bytes[clock..].iter().take_while(is_clock).count()
}

/// How the texts of a column are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    /// As texts: none is a time, or all have the same form.
    Plain,
    /// As times, because all of them are.
    Times,
    /// As texts, though some are times.
    Mixed { given: usize, unread: usize },
}

impl Texts {
    /// Decides for a column that is compared with times, which are all written in `form`, or in
    /// different forms if that is none.
    pub(crate) async fn of(
        work: &AnalysisContext,
        frame: &DataFrame,
        name: &str,
        form: Option<&TimeForm>,
    ) -> Result<Self> {
        let column = ident(name);
        if let Some(form) = form {
            let others = frame.clone().filter(form.is_other(column.clone()))?;
            let other = others.select(vec![column.clone()])?.limit(0, Some(1))?;
            if work.collect(other).await?.iter().all(|batch| batch.num_rows() == 0) {
                return Ok(Self::Plain);
            }
        }
        let figures = vec![count(column.clone()), count(moment(column))];
        let figures = columns::figures(work, frame.clone(), figures).await?;
        Ok(match (figures[0], figures[1]) {
            (_, 0) => Self::Plain,
            (given, read) if given == read => Self::Times,
            (given, read) => Self::Mixed { given, unread: given.saturating_sub(read) },
        })
    }
}

pub(crate) fn note_texts(work: &AnalysisContext, name: &str, texts: Texts) {
    match texts {
        Texts::Plain => {}
        Texts::Times => work.note(format!("column {name:?} holds text and was read as times")),
        Texts::Mixed { given, unread } => work.note(format!(
            "column {name:?} was compared as text: {unread} of {given} values could not be read \
             as times"
        )),
    }
}

/// Parses a text that is meant as a time: it has a day, and is not a number.
pub(crate) fn meant(text: &str) -> Option<Time> {
    let is_number = text.trim().bytes().all(|byte| byte.is_ascii_digit());
    parse(text).filter(|time| time.precision >= Precision::Day && !is_number)
}

/// Converts a column of text so that it can be compared with `with`. If that has no zone, local times
/// are compared.
pub(crate) fn comparable(text: Expr, with: Time) -> Expr {
    match with.is_zoned() {
        true => moment(text),
        false => figure(text, &DataType::Utf8, Numbers::default(), |time| Some(time.on_clock())),
    }
}

fn moment(text: Expr) -> Expr {
    figure(text, &DataType::Utf8, Numbers::default(), |time| Some(time.micros))
}

/// The number of digits that [`with_time`] puts before a text.
const TIME_DIGITS: usize = 19;

/// An offset that makes every time positive, so that its digits sort like the time.
const BEFORE_ALL: i64 = 1_000_000_000_000_000_000;

/// Puts the time before each text, so that the smallest text is that of the first time.
pub(crate) fn with_time(text: Expr) -> Expr {
    let run = |values: &[ColumnarValue]| -> EngineResult<ColumnarValue> {
        let values = ColumnarValue::values_to_arrays(values)?;
        let texts = values[0].as_string::<i32>().iter();
        let timed = texts.map(|text| {
            let text = text?;
            let time = parse(text)?.micros.saturating_add(BEFORE_ALL);
            Some(format!("{time:0TIME_DIGITS$}{text}"))
        });
        Ok(ColumnarValue::Array(Arc::new(timed.collect::<StringArray>())))
    };
    let types = vec![DataType::Utf8];
    let with_time =
        create_udf("with_time", types, DataType::Utf8, Volatility::Immutable, Arc::new(run));
    with_time.call(vec![cast(text, DataType::Utf8)])
}

/// Removes the time that [`with_time`] has put before a text.
pub(crate) fn without_time(timed: Expr) -> Expr {
    substr(timed, lit(TIME_DIGITS as i64 + 1))
}

/// How the values of a column are sorted.
#[derive(Clone, Debug)]
pub(crate) enum ValueOrder {
    /// By the values themselves.
    Plain(Expr),
    /// As numbers, because all texts are.
    Number(Expr),
    /// As times, because all texts are, in different forms.
    Moment(Expr),
}

impl ValueOrder {
    /// Decides how a column is sorted, and notes if text is read as numbers or times. Times that all
    /// have the same form stay text.
    pub(crate) async fn of(work: &AnalysisContext, frame: &DataFrame, name: &str) -> Result<Self> {
        let text = match order(work, frame, name).await? {
            NumericOrder::Number(number) => return Ok(Self::Number(number)),
            NumericOrder::Plain(text) => text,
        };
        let plain = Self::Plain(columns::value(frame, name));
        let Some(form) = text.and_then(|text| TimeForm::of(&text)) else { return Ok(plain) };
        let texts = Texts::of(work, frame, name, Some(&form)).await?;
        if texts != Texts::Times {
            return Ok(plain);
        }
        note_texts(work, name, texts);
        Ok(Self::Moment(moment(ident(name))))
    }
}

/// Returns the expression that rows are sorted by for a column.
pub(crate) async fn sort_value(
    work: &AnalysisContext,
    frame: &DataFrame,
    name: &str,
) -> Result<Expr> {
    let order = ValueOrder::of(work, frame, name).await?;
    let (ValueOrder::Plain(value) | ValueOrder::Number(value) | ValueOrder::Moment(value)) = order;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_form_are_in_the_order_of_their_times() {
        for (text, alike, other) in [
            ("2024-01-02", "1999-12-31", "2024/01/02"),
            ("2024-01-02", "2024-02-30", "2024-01-02 "),
            ("2024-01-02T05:00:00", "2024-01-02T06:30:59", "2024-01-02 05:00:00"),
            ("2024-01-02T05:00:00", "2024-01-02T05:00:01", "2024-01-02T05:00:00Z"),
            ("2024-01-02T05:00:00Z", "2024-01-02T04:00:00Z", "2024-01-02T05:00:00.5Z"),
            ("2024-01-02T05:00+02:00", "2024-06-02T05:00+02:00", "2024-01-02T05:00+01:00"),
            (" 2024-01-02 05:00 -0500", " 2024-01-03 07:00 -0500", " 2024-01-02 05:00 -0600"),
            ("20240102T0500", "20231231T2359", "2024-01-02T05"),
        ] {
            let form = TimeForm::of(text).unwrap();
            assert!(form.has(text) && form.has(alike), "{text} {alike}");
            assert_eq!(TimeForm::of(text).as_ref(), Some(&form));
            assert!(!form.has(other), "{text} {other}");
        }
        assert_eq!(TimeForm::of("2024-01-02T05:00Z"), TimeForm::of("1999-12-31T23:59Z"));
        assert_ne!(TimeForm::of("2024-01-02T05:00Z"), TimeForm::of("2024-01-02T05:00z"));
        assert_eq!(TimeForm::of("soon"), None);
    }

    #[test]
    fn numbers_and_months_are_not_meant_as_times() {
        for text in ["2024-01-02", " 2024/01/02", "2024-01-02T05:00:00+02:00", "20240102T05"] {
            assert!(meant(text).is_some(), "{text}");
        }
        for text in ["2024", "20240102", "2024-01", "soon", ""] {
            assert!(meant(text).is_none(), "{text}");
        }
    }
}
