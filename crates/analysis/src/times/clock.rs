//! Converts between moments and local times in time zones with daylight saving.

use std::str::FromStr;

use datafusion::arrow::{
    array::{temporal_conversions::as_datetime_with_timezone, timezone::Tz},
    datatypes::TimestampMicrosecondType,
};

use super::DAY;

/// Words in names of zones that are not capitalized.
const SMALL_WORDS: [&str; 3] = ["of", "es", "au"];

/// Finds a zone by its name in any case, as PostgreSQL does. Returns the zone's own spelling too.
pub(crate) fn zone_named(name: &str) -> Option<(String, Tz)> {
    let upper = name.to_ascii_uppercase();
    let names = [name.to_owned(), titled(name, &[]), titled(name, &SMALL_WORDS), upper];
    names.into_iter().find_map(|name| Tz::from_str(&name).ok().map(|zone| (name, zone)))
}

/// Capitalizes the words of a name: `america/port_of_spain` becomes `America/Port_of_Spain`.
fn titled(name: &str, small: &[&str]) -> String {
    let is_sign = |sign: char| matches!(sign, '/' | '_' | '-');
    let word = |word: &str| {
        let (text, sign) = match word.strip_suffix(is_sign) {
            Some(text) => (text.to_ascii_lowercase(), &word[text.len()..]),
            None => (word.to_ascii_lowercase(), ""),
        };
        let mut signs = text.chars();
        match signs.next() {
            Some(first) if !small.contains(&text.as_str()) => {
                format!("{}{}{sign}", first.to_ascii_uppercase(), signs.as_str())
            }
            _ => format!("{text}{sign}"),
        }
    };
    name.split_inclusive(is_sign).map(word).collect()
}

/// Returns the moment of a local time. Of two such moments, when clocks are put back, it is the first;
/// if clocks skip the local time, it is moved forward by the gap: 02:30 is 03:30 then.
pub(crate) fn of_clock(clock: i64, zone: Tz) -> i64 {
    let (times, before) = shown(clock, zone);
    times.min().unwrap_or(before)
}

/// The same as [`of_clock`], but the second of two moments, as PostgreSQL does.
pub(crate) fn last_of_clock(clock: i64, zone: Tz) -> i64 {
    let (times, before) = shown(clock, zone);
    times.max().unwrap_or(before)
}

/// Returns the moments of a local time, and the moment that it would be by the offset before a change.
fn shown(clock: i64, zone: Tz) -> (impl Iterator<Item = i64>, i64) {
    // No zone's offset reaches a day, and none changes twice within two days.
    let before = offset(clock.saturating_sub(DAY), zone);
    let after = offset(clock.saturating_add(DAY), zone);
    let times = [before, after].map(|offset| clock.saturating_sub(offset));
    let is_shown = move |time: &i64| time.saturating_add(offset(*time, zone)) == clock;
    (times.into_iter().filter(is_shown), times[0])
}

/// Returns the local time of a moment in a zone.
pub(crate) fn on_clock(micros: i64, zone: Tz) -> i64 {
    as_datetime_with_timezone::<TimestampMicrosecondType>(micros, zone)
        .map_or(micros, |time| time.naive_local().and_utc().timestamp_micros())
}

/// Returns the offset of a zone from UTC at a moment.
fn offset(micros: i64, zone: Tz) -> i64 {
    on_clock(micros, zone).saturating_sub(micros)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;
    use crate::times::{format, parse};

    fn world(clock: &str, zone: &str) -> String {
        let zone = Tz::from_str(zone).unwrap();
        format(of_clock(parse(clock).unwrap().micros, zone), Some(0))
    }

    #[test]
    fn clocks_are_put_forward_and_back() {
        for (clock, zone, time) in [
            ("2024-07-01T12:00:00", "Europe/Berlin", "2024-07-01T10:00:00Z"),
            ("2024-01-01T12:00:00", "Europe/Berlin", "2024-01-01T11:00:00Z"),
            ("2024-07-01T12:00:00", "-05:30", "2024-07-01T17:30:00Z"),
            // Twice there.
            ("2024-10-27T01:59:00", "Europe/Berlin", "2024-10-26T23:59:00Z"),
            ("2024-10-27T02:00:00", "Europe/Berlin", "2024-10-27T00:00:00Z"),
            ("2024-10-27T02:59:00", "Europe/Berlin", "2024-10-27T00:59:00Z"),
            ("2024-10-27T03:00:00", "Europe/Berlin", "2024-10-27T02:00:00Z"),
            // Never there.
            ("2024-03-31T01:59:00", "Europe/Berlin", "2024-03-31T00:59:00Z"),
            ("2024-03-31T02:30:00", "Europe/Berlin", "2024-03-31T01:30:00Z"),
            ("2024-03-31T03:30:00", "Europe/Berlin", "2024-03-31T01:30:00Z"),
            ("2024-11-03T01:30:00", "America/New_York", "2024-11-03T05:30:00Z"),
            // A day that was left out.
            ("2011-12-30T12:00:00", "Pacific/Apia", "2011-12-30T22:00:00Z"),
        ] {
            assert_eq!(world(clock, zone), time, "{clock} {zone}");
        }
    }
}
