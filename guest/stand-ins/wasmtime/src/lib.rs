//! wasmtime 48 for crates that ask for wasmtime 46.
//!
//! `componentize-py` runs the interpreter once with the wasmtime of its own choice. That would be a
//! second wasmtime with a second Cranelift in the build, a third of what the guest's tool chain costs. What
//! it uses of wasmtime is the same in both versions, so it gets the one that compiles the guest.

pub use real::*;
