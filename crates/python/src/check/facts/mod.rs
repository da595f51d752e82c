//! Facts about a whole program: how it changes its values, and which of its errors it handles.
//!
//! | file | subject |
//! |---|---|
//! | `collect` | collects all facts in one walk |
//! | `effects` | the effects of calls on values |
//! | `handled` | the parts of a program that handle their own errors |

mod collect;
mod effects;
pub(crate) mod handled;

pub(crate) use collect::Facts;
pub(crate) use handled::{FunctionUse, Handled, Handling};
