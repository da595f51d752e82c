//! Writes numbers briefly, for models.

/// How many significant digits a fraction keeps.
const DIGITS: i32 = 6;
/// From this power of ten on, numbers are written with an exponent.
const LARGE: i32 = 15;
/// Below this power of ten too.
const SMALL: i32 = -4;
/// The largest whole number up to which all are exact in a float.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Writes a finite float in six digits; whole numbers, and the digits before the point, are kept in
/// full.
pub(super) fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.fract() == 0.0 && value.abs() <= MAX_EXACT {
        return format!("{value:.0}");
    }
    // The exponent after rounding: 999.9999 has one more digit than it seems.
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if (SMALL..LARGE).contains(&power) {
        let decimals = (DIGITS - 1 - power).max(0) as usize;
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    format!("{}e{exponent}", without_zeros(mantissa))
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn floats_have_six_digits_and_few_exponents() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (5.0, "5"),
            (-17.5, "-17.5"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333"),
            (2.0 / 3.0 * 100.0, "66.6667"),
            (123.456_789, "123.457"),
            (999_999.5, "1000000"),
            (999.999_99, "1000"),
            (1_234_567.891, "1234568"),
            (-48_213_456.72, "-48213457"),
            (12_345_678_901_234.5, "12345678901234"),
            (1_700_000_000_123.0, "1700000000123"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (1e15, "1000000000000000"),
            (1.5e15 + 0.5, "1.5e15"),
            (1.234_567_89e18, "1.23457e18"),
            (f64::MAX, "1.79769e308"),
            (0.000_123_456_78, "0.000123457"),
            (0.000_099_999_99, "0.0001"),
            (0.000_012_345_678, "1.23457e-5"),
            (3e-12, "3e-12"),
            (-2.5e-7, "-2.5e-7"),
            (f64::MIN_POSITIVE, "2.22507e-308"),
            (5e-324, "4.94066e-324"),
        ] {
            assert_eq!(short(value), text, "{value:e}");
        }
    }

    proptest! {
        #[test]
        fn a_short_float_is_close_and_is_json(value in proptest::num::f64::NORMAL) {
            let text = short(value);
            let read: f64 = serde_json::from_str(&text).expect("a number of JSON");
            prop_assert!((read - value).abs() <= 5e-6 * value.abs(), "{value:e} became {text}");
        }

        #[test]
        fn whole_numbers_are_never_rounded(value in -(1_i64 << 53)..=1 << 53) {
            prop_assert_eq!(short(value as f64), value.to_string());
        }
    }
}
