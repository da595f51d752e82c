//! The nouns of Narrows: what is run, within which limits, and what came of it.
//!
//! This crate does no IO of any kind.

mod limits;
mod outcome;
mod program;

pub use limits::{LimitHit, LimitKind, Limits};
pub use outcome::{DroppedBytes, Ending, Failure, Outcome};
pub use program::{OutputStream, Program};
