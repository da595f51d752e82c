//! Infers return types for tools that declare none, from what they return.
//!
//! Each result widens a stored shape just as far as needed. Only the form of results is kept and not
//! their content: names of fields, but not keys that are data; no text, except the values of fields
//! that work like enums (`state`: `open`, `closed`).
//!
//! | file | subject |
//! |---|---|
//! | `shape` | the type of all values that were seen at one place, and how two are joined |
//! | `record` | the objects of a place: fields with names, or a map |
//! | `text` | the strings of a place: their format, and words that recur |
//! | `names` | tells which keys are data, and which fields work like enums |
//! | `merge` | widens shapes so that they stay small |
//! | `schema` | a shape as JSON schema |
//! | `store` | the shapes of all tools, in memory |
//! | `file` | the shapes of all tools, on disk |

mod file;
mod merge;
mod names;
#[cfg(test)]
mod properties;
mod record;
mod schema;
mod shape;
mod store;
mod text;

pub(crate) use store::ObservedShapes;
