//! SQL that only reads, and only the tables that it was given.

mod check;
pub(crate) mod functions;
mod inflate;
mod names;
mod parse;
mod planner;
mod zones;

pub(crate) use planner::{expression, query};
