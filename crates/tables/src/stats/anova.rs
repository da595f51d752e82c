//! The analysis of variance.

use super::{
    distributions::fisher_above,
    summary::Summary,
    tested::{Effect, Tested},
};

/// Tests whether the means of groups differ.
pub fn one_way_anova(groups: &[&[f64]]) -> Result<Tested, String> {
    let groups: Vec<Summary> = groups.iter().map(|values| Summary::of(values)).collect();
    let n: f64 = groups.iter().map(|group| group.n).sum();
    // Means are taken about that of the first group, as they may be large and near each other.
    let first = groups.first().ok_or("there are no groups")?;
    let means: Vec<f64> = groups.iter().map(|group| group.difference(first)).collect();
    let weighted = || groups.iter().zip(&means).map(|(group, mean)| (group.n, mean));
    let mean = weighted().map(|(n, mean)| n * mean).sum::<f64>() / n;
    let between: f64 = weighted().map(|(n, group)| n * (group - mean).powi(2)).sum();
    let within: f64 = groups.iter().map(|group| group.squares).sum();
    let degrees = (groups.len() as f64 - 1.0, n - groups.len() as f64);
    if degrees.1 <= 0.0 {
        return Err("no group has more than one value, so their spread is not known".to_owned());
    }
    if within == 0.0 {
        return Err("in each group all values are the same, so there is no spread to compare \
                    the differences with"
            .to_owned());
    }
    let statistic = (between / degrees.0) / (within / degrees.1);
    if !statistic.is_finite() {
        return Err("the values are too large to compute with".to_owned());
    }
    Ok(Tested {
        statistic,
        p_value: fisher_above(statistic, degrees.0, degrees.1),
        degrees_of_freedom: vec![degrees.0, degrees.1],
        effect: Effect {
            name: "eta_squared",
            value: between / (between + within),
            steps: Some([0.01, 0.06, 0.14]),
        },
        interval: None,
        method: None,
    })
}
