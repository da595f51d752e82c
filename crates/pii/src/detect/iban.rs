//! International bank account numbers.

use std::ops::Range;

/// The length of an account number by country.
#[rustfmt::skip]
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24), (b"AE", 23), (b"AL", 28), (b"AT", 20), (b"AZ", 28), (b"BA", 20), (b"BE", 16), (b"BG", 22), (b"BH", 22), (b"BI", 27), (b"BR", 29), (b"BY", 28),
    (b"CH", 21), (b"CR", 22), (b"CY", 28), (b"CZ", 24), (b"DE", 22), (b"DJ", 27), (b"DK", 18), (b"DO", 28), (b"EE", 20), (b"EG", 29), (b"ES", 24), (b"FI", 18),
    (b"FK", 18), (b"FO", 18), (b"FR", 27), (b"GB", 22), (b"GE", 22), (b"GI", 23), (b"GL", 18), (b"GR", 27), (b"GT", 28), (b"HR", 21), (b"HU", 28), (b"IE", 22),
    (b"IL", 23), (b"IQ", 23), (b"IS", 26), (b"IT", 27), (b"JO", 30), (b"KW", 30), (b"KZ", 20), (b"LB", 28), (b"LC", 32), (b"LI", 21), (b"LT", 20), (b"LU", 20),
    (b"LV", 21), (b"LY", 25), (b"MC", 27), (b"MD", 24), (b"ME", 22), (b"MK", 19), (b"MN", 20), (b"MR", 27), (b"MT", 31), (b"MU", 30), (b"NI", 28), (b"NL", 18),
    (b"NO", 15), (b"OM", 23), (b"PK", 24), (b"PL", 28), (b"PS", 29), (b"PT", 25), (b"QA", 29), (b"RO", 24), (b"RS", 22), (b"RU", 33), (b"SA", 24), (b"SC", 31),
    (b"SD", 18), (b"SE", 24), (b"SI", 19), (b"SK", 24), (b"SM", 27), (b"SO", 23), (b"ST", 25), (b"SV", 28), (b"TL", 23), (b"TN", 24), (b"TR", 26), (b"UA", 29),
    (b"VA", 22), (b"VG", 24), (b"XK", 20), (b"YE", 30),
];

/// Returns the account number that starts here, in any grouping by spaces or dashes.
pub(super) fn at(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let head = bytes.get(start..start + 4)?;
    if !(head[..2].iter().all(u8::is_ascii_alphabetic) && head[2..].iter().all(u8::is_ascii_digit))
    {
        return None;
    }
    let country = [head[0].to_ascii_uppercase(), head[1].to_ascii_uppercase()];
    let (_, length) = LENGTHS.iter().find(|(known, _)| **known == country)?;
    let mut remainder = Remainder::default();
    let mut read = head.len();
    let mut at = start + head.len();
    while read < *length {
        let byte = *bytes.get(at)?;
        let is_gap = b" -".contains(&byte) && bytes[at - 1].is_ascii_alphanumeric();
        if byte.is_ascii_alphanumeric() {
            remainder.add(byte);
            read += 1;
        } else if !is_gap {
            return None;
        }
        at += 1;
    }
    head.iter().for_each(|byte| remainder.add(*byte));
    let ends = bytes.get(at).is_none_or(|b| !b.is_ascii_alphanumeric());
    (ends && remainder.0 == 1).then_some(start..at)
}

/// The remainder by 97 of a number that is written with letters for 10 to 35.
#[derive(Default)]
struct Remainder(u32);

impl Remainder {
    fn add(&mut self, byte: u8) {
        let digit = char::from(byte).to_digit(36).unwrap_or(0);
        self.0 = (self.0 * if digit > 9 { 100 } else { 10 } + digit) % 97;
    }
}
