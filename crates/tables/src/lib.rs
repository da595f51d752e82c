//! Tables, row by row: made of JSON, CSV, Parquet and Python's values, and written for Python; the
//! functions and statistics that the query engine lacks.
//!
//! All rows pass through this crate, the only part of analyses that is worth optimising fully. It knows
//! nothing of the requests.

mod flaw;
pub mod functions;
mod ingest;
mod marshal;
mod reader;
pub mod stats;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub use ingest::fuzz;
pub use ingest::{FileFormat, Input, LoadError, Loaded, load};
pub use marshal::marshal;
