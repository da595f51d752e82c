//! Dates, of which those of birth are personal.

use std::ops::Range;

use crate::{
    context::Text,
    lexicon::{Cues, Word},
};

/// Returns the end of the date that starts here, in digits: `1980-03-05`, `3/5/1980`, `05.03.80`.
pub(super) fn at(bytes: &[u8], start: usize) -> Option<usize> {
    let (first, first_length, mut at) = number(bytes, start)?;
    let sign = *bytes.get(at)?;
    if !b"-/.".contains(&sign) {
        return None;
    }
    let (second, second_length, next) = number(bytes, at + 1)?;
    at = next;
    if second_length > 2 || bytes.get(at) != Some(&sign) {
        return None;
    }
    let (third, third_length, end) = number(bytes, at + 1)?;
    let is_day = |a, b| (1..=31).contains(&a) && (1..=12).contains(&b);
    let good = match (first_length, third_length) {
        (4, 1..=2) => is_year(first) && is_day(third, second),
        (1..=2, 4) => is_year(third) && (is_day(first, second) || is_day(second, first)),
        // Two digits of a year are a date only with slashes: with dots it may be a version.
        (1..=2, 2) => sign == b'/' && (is_day(first, second) || is_day(second, first)),
        _ => false,
    };
    // An address of four numbers, or a number with more groups, is no date.
    let goes_on =
        bytes.get(end) == Some(&sign) && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
    (good && !goes_on).then_some(end)
}

/// Tells whether digits are a date like `19800305`, or with the year last.
pub(super) fn is_compact(digits: &[u8]) -> bool {
    let number =
        |range: Range<usize>| digits[range].iter().fold(0, |sum, d| sum * 10 + u32::from(*d));
    let is_date =
        |year, month, day| is_year(year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    digits.len() == 8
        && (is_date(number(0..4), number(4..6), number(6..8))
            || is_date(number(4..8), number(2..4), number(0..2))
            || is_date(number(4..8), number(0..2), number(2..4)))
}

/// Returns a date of birth with the name of its month, and its day or year at `mark`: `5 March 1980`,
/// `March 5th, 1980`, `1980 March 5`.
pub(super) fn with_month(text: &Text<'_>, mark: usize) -> Option<Range<usize>> {
    let bytes = text.bytes;
    let (first, _, end) = number(bytes, mark)?;
    if !(1..=31).contains(&first) {
        return None;
    }
    let after_day = end + ordinal(&bytes[end..]);
    let next = after_day + spaces(&bytes[after_day..]);
    let (start, year) = if let Some(month) = month_from(text, next) {
        (mark, month + spaces(&bytes[month..]))
    } else {
        let month = text.hits[..text.hits.partition_point(|hit| hit.end <= mark)].last()?;
        let is_month = matches!(month.word, Word::Cue(cues) if cues.any(Cues::MONTH));
        if !is_month || spaces(&bytes[month.end..]) != mark - month.end {
            return None;
        }
        (month.start, next)
    };
    let (year, length, end) = number(bytes, year)?;
    let right = length == 4 && is_year(year) && text.before(start).says(Cues::BIRTH);
    right.then_some(start..end)
}

/// Returns the end of the month that starts here.
fn month_from(text: &Text<'_>, start: usize) -> Option<usize> {
    let hit = text.hits.get(text.hits.partition_point(|hit| hit.start < start))?;
    let is_month = matches!(hit.word, Word::Cue(cues) if cues.any(Cues::MONTH));
    (hit.start == start && is_month).then_some(hit.end)
}

fn ordinal(bytes: &[u8]) -> usize {
    let known: [&[u8]; 5] = [b"st", b"nd", b"rd", b"th", b"."];
    known.iter().find(|ending| bytes.starts_with(ending)).map_or(0, |ending| ending.len())
}

/// Counts spaces and what else stands between the parts of a date.
fn spaces(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|b| b" ,.-".contains(b)).count()
}

/// Reads the number of at most four digits that starts here: its value, how many digits it has, and
/// where it ends.
fn number(bytes: &[u8], start: usize) -> Option<(u32, usize, usize)> {
    let length = bytes.get(start..)?.iter().take(5).take_while(|b| b.is_ascii_digit()).count();
    let value =
        bytes[start..start + length].iter().fold(0, |sum, b| sum * 10 + u32::from(b - b'0'));
    (1..=4).contains(&length).then_some((value, length, start + length))
}

fn is_year(year: u32) -> bool {
    (1880..=2100).contains(&year)
}
