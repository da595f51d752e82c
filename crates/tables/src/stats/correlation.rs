//! Correlation and covariance of pairs of numbers.

use super::{
    distributions::{correlation_outside, normal_above, student_above},
    ranks::Ranks,
    tested::Alternative,
};

/// A correlation, and the probability to be that far from zero by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    pub value: f64,
    pub p_value: f64,
}

/// The moments of pairs, from which correlation and covariance are computed. Those of parts add up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    pub n: u64,
    mean_x: f64,
    mean_y: f64,
    /// Sums of products of distances from the means.
    xx: f64,
    yy: f64,
    xy: f64,
}

/// A column as distances from its mean.
#[derive(Debug)]
pub struct Centred {
    mean: f64,
    distances: Vec<f64>,
    squares: f64,
}

impl Centred {
    /// Computes the mean relative to the first value, so that equal values have no spread at all.
    pub fn of(values: &[f64]) -> Self {
        let first = values.first().copied().unwrap_or_default();
        let sum: f64 = values.iter().map(|value| value - first).sum();
        let mean = first + sum / values.len().max(1) as f64;
        let distances: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let squares = dot(&distances, &distances);
        Self { mean, distances, squares }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums at once, which the processor adds side by side.
    let mut sums = [0.0; 4];
    let (a_fours, b_fours) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a_fours.remainder().iter().zip(b_fours.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_fours.zip(b_fours) {
        for at in 0..4 {
            sums[at] += x[at] * y[at];
        }
    }
    sums.iter().sum::<f64>() + rest
}

impl Moments {
    /// Computes the moments of two columns of the same length.
    pub fn of(x: &Centred, y: &Centred) -> Self {
        Self {
            n: x.distances.len() as u64,
            mean_x: x.mean,
            mean_y: y.mean,
            xx: x.squares,
            yy: y.squares,
            xy: dot(&x.distances, &y.distances),
        }
    }

    pub fn add(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            *self = *other;
            return;
        }
        let n = (self.n + other.n) as f64;
        let share = other.n as f64 / n;
        let weight = self.n as f64 * share;
        let (dx, dy) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        self.xx += other.xx + dx * dx * weight;
        self.yy += other.yy + dy * dy * weight;
        self.xy += other.xy + dx * dy * weight;
        self.mean_x += dx * share;
        self.mean_y += dy * share;
        self.n += other.n;
    }

    /// Returns the sample covariance; none of fewer than two pairs.
    pub fn covariance(&self) -> Option<f64> {
        let covariance = self.xy / (self.n as f64 - 1.0);
        (self.n > 1 && covariance.is_finite()).then_some(covariance)
    }

    /// Returns Pearson's correlation; none if one of the two columns is constant.
    pub fn correlation(&self) -> Option<Correlation> {
        // The root of the product keeps a perfect correlation perfect, unless it overflows.
        let product = self.xx * self.yy;
        let spread =
            if product.is_normal() { product.sqrt() } else { self.xx.sqrt() * self.yy.sqrt() };
        let value = self.xy / spread;
        if self.n < 2 || !value.is_finite() {
            return None;
        }
        let value = value.clamp(-1.0, 1.0);
        let n = usize::try_from(self.n).unwrap_or(usize::MAX);
        Some(Correlation { value, p_value: correlation_outside(value, n) })
    }
}

#[cfg(test)]
pub fn pearson(x: &[f64], y: &[f64]) -> Option<Correlation> {
    Moments::of(&Centred::of(x), &Centred::of(y)).correlation()
}

pub fn ranks(values: &[f64]) -> Vec<f64> {
    Ranks::of(values).ranks
}

/// Spearman's, of the ranks of two columns. Two pairs say nothing of chance: their p-value is NaN.
pub fn spearman(ranks_x: &[f64], ranks_y: &[f64]) -> Option<Correlation> {
    let n = ranks_x.len();
    let moments = Moments::of(&Centred::of(ranks_x), &Centred::of(ranks_y));
    let value = moments.correlation()?.value;
    let degrees = n as f64 - 2.0;
    let t = value * (degrees / ((1.0 + value) * (1.0 - value))).sqrt();
    let p_value = if n > 2 {
        Alternative::TwoSided.symmetric(t, |t| student_above(t, degrees))
    } else {
        f64::NAN
    };
    Some(Correlation { value, p_value })
}

/// Without ties, the distribution is counted out up to this size.
const MAX_FOR_EXACT: usize = 33;

/// Kendall's tau-b, by Knight's method: sorting takes as many exchanges as pairs disagree.
pub fn kendall(x: &[f64], y: &[f64]) -> Option<Correlation> {
    let n = x.len();
    let mut pairs: Vec<(f64, f64)> = x.iter().zip(y).map(|(&x, &y)| (x + 0.0, y + 0.0)).collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let ties_x = Ties::of(pairs.chunk_by(|a, b| a.0 == b.0));
    let ties_both = Ties::of(pairs.chunk_by(|a, b| a == b));
    let mut second: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    let discordant = sort_counting(&mut second);
    let ties_y = Ties::of(second.chunk_by(|a, b| a == b));

    let all = (n as i64 * (n as i64 - 1)) / 2;
    if ties_x.pairs == all || ties_y.pairs == all {
        return None;
    }
    let score = (all - ties_x.pairs - ties_y.pairs + ties_both.pairs - 2 * discordant) as f64;
    let untied = |ties: &Ties| ((all - ties.pairs) as f64).sqrt();
    let value = (score / untied(&ties_x) / untied(&ties_y)).clamp(-1.0, 1.0);
    let rarer = discordant.min(all - discordant);
    let has_ties = ties_x.pairs > 0 || ties_y.pairs > 0;
    let p_value = if !has_ties && (n <= MAX_FOR_EXACT || rarer <= 1) {
        exact_kendall(n, rarer as usize)
    } else {
        let z = score / kendall_variance(n as f64, &ties_x, &ties_y).sqrt();
        Alternative::TwoSided.symmetric(z, normal_above)
    };
    Some(Correlation { value, p_value })
}

/// Sums over the groups of equal values.
#[derive(Default)]
struct Ties {
    pairs: i64,
    triples: f64,
    weighted: f64,
}

impl Ties {
    fn of<'a, T: 'a>(groups: impl Iterator<Item = &'a [T]>) -> Self {
        groups.filter(|group| group.len() > 1).fold(Self::default(), |sums, group| {
            let (count, size) = (group.len() as i64, group.len() as f64);
            Self {
                pairs: sums.pairs + count * (count - 1) / 2,
                triples: sums.triples + size * (size - 1.0) * (size - 2.0),
                weighted: sums.weighted + size * (size - 1.0) * (2.0 * size + 5.0),
            }
        })
    }
}

fn kendall_variance(n: f64, x: &Ties, y: &Ties) -> f64 {
    let ordered = n * (n - 1.0);
    (ordered * (2.0 * n + 5.0) - x.weighted - y.weighted) / 18.0
        + 2.0 * x.pairs as f64 * y.pairs as f64 / ordered
        + x.triples * y.triples / (9.0 * ordered * (n - 2.0))
}

/// Sorts by merging, and counts the pairs that stood in the wrong order.
fn sort_counting(values: &mut [f64]) -> i64 {
    let mut other = values.to_vec();
    let mut exchanges = 0;
    let mut width = 1;
    while width < values.len() {
        for (from, to) in values.chunks(2 * width).zip(other.chunks_mut(2 * width)) {
            exchanges += merge_counting(from, width, to);
        }
        values.copy_from_slice(&other);
        width *= 2;
    }
    exchanges
}

fn merge_counting(from: &[f64], width: usize, to: &mut [f64]) -> i64 {
    let (left, right) = from.split_at(width.min(from.len()));
    let (mut i, mut j) = (0, 0);
    let mut exchanges = 0;
    for place in to {
        let takes_left = j == right.len() || i < left.len() && left[i] <= right[j];
        if takes_left {
            *place = left[i];
            i += 1;
        } else {
            *place = right[j];
            j += 1;
            exchanges += (left.len() - i) as i64;
        }
    }
    exchanges
}

/// The probability that of `n` values at most this many pairs are in the rarer of both orders,
/// or as many in the other.
fn exact_kendall(n: usize, rarer: usize) -> f64 {
    if n < 3 || 4 * rarer == n * (n - 1) {
        return 1.0;
    }
    // The share of orders of n values with each number of pairs in the wrong order.
    let mut shares = vec![0.0; rarer + 1];
    shares[0] = 1.0;
    for size in 2..=n {
        let mut sum = 0.0;
        let before = shares.clone();
        for place in 0..=rarer {
            sum += before[place];
            if place >= size {
                sum -= before[place - size];
            }
            shares[place] = sum / size as f64;
        }
    }
    (2.0 * shares.iter().sum::<f64>()).min(1.0)
}
