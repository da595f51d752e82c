//! What the crate promises, one file a subject.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod clean;
mod data;
mod documents;
mod found;
mod hostile;
mod json;
mod restore;
mod secrets;
mod settings;
mod stream;
mod vault;
