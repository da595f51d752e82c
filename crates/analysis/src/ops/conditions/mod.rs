//! Conditions on rows, as `filter`, `having`, a step of `transform`, and the `filter` of other types
//! take them.
//!
//! A condition holds for a row or it does not: a missing value fails every comparison except `!=`
//! and `not_in`, and `not` is the plain opposite. That is what pandas does; SQL differs under `not`.

mod compare;
mod condition;
pub(crate) mod literal;

pub(crate) use condition::{Logic, predicate};
