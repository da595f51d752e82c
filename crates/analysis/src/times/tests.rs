use super::*;

fn micros(text: &str) -> Option<i64> {
    parse(text).map(|time| time.micros)
}

#[test]
fn dates_and_days_are_the_same() {
    assert_eq!(days_of(1970, 1, 1), 0);
    assert_eq!(days_of(2000, 3, 1), 11_017);
    for days in (-800_000..800_000).step_by(7) {
        let (year, month, day) = date_of(days);
        assert_eq!(days_of(year, month, day), days);
    }
}

#[test]
fn forms_of_iso_8601_are_read() {
    let day = days_of(2024, 2, 29) * DAY;
    assert_eq!(micros("2024-02-29"), Some(day));
    assert_eq!(micros("20240229"), Some(day));
    assert_eq!(micros("2024/02/29"), Some(day));
    assert_eq!(micros("2024-02"), Some(days_of(2024, 2, 1) * DAY));
    assert_eq!(micros("2024"), Some(days_of(2024, 1, 1) * DAY));
    let time = day + 13 * HOUR + 5 * MINUTE;
    for text in
        ["2024-02-29T13:05", " 2024-02-29 13:05:00 ", "20240229T1305", "2024-02-29T13:05:00.000"]
    {
        assert_eq!(micros(text), Some(time), "{text}");
        assert!(!parse(text).unwrap().is_zoned());
    }
    for text in [
        "2024-02-29T13:05:00Z",
        "2024-02-29T15:05+02:00",
        "2024-02-29 08:05:00 -0500",
        "2024-02-29T13:05:00 UTC",
        "2024-02-29T13:05:00+00",
    ] {
        assert_eq!(micros(text), Some(time), "{text}");
        assert!(parse(text).unwrap().is_zoned());
    }
    assert_eq!(micros("2024-02-29T00:00:00.1234567"), Some(day + 123_456));
    let early = parse("2024-02-29T00:30+02:00").unwrap();
    assert_eq!((early.on_clock(), early.micros), (day + HOUR / 2, day - 3 * HOUR / 2));
}

#[test]
fn times_are_written_as_they_are_read() {
    let time = days_of(2024, 2, 29) * DAY + 13 * HOUR + 5 * MINUTE + 7 * SECOND;
    assert_eq!(format(time, None), "2024-02-29T13:05:07");
    assert_eq!(format(time + 120_000, Some(0)), "2024-02-29T13:05:07.120Z");
    assert_eq!(format(time + 1, Some(-5 * HOUR)), "2024-02-29T08:05:07.000001-05:00");
    assert_eq!(format(-1, Some(90 * MINUTE)), "1970-01-01T01:29:59.999999+01:30");
    assert_eq!(format_date(-1), "1969-12-31");
}

#[test]
fn what_is_no_time_is_not_read() {
    for text in [
        "",
        "now",
        "2023-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-01-00",
        "2024-1-1",
        "2024-02-29T25:00",
        "2024-02-29T12:60",
        "2024-02-29T12:00:00.",
        "2024-02-29T12:00+99:00",
        "2024-02-29T12:00 CET",
        "2024-02-29x",
        "2024-02-2912",
        "12.05.2024",
        "２０２４-01-01",
        "2024-02/29",
    ] {
        assert_eq!(micros(text), None, "{text}");
    }
}
