//! Credit cards: Luhn, issuer and length.

use std::ops::Range;

use super::cluster::{Cluster, Gap};

/// The surroundings of a number, by what they say about cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Near {
    /// A word such as `card`: any number from 12 to 19 digits with a good check digit is one.
    Card,
    /// Other personal data: the issuer and its length have to be known.
    Personal,
    /// Nothing: it has to be written as cards are, in groups. One of ten order numbers has a good
    /// check digit too.
    Nothing,
    /// Things that have numbers: it is none, whatever it looks like.
    Things,
}

/// Returns the card number that the cluster begins with.
pub(super) fn find(
    cluster: &Cluster,
    near: Near,
    ends: impl Fn(&Range<usize>) -> bool,
) -> Option<Range<usize>> {
    if cluster.plus || near == Near::Things {
        return None;
    }
    (1..=cluster.groups()).rev().find_map(|count| {
        let digits = cluster.digits(count);
        if !(12..=19).contains(&digits.len()) || !luhn(digits) {
            return None;
        }
        let uniform = cluster.gaps(count).windows(2).all(|pair| pair[0] == pair[1]);
        let joined = cluster.gaps(count).iter().all(|gap| matches!(gap, Gap::Space | Gap::Dash));
        let right = uniform
            && joined
            && digits.iter().any(|digit| *digit != digits[0])
            && match near {
                Near::Card => true,
                Near::Personal => is_issued(digits) && is_grouped_like_a_card(cluster, count),
                Near::Nothing => {
                    count > 1 && is_issued(digits) && is_grouped_like_a_card(cluster, count)
                }
                Near::Things => false,
            };
        right.then(|| cluster.range(count)).filter(&ends)
    })
}

/// Tells whether the groups have three digits or more, or one each: lists of small numbers are no
/// cards.
fn is_grouped_like_a_card(cluster: &Cluster, count: usize) -> bool {
    let all_but_last = 0..count - 1;
    all_but_last.clone().all(|place| cluster.group_length(place) >= 3)
        || (count > 11 && all_but_last.into_iter().all(|place| cluster.group_length(place) == 1))
}

pub(super) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(*digit);
            match place % 2 {
                0 => digit,
                _ if digit > 4 => digit * 2 - 9,
                _ => digit * 2,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Tells whether an issuer gives out numbers that begin like this and are so long.
fn is_issued(digits: &[u8]) -> bool {
    let head = digits[..4].iter().fold(0_u32, |sum, digit| sum * 10 + u32::from(*digit));
    let length = digits.len();
    match head {
        // Visa
        4000..=4999 => matches!(length, 13 | 16 | 19),
        // Mastercard
        5100..=5599 | 2221..=2720 => length == 16,
        // American Express
        3400..=3499 | 3700..=3799 => length == 15,
        // Diners Club
        3000..=3059 | 3095 | 3600..=3699 | 3800..=3999 => matches!(length, 14 | 16),
        // Discover, JCB, UnionPay, RuPay, Mir
        6011 | 6440..=6599 | 3528..=3589 | 2200..=2204 | 6060..=6099 | 8100..=8199 => length == 16,
        6200..=6299 => (16..=19).contains(&length),
        // Maestro
        5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763 | 6390 => (12..=19).contains(&length),
        _ => false,
    }
}
