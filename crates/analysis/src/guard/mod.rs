//! Keeps operators within the memory where the query engine does not count it, and makes them stop.
//!
//! The engine counts what its sorts, groupings and joins hold, but not what one step of an operator
//! makes: a text of a megabyte beside each of two thousand rows is two gigabytes. The rule here puts
//! nodes into the plan that measure rows before an operator sees them.

mod measure;
mod node;
mod rules;
mod stop;
mod weigh;
mod window;

pub(crate) use rules::{BATCH_ROWS, STEP_SHARE, is_window, rules};
pub(crate) use weigh::{compact, weigh};
