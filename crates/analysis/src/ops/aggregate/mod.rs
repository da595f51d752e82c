//! The analysis `aggregate`: figures of groups of rows.
//!
//! As in pandas, figures leave missing values out (`first` and `last` too), a group with none left
//! has the sum 0, and a deviation needs two values. Unlike there, rows whose key is missing are a
//! group of their own, which comes last.

mod expressions;
mod grouping;
mod keys;
pub(crate) mod metrics;
mod top;
mod totals;

pub(crate) use grouping::{grouped, run, with_rows};
