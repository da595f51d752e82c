//! Counts rows on their way through a plan, so that they need not be read again for it, and says
//! which of them come first where a plan reads its table in parts beside each other.

mod counter;
mod frames;
mod logical;
mod physical;
mod planner;

pub(crate) use counter::Counter;
pub(crate) use frames::{counted, in_parts, placed};
pub(crate) use planner::Planner;
