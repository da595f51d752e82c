//! Parses and writes numbers as text, and recognizes texts that mean "no number".

use std::io::Write;

/// Integers up to this are exact as floats.
const EXACT: u64 = 1 << 53;

/// Tells whether a float can hold this integer exactly.
pub(in crate::ingest) fn is_exact(value: i64) -> bool {
    value.unsigned_abs() <= EXACT
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ingest) enum Number {
    Int(i64),
    Float(f64),
    /// An integer of more than 64 bits.
    Huge,
}

/// Parses a number as people write it. Text with leading zeros or a plus sign is not a number but a
/// code, a phone number or the like.
pub(in crate::ingest) fn parse(text: &str) -> Option<Number> {
    let text = text.trim_ascii();
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    if let [b'0', b'0'..=b'9', ..] = digits {
        return None;
    }
    match digits.first()? {
        b'0'..=b'9' => {}
        b'.' if digits.get(1).is_some_and(u8::is_ascii_digit) => {}
        _ => return infinite(text),
    }
    if digits.iter().all(u8::is_ascii_digit) {
        return Some(text.parse().map_or(Number::Huge, Number::Int));
    }
    text.parse().ok().map(Number::Float)
}

fn infinite(text: &str) -> Option<Number> {
    let word = text.strip_prefix('-').unwrap_or(text);
    let infinite = word.eq_ignore_ascii_case("inf") || word.eq_ignore_ascii_case("infinity");
    let value = if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY };
    infinite.then_some(Number::Float(value))
}

/// Tells whether a text stands for "nothing" among numbers.
pub(in crate::ingest) fn is_missing(text: &str) -> bool {
    const WORDS: [&str; 7] = ["", "n/a", "na", "null", "none", "-", "nan"];
    let text = text.trim_ascii();
    text.len() <= 4 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

pub(in crate::ingest) fn parse_bool(text: &str) -> Option<bool> {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

pub(in crate::ingest) fn write_int(value: i64, out: &mut Vec<u8>) {
    write_to(out, format_args!("{value}"));
}

/// Writes the shortest form that parses as the same number and as a float.
pub(in crate::ingest) fn write_float(value: f64, out: &mut Vec<u8>) {
    write_to(out, format_args!("{value:?}"));
}

/// Writes a number as people do: the same text, whether a whole number came as an integer or as a float.
pub(in crate::ingest) fn write_plain(value: f64, out: &mut Vec<u8>) {
    if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"Infinity" } else { b"-Infinity" });
    } else if value.fract() == 0.0 && value.abs() <= EXACT as f64 {
        write_to(out, format_args!("{value:.0}"));
    } else {
        write_float(value, out);
    }
}

fn write_to(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_from_codes() {
        assert_eq!(parse("12"), Some(Number::Int(12)));
        assert_eq!(parse(" -7 "), Some(Number::Int(-7)));
        assert_eq!(parse("0"), Some(Number::Int(0)));
        assert_eq!(parse("9223372036854775807"), Some(Number::Int(i64::MAX)));
        assert_eq!(parse("-9223372036854775808"), Some(Number::Int(i64::MIN)));
        assert_eq!(parse("9223372036854775808"), Some(Number::Huge));
        assert_eq!(parse("1.50"), Some(Number::Float(1.5)));
        assert_eq!(parse("-.5"), Some(Number::Float(-0.5)));
        assert_eq!(parse("5."), Some(Number::Float(5.0)));
        assert_eq!(parse("1e3"), Some(Number::Float(1000.0)));
        assert_eq!(parse("-inf"), Some(Number::Float(f64::NEG_INFINITY)));
        let codes =
            ["007", "-01", "00", "+41", "1,5", "$5", "5%", "1_000", "0x10", "", "-", ".", "1-2"];
        for code in codes.into_iter().chain(["nan", "e5", "1e", "1 2", "١", "2024-01-01", "--1"]) {
            assert_eq!(parse(code), None, "{code}");
        }
    }

    #[test]
    fn nothing_has_many_names() {
        for text in ["", " ", "N/A", "n/a", "NA", "null", "None", "-", "NaN", " nan "] {
            assert!(is_missing(text), "{text:?}");
        }
        for text in ["0", "x", "--", "unknown", "nil"] {
            assert!(!is_missing(text), "{text:?}");
        }
    }

    #[test]
    fn plain_numbers_read_as_the_same() {
        let plain = |value| {
            let mut out = Vec::new();
            write_plain(value, &mut out);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(plain(1.0), "1");
        assert_eq!(plain(-0.0), "-0");
        assert_eq!(plain(0.1), "0.1");
        assert_eq!(plain(1e300), "1e300");
        assert_eq!(plain(f64::NEG_INFINITY), "-Infinity");
        assert_eq!(plain(f64::NAN), "NaN");
    }
}
