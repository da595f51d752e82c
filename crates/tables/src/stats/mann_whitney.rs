//! The test of Mann and Whitney, by ranks.

use super::{
    distributions::normal_above,
    ranks::Ranks,
    tested::{Alternative, Effect, Tested},
};

/// Up to this many values in the smaller sample, and without ties, the probability is computed exactly.
const MAX_FOR_EXACT: usize = 8;
/// The largest table for an exact probability. Stops a huge larger sample from filling memory.
const MAX_OUTCOMES: usize = 4_000_000;

/// Tests whether values of one sample tend to be greater than those of the other. The statistic is U of
/// the first sample: the number of pairs in which its value is the greater one.
pub fn mann_whitney(first: &[f64], second: &[f64], alternative: Alternative) -> Tested {
    let (m, n) = (first.len(), second.len());
    let Ranks { ranks, ties } = Ranks::of(&[first, second].concat());
    let pairs = m as f64 * n as f64;
    let u = ranks[..m].iter().sum::<f64>() - 0.5 * m as f64 * (m as f64 + 1.0);
    let (tested, sides) = match alternative {
        Alternative::Greater => (u, 1.0),
        Alternative::Less => (pairs - u, 1.0),
        Alternative::TwoSided => (u.max(pairs - u), 2.0),
    };
    let is_exact = m.min(n) <= MAX_FOR_EXACT
        && ties.is_empty()
        && m.checked_mul(n).is_some_and(|outcomes| outcomes <= MAX_OUTCOMES);
    let (p_value, method) = if is_exact {
        (exact_from(tested as usize, m, n), "exact")
    } else {
        (normal_from(tested, m, n, &ties), "normal approximation")
    };
    Tested {
        statistic: u,
        p_value: (sides * p_value).min(1.0),
        degrees_of_freedom: Vec::new(),
        effect: Effect::association("rank_biserial", 2.0 * u / pairs - 1.0),
        interval: None,
        method: Some(method),
    }
}

/// Approximates the probability of this U or a greater one by the normal distribution, corrected for
/// continuity and for ties.
fn normal_from(u: f64, m: usize, n: usize, ties: &[u64]) -> f64 {
    let (m, n) = (m as f64, n as f64);
    let all = m + n;
    let tied: f64 = ties.iter().map(|&size| size as f64).map(|size| size.powi(3) - size).sum();
    let variance = m * n / 12.0 * ((all + 1.0) - tied / (all * (all - 1.0)));
    let distance = u - 0.5 * m * n - 0.5;
    if variance <= 0.0 {
        return 1.0;
    }
    normal_above(distance / variance.sqrt())
}

/// Computes the same probability exactly, by counting.
fn exact_from(u: usize, m: usize, n: usize) -> f64 {
    let opposite = m * n - u;
    if u >= opposite {
        return share_up_to(opposite, m, n);
    }
    // U is symmetric; what is summed is always the smaller tail, which has all its digits.
    match u.checked_sub(1) {
        Some(below) => 1.0 - share_up_to(below, m, n),
        None => 1.0,
    }
}

/// Returns the share of arrangements whose U is at most this. Their numbers are the coefficients of the
/// Gaussian binomial: the product of (1 - q^(n+i)) / (1 - q^i) for i up to m.
fn share_up_to(u: usize, m: usize, n: usize) -> f64 {
    let (m, n) = (m.min(n), m.max(n));
    let mut counts = vec![0.0; u + 1];
    counts[0] = 1.0;
    let mut total = 1.0;
    for i in 1..=m {
        for place in (n + i..=u).rev() {
            counts[place] -= counts[place - n - i];
        }
        for place in i..=u {
            counts[place] += counts[place - i];
        }
        total *= (n + i) as f64 / i as f64;
    }
    counts.iter().sum::<f64>() / total
}
