//! Statistics that the query engine lacks: pure functions over numbers, with the results of SciPy.
//!
//! Samples hold finite numbers only; what a caller has besides (nulls, NaN) it leaves out first.

mod anova;
mod chi_square;
pub(crate) mod correlation;
mod distributions;
mod kolmogorov;
mod mann_whitney;
mod ranks;
pub(crate) mod rolling;
pub(crate) mod series;
mod smirnov;
mod special;
mod summary;
mod t_test;
mod tested;

pub(crate) use anova::one_way_anova;
pub(crate) use chi_square::{expected as expected_counts, goodness_of_fit, independence};
pub(crate) use kolmogorov::{two_samples, with_normal};
pub(crate) use mann_whitney::mann_whitney;
pub(crate) use summary::{Summary, median};
pub(crate) use t_test::{one_sample_t, paired_t, two_sample_t, welch};
pub(crate) use tested::{Alternative, Effect, Interval, Tested};

#[cfg(test)]
mod reference;
