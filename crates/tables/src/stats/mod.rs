//! Statistics that the query engine lacks: pure functions over numbers, with the results of SciPy.
//!
//! Samples hold finite numbers only; callers remove nulls and NaN first.

mod anova;
mod chi_square;
pub mod correlation;
mod distributions;
mod kolmogorov;
mod mann_whitney;
mod ranks;
pub mod rolling;
pub mod series;
mod smirnov;
mod special;
mod summary;
mod t_test;
mod tested;

pub use anova::one_way_anova;
pub use chi_square::{expected as expected_counts, goodness_of_fit, independence};
pub use kolmogorov::{two_samples, with_normal};
pub use mann_whitney::mann_whitney;
pub use summary::{Summary, median};
pub use t_test::{one_sample_t, paired_t, two_sample_t, welch};
pub use tested::{Alternative, Effect, Interval, Tested};

#[cfg(test)]
mod reference;
