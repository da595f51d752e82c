//! The mistakes of calls and results.
//!
//! | file | subject |
//! |---|---|
//! | `names` | names of servers and tools that do not exist |
//! | `calls` | arguments that a tool does not take |
//! | `literals` | values that a parameter does not take |
//! | `fields` | fields that a result does not have |

pub(super) mod calls;
pub(super) mod fields;
mod literals;
pub(super) mod names;

pub(super) use fields::FieldChecker;
