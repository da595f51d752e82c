//! The operations: one module for each type of analysis, and what they have in common.

mod aggregate;
mod arrays;
mod columns;
mod conditions;
mod correlation;
mod describe;
mod filter;
mod groups;
mod histogram;
mod names;
mod numbers;
mod params;
mod percentiles;
mod row_order;
mod rows;
mod run;
mod sorting;
mod sql;
mod test;
#[cfg(test)]
pub(crate) mod testing;
mod time_columns;
mod time_series;
mod transform;
mod validate;

pub(crate) use run::run;
