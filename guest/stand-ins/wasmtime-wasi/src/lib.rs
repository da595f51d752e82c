//! wasmtime-wasi 48 for crates that ask for 46, with a world that is the same in every run.
//!
//! The snapshot of the interpreter has in it what the interpreter saw while it was made: the time, the
//! seed of its hashes, times and numbers of files, the order of directories. So that two builds give
//! the same bytes, it is shown the same each time.

mod builder;
mod clocks;
mod files;
pub mod p2;

pub use builder::{DirPerms, FilePerms, WasiCtxBuilder};
pub use real::{ResourceTable, WasiCtx, WasiCtxView, WasiView};
