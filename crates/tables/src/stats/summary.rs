//! Mean and spread of a sample.

#[derive(Clone, Copy, Debug)]
pub struct Summary {
    pub n: f64,
    /// The first value, and how far the mean is from it: their sum would lose digits of the
    /// difference between two means that are large and near each other.
    first: f64,
    rest: f64,
    /// The sum of the squared distances from the mean.
    pub squares: f64,
}

impl Summary {
    /// Computes the summary in two passes, relative to the first value: equal values have no spread at
    /// all.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let first = values.first().copied().unwrap_or(f64::NAN);
        let rest = values.iter().map(|value| value - first).sum::<f64>() / n;
        let (mut squares, mut remainder) = (0.0, 0.0);
        for value in values {
            let distance = value - first - rest;
            squares += distance * distance;
            remainder += distance;
        }
        Self { n, first, rest, squares: squares - remainder * remainder / n }
    }

    pub fn mean(&self) -> f64 {
        self.first + self.rest
    }

    /// Returns how far the mean is above a value.
    pub(super) fn above(&self, value: f64) -> f64 {
        (self.first - value) + self.rest
    }

    /// Returns how far the mean is above another mean.
    pub(super) fn difference(&self, other: &Self) -> f64 {
        (self.first - other.first) + (self.rest - other.rest)
    }

    /// Returns the unbiased sample variance.
    pub fn variance(&self) -> f64 {
        self.squares / (self.n - 1.0)
    }

    pub fn deviation(&self) -> f64 {
        self.variance().sqrt()
    }
}

/// Returns the median, and reorders the values.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return Some(upper);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(0.5 * lower + 0.5 * upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_no_spread() {
        let summary = Summary::of(&[0.1; 1001]);
        assert_eq!((summary.mean(), summary.squares), (0.1, 0.0));
    }

    #[test]
    fn a_large_offset_costs_no_digits() {
        let summary = Summary::of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert_eq!((summary.mean(), summary.variance()), (1e9 + 10.0, 30.0));
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }
}
