//! What an expression is for certain.
//!
//! | file | subject |
//! |---|---|
//! | `value` | from an expression to what it is |
//! | `results` | what calls give, and which results a program changes |
//! | `tools` | the tools that a program names, each asked for once |
//! | `shape` | what is known of a result, from its JSON schema |

mod results;
mod shape;
mod tools;
mod value;

pub(super) use results::ResolvedCallee;
pub(super) use shape::{ObjectShape, ValueShape};
pub(super) use tools::{FullNameMeaning, PathMeaning, UsedTool, UsedTools};
pub(super) use value::{Value, Values, is_empty};
