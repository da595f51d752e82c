//! The analyses `correlation` and `covariance`.

mod comparison;
mod method;
mod pairs;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use comparison::{covariance, run};
