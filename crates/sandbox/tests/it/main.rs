//! What the sandbox promises, by what would break if it did not hold.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod security_host;
mod support;
