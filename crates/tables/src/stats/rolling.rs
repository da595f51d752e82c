//! Computes figures of a window that moves along a series.

use std::collections::VecDeque;

use super::summary::Summary;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rolling {
    Mean,
    Sum,
    Min,
    Max,
    Deviation,
    Variance,
    Median,
    Count,
}

/// Computes the figure of each window, which has the values from a start up to and including the value
/// itself; the starts never go back. NaN is a missing value, and also the figure of a window with fewer
/// than `min` values.
pub fn rolling(values: &[f64], starts: &[usize], function: Rolling, min: usize) -> Vec<f64> {
    match function {
        Rolling::Min => extremes(values, starts, min, |new, old| new <= old),
        Rolling::Max => extremes(values, starts, min, |new, old| new >= old),
        Rolling::Median => medians(values, starts, min),
        Rolling::Sum => moments(values, starts, min, |window| window.sum),
        Rolling::Mean => moments(values, starts, min, |window| window.mean),
        Rolling::Count => moments(values, starts, min, |window| window.n),
        Rolling::Variance => {
            moments(values, starts, min.max(2), |window| window.squares.max(0.0) / (window.n - 1.0))
        }
        Rolling::Deviation => moments(values, starts, min.max(2), |window| {
            (window.squares.max(0.0) / (window.n - 1.0)).sqrt()
        }),
    }
}

/// The moments of a window, updated as values enter and leave.
#[derive(Default)]
struct Window {
    n: f64,
    sum: f64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl Window {
    fn of(values: &[f64]) -> Self {
        let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        if known.is_empty() {
            return Self::default();
        }
        let summary = Summary::of(&known);
        let sum = known.iter().sum();
        Self { n: summary.n, sum, mean: summary.mean(), squares: summary.squares }
    }

    fn add(&mut self, value: f64) {
        self.n += 1.0;
        self.sum += value;
        let distance = value - self.mean;
        self.mean += distance / self.n;
        self.squares += distance * (value - self.mean);
    }

    fn remove(&mut self, value: f64) {
        self.n -= 1.0;
        if self.n <= 0.0 {
            *self = Self::default();
            return;
        }
        self.sum -= value;
        let distance = value - self.mean;
        self.mean -= distance / self.n;
        self.squares -= distance * (value - self.mean);
    }
}

/// The part of the spread below which a window is summed again, because removing a value has cancelled
/// most digits.
const MOST_IS_GONE: f64 = 1e-6;

/// Computes mean and spread of each window. Removing values from sums leaves errors behind, so a window
/// is summed again once half of it has left, which costs no more than a few further passes, and where
/// what leaves is much larger than what stays.
fn moments(
    values: &[f64],
    starts: &[usize],
    min: usize,
    figure: impl Fn(&Window) -> f64,
) -> Vec<f64> {
    let mut window = Window::default();
    let mut from = 0;
    let mut left = 0;
    let mut figures = Vec::with_capacity(values.len());
    for (at, (&value, &start)) in values.iter().zip(starts).enumerate() {
        let spread = window.squares;
        for &gone in values[from..start].iter().filter(|value| !value.is_nan()) {
            window.remove(gone);
        }
        left += start - from;
        let is_worn = left * 2 >= at + 1 - start || window.squares < spread * MOST_IS_GONE;
        if start > from && is_worn {
            window = Window::of(&values[start..=at]);
            left = 0;
        } else if !value.is_nan() {
            window.add(value);
        }
        from = start;
        figures.push(if window.n >= min.max(1) as f64 { figure(&window) } else { f64::NAN });
    }
    figures
}

/// Computes the extreme of each window. `beats` tells whether a value makes an earlier one irrelevant.
fn extremes(
    values: &[f64],
    starts: &[usize],
    min: usize,
    beats: impl Fn(f64, f64) -> bool,
) -> Vec<f64> {
    // Places of values that are the extreme once those before them have left.
    let mut candidates: VecDeque<usize> = VecDeque::new();
    let mut known = 0_usize;
    let mut from = 0;
    let mut figures = Vec::with_capacity(values.len());
    for (at, (&value, &start)) in values.iter().zip(starts).enumerate() {
        known -= values[from..start].iter().filter(|value| !value.is_nan()).count();
        from = start;
        if !value.is_nan() {
            known += 1;
            while candidates.back().is_some_and(|&back| beats(value, values[back])) {
                candidates.pop_back();
            }
            candidates.push_back(at);
        }
        while candidates.front().is_some_and(|&front| front < start) {
            candidates.pop_front();
        }
        let extreme = candidates.front().filter(|_| known >= min.max(1));
        figures.push(extreme.map_or(f64::NAN, |&place| values[place]));
    }
    figures
}

fn medians(values: &[f64], starts: &[usize], min: usize) -> Vec<f64> {
    let mut sorted: Vec<f64> = Vec::new();
    let mut from = 0;
    let mut figures = Vec::with_capacity(values.len());
    let place = |sorted: &[f64], value: f64| {
        sorted.partition_point(|other| other.total_cmp(&value).is_lt())
    };
    for (&value, &start) in values.iter().zip(starts) {
        for &gone in values[from..start].iter().filter(|value| !value.is_nan()) {
            sorted.remove(place(&sorted, gone));
        }
        from = start;
        if !value.is_nan() {
            sorted.insert(place(&sorted, value), value);
        }
        let middle = sorted.len() / 2;
        figures.push(match sorted.len() {
            count if count < min.max(1) => f64::NAN,
            count if count % 2 == 1 => sorted[middle],
            _ => 0.5 * sorted[middle - 1] + 0.5 * sorted[middle],
        });
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is large and gone must not be seen in what follows.
    #[test]
    fn what_has_left_leaves_nothing_behind() {
        let mut values = vec![1e16, 3.0, 1e-3];
        values.extend((0..200).map(|at| f64::from(at % 7)));
        values.extend([5.0; 50]);
        for width in [3, 20, 70] {
            let starts: Vec<usize> =
                (0..values.len()).map(|at| (at + 1_usize).saturating_sub(width)).collect();
            for function in [Rolling::Mean, Rolling::Sum, Rolling::Deviation] {
                let figures = rolling(&values, &starts, function, width);
                for at in width + 3..values.len() {
                    let window = Window::of(&values[at + 1 - width..=at]);
                    let wanted = match function {
                        Rolling::Mean => window.mean,
                        Rolling::Sum => window.sum,
                        _ => (window.squares / (width - 1) as f64).sqrt(),
                    };
                    let difference = (figures[at] - wanted).abs();
                    assert!(difference < 1e-12, "{function:?} of {width} at {at}: {difference}");
                }
            }
        }
    }

    #[test]
    fn what_is_missing_does_not_count() {
        let values = [1.0, f64::NAN, 3.0, f64::NAN, f64::NAN, f64::NAN, 5.0];
        let starts = [0, 0, 0, 1, 2, 3, 4];
        let shown = |function, min| -> String {
            rolling(&values, &starts, function, min).iter().map(|it| format!("{it} ")).collect()
        };
        assert_eq!(shown(Rolling::Sum, 1), "1 1 4 3 3 NaN 5 ");
        assert_eq!(shown(Rolling::Median, 2), "NaN NaN 2 NaN NaN NaN NaN ");
        assert_eq!(shown(Rolling::Min, 1), "1 1 1 3 3 NaN 5 ");
        assert_eq!(shown(Rolling::Max, 2), "NaN NaN 3 NaN NaN NaN NaN ");
    }
}
