//! What the sandbox promises, by what would break if it did not hold.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

mod calls;
mod corpus;
mod errors;
mod language;
mod modules;
mod results;
mod security_host;
mod security_isolation;
mod security_limits;
mod security_residue;
mod security_shim;
mod security_workspace;
mod sessions;
mod support;
