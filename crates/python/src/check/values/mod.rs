//! The values that expressions certainly have.
//!
//! | file | subject |
//! |---|---|
//! | `value` | from an expression to its value |
//! | `results` | the results of calls, and those that a program changes |
//! | `tools` | the tools that a program names, each looked up once |
//! | `shape` | the shape of a result, from its JSON schema |

mod results;
mod shape;
mod tools;
mod value;

pub(super) use results::ResolvedCallee;
pub(super) use shape::{ObjectShape, ValueShape};
pub(super) use tools::{FullNameMeaning, PathMeaning, UsedTool, UsedTools};
pub(super) use value::{Value, Values, is_empty};
