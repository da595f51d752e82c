//! Return types for tools that declare none, learnt from what they return.
//!
//! Each result widens a stored shape just as far as it must. What is kept is the form of results
//! and not their content: names of fields, but not keys that are data; no text, except the few
//! words of fields that hold one of a few (`state`: `open`, `closed`).
//!
//! | file | subject |
//! |---|---|
//! | `shape` | the type of all values that were seen at one place, and how two are joined |
//! | `record` | the objects of a place: fields with names, or a map |
//! | `text` | the strings of a place: their format, and words that come again |
//! | `names` | which keys are data, and which fields hold one of a few words |
//! | `merge` | what makes a shape wider than it must be, so that it stays small |
//! | `schema` | a shape as JSON schema |
//! | `store` | the shapes of all tools, in memory |
//! | `file` | and between two starts |

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
