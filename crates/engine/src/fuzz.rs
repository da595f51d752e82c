//! What must hold for whatever servers send, as functions for a fuzzer.
//!
//! Their tests feed them random bytes and damaged seeds; `fuzz/` at the top of the repository feeds
//! them what libFuzzer finds. No part of the product: compiled for tests and fuzzers only.

pub use crate::text_parsing::fuzz::text_tables;
