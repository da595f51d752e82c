//! Parses points in time as microseconds since 1970.

mod clock;
#[cfg(test)]
mod tests;

pub(crate) use clock::{last_of_clock, of_clock, on_clock, zone_named};

pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

/// How exactly a time was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Precision {
    Year,
    Month,
    Day,
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    /// Of the world's time if it has a zone, else of a clock somewhere.
    pub(crate) micros: i64,
    /// How far the clock that it was written by is from the world's time, if it has a zone.
    pub(crate) offset: Option<i64>,
    pub(crate) precision: Precision,
}

impl Time {
    pub(crate) fn is_zoned(self) -> bool {
        self.offset.is_some()
    }

    /// What the clock shows that it was written by.
    pub(crate) fn on_clock(self) -> i64 {
        self.micros + self.offset.unwrap_or_default()
    }
}

/// The number of days from 1970 to a date of the Gregorian calendar.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the leap day is its last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The year, month and day of a number of days since 1970.
pub(crate) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Reads a time in a form of ISO 8601: a year, month or day, or a day and a time, with or without
/// a zone; slashes may stand for dashes and a space for the T.
pub(crate) fn parse(text: &str) -> Option<Time> {
    let mut rest = Rest(text.trim().as_bytes());
    let year = rest.number(4)?;
    let (month, day, precision) = rest.date()?;
    let is_date =
        (1..=12).contains(&month) && day >= 1 && date_of(days_of(year, month, day)).2 == day;
    if !is_date {
        return None;
    }
    let mut time = Time { micros: days_of(year, month, day) * DAY, offset: None, precision };
    if precision == Precision::Day && (rest.skip(b'T') || rest.skip(b't') || rest.skip(b' ')) {
        time.micros += rest.time_of_day()?;
        time.precision = Precision::Time;
        time.offset = rest.zone()?;
        time.micros -= time.offset.unwrap_or_default();
    }
    rest.0.is_empty().then_some(time)
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn skip(&mut self, byte: u8) -> bool {
        let is_next = self.0.first() == Some(&byte);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    fn has_digit(&self) -> bool {
        self.0.first().is_some_and(u8::is_ascii_digit)
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number.iter().try_fold(0, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
        })
    }

    fn date(&mut self) -> Option<(i64, i64, Precision)> {
        if self.0.is_empty() {
            return Some((1, 1, Precision::Year));
        }
        let separator = [b'-', b'/'].into_iter().find(|&separator| self.skip(separator));
        let month = self.number(2)?;
        let Some(separator) = separator else {
            return Some((month, self.number(2)?, Precision::Day));
        };
        if !self.skip(separator) {
            return Some((month, 1, Precision::Month));
        }
        Some((month, self.number(2)?, Precision::Day))
    }

    fn time_of_day(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        let (mut minute, mut second, mut fraction) = (0, 0, 0);
        let is_spaced = self.skip(b':');
        if is_spaced || self.has_digit() {
            minute = self.number(2)?;
            if is_spaced && self.skip(b':') || !is_spaced && self.has_digit() {
                second = self.number(2)?;
                if self.skip(b'.') || self.skip(b',') {
                    fraction = self.fraction()?;
                }
            }
        }
        let is_time = hour < 24 && minute < 60 && second < 60;
        is_time.then_some(hour * HOUR + minute * MINUTE + second * SECOND + fraction)
    }

    /// Digits after the point, of which the first six count.
    fn fraction(&mut self) -> Option<i64> {
        let mut unit = SECOND;
        let mut fraction = 0;
        if !self.has_digit() {
            return None;
        }
        while self.has_digit() {
            unit /= 10;
            fraction += unit * self.number(1)?;
        }
        Some(fraction)
    }

    /// The distance from the world's time; the outer option is none if it cannot be read.
    fn zone(&mut self) -> Option<Option<i64>> {
        if self.0.is_empty() {
            return Some(None);
        }
        self.skip(b' ');
        for name in ["Z", "z", "UTC", "GMT"] {
            if self.0 == name.as_bytes() {
                self.0 = &[];
                return Some(Some(0));
            }
        }
        let sign = if self.skip(b'+') {
            1
        } else if self.skip(b'-') {
            -1
        } else {
            return None;
        };
        let hours = self.number(2)?;
        let minutes = if self.skip(b':') || self.has_digit() { self.number(2)? } else { 0 };
        (hours < 24 && minutes < 60).then_some(Some(sign * (hours * HOUR + minutes * MINUTE)))
    }
}

/// A time as it is written; the offset of its zone, if it has one, is in its last part.
pub(crate) fn format(micros: i64, offset: Option<i64>) -> String {
    let clock = micros.saturating_add(offset.unwrap_or_default());
    let (year, month, day) = date_of(clock.div_euclid(DAY));
    let rest = clock.rem_euclid(DAY);
    let (hour, minute, second) = (rest / HOUR, rest / MINUTE % 60, rest / SECOND % 60);
    let fraction = match rest % SECOND {
        0 => String::new(),
        micros if micros % 1000 == 0 => format!(".{:03}", micros / 1000),
        micros => format!(".{micros:06}"),
    };
    let zone = match offset {
        None => String::new(),
        Some(0) => "Z".to_owned(),
        Some(offset) => format_offset(offset),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}")
}

pub(crate) fn format_offset(offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let size = offset.abs();
    format!("{sign}{:02}:{:02}", size / HOUR, size / MINUTE % 60)
}

/// The day of a time, as it is written.
pub(crate) fn format_date(micros: i64) -> String {
    let (year, month, day) = date_of(micros.div_euclid(DAY));
    format!("{year:04}-{month:02}-{day:02}")
}
