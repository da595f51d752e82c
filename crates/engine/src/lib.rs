//! The use cases of Narrows.
//!
//! [`execute`] runs a program for a caller. What it composes is in modules beside it; none of
//! them knows how a caller is served.

mod execute;
mod overflow;

pub use execute::{ExecuteError, ExecuteRequest, Executor, OutputUse};
