//! WASI 0.2 with files that look the same in every run.

use real::WasiView;
pub use real::p2::*;
use wasmtime_real::component::Linker;

/// Adds all of WASI to the linker.
pub fn add_to_linker_async<T: WasiView>(linker: &mut Linker<T>) -> wasmtime_real::Result<()> {
    real::p2::add_to_linker_async(linker)?;
    crate::files::add_to_linker(linker)
}
