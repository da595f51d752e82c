//! Properties that must hold for anything that servers send, as functions for a fuzzer.
//!
//! Unit tests pass random bytes and damaged seeds to them; `fuzz/` at the top of the repository passes
//! what libFuzzer finds. They are compiled for tests and fuzzers only.

pub use crate::text_parsing::fuzz::text_tables;
