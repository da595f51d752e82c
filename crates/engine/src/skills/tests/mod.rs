//! Tests of skills, by subject.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod code;
mod folder;
mod package;
mod registry;
mod source;
