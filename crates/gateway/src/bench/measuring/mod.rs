//! The instruments of the benchmarks, and the budgets that figures are compared with.

pub(super) mod budget;
pub(super) mod catalog;
mod data_file;
pub(super) mod process;
pub(super) mod python;
pub(super) mod statistics;

pub(super) use data_file::read_json;
