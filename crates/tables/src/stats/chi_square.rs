//! Tests of counts.

use super::{
    distributions::chi_square_above,
    tested::{Effect, Tested},
};

/// Returns the counts that are expected if two properties are independent. The table has a row for each
/// value of the one and a column for each of the other.
pub fn expected(table: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = table.first().map_or(0, Vec::len);
    let rows: Vec<f64> = table.iter().map(|row| row.iter().sum()).collect();
    let sums: Vec<f64> = (0..columns).map(|at| table.iter().map(|row| row[at]).sum()).collect();
    let all: f64 = rows.iter().sum();
    rows.iter().map(|row| sums.iter().map(|column| row * column / all).collect()).collect()
}

/// Tests whether two properties are independent. With one degree of freedom the statistic has the
/// correction of Yates; the effect, Cramér's V, never does.
pub fn independence(table: &[Vec<f64>]) -> Tested {
    let columns = table.first().map_or(0, Vec::len);
    let (rows, columns) = (table.len() as f64, columns as f64);
    let degrees = (rows - 1.0) * (columns - 1.0);
    let cells = || table.iter().flatten().copied().zip(expected(table).into_iter().flatten());
    let plain: f64 = cells().map(|(observed, wanted)| share(observed - wanted, wanted)).sum();
    let corrected = |observed: f64, wanted: f64| {
        let distance = (observed - wanted).abs();
        share(distance - distance.min(0.5), wanted)
    };
    let is_corrected = degrees == 1.0;
    let statistic = if is_corrected {
        cells().map(|(observed, wanted)| corrected(observed, wanted)).sum()
    } else {
        plain
    };
    let all: f64 = table.iter().flatten().sum();
    let smaller = (rows.min(columns) - 1.0).max(1.0);
    let mut effect = Effect::association("cramer_v", (plain / (all * smaller)).sqrt());
    effect.steps = effect.steps.map(|steps| steps.map(|step| step / smaller.sqrt()));
    Tested {
        statistic,
        p_value: if degrees > 0.0 { chi_square_above(statistic, degrees) } else { 1.0 },
        degrees_of_freedom: vec![degrees],
        effect,
        interval: None,
        method: is_corrected.then_some("Yates' correction"),
    }
}

/// Tests whether counts are as expected. Both have the same sum.
pub fn goodness_of_fit(observed: &[f64], expected: &[f64]) -> Tested {
    let cells = observed.iter().zip(expected);
    let statistic: f64 = cells.map(|(&count, &wanted)| share(count - wanted, wanted)).sum();
    let degrees = observed.len() as f64 - 1.0;
    let all: f64 = observed.iter().sum();
    Tested {
        statistic,
        p_value: if degrees > 0.0 { chi_square_above(statistic, degrees) } else { 1.0 },
        degrees_of_freedom: vec![degrees],
        effect: Effect::association("cohen_w", (statistic / all).sqrt()),
        interval: None,
        method: None,
    }
}

fn share(distance: f64, expected: f64) -> f64 {
    distance * distance / expected
}
