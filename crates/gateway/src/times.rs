//! Points in time as people write and read them. All are in UTC and say so, because what is read in one
//! time zone was often written by a machine in another.

use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, Utc};

/// The forms in which a time can be written, for help and error messages.
pub(crate) const FORMS: &str = "a time ago such as 30m, 2h or 7d, a day such as 2026-11-18, today or yesterday, or a time such \
     as 2026-11-18T14:30Z; all in UTC";

const SECOND: i64 = 1000;

/// Formats a time in milliseconds since 1970, to the second.
pub(crate) fn format(milliseconds: i64) -> String {
    match DateTime::from_timestamp_millis(milliseconds) {
        Some(time) => time.format("%Y-%m-%d %H:%M:%SZ").to_string(),
        None => milliseconds.to_string(),
    }
}

/// Parses a time into milliseconds since 1970: a duration before `now`, a day, or a moment.
pub(crate) fn parse(text: &str, now: i64) -> Result<i64, String> {
    let text = text.trim();
    let wrong = || format!("{text:?} is no time; write {FORMS}");
    if let Some(ago) = parse_ago(text) {
        return now.checked_sub(ago).ok_or_else(wrong);
    }
    let today = DateTime::from_timestamp_millis(now).ok_or_else(wrong)?.date_naive();
    let day = match text {
        "now" => return Ok(now),
        "today" => Some(today),
        "yesterday" => today.checked_sub_days(Days::new(1)),
        _ => NaiveDate::parse_from_str(text, "%Y-%m-%d").ok(),
    };
    if let Some(day) = day {
        return Ok(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis());
    }
    parse_moment(text).map(|time| time.timestamp_millis()).ok_or_else(wrong)
}

/// Parses a duration such as `2h` or `1d12h` into milliseconds.
fn parse_ago(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut sum: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).filter(|end| *end > 0)?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let unit = match &after[..end] {
            "s" => SECOND,
            "m" | "min" => 60 * SECOND,
            "h" => 60 * 60 * SECOND,
            "d" => 24 * 60 * 60 * SECOND,
            "w" => 7 * 24 * 60 * 60 * SECOND,
            _ => return None,
        };
        sum = sum.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
        rest = &after[end..];
    }
    (!text.is_empty()).then_some(sum)
}

/// Parses a day with a time, which is in UTC unless it has an offset.
fn parse_moment(text: &str) -> Option<DateTime<Utc>> {
    let written = text.replacen(' ', "T", 1);
    let written =
        written.strip_suffix('Z').map_or_else(|| written.clone(), |at| format!("{at}+00:00"));
    for form in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(&written, form) {
            return Some(time.and_utc());
        }
        if let Ok(time) = DateTime::parse_from_str(&written, &format!("{form}%:z")) {
            return Some(time.to_utc());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-18 14:30:05Z
    const NOW: i64 = 1_795_012_205_000;

    #[test]
    fn a_time_is_read_as_people_write_it() {
        let midnight = NOW - NOW % (24 * 60 * 60 * 1000);
        assert_eq!(format(NOW), "2026-11-18 14:30:05Z");
        for (text, expected) in [
            ("2h", NOW - 2 * 60 * 60 * 1000),
            ("90s", NOW - 90_000),
            ("1d12h", NOW - 36 * 60 * 60 * 1000),
            ("2w", NOW - 14 * 24 * 60 * 60 * 1000),
            ("now", NOW),
            ("today", midnight),
            ("2026-11-18", midnight),
            ("yesterday", midnight - 24 * 60 * 60 * 1000),
            ("2026-11-18 14:30:05", NOW),
            ("2026-11-18T14:30:05Z", NOW),
            ("2026-11-18T15:30:05+01:00", NOW),
            ("2026-11-18 14:30", NOW - 5_000),
            ("2026-11-18T14:30Z", NOW - 5_000),
        ] {
            assert_eq!(parse(text, NOW), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_answered_with_what_can_be_written() {
        for text in
            ["", "2", "h", "2x", "-1h", "2026-13-01", "tomorrow", "99999999999999999999h", "ü"]
        {
            let wrong = parse(text, NOW).unwrap_err();
            assert!(wrong.contains("is no time; write a time ago such as 30m"), "{text}: {wrong}");
        }
    }

    #[test]
    fn a_time_that_is_shown_can_be_written_again() {
        assert_eq!(parse(&format(NOW), NOW), Ok(NOW));
    }
}
