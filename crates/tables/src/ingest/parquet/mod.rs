//! Parquet files. They are read by the query engine, a query at a time, from the open file.

mod file;
mod footer;
mod store;

pub(super) use file::load;
