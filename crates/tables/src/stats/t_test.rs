//! Tests of means.

use super::{
    distributions::{student_above, student_quantile},
    summary::Summary,
    tested::{Alternative, Effect, Interval, Tested},
};

/// A difference with its standard error and degrees of freedom.
struct Difference {
    estimate: f64,
    standard_error: f64,
    degrees: f64,
    /// The unit of the effect.
    deviation: f64,
}

impl Difference {
    fn test(self, alternative: Alternative, alpha: f64) -> Result<Tested, String> {
        let statistic = self.estimate / self.standard_error;
        if !statistic.is_finite() {
            return Err(unfit(self.standard_error));
        }
        Ok(Tested {
            statistic,
            p_value: alternative.symmetric(statistic, |t| student_above(t, self.degrees)),
            degrees_of_freedom: vec![self.degrees],
            effect: Effect::cohen_d(self.estimate / self.deviation),
            interval: Some(self.interval(alternative, alpha)),
            method: None,
        })
    }

    fn interval(&self, alternative: Alternative, alpha: f64) -> Interval {
        let above = if alternative == Alternative::TwoSided { 0.5 * alpha } else { alpha };
        let margin = student_quantile(above, self.degrees) * self.standard_error;
        let (low, high) = (self.estimate - margin, self.estimate + margin);
        Interval {
            estimate: self.estimate,
            low: (alternative != Alternative::Less).then_some(low),
            high: (alternative != Alternative::Greater).then_some(high),
        }
    }
}

fn unfit(standard_error: f64) -> String {
    if standard_error == 0.0 {
        "all values are the same, so there is no spread to compare the difference with".to_owned()
    } else {
        "the values are too large to compute with".to_owned()
    }
}

/// Tests whether the mean differs from a value.
pub fn one_sample_t(
    values: &[f64],
    mean: f64,
    alternative: Alternative,
    alpha: f64,
) -> Result<Tested, String> {
    let sample = Summary::of(values);
    let difference = Difference {
        estimate: sample.above(mean),
        standard_error: (sample.variance() / sample.n).sqrt(),
        degrees: sample.n - 1.0,
        deviation: sample.deviation(),
    };
    difference.test(alternative, alpha)
}

/// Tests whether the mean of the differences of pairs differs from zero.
pub fn paired_t(
    first: &[f64],
    second: &[f64],
    alternative: Alternative,
    alpha: f64,
) -> Result<Tested, String> {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    one_sample_t(&differences, 0.0, alternative, alpha)
}

/// Tests whether two means differ, if both samples have the same variance.
pub fn two_sample_t(
    first: &[f64],
    second: &[f64],
    alternative: Alternative,
    alpha: f64,
) -> Result<Tested, String> {
    let (a, b) = (Summary::of(first), Summary::of(second));
    let degrees = a.n + b.n - 2.0;
    let variance = (a.squares + b.squares) / degrees;
    let difference = Difference {
        estimate: a.difference(&b),
        standard_error: (variance * (1.0 / a.n + 1.0 / b.n)).sqrt(),
        degrees,
        deviation: variance.sqrt(),
    };
    difference.test(alternative, alpha)
}

/// Tests whether two means differ, whatever the variances. The effect is measured in the root of the
/// mean variance, which does not depend on the sizes of the samples.
pub fn welch(
    first: &[f64],
    second: &[f64],
    alternative: Alternative,
    alpha: f64,
) -> Result<Tested, String> {
    let (a, b) = (Summary::of(first), Summary::of(second));
    let (error_a, error_b) = (a.variance() / a.n, b.variance() / b.n);
    let error = error_a + error_b;
    let (share_a, share_b) = (error_a / error, error_b / error);
    let difference = Difference {
        estimate: a.difference(&b),
        standard_error: error.sqrt(),
        degrees: 1.0 / (share_a * share_a / (a.n - 1.0) + share_b * share_b / (b.n - 1.0)),
        deviation: (0.5 * (a.variance() + b.variance())).sqrt(),
    };
    difference.test(alternative, alpha)
}
