//! Computes the correlation of all pairs of some columns.

use std::sync::Arc;

use super::method::CorrelationMethod;
use crate::{
    error::{AnalysisError, Result},
    ops::arrays::busy,
    stats::correlation::{Centred, Correlation, Moments, kendall, ranks, spearman},
};

/// The most rows that are ranked.
const MAX_RANKED: usize = 5_000_000;

/// Values by column; NaN stands for missing values.
pub(super) type ColumnValues = Vec<Vec<f64>>;

/// The result for two columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// The number of rows with values in both.
    pub(super) n: u64,
    /// The correlation or the covariance.
    pub(super) value: Option<f64>,
    pub(super) p_value: Option<f64>,
}

/// The pairs of all columns, each with itself and with those after it.
#[derive(Debug)]
pub(super) struct Matrix {
    size: usize,
    pairs: Vec<Pair>,
}

impl Matrix {
    pub(super) fn get(&self, a: usize, b: usize) -> Pair {
        self.pairs[place(self.size, a.min(b), a.max(b))]
    }
}

/// Returns the index of a pair in a list of all pairs, row by row.
fn place(size: usize, first: usize, second: usize) -> usize {
    first * size - first * first.saturating_sub(1) / 2 + second - first
}

fn all(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(move |first| (first..size).map(move |second| (first, second)))
}

/// The collector of the rows of a group.
#[derive(Debug)]
pub(super) enum PairSink {
    Summed { size: usize, moments: Vec<Moments> },
    Kept(ColumnValues),
}

impl PairSink {
    /// Returns the memory of an empty collector.
    pub(super) fn bytes(size: usize) -> usize {
        (size + 1) * size / 2 * size_of::<Moments>()
    }

    pub(super) fn new(size: usize, method: CorrelationMethod) -> Self {
        if method.is_by_rank() {
            Self::Kept(vec![Vec::new(); size])
        } else {
            Self::Summed { size, moments: vec![Moments::default(); all(size).count()] }
        }
    }

    fn add(&mut self, columns: ColumnValues) -> Result<()> {
        match self {
            Self::Summed { size, moments } => {
                let columns: Vec<CorrelatedColumn> =
                    columns.into_iter().map(CorrelatedColumn::new).collect();
                for (moments, (first, second)) in moments.iter_mut().zip(all(*size)) {
                    moments.add(&summed(&columns[first], &columns[second]));
                }
            }
            Self::Kept(kept) => {
                let rows = kept.first().map_or(0, Vec::len);
                let more = columns.first().map_or(0, Vec::len);
                if rows + more > MAX_RANKED {
                    let reason = format!(
                        "ranks of more than {MAX_RANKED} rows take too long; use pearson, or \
                         fewer rows"
                    );
                    return Err(AnalysisError::parameter("method", reason));
                }
                kept.iter_mut().zip(columns).for_each(|(kept, column)| kept.extend(column));
            }
        }
        Ok(())
    }

    pub(super) async fn matrix(self, method: CorrelationMethod) -> Result<Matrix> {
        match self {
            Self::Summed { size, moments } => {
                let pairs = moments.iter().map(|moments| pair_of(moments, method)).collect();
                Ok(Matrix { size, pairs })
            }
            Self::Kept(columns) => ranked(columns, method).await,
        }
    }
}

/// Distributes rows to the collectors of their groups.
pub(super) fn distribute(
    columns: ColumnValues,
    places: &[usize],
    sinks: &mut [PairSink],
) -> Result<()> {
    if let [sink] = sinks {
        return sink.add(columns);
    }
    let mut rows = vec![Vec::new(); sinks.len()];
    places.iter().enumerate().for_each(|(row, &group)| rows[group].push(row));
    for (sink, rows) in sinks.iter_mut().zip(rows).filter(|(_, rows)| !rows.is_empty()) {
        let part = |column: &Vec<f64>| rows.iter().map(|&row| column[row]).collect();
        sink.add(columns.iter().map(part).collect())?;
    }
    Ok(())
}

/// A column, and its distances from the mean if no value is missing: then they are the same for all
/// pairs.
struct CorrelatedColumn {
    values: Vec<f64>,
    centred: Option<Centred>,
}

impl CorrelatedColumn {
    fn new(values: Vec<f64>) -> Self {
        let is_complete = !values.iter().any(|value| value.is_nan());
        let centred = is_complete.then(|| Centred::of(&values));
        Self { values, centred }
    }
}

fn summed(first: &CorrelatedColumn, second: &CorrelatedColumn) -> Moments {
    if let (Some(first), Some(second)) = (&first.centred, &second.centred) {
        return Moments::of(first, second);
    }
    let (first, second) = complete(&first.values, &second.values);
    Moments::of(&Centred::of(&first), &Centred::of(&second))
}

/// Returns the rows that have a value in both columns.
fn complete(first: &[f64], second: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let rows = first.iter().copied().zip(second.iter().copied());
    rows.filter(|(first, second)| !first.is_nan() && !second.is_nan()).unzip()
}

fn pair_of(moments: &Moments, method: CorrelationMethod) -> Pair {
    if method == CorrelationMethod::Covariance {
        return Pair { n: moments.n, value: moments.covariance(), p_value: None };
    }
    pair(moments.n, moments.correlation())
}

fn pair(n: u64, correlation: Option<Correlation>) -> Pair {
    Pair {
        n,
        value: correlation.map(|found| found.value),
        p_value: correlation.map(|found| found.p_value).filter(|p_value| !p_value.is_nan()),
    }
}

/// Ranks one pair after the other, so that an analysis can be stopped in between.
async fn ranked(columns: ColumnValues, method: CorrelationMethod) -> Result<Matrix> {
    let size = columns.len();
    let mut prepared = Vec::with_capacity(size);
    for column in columns {
        prepared.push(Arc::new(busy(move || Ranked::new(column)).await?));
    }
    let mut pairs = Vec::new();
    for (first, second) in all(size) {
        let (first, second) = (prepared[first].clone(), prepared[second].clone());
        pairs.push(busy(move || compare(&first, &second, method)).await?);
    }
    Ok(Matrix { size, pairs })
}

/// A column with its ranks, if no value is missing: then they are the same for all pairs.
struct Ranked {
    values: Vec<f64>,
    ranks: Option<Vec<f64>>,
}

impl Ranked {
    fn new(values: Vec<f64>) -> Self {
        let is_complete = !values.iter().any(|value| value.is_nan());
        let ranks = is_complete.then(|| ranks(&values));
        Self { values, ranks }
    }
}

fn compare(first: &Ranked, second: &Ranked, method: CorrelationMethod) -> Pair {
    if let (Some(x), Some(y)) = (&first.ranks, &second.ranks) {
        // Ranks are in the same order as the values, which is all that Kendall's is about.
        let found =
            if method == CorrelationMethod::Kendall { kendall(x, y) } else { spearman(x, y) };
        return pair(x.len() as u64, found);
    }
    let (x, y) = complete(&first.values, &second.values);
    let found = match method {
        CorrelationMethod::Kendall => kendall(&x, &y),
        _ => spearman(&ranks(&x), &ranks(&y)),
    };
    pair(x.len() as u64, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_own_place() {
        for size in 0..8 {
            let places: Vec<usize> = all(size).map(|(a, b)| place(size, a, b)).collect();
            assert_eq!(places, (0..places.len()).collect::<Vec<_>>());
        }
    }
}
