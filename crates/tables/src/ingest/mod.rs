//! Loads data of all formats as tables.
//!
//! Nested data (JSON, Python's values) is read by a [`Reader`](crate::reader::Reader) each, made
//! into rows by `document` and into `columns`, whose types are known when all of them have been seen.
//! Files of text are read in blocks by several threads.

mod blocks;
mod columns;
mod csv;
mod document;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod input;
mod json;
mod lines;
mod load;
mod memory_budget;
mod objects;
mod parallel;
mod parquet;
mod python;
mod stream;
mod table;
mod task;
#[cfg(test)]
pub(crate) mod tests;
mod value;

pub use input::{FileFormat, Input};
pub use load::{LoadError, Loaded, load};
