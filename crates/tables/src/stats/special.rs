//! The incomplete beta and gamma functions, precise in the far tails and for large parameters.
//!
//! The leading factors are written with Loader's deviance ("Fast and Accurate Computation of
//! Binomial Probabilities", 2000): the difference of logarithms of gamma functions that they
//! stand for loses all digits where the parameters are large.

use std::f64::consts::PI;

use statrs::function::gamma::ln_gamma;

/// The most steps of continued fractions and series, which take about the square root of their
/// parameters.
const MAX_STEPS: usize = 1_000_000;
const PRECISION: f64 = f64::EPSILON / 2.0;
/// Stands for zero in denominators of continued fractions.
const TINY: f64 = 1e-300;

/// Computes ln Γ(x + 1) less Stirling's formula, √(2πx) (x/e)^x.
pub(super) fn stirling_error(x: f64) -> f64 {
    if x < 16.0 {
        return ln_gamma(x + 1.0) - (x + 0.5) * x.ln() + x - 0.5 * (2.0 * PI).ln();
    }
    let square = x * x;
    let terms = [1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0];
    terms.iter().fold(-691.0 / 360_360.0, |sum, term| sum / square + term) / x
}

/// Computes x ln(x / mean) + mean - x, without cancellation where both are near each other.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    let ratio = difference / (x + mean);
    let mut sum = difference * ratio;
    let mut term = 2.0 * x * ratio;
    for step in 1..1000 {
        term *= ratio * ratio;
        let next = sum + term / f64::from(2 * step + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// Computes Γ(a+b+1) / (Γ(a+1) Γ(b+1)) x^a y^b for x + y = 1: the probability of `a` hits and `b`
/// misses.
pub(super) fn binomial_mass(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    if a == 0.0 {
        return (n * (-x).ln_1p()).exp();
    }
    if b == 0.0 {
        return (n * (-y).ln_1p()).exp();
    }
    let exponent = stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * x)
        - deviance(b, n * y);
    exponent.exp() * (n / (2.0 * PI * a * b)).sqrt()
}

/// Computes the regularised incomplete beta function I_x(a, b) for y = 1 - x, and one minus it. Both x
/// and y are parameters, because the smaller one has digits that the other lacks.
pub(super) fn beta_tails(a: f64, b: f64, x: f64, y: f64) -> (f64, f64) {
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { (0.0, 1.0) } else { (1.0, 0.0) };
    }
    if x < (a + 1.0) / (a + b + 2.0) {
        let lower = beta_fraction(a, b, x, y);
        (lower, 1.0 - lower)
    } else {
        let upper = beta_fraction(b, a, y, x);
        (1.0 - upper, upper)
    }
}

/// Computes the continued fraction of I_x(a, b), which is quick for x below the mean.
fn beta_fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let factor = binomial_mass(a, b, x, y) * b / (a + b);
    if factor == 0.0 {
        return 0.0;
    }
    let term = |step: usize| {
        let m = (step / 2) as f64;
        if step.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        }
    };
    factor / lentz(1.0, |step| (term(step), 1.0))
}

/// Returns the share of a gamma distribution of shape `a` that is above `x`.
pub(super) fn gamma_above(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let factor = (-stirling_error(a) - deviance(a, x)).exp() / (2.0 * PI * a).sqrt();
    if x < a + 1.0 {
        return 1.0 - factor * gamma_series(a, x);
    }
    let fraction = lentz(x + 1.0 - a, |step| {
        let step = step as f64;
        (-step * (step - a), x + 2.0 * step + 1.0 - a)
    });
    factor * a / fraction
}

/// Computes 1 + x/(a+1) + x²/((a+1)(a+2)) + …
fn gamma_series(a: f64, x: f64) -> f64 {
    let mut sum = 1.0;
    let mut term = 1.0;
    for step in 1..MAX_STEPS {
        term *= x / (a + step as f64);
        sum += term;
        if term < sum * PRECISION {
            break;
        }
    }
    sum
}

/// Computes the continued fraction b₀ + a₁/(b₁ + a₂/(b₂ + …)) by the modified method of Lentz, where
/// `part` returns the pairs (a, b) from the first on.
fn lentz(start: f64, part: impl Fn(usize) -> (f64, f64)) -> f64 {
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut value = not_zero(start);
    let mut above = value;
    let mut below = 0.0;
    for step in 1..MAX_STEPS {
        let (a, b) = part(step);
        below = 1.0 / not_zero(b + a * below);
        above = not_zero(b + a / above);
        let change = above * below;
        value *= change;
        if (change - 1.0).abs() <= PRECISION {
            break;
        }
    }
    value
}
