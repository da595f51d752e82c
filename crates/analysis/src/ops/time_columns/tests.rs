use super::*;
use crate::times::HOUR;

#[test]
fn numbers_are_seconds_or_smaller_units() {
    let noon = days_of(2024, 5, 1) * DAY + 12 * HOUR;
    for unit in [1e6, 1e3, 1.0, 1e-3] {
        let number = noon as f64 / unit;
        let numbers = Numbers::between(number, number, true);
        assert_eq!(numbers.time(number).unwrap().micros, noon);
        // What is small is in the same unit.
        assert_eq!(numbers.time(2e3).unwrap().micros, (2e3 * unit) as i64);
        assert_eq!(numbers.time(f64::INFINITY), None);
        assert_eq!(numbers.time(f64::NAN), None);
    }
}

#[test]
fn numbers_are_years_if_all_are() {
    let years = Numbers::between(1500.0, 1999.0, true);
    assert_eq!(years.time(1999.0).unwrap().micros, days_of(1999, 1, 1) * DAY);
    let seconds = Numbers::default();
    assert_eq!(Numbers::between(500.0, 1999.0, true), seconds);
    assert_eq!(Numbers::between(1500.0, 20_000.0, true), seconds);
    assert_eq!(Numbers::between(1500.0, 1999.0, false), seconds);
    assert_eq!(Numbers::between(-1e12, 1999.0, true), Numbers::Since1970(1e3));
}
