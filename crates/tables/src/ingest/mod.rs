//! From data as it comes to tables.
//!
//! Nested data (JSON, Python's values) is read by a [`Reader`](crate::reader::Reader) each, made
//! into rows by `document` and into columns by `rows` and `column`; what type a column has is known
//! when all of it has been seen (`column_stats`, `schema_inference`). Files of text are read in blocks by several
//! threads.

mod array;
mod blocks;
mod column;
mod column_stats;
mod csv;
mod document;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod input;
mod json;
mod lines;
mod load;
mod memory_budget;
mod names;
mod nested;
mod number;
mod objects;
mod parallel;
mod parquet;
mod python;
mod rows;
mod schema_inference;
mod stream;
mod table;
mod task;
#[cfg(test)]
pub(crate) mod tests;
mod value;

pub use input::{FileFormat, Input};
pub use load::{LoadError, Loaded, load};
