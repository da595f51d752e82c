//! Whole analyses: what they answer, and that pandas and SciPy answer the same.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod aggregate;
mod along_rows;
mod describe;
mod filter;
mod names;
mod nested;
mod order;
mod pandas;
mod scipy;
mod sql;
mod suggestions;
mod support;
mod transform;
mod validate;
