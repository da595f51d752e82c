//! Series of numbers in the order of time, where NaN is a missing value.

/// Replaces each missing value by the last known one.
pub fn fill_previous(values: &mut [f64]) {
    let mut last = f64::NAN;
    for value in values {
        if value.is_nan() {
            *value = last;
        } else {
            last = *value;
        }
    }
}

/// Fills missing values between two known ones by linear interpolation.
pub fn fill_linear(values: &mut [f64]) {
    let mut last: Option<usize> = None;
    for at in 0..values.len() {
        if values[at].is_nan() {
            continue;
        }
        if let Some(from) = last {
            let (start, end) = (values[from], values[at]);
            let step = (end - start) / (at - from) as f64;
            for (distance, value) in values[from + 1..at].iter_mut().enumerate() {
                *value = start + step * (distance + 1) as f64;
            }
        }
        last = Some(at);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    Absolute,
    /// 10 is 10 %.
    Percent,
    /// 0.1 is 10 %, as in pandas.
    Fraction,
    Log,
}

/// Computes how each value compares to the one `periods` places before it, or after it if that is
/// negative. There is no share of zero.
pub fn change(values: &[f64], periods: i64, kind: Change) -> Vec<f64> {
    let distance = isize::try_from(periods.saturating_neg()).unwrap_or(isize::MAX);
    let change = |at: usize| {
        let before = at.checked_add_signed(distance);
        let Some(&before) = before.and_then(|before| values.get(before)) else {
            return f64::NAN;
        };
        let change = match kind {
            Change::Absolute => values[at] - before,
            Change::Percent => (values[at] / before - 1.0) * 100.0,
            Change::Fraction => values[at] / before - 1.0,
            Change::Log => (values[at] / before).ln(),
        };
        if change.is_finite() { change } else { f64::NAN }
    };
    (0..values.len()).map(change).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cumulative {
    Sum,
    Product,
    Min,
    Max,
}

/// Computes the running figure of all values up to each; missing ones stay missing and do not count.
pub fn cumulative(values: &[f64], kind: Cumulative) -> Vec<f64> {
    let mut sum = 0.0;
    // The rounding errors of the additions (Kahan summation).
    let mut lost = 0.0;
    let mut product = 1.0;
    let mut extreme = f64::NAN;
    let next = |&value: &f64| {
        if value.is_nan() {
            return f64::NAN;
        }
        match kind {
            Cumulative::Sum => {
                let wanted = value - lost;
                let next = sum + wanted;
                lost = (next - sum) - wanted;
                sum = next;
                return sum;
            }
            Cumulative::Product => {
                product *= value;
                return product;
            }
            Cumulative::Min => extreme = value.min(extreme),
            Cumulative::Max => extreme = value.max(extreme),
        }
        extreme
    };
    values.iter().map(next).collect()
}

/// Computes the slope of the regression line of values over times. It needs two points.
pub fn slope(times: &[f64], values: &[f64]) -> Option<f64> {
    let known = times.iter().zip(values).filter(|(_, value)| !value.is_nan());
    let (times, values): (Vec<f64>, Vec<f64>) = known.unzip();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (middle, level) = (mean(&times), mean(&values));
    let (mut along, mut spread) = (0.0, 0.0);
    for (time, value) in times.iter().zip(&values) {
        along += (time - middle) * (value - level);
        spread += (time - middle) * (time - middle);
    }
    let slope = along / spread;
    slope.is_finite().then_some(slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: f64 = f64::NAN;

    fn shown(values: &[f64]) -> String {
        values.iter().map(|value| format!("{value} ")).collect()
    }

    #[test]
    fn gaps_are_filled() {
        let mut values = [NONE, 1.0, NONE, NONE, 4.0, NONE];
        fill_linear(&mut values);
        assert_eq!(shown(&values), "NaN 1 2 3 4 NaN ");
        let mut values = [NONE, 1.0, NONE, 4.0, NONE];
        fill_previous(&mut values);
        assert_eq!(shown(&values), "NaN 1 1 4 4 ");
    }

    #[test]
    fn changes_are_about_earlier_values() {
        let values = [1.0, 2.0, 0.0, 3.0, NONE, 6.0];
        assert_eq!(shown(&change(&values, 1, Change::Absolute)), "NaN 1 -2 3 NaN NaN ");
        assert_eq!(shown(&change(&values, 1, Change::Percent)), "NaN 100 -100 NaN NaN NaN ");
        assert_eq!(shown(&change(&values, 2, Change::Fraction)), "NaN NaN -1 0.5 NaN 1 ");
        assert_eq!(shown(&change(&values, 9, Change::Log)), "NaN NaN NaN NaN NaN NaN ");
    }

    #[test]
    fn figures_accumulate() {
        let values = [2.0, NONE, 1.0, 5.0];
        assert_eq!(shown(&cumulative(&values, Cumulative::Sum)), "2 NaN 3 8 ");
        assert_eq!(shown(&cumulative(&values, Cumulative::Min)), "2 NaN 1 1 ");
        assert_eq!(shown(&cumulative(&values, Cumulative::Max)), "2 NaN 2 5 ");
        let tenths = vec![0.1; 1000];
        assert_eq!(cumulative(&tenths, Cumulative::Sum)[999], 100.0);
    }

    #[test]
    fn a_line_has_a_slope() {
        assert_eq!(slope(&[0.0, 1.0, 2.0], &[1.0, NONE, 5.0]), Some(2.0));
        assert_eq!(slope(&[0.0, 0.0], &[1.0, 5.0]), None);
        assert_eq!(slope(&[], &[]), None);
    }
}
