//! Tail probabilities of distributions.

use super::special::{beta_tails, gamma_above};

pub(super) fn normal_above(z: f64) -> f64 {
    let half = 0.5 * gamma_above(0.5, 0.5 * z * z);
    if z < 0.0 { 1.0 - half } else { half }
}

pub(super) fn student_above(t: f64, degrees: f64) -> f64 {
    let half = 0.5 * student_outside(t, degrees);
    if t < 0.0 { 1.0 - half } else { half }
}

/// Returns the probability that |T| of Student's distribution exceeds `t`.
fn student_outside(t: f64, degrees: f64) -> f64 {
    let ratio = t / degrees * t;
    beta_tails(0.5 * degrees, 0.5, 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)).0
}

/// Returns the value that is exceeded with this probability, which is below one half.
pub(super) fn student_quantile(above: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_above(high, degrees) > above && high < f64::MAX / 4.0 {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if student_above(middle, degrees) > above {
            low = middle;
        } else {
            high = middle;
        }
    }
}

pub(super) fn fisher_above(f: f64, numerator: f64, denominator: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    let ratio = numerator / denominator * f;
    let (x, y) = (1.0 / (1.0 + ratio), 1.0 / (1.0 + 1.0 / ratio));
    beta_tails(0.5 * denominator, 0.5 * numerator, x, y).0
}

pub(super) fn chi_square_above(statistic: f64, degrees: f64) -> f64 {
    gamma_above(0.5 * degrees, 0.5 * statistic)
}

/// Returns the probability that the correlation of `n` pairs of independent normal values is farther
/// from zero than `r`.
pub(super) fn correlation_outside(r: f64, n: usize) -> f64 {
    if n < 3 {
        return 1.0;
    }
    let shape = 0.5 * n as f64 - 1.0;
    let r = r.abs();
    (2.0 * beta_tails(shape, shape, 0.5 * (1.0 - r), 0.5 * (1.0 + r)).0).min(1.0)
}
