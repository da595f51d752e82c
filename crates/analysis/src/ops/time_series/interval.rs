//! Lengths of time, and the periods that they cut time into.
//!
//! A period begins at its label and ends before the next one. Periods below a day and of days are
//! counted from midnight of the first day, weeks from a Monday; months, quarters and years are
//! those of the calendar.

use crate::{
    error::{AnalysisError, Result},
    times::{DAY, HOUR, MINUTE, SECOND, date_of, days_of},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interval {
    /// Microseconds.
    Fixed(i64),
    Days(i64),
    Weeks(i64),
    /// Of the calendar, from the first month of the period of `align` months on.
    Months {
        every: i64,
        align: i64,
    },
    /// From Monday to Friday.
    Weekdays,
}

/// 1970 began on a Thursday.
const FIRST_MONDAY: i64 = -3;

impl Interval {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let wrong = || {
            let reason = format!(
                "{text:?} is no length of time; it is a number and a unit, such as 15min, 1h, 1d, \
                 1w, 1M, 1Q or 1y"
            );
            AnalysisError::parameter(path, reason)
        };
        let count: i64 = if number.is_empty() { 1 } else { number.parse().map_err(|_| wrong())? };
        let unit = Self::unit(unit.trim()).ok_or_else(wrong)?;
        unit.times(count).ok_or_else(wrong)
    }

    /// Parses a unit. `m` is a minute and `M` a month; otherwise case does not matter.
    fn unit(unit: &str) -> Option<Self> {
        let month = Self::Months { every: 1, align: 1 };
        // As pandas has them: "MS" begins months, "ms" are milliseconds.
        if matches!(unit, "M" | "MS" | "ME") {
            return Some(month);
        }
        Some(match unit.to_ascii_lowercase().as_str() {
            "us" | "microsecond" | "microseconds" => Self::Fixed(1),
            "ms" | "millisecond" | "milliseconds" => Self::Fixed(1000),
            "s" | "sec" | "second" | "seconds" => Self::Fixed(SECOND),
            "m" | "min" | "minute" | "minutes" | "t" => Self::Fixed(MINUTE),
            "h" | "hour" | "hours" | "hourly" => Self::Fixed(HOUR),
            "d" | "day" | "days" | "daily" => Self::Days(1),
            "b" | "business_day" | "weekday" | "weekdays" => Self::Weekdays,
            "w" | "week" | "weeks" | "weekly" | "w-mon" => Self::Weeks(1),
            "mo" | "month" | "months" | "monthly" => month,
            "q" | "qs" | "qe" | "quarter" | "quarters" | "quarterly" => {
                Self::Months { every: 3, align: 3 }
            }
            "y" | "ys" | "ye" | "a" | "year" | "years" | "yearly" | "annual" | "annually" => {
                Self::Months { every: 12, align: 12 }
            }
            _ => return None,
        })
    }

    fn times(self, count: i64) -> Option<Self> {
        // A thousand years are long enough, and nothing overflows.
        let within = |every: i64, max: i64| {
            every.checked_mul(count).filter(|every| (1..=max).contains(every))
        };
        Some(match self {
            Self::Fixed(micros) => Self::Fixed(within(micros, 366_000 * DAY)?),
            Self::Days(days) => Self::Days(within(days, 366_000)?),
            Self::Weeks(weeks) => Self::Weeks(within(weeks, 52_000)?),
            Self::Months { every, align } => Self::Months { every: within(every, 12_000)?, align },
            Self::Weekdays if count == 1 => Self::Weekdays,
            Self::Weekdays => return None,
        })
    }

    pub(super) fn is_calendar(self) -> bool {
        !matches!(self, Self::Fixed(_))
    }

    /// Tells whether the interval leads from midnight to midnight.
    pub(super) fn is_whole_days(self) -> bool {
        self.micros().is_none_or(|micros| micros % DAY == 0)
    }

    /// Its length, if that is always the same.
    pub(super) fn micros(self) -> Option<i64> {
        match self {
            Self::Fixed(micros) => Some(micros),
            Self::Days(days) => Some(days * DAY),
            Self::Weeks(weeks) => Some(7 * weeks * DAY),
            Self::Months { .. } | Self::Weekdays => None,
        }
    }

    /// Tells whether the beginning of the periods depends on that of the series.
    pub(super) fn depends_on_first(self) -> bool {
        match self {
            Self::Fixed(micros) => DAY % micros != 0,
            Self::Days(days) => days != 1,
            Self::Weeks(weeks) => weeks != 1,
            Self::Months { every, align } => every != align,
            Self::Weekdays => false,
        }
    }

    /// Returns the beginning of the first period of a series, from which periods are counted.
    pub(super) fn origin(self, first: i64) -> i64 {
        let day = first.div_euclid(DAY);
        match self {
            Self::Fixed(_) | Self::Days(_) | Self::Weekdays => day * DAY,
            Self::Weeks(_) => (day - (day - FIRST_MONDAY).rem_euclid(7)) * DAY,
            Self::Months { align, .. } => {
                let month = month_of(first);
                month - month.rem_euclid(align)
            }
        }
    }

    /// Returns the number of the period that a time is in.
    pub(super) fn period(self, time: i64, origin: i64) -> i64 {
        match self {
            Self::Months { every, .. } => (month_of(time) - origin).div_euclid(every),
            other => (time - origin).div_euclid(other.micros().unwrap_or(DAY)),
        }
    }

    /// Returns when a period begins.
    pub(super) fn begin(self, period: i64, origin: i64) -> i64 {
        match self {
            Self::Months { every, .. } => begin_of_month(origin + period * every),
            other => origin + period * other.micros().unwrap_or(DAY),
        }
    }

    /// Writes the interval: `15min`, `1d`, `1Q`.
    pub(super) fn text(self) -> String {
        let units =
            [(7 * DAY, "w"), (DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"), (1000, "ms")];
        match self {
            Self::Weekdays => "1b".to_owned(),
            Self::Months { every, .. } if every % 12 == 0 => format!("{}y", every / 12),
            Self::Months { every, .. } if every % 3 == 0 => format!("{}Q", every / 3),
            Self::Months { every, .. } => format!("{every}M"),
            other => {
                let micros = other.micros().unwrap_or_default();
                let unit = units.into_iter().find(|(unit, _)| micros % unit == 0);
                unit.map_or_else(
                    || format!("{micros}us"),
                    |(unit, name)| format!("{}{name}", micros / unit),
                )
            }
        }
    }
}

/// Returns the number of months since year 0.
pub(super) fn month_of(time: i64) -> i64 {
    let (year, month, _) = date_of(time.div_euclid(DAY));
    year * 12 + month - 1
}

pub(super) fn begin_of_month(month: i64) -> i64 {
    days_of(month.div_euclid(12), month.rem_euclid(12) + 1, 1) * DAY
}

/// Tells whether a time is from Monday to Friday.
pub(super) fn is_weekday(time: i64) -> bool {
    (time.div_euclid(DAY) - FIRST_MONDAY).rem_euclid(7) < 5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::parse;

    fn time(text: &str) -> i64 {
        parse(text).unwrap().micros
    }

    /// The beginning of the period of a time, in a series that begins with another.
    fn begin(interval: &str, first: &str, text: &str) -> i64 {
        let interval = Interval::parse("resample", interval).unwrap();
        let origin = interval.origin(time(first));
        interval.begin(interval.period(time(text), origin), origin)
    }

    #[test]
    fn periods_begin_where_they_should() {
        let cases = [
            ("15min", "2024-02-29T10:14:59", "2024-02-29T10:00"),
            ("1h", "2024-02-29T10:14:59", "2024-02-29T10:00"),
            ("1d", "2024-02-29T10:14:59", "2024-02-29"),
            ("1w", "2024-02-29T10:14:59", "2024-02-26"),
            ("w", "2024-02-26", "2024-02-26"),
            ("1M", "2024-02-29T10:14:59", "2024-02-01"),
            ("1Q", "2024-02-29T10:14:59", "2024-01-01"),
            ("year", "2024-02-29T10:14:59", "2024-01-01"),
            ("1w", "1969-12-31", "1969-12-29"),
            ("1M", "0999-12-31", "0999-12-01"),
        ];
        for (interval, text, wanted) in cases {
            assert_eq!(begin(interval, text, text), time(wanted), "{interval} {text}");
        }
        assert_eq!(begin("7h", "2024-01-01T05:00", "2024-01-02T01:00"), time("2024-01-01T21:00"));
        assert_eq!(begin("2M", "2024-02-11", "2024-05-02"), time("2024-04-01"));
        assert_eq!(begin("2w", "2024-02-29", "2024-03-10"), time("2024-02-26"));
    }

    #[test]
    fn lengths_are_read() {
        for (text, wanted) in [
            ("15min", "15min"),
            ("m", "1min"),
            ("M", "1M"),
            ("24h", "1d"),
            ("3M", "1Q"),
            ("4q", "1y"),
            ("90 s", "90s"),
            ("14 days", "2w"),
            ("1500ms", "1500ms"),
            ("b", "1b"),
        ] {
            assert_eq!(Interval::parse("x", text).unwrap().text(), wanted, "{text}");
        }
        for text in
            ["", "0d", "-1d", "1x", "d1", "99999999999999999999d", "9999999999999y", "1.5h", "2b"]
        {
            assert!(Interval::parse("x", text).is_err(), "{text}");
        }
    }
}
