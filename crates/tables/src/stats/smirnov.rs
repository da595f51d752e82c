//! The distribution of the greatest distance between a sample and its distribution.
//!
//! Which method is used where follows Simard and L'Ecuyer ("Computing the Two-Sided
//! Kolmogorov-Smirnov Distribution", 2011), as SciPy does.

use std::f64::consts::PI;

use super::special::{binomial_mass, stirling_error};

/// From this sample size on the one-sided distribution is approximated.
const MAX_FOR_SUM: f64 = 1_000_000.0;

/// Returns the probability that the empirical distribution of `n` values is somewhere more than `d`
/// above the true one.
pub(super) fn one_sided_above(n: f64, d: f64) -> f64 {
    if d <= 0.0 || d >= 1.0 {
        return if d <= 0.0 { 1.0 } else { 0.0 };
    }
    if n * d <= 1.0 {
        return 1.0 - d * ((n - 1.0) * d.ln_1p()).exp();
    }
    if n > MAX_FOR_SUM {
        return (-(6.0 * n * d + 1.0).powi(2) / (18.0 * n)).exp();
    }
    // The formula of Birnbaum and Tingey; all its terms are positive.
    let mut sum = 0.0;
    let mut j = 0.0;
    loop {
        let (x, y) = (d + j / n, (n - j) / n - d);
        if y < 0.0 || j >= n {
            return (d * sum).min(1.0);
        }
        sum += binomial_mass(j, n - j, x, y) / x;
        j += 1.0;
    }
}

/// Returns the probability that the empirical distribution of `n` values is somewhere more than `d` away
/// from the true one.
pub(super) fn two_sided_above(n: f64, d: f64) -> f64 {
    let distance = n * d;
    let scaled = distance * d;
    let above = if d >= 1.0 {
        0.0
    } else if distance <= 0.5 {
        1.0
    } else if distance <= 1.0 {
        1.0 - smallest(n, 2.0 * distance - 1.0)
    } else if distance >= n - 1.0 {
        2.0 * (1.0 - d).powf(n)
    } else if d >= 0.5 {
        2.0 * one_sided_above(n, d)
    } else if n <= 140.0 && scaled <= 4.0 || n <= 100_000.0 && n * d.powf(1.5) <= 1.4 {
        1.0 - durbin(n, d)
    } else if scaled >= 370.0 {
        0.0
    } else if scaled >= 2.2 {
        2.0 * one_sided_above(n, d)
    } else {
        1.0 - pelz_good(n, d)
    };
    above.clamp(0.0, 1.0)
}

/// Computes n! / n^n × share^n, the distribution function of the smallest distances.
fn smallest(n: f64, share: f64) -> f64 {
    (0.5 * (2.0 * PI * n).ln() - n + stirling_error(n) + n * share.ln()).exp()
}

/// The scale by which numbers beyond the range of `f64` are kept, and its decimal exponent.
const FAR: f64 = 1e140;
const FAR_EXPONENT: i32 = 140;

/// Computes the probability of at most `d` exactly: Durbin's matrix, by Marsaglia, Tsang and Wang
/// ("Evaluating Kolmogorov's Distribution", 2003).
fn durbin(n: f64, d: f64) -> f64 {
    let k = (n * d).ceil();
    let rest = k - n * d;
    let k = k as usize;
    let (mut value, mut exponent) = power(&durbin_matrix(k, rest), n as u64, k - 1);
    for i in 1..=n as u64 {
        value *= i as f64 / n;
        if value < 1.0 / FAR {
            value *= FAR;
            exponent -= FAR_EXPONENT;
        }
    }
    value * 10f64.powi(exponent)
}

struct Square {
    size: usize,
    cells: Vec<f64>,
}

fn durbin_matrix(k: usize, rest: f64) -> Square {
    let size = 2 * k - 1;
    let mut inverse_factorial = vec![1.0; size + 1];
    for i in 1..=size {
        inverse_factorial[i] = inverse_factorial[i - 1] / i as f64;
    }
    let mut cells = vec![0.0; size * size];
    for row in 0..size {
        for column in 0..size.min(row + 2) {
            cells[row * size + column] = inverse_factorial[row + 1 - column];
        }
    }
    // The first column and the last row have something taken off.
    for i in 0..size {
        let edge = rest.powi(i as i32 + 1) * inverse_factorial[i + 1];
        cells[i * size] -= edge;
        cells[(size - 1) * size + size - 1 - i] -= edge;
    }
    let corner = (2.0 * rest - 1.0).max(0.0).powi(size as i32) * inverse_factorial[size];
    cells[(size - 1) * size] += corner;
    Square { size, cells }
}

/// Computes a cell on the diagonal of a power of a matrix, and its decimal exponent.
fn power(matrix: &Square, mut power: u64, cell: usize) -> (f64, i32) {
    let size = matrix.size;
    let middle = cell * size + cell;
    let mut square = (matrix.cells.clone(), 0);
    let mut result: Option<(Vec<f64>, i32)> = None;
    loop {
        if power % 2 == 1 {
            result = Some(match result {
                None => square.clone(),
                Some(result) => multiply(&result, &square, size, middle),
            });
        }
        power /= 2;
        if power == 0 {
            return result.map_or((1.0, 0), |(cells, exponent)| (cells[middle], exponent));
        }
        square = multiply(&square, &square, size, middle);
    }
}

fn multiply(
    (a, a_exponent): &(Vec<f64>, i32),
    (b, b_exponent): &(Vec<f64>, i32),
    size: usize,
    middle: usize,
) -> (Vec<f64>, i32) {
    let mut product = vec![0.0; size * size];
    for (row, sums) in a.chunks_exact(size).zip(product.chunks_exact_mut(size)) {
        for (&factor, other) in row.iter().zip(b.chunks_exact(size)) {
            sums.iter_mut().zip(other).for_each(|(sum, cell)| *sum += factor * cell);
        }
    }
    let mut exponent = a_exponent + b_exponent;
    if product[middle] > FAR {
        product.iter_mut().for_each(|cell| *cell /= FAR);
        exponent += FAR_EXPONENT;
    }
    (product, exponent)
}

/// Computes the probability of at most `d` by the series of Pelz and Good ("Approximating the Lower
/// Tail-Areas of the Kolmogorov-Smirnov One-Sample Statistic", 1976).
fn pelz_good(n: f64, d: f64) -> f64 {
    let z = n.sqrt() * d;
    let z2 = z * z;
    let (z4, z6, z8) = (z2.powi(2), z2.powi(3), z2.powi(4));
    let (pi2, pi4, pi6) = (PI.powi(2), PI.powi(4), PI.powi(6));
    let mut odd = [0.0; 4];
    let mut every = [0.0; 2];
    let terms = (16.0 * z / PI).ceil() as i32;
    for k in (1..=terms).rev().map(f64::from) {
        let m2 = (2.0 * k - 1.0).powi(2);
        let weight = (-m2 * pi2 / (8.0 * z2)).exp();
        odd[0] += weight;
        odd[1] += weight * (pi2 / 4.0 * m2 - z2);
        odd[2] += weight
            * (6.0 * z6
                + 2.0 * z4
                + pi2 / 4.0 * (2.0 * z4 - 5.0 * z2) * m2
                + pi4 / 16.0 * (1.0 - 2.0 * z2) * m2.powi(2));
        odd[3] += weight
            * (pi6 / 64.0 * (5.0 - 30.0 * z2) * m2.powi(3)
                + pi4 / 16.0 * (212.0 * z4 - 60.0 * z2) * m2.powi(2)
                + pi2 / 4.0 * (135.0 * z4 - 96.0 * z6) * m2
                - 30.0 * z6
                - 90.0 * z8);
        let k2 = k * k;
        let weight = k2 * (-k2 * pi2 / (2.0 * z2)).exp();
        every[0] += weight;
        every[1] += weight * (3.0 * z2 - pi2 * k2);
    }
    let parts = [
        odd[0] / z,
        odd[1] / (6.0 * z4),
        odd[2] / (72.0 * z6 * z) - every[0] * pi2 / (36.0 * z2 * z),
        odd[3] / (6480.0 * z8 * z2) + every[1] * pi2 / (216.0 * z6),
    ];
    let sum: f64 = parts.iter().rev().fold(0.0, |sum, part| sum / n.sqrt() + part);
    (2.0 * PI).sqrt() * sum
}
