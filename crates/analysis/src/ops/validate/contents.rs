//! What is written in a text: a number, a time or words.

use std::{cmp::Ordering, sync::LazyLock};

use datafusion::logical_expr::{Expr, ScalarUDF, lit, when};

use super::text;
use crate::{
    error::Result,
    times::{self, Time},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Number,
    Time,
    Words,
}

/// One function for all expressions, so that the planner sees that they are the same.
static CONTENT: LazyLock<ScalarUDF> =
    LazyLock::new(|| text::figure("content", |text| Content::of(text).figure()));

static ORDER: LazyLock<ScalarUDF> = LazyLock::new(|| {
    text::figure_of_two("order", |left, right| match compare(left, right) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })
});

impl Content {
    pub(super) const ALL: [Self; 3] = [Self::Number, Self::Time, Self::Words];

    /// Returns the kind of a text. Numbers come first, because a year is one as well.
    pub(super) fn of(text: &str) -> Self {
        if Number::read(text).is_some() {
            Self::Number
        } else if times::parse(text).is_some() {
            Self::Time
        } else {
            Self::Words
        }
    }

    fn figure(self) -> i64 {
        match self {
            Self::Number => 0,
            Self::Time => 1,
            Self::Words => 2,
        }
    }

    /// Returns an expression for whether a text has contents of this kind.
    pub(super) fn is_in(self, text: Expr) -> Expr {
        CONTENT.call(vec![text]).eq(lit(self.figure()))
    }

    /// Returns the texts that have contents of this kind, and null in the place of others.
    pub(super) fn only(self, text: Expr) -> Result<Expr> {
        Ok(when(self.is_in(text.clone()), text).end()?)
    }
}

/// Returns an expression that compares two texts: below, at or above 0 as the first is below, at or
/// above the second.
pub(super) fn order(left: Expr, right: Expr) -> Expr {
    ORDER.call(vec![left, right])
}

/// Compares numbers with numbers and times with times; all others as text.
fn compare(left: &str, right: &str) -> Ordering {
    if let (Some(left), Some(right)) = (Number::read(left), Number::read(right)) {
        return left.compare(right);
    }
    match (times::parse(left), times::parse(right)) {
        (Some(left), Some(right)) => compare_times(left, right),
        _ => left.cmp(right),
    }
}

/// Compares two times. If one has no zone, their local times are compared.
fn compare_times(left: Time, right: Time) -> Ordering {
    if left.is_zoned() && right.is_zoned() {
        left.micros.cmp(&right.micros)
    } else {
        left.on_clock().cmp(&right.on_clock())
    }
}

/// A number. Integers are kept beside the float, which cannot hold all their digits.
#[derive(Clone, Copy, Debug)]
struct Number {
    float: f64,
    whole: Option<i128>,
}

impl Number {
    /// Parses a number. Text with leading zeros or a plus sign is not a number but a code, which differs
    /// from the same digits written in another way.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
        if matches!(digits, [b'0', b'0'..=b'9', ..] | [b'+', ..]) {
            return None;
        }
        let float = text.parse::<f64>().ok().filter(|number| !number.is_nan())?;
        Some(Self { float, whole: text.parse().ok() })
    }

    fn compare(self, other: Self) -> Ordering {
        match (self.whole, other.whole) {
            (Some(whole), Some(other)) => whole.cmp(&other),
            _ => self.float.partial_cmp(&other.float).unwrap_or(Ordering::Equal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_texts_is_told_apart() {
        for text in ["1", " -2.5 ", "1e3", ".5", "2024", "-inf", "9007199254740993"] {
            assert_eq!(Content::of(text), Content::Number, "{text:?}");
        }
        for text in ["2024-01-01", "2024-05", "2024-01-01T10:00:00+02:00"] {
            assert_eq!(Content::of(text), Content::Time, "{text:?}");
        }
        for text in ["", "abc", "007", "+41", "NaN", "1,5", "10:00"] {
            assert_eq!(Content::of(text), Content::Words, "{text:?}");
        }
    }

    #[test]
    fn texts_are_compared_as_what_is_written_in_them() {
        let ascending = [
            ("9", "10"),
            ("-10", "-9"),
            ("9007199254740992", "9007199254740993"),
            ("0.5", "18446744073709551616"),
            ("2024-01-01T23:00:00Z", "2024-01-01T20:00:00-05:00"),
            ("2024-01-01", "2024-01-01T20:00:00-05:00"),
            ("2023", "2024-05-01"),
            ("10", "9 apples"),
            ("007", "07"),
            ("a", "b"),
        ];
        for (left, right) in ascending {
            assert_eq!(compare(left, right), Ordering::Less, "{left} {right}");
            assert_eq!(compare(right, left), Ordering::Greater, "{right} {left}");
        }
        let same =
            [("1", "1.0"), ("0", "-0.0"), ("2024-01-01T01:00:00+01:00", "2024-01-01 00:00Z")];
        for (left, right) in same {
            assert_eq!(compare(left, right), Ordering::Equal, "{left} {right}");
        }
    }
}
