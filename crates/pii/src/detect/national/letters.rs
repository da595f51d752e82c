//! National ids with letters in them.

use std::ops::Range;

use super::is_china;
use crate::{context::Around, lexicon::Cues};

/// Returns the id that the word from `start` to `end` is, or begins. Some are told by their shape and
/// check letter; for the others the words around them are asked for.
pub(in crate::detect) fn at(
    bytes: &[u8],
    start: usize,
    end: usize,
    around: impl Fn() -> Around,
) -> Option<Range<usize>> {
    let word = &bytes[start..end];
    let near = || around().says(Cues::NATIONAL);
    match word.len() {
        9 => {
            let told = is_nie(word) || ((is_dni(word) || is_nino(word) || is_nric(word)) && near());
            told.then_some(start..end)
        }
        16 => is_codice_fiscale(word).then_some(start..end),
        18 => (is_chinese(word) || is_curp(word)).then_some(start..end),
        2 => spaced_nino(bytes, start).filter(|_| near()).map(|end| start..end),
        _ => None,
    }
}

fn digits(word: &[u8]) -> Option<u64> {
    word.iter().try_fold(0_u64, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u64::from(b - b'0')))
}

fn spanish_letter(number: u64) -> u8 {
    b"TRWAGMYFPDXBNJZSQVHLCKE"[(number % 23) as usize]
}

/// Checks an id of Spain: eight digits and a letter.
fn is_dni(word: &[u8]) -> bool {
    digits(&word[..8]).is_some_and(|number| spanish_letter(number) == word[8].to_ascii_uppercase())
}

/// Checks an id of Spain for foreigners: `X`, `Y` or `Z` in place of the first digit.
fn is_nie(word: &[u8]) -> bool {
    let Some(first) = b"XYZ".iter().position(|b| *b == word[0]) else { return false };
    digits(&word[1..8])
        .is_some_and(|number| spanish_letter(first as u64 * 10_000_000 + number) == word[8])
}

/// Checks a number of the United Kingdom: the national insurance number has no check, but few letters
/// begin it.
fn is_nino(word: &[u8]) -> bool {
    let upper = word.to_ascii_uppercase();
    let head = upper[..2].iter().all(|b| b.is_ascii_alphabetic() && !b"DFIQUV".contains(b))
        && upper[1] != b'O';
    head && digits(&upper[2..8]).is_some() && (b'A'..=b'D').contains(&upper[8])
}

/// Returns the end of a national insurance number with spaces: `AB 12 34 56 C`.
fn spaced_nino(bytes: &[u8], start: usize) -> Option<usize> {
    let spaced = bytes.get(start..start + 13)?;
    let gaps = [2, 5, 8, 11];
    let packed: Vec<u8> = spaced
        .iter()
        .enumerate()
        .filter(|(place, _)| !gaps.contains(place))
        .map(|(_, b)| *b)
        .collect();
    (gaps.iter().all(|place| spaced[*place] == b' ') && is_nino(&packed)).then_some(start + 13)
}

/// Checks an id of Singapore.
fn is_nric(word: &[u8]) -> bool {
    let offset = match word[0] {
        b'S' | b'F' => 0,
        b'T' | b'G' => 4,
        _ => return false,
    };
    if digits(&word[1..8]).is_none() {
        return false;
    }
    let weights = [2, 7, 6, 5, 4, 3, 2];
    let sum: u32 =
        word[1..8].iter().zip(weights).map(|(b, weight)| u32::from(b - b'0') * weight).sum();
    let letters = if b"ST".contains(&word[0]) { b"JZIHGFEDCBA" } else { b"XWUTRQPNMLK" };
    letters[((sum + offset) % 11) as usize] == word[8]
}

/// Checks an id of Italy: sixteen letters and digits, the last of them a check.
fn is_codice_fiscale(word: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let upper = word.to_ascii_uppercase();
    let shaped = upper.iter().enumerate().all(|(place, b)| match place {
        0..=5 | 8 | 11 | 15 => b.is_ascii_uppercase(),
        // Letters stand for digits where two people would have the same.
        _ => b.is_ascii_digit() || b"LMNPQRSTUV".contains(b),
    });
    if !shaped || !b"ABCDEHLMPRST".contains(&upper[8]) {
        return false;
    }
    let value = |b: u8| if b.is_ascii_digit() { b - b'0' } else { b - b'A' };
    let sum: u32 = upper[..15]
        .iter()
        .enumerate()
        .map(|(place, b)| match place % 2 {
            0 => ODD[usize::from(value(*b))],
            _ => u32::from(value(*b)),
        })
        .sum();
    sum % 26 == u32::from(upper[15] - b'A')
}

/// Checks an id of China where the check is `X`.
fn is_chinese(word: &[u8]) -> bool {
    let digits: Vec<u8> = word[..17].iter().map(|b| b.wrapping_sub(b'0')).collect();
    digits.iter().all(|digit| *digit < 10) && b"xX".contains(&word[17]) && is_china(&digits, 10)
}

/// Checks an id of Mexico.
fn is_curp(word: &[u8]) -> bool {
    let upper = word.to_ascii_uppercase();
    let shaped = upper.iter().enumerate().all(|(place, b)| match place {
        0..=3 | 10..=15 => b.is_ascii_uppercase(),
        4..=9 | 17 => b.is_ascii_digit(),
        _ => true,
    });
    if !shaped || !b"HMX".contains(&upper[10]) {
        return false;
    }
    // The letter Ñ, which stands between N and O, has a value of its own.
    let value = |b: u8| match b {
        b'0'..=b'9' => u32::from(b - b'0'),
        b'A'..=b'N' => u32::from(b - b'A') + 10,
        _ => u32::from(b - b'A') + 11,
    };
    let sum: u32 =
        upper[..17].iter().zip((2..=18).rev()).map(|(b, weight)| value(*b) * weight).sum();
    (10 - sum % 10) % 10 == u32::from(upper[17] - b'0')
}

/// Returns an id of Finland: `131052-308T`, or with a letter for the century.
pub(in crate::detect) fn finland(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let id = bytes.get(start..start + 11)?;
    if !b"+-ABCDEFUVWXY".contains(&id[6]) {
        return None;
    }
    let date = digits(&id[..6])?;
    let serial = digits(&id[7..10])?;
    let (day, month) = (date / 10_000, date / 100 % 100);
    let check = b"0123456789ABCDEFHJKLMNPRSTUVWXY"[((date * 1000 + serial) % 31) as usize];
    let ends = bytes.get(start + 11).is_none_or(|b| !b.is_ascii_alphanumeric());
    let good = check == id[10]
        && (1..=31).contains(&day)
        && (1..=12).contains(&month)
        && serial >= 2
        && ends;
    good.then_some(start..start + 11)
}
