//! National ids of digits. Each has a check digit; most also need a word before them, since one
//! number in ten has the right digit by chance.

pub(super) mod letters;

use std::ops::Range;

use super::{
    card::luhn,
    cluster::{Cluster, Gap},
};
use crate::{context::Around, lexicon::Cues};

pub(super) fn find(cluster: &Cluster, around: &Around) -> Option<Range<usize>> {
    if cluster.plus {
        return None;
    }
    let near = around.says(Cues::NATIONAL);
    let document = around.says(Cues::DOCUMENT);
    let of_things = around.is_of_things() && !near && !document;
    let shape = if of_things && around.label { None } else { by_shape(cluster) };
    // One reference in ten has the right check digit for the shapes that anything is written in.
    let shape = shape.or_else(|| by_common_shape(cluster).filter(|_| !of_things));
    if let Some(count) = shape {
        return Some(cluster.range(count));
    }
    if !near && !document {
        return None;
    }
    (1..=cluster.groups()).rev().find_map(|count| {
        let digits = cluster.digits(count);
        let good = (near && checks(digits)) || (document && (6..=15).contains(&digits.len()));
        good.then(|| cluster.range(count))
    })
}

/// Returns how many groups belong to an id, if a cluster begins with these groups and they pass the
/// check.
fn shaped(
    cluster: &Cluster,
    lengths: &[usize],
    gaps: &[Gap],
    check: fn(&[u8]) -> bool,
) -> Option<usize> {
    (cluster.starts_with_groups(lengths)
        && cluster.gaps(lengths.len()) == gaps
        && check(cluster.digits(lengths.len())))
    .then_some(lengths.len())
}

/// Finds the ids whose grouping tells them.
fn by_shape(cluster: &Cluster) -> Option<usize> {
    use Gap::{Dash, Dot, Slash, Space};
    let shaped = |lengths: &[usize], gaps: &[Gap], check| shaped(cluster, lengths, gaps, check);
    shaped(&[3, 3, 3, 2], &[Dot, Dot, Dash], brazil_person)
        .or_else(|| shaped(&[2, 3, 3, 4, 2], &[Dot, Dot, Slash, Dash], brazil_company))
        .or_else(|| shaped(&[3, 4, 4, 2], &[Dot; 3], switzerland))
        .or_else(|| shaped(&[2, 2, 2, 3, 2], &[Dot, Dot, Dash, Dot], belgium))
        .or_else(|| shaped(&[1, 2, 2, 2, 3, 3, 2], &[Space; 6], france))
        .or_else(|| shaped(&[6, 7], &[Dash], korea))
        .or_else(|| shaped(&[18], &[], china))
}

/// Finds the ids whose grouping other numbers have too, and whose check one of ten passes by chance.
fn by_common_shape(cluster: &Cluster) -> Option<usize> {
    use Gap::{Dash, Space};
    let shaped = |lengths: &[usize], gaps: &[Gap], check| shaped(cluster, lengths, gaps, check);
    shaped(&[6, 4], &[Dash], sweden)
        .or_else(|| shaped(&[8, 4], &[Dash], sweden))
        .or_else(|| shaped(&[4, 4, 4], &[Space; 2], india))
        .or_else(|| shaped(&[4, 4, 4], &[Dash; 2], india))
}

/// Tells whether any country would give out this number.
fn checks(digits: &[u8]) -> bool {
    if digits.iter().all(|digit| *digit == digits[0]) {
        return false;
    }
    match digits.len() {
        8 => australia(digits),
        9 => {
            netherlands(digits)
                || luhn(digits)
                || australia(digits)
                || portugal(digits)
                || is_itin(digits)
        }
        10 => united_kingdom(digits) || sweden(digits) || bulgaria(digits),
        11 => {
            poland(digits)
                || brazil_person(digits)
                || mod_11_10(digits)
                || norway(digits)
                || belgium(digits)
                || estonia(digits)
                || turkey(digits)
        }
        12 => india(digits) || sweden(digits),
        13 => luhn(digits) || switzerland(digits) || romania(digits) || korea(digits),
        14 => brazil_company(digits),
        15 => france(digits),
        18 => china(digits),
        _ => false,
    }
}

fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum()
}

fn last(digits: &[u8]) -> u32 {
    digits.last().map_or(0, |digit| u32::from(*digit))
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(*digit))
}

fn is_month_and_day(digits: &[u8]) -> bool {
    (1..=12).contains(&number(&digits[..2])) && (1..=31).contains(&number(&digits[2..4]))
}

/// Taxpayers of the United States without a social security number.
fn is_itin(digits: &[u8]) -> bool {
    digits[0] == 9 && matches!(number(&digits[3..5]), 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

/// Checks a BSN.
fn netherlands(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..8], &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum > 0 && sum % 11 == last(digits)
}

/// Checks a tax file number, of eight or nine digits.
fn australia(digits: &[u8]) -> bool {
    match digits.len() {
        8 => weighted(digits, &[10, 7, 8, 4, 6, 3, 5, 1]).is_multiple_of(11),
        _ => weighted(digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11),
    }
}

/// Checks a NIF.
fn portugal(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..8], &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    last(digits) == if rest < 2 { 0 } else { 11 - rest }
}

/// Checks an NHS number.
fn united_kingdom(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..9], &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    last(digits) == (11 - rest) % 11 && rest != 1
}

/// Checks a personnummer, with or without its century.
fn sweden(digits: &[u8]) -> bool {
    let short = &digits[digits.len() - 10..];
    let month = number(&short[2..4]);
    // A coordination number has 60 added to its day.
    let day = number(&short[4..6]);
    let century = digits.len() == 10 || matches!(number(&digits[..2]), 18..=20);
    (1..=12).contains(&month) && matches!(day, 1..=31 | 61..=91) && century && luhn(short)
}

/// Checks an EGN.
fn bulgaria(digits: &[u8]) -> bool {
    let month = number(&digits[2..4]) % 20;
    let sum = weighted(&digits[..9], &[2, 4, 8, 5, 10, 9, 7, 3, 6]);
    (1..=12).contains(&month) && sum % 11 % 10 == last(digits)
}

/// Checks a PESEL.
fn poland(digits: &[u8]) -> bool {
    let month = number(&digits[2..4]) % 20;
    let sum = weighted(&digits[..10], &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    (1..=12).contains(&month) && (10 - sum % 10) % 10 == last(digits)
}

/// Checks a CPF.
fn brazil_person(digits: &[u8]) -> bool {
    let check = |count: usize| {
        let sum: u32 =
            (0..count).map(|place| u32::from(digits[place]) * (count + 1 - place) as u32).sum();
        sum * 10 % 11 % 10 == u32::from(digits[count])
    };
    digits.iter().any(|digit| *digit != digits[0]) && check(9) && check(10)
}

/// Checks a CNPJ.
fn brazil_company(digits: &[u8]) -> bool {
    let weights = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    let check = |count: usize| {
        let rest = weighted(&digits[..count], &weights[13 - count..]) % 11;
        u32::from(digits[count]) == if rest < 2 { 0 } else { 11 - rest }
    };
    digits.iter().any(|digit| *digit != digits[0]) && check(12) && check(13)
}

/// Checks a number by ISO 7064: the tax number of Germany and the OIB of Croatia.
fn mod_11_10(digits: &[u8]) -> bool {
    let mut product = 10;
    for digit in &digits[..digits.len() - 1] {
        let sum = (u32::from(*digit) + product) % 10;
        product = if sum == 0 { 10 } else { sum } * 2 % 11;
    }
    (11 - product) % 10 == last(digits) && digits[0] != 0
}

/// Checks a fødselsnummer.
fn norway(digits: &[u8]) -> bool {
    weighted(&digits[..10], &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]).is_multiple_of(11)
        && weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
}

/// Checks a rijksregisternummer. Those born from 2000 on have a 2 before their number.
fn belgium(digits: &[u8]) -> bool {
    let (base, check) = (number(&digits[..9]), number(&digits[9..]));
    is_month_and_day(&digits[2..6])
        && (97 - base % 97 == check || 97 - (base + 2_000_000_000) % 97 == check)
}

/// Checks an isikukood.
fn estonia(digits: &[u8]) -> bool {
    let first = weighted(&digits[..10], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let second = weighted(&digits[..10], &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10;
    is_month_and_day(&digits[3..7]) && last(digits) == if first < 10 { first } else { second }
}

/// Checks a kimlik.
fn turkey(digits: &[u8]) -> bool {
    let sum = |from: usize| (from..9).step_by(2).map(|place| u32::from(digits[place])).sum::<u32>();
    let all: u32 = digits[..10].iter().map(|digit| u32::from(*digit)).sum();
    digits[0] != 0
        && (sum(0) * 7 + 100 - sum(1)) % 10 == u32::from(digits[9])
        && all % 10 == last(digits)
}

/// Checks an Aadhaar, by the check of Verhoeff.
fn india(digits: &[u8]) -> bool {
    const PERMUTE: [usize; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    // Of the dihedral group of ten.
    let multiply = |a: usize, b: usize| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b - 5) % 5 + 5,
        (false, true) => (a - b) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let check = digits.iter().rev().enumerate().fold(0, |check, (place, digit)| {
        let permuted = (0..place % 8).fold(usize::from(*digit), |digit, _| PERMUTE[digit]);
        multiply(check, permuted)
    });
    check == 0 && digits[0] >= 2
}

/// Checks an AHV number: an article number that begins with 756.
fn switzerland(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..12], &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]);
    digits[..3] == [7, 5, 6] && (10 - sum % 10) % 10 == last(digits)
}

/// Checks a CNP.
fn romania(digits: &[u8]) -> bool {
    let rest = weighted(&digits[..12], &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    is_month_and_day(&digits[3..7]) && last(digits) == if rest == 10 { 1 } else { rest }
}

/// Checks a resident registration number.
fn korea(digits: &[u8]) -> bool {
    let sum = weighted(&digits[..12], &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    is_month_and_day(&digits[2..6]) && (11 - sum % 11) % 10 == last(digits)
}

/// Checks a NIR with its key.
fn france(digits: &[u8]) -> bool {
    matches!(digits[0], 1 | 2 | 7 | 8) && 97 - number(&digits[..13]) % 97 == number(&digits[13..])
}

/// Checks a resident id whose check digit is not `X`.
fn china(digits: &[u8]) -> bool {
    digits[0] != 0 && is_china(&digits[..17], last(digits))
}

/// Checks seventeen digits with the date of birth among them, and the check digit, of which `X` is ten.
pub(super) fn is_china(digits: &[u8], check: u32) -> bool {
    let sum = weighted(digits, &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    matches!(number(&digits[6..10]), 1900..=2100)
        && is_month_and_day(&digits[10..14])
        && (12 - sum % 11) % 11 == check
}
