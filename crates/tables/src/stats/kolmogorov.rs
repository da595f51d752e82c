//! The tests of Kolmogorov and Smirnov: whether samples have the same distribution.

use super::{
    distributions::normal_above,
    smirnov::{one_sided_above, two_sided_above},
    tested::{Alternative, Effect, Tested},
};

/// Up to this size the probability is computed exactly.
const MAX_FOR_EXACT: usize = 10_000;

/// Tests whether two samples come from the same distribution. `Greater` is about the distribution
/// function of the first sample, which is greater where its values are less.
pub fn two_samples(first: &[f64], second: &[f64], alternative: Alternative) -> Tested {
    let (m, n) = (first.len(), second.len());
    let (over, under) = greatest_distances(first, second);
    let distance = match alternative {
        Alternative::Greater => over,
        Alternative::Less => under,
        Alternative::TwoSided => over.max(under),
    };
    let d = distance as f64 / (m as f64 * n as f64);
    let (p_value, method) = if m.max(n) <= MAX_FOR_EXACT {
        (exact(m, n, distance, alternative == Alternative::TwoSided), "exact")
    } else {
        (asymptotic(m as f64, n as f64, d, alternative), "asymptotic")
    };
    tested(d, p_value, Some(method))
}

/// Tests whether a sample comes from a normal distribution.
pub fn with_normal(values: &[f64], mean: f64, deviation: f64, alternative: Alternative) -> Tested {
    let n = values.len() as f64;
    let (mut over, mut under) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (place, value) in sorted(values).into_iter().enumerate() {
        let below = normal_above((mean - value) / deviation);
        over = over.max((place + 1) as f64 / n - below);
        under = under.max(below - place as f64 / n);
    }
    let (d, p_value) = match alternative {
        Alternative::Greater => (over, one_sided_above(n, over)),
        Alternative::Less => (under, one_sided_above(n, under)),
        Alternative::TwoSided => (over.max(under), two_sided_above(n, over.max(under))),
    };
    tested(d, p_value, None)
}

fn tested(d: f64, p_value: f64, method: Option<&'static str>) -> Tested {
    Tested {
        statistic: d,
        p_value: p_value.clamp(0.0, 1.0),
        degrees_of_freedom: Vec::new(),
        effect: Effect { name: "ks_d", value: d, steps: None },
        interval: None,
        method,
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Returns how far the distribution function of the first sample is above and below that of the second
/// at most, times the product of their sizes, so that nothing is rounded.
fn greatest_distances(first: &[f64], second: &[f64]) -> (u128, u128) {
    let (first, second) = (sorted(first), sorted(second));
    let (m, n) = (first.len(), second.len());
    let (mut i, mut j) = (0, 0);
    let (mut over, mut under) = (0, 0);
    while i < m && j < n {
        let value = first[i].min(second[j]);
        i += first[i..].iter().take_while(|&&other| other == value).count();
        j += second[j..].iter().take_while(|&&other| other == value).count();
        let (a, b) = (i as u128 * n as u128, j as u128 * m as u128);
        over = over.max(a.saturating_sub(b));
        under = under.max(b.saturating_sub(a));
    }
    (over, under)
}

/// Computes the exact probability that the distance is at least this. Each order of the values is a path
/// from one corner of a grid to the other; the probability of having left the band around the diagonal
/// is carried along the grid, which only adds positive numbers.
fn exact(m: usize, n: usize, distance: u128, is_two_sided: bool) -> f64 {
    if distance == 0 {
        return 1.0;
    }
    let (m, n, distance) = (m as i64, n as i64, i64::try_from(distance).unwrap_or(i64::MAX));
    let is_outside = |i: i64, j: i64| {
        let ahead = i * n - j * m;
        ahead >= distance || is_two_sided && -ahead >= distance
    };
    let inverse: Vec<f64> = (0..=m + n).map(|steps| 1.0 / steps.max(1) as f64).collect();
    let mut left = vec![0.0; n as usize + 1];
    for i in 0..=m {
        let mut below = 0.0;
        for (j, (cell, inverse)) in (0..).zip(left.iter_mut().zip(&inverse[i as usize..])) {
            below = if is_outside(i, j) {
                1.0
            } else {
                (*cell * i as f64 + below * j as f64) * inverse
            };
            *cell = below;
        }
    }
    left[n as usize]
}

/// Approximates the probability for large samples, as if one sample of an effective size were compared
/// with its distribution.
fn asymptotic(m: f64, n: f64, d: f64, alternative: Alternative) -> f64 {
    let size = m * n / (m + n);
    if alternative == Alternative::TwoSided {
        return two_sided_above(size.round_ties_even(), d);
    }
    // Hodges' correction of the limit, 1958.
    let (m, n) = (m.max(n), m.min(n));
    let z = size.sqrt() * d;
    (-2.0 * z * z - 2.0 * z * (m + 2.0 * n) / (m * n * (m + n)).sqrt() / 3.0).exp()
}
