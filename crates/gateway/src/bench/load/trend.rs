//! Judges whether a figure stays flat over time.

use std::fmt;

use serde::Serialize;

/// A figure that grew by more than this part of itself is not flat.
const MAX_GROWTH_PERCENT: f64 = 5.0;

/// The development of a figure over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Trend {
    /// The mean of the second quarter of the time: the first one warms up.
    pub(super) before: f64,
    /// The mean of the last quarter.
    pub(super) after: f64,
    pub(super) growth_percent: f64,
    /// By least squares over the second half.
    pub(super) slope_per_minute: f64,
    pub(super) is_flat: bool,
}

impl Trend {
    /// Computes the trend of values with their minutes. A growth below `slack` does not count, for
    /// figures that are small. Returns none if there are too few values.
    pub(super) fn of(values: &[(f64, f64)], slack: f64) -> Option<Self> {
        let quarter = values.len() / 4;
        if quarter == 0 {
            return None;
        }
        let before = mean(&values[quarter..2 * quarter]);
        let after = mean(&values[values.len() - quarter..]);
        let half = &values[values.len() / 2..];
        let slope_per_minute = slope(half);
        let minutes = half.last().map_or(0.0, |last| last.0) - half.first().map_or(0.0, |v| v.0);
        let growth_percent = if before > 0.0 { (after / before - 1.0) * 100.0 } else { 0.0 };
        let allowed = (before * MAX_GROWTH_PERCENT / 100.0).max(slack);
        let is_flat = after - before <= allowed && slope_per_minute * minutes <= allowed;
        Some(Self { before, after, growth_percent, slope_per_minute, is_flat })
    }
}

fn mean(values: &[(f64, f64)]) -> f64 {
    values.iter().map(|(_, value)| value).sum::<f64>() / values.len().max(1) as f64
}

/// Returns the slope of the regression line through the values.
fn slope(values: &[(f64, f64)]) -> f64 {
    let middle = values.iter().map(|(minute, _)| minute).sum::<f64>() / values.len().max(1) as f64;
    let level = mean(values);
    let along: f64 = values.iter().map(|(minute, value)| (minute - middle) * (value - level)).sum();
    let width: f64 = values.iter().map(|(minute, _)| (minute - middle).powi(2)).sum();
    if width > 0.0 { along / width } else { 0.0 }
}

impl fmt::Display for Trend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_flat { "flat" } else { "not flat" };
        write!(
            f,
            "{verdict}: {:.1} in the second quarter, {:.1} in the last ({:+.1} %), {:+.2} a minute \
             in the second half",
            self.before, self.after, self.growth_percent, self.slope_per_minute
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..80).map(|n| (f64::from(n) / 8.0, value(f64::from(n) / 8.0))).collect()
    }

    #[test]
    fn a_steady_leak_is_not_flat_and_its_slope_is_told() {
        let trend = Trend::of(&values(|minute| 100.0 + 2.0 * minute), 0.0).unwrap();
        assert!((trend.slope_per_minute - 2.0).abs() < 1e-9);
        assert!(trend.growth_percent > 5.0 && !trend.is_flat, "{trend}");
    }

    #[test]
    fn what_warms_up_and_then_swings_is_flat() {
        let warm_up = |minute: f64| if minute < 2.0 { 50.0 * minute } else { 100.0 };
        let trend = Trend::of(&values(|m| warm_up(m) + (m * 8.0).sin()), 0.0).unwrap();
        assert!(trend.is_flat && trend.slope_per_minute.abs() < 0.2, "{trend}");
    }

    #[test]
    fn a_late_step_is_not_flat_and_shrinking_is() {
        let step = values(|minute| if minute > 8.0 { 120.0 } else { 100.0 });
        assert!(!Trend::of(&step, 0.0).unwrap().is_flat);
        // Within the slack.
        assert!(Trend::of(&step, 50.0).unwrap().is_flat);
        assert!(Trend::of(&values(|minute| 100.0 - minute), 0.0).unwrap().is_flat);
    }

    #[test]
    fn too_few_values_have_no_trend_and_equal_times_no_slope() {
        assert_eq!(Trend::of(&[(0.0, 1.0); 3], 0.0), None);
        assert!(Trend::of(&[(1.0, 1.0); 4], 0.0).unwrap().slope_per_minute.abs() < 1e-9);
    }
}
