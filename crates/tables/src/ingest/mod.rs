//! From data as it comes to tables.
//!
//! Nested data (JSON, Python's values) is read by a [`Reader`](crate::reader::Reader) each, made
//! into rows by `document` and into columns by `rows` and `column`; what type a column has is known
//! when all of it has been seen (`facts`, `layout`). Files of text are read in blocks by several
//! threads.

mod allowance;
mod array;
mod blocks;
mod column;
mod csv;
mod document;
mod each;
mod facts;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod input;
mod json;
mod layout;
mod lines;
mod load;
mod names;
mod nested;
mod number;
mod objects;
mod parquet;
mod python;
mod rows;
mod stream;
mod table;
mod task;
#[cfg(test)]
pub(crate) mod tests;
mod value;

pub use input::{FileFormat, Input};
pub use load::{LoadError, Loaded, load};
