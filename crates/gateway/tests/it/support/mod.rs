//! What the tests have in common.

pub(crate) mod dead;
pub(crate) mod fixture;
pub(crate) mod oauth;
pub(crate) mod office;
pub(crate) mod real;
pub(crate) mod state;
