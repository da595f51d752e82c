//! The analysis `transform`: another table out of one.
//!
//! What is asked for is done in this order: join, flatten, cast, fill_null, drop_null, computed,
//! filter, rank, pivot, unpivot, sort, deduplicate by fields, select, drop, deduplicate as a whole, sample,
//! offset and limit, tail, rename. `steps`, a list of such parameters, is for any other order.
//!
//! Rows keep their order wherever that has a meaning.

mod cast;
mod computed;
mod deduplicate;
mod fill;
mod flatten;
mod join;
mod missing;
mod pivot;
mod rank;
mod sample;
mod steps;
mod unpivot;

pub(crate) use steps::run;
