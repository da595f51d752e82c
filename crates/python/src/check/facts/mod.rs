//! What a program does to its values, and which of its errors it handles.
//!
//! | file | subject |
//! |---|---|
//! | `collect` | all of it, in one walk |
//! | `effects` | what calls do to values |
//! | `handled` | which parts of a program handle their own errors |

mod collect;
mod effects;
pub(crate) mod handled;

pub(crate) use collect::Facts;
pub(crate) use handled::{FunctionUse, Handled, Handling};
