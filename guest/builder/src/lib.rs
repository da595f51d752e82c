//! Builds the guest: CPython with our Python inside, pre-initialised, as machine code.
//!
//! 1. the time zone database becomes a Python module (`time_zones`);
//! 2. `componentize-py` runs the interpreter once and keeps its memory as a component (`snapshot`);
//! 3. its many modules are linked to one, so that an isolate is one instance (`link`);
//! 4. all Python objects of that memory become immortal, so that using them does not write to it
//!    (`immortal`);
//! 5. Cranelift compiles the component, so that no run and no start ever waits for it (`compile`).
//!
//! The same sources give the same bytes, on whatever machine and whenever they are built.

mod compile;
mod immortal;
pub mod link;
#[path = "../../../crates/sandbox/src/runtime_config.rs"]
mod runtime_config;
mod snapshot;
mod time_zones;

use std::{fs, path::Path};

use anyhow::{Context, Result};

use link::Layout;

/// Builds the guest from `sources`, the directory with `python/` and `wit/`, for a target triple.
pub fn build(sources: &Path, target: &str) -> Result<Vec<u8>> {
    let scratch = tempfile::tempdir().context("no temporary directory")?;
    let python = scratch.path().join("python");
    snapshot::copy_sources(&sources.join("python"), &python)?;
    fs::write(python.join("_narrows_tzdata.py"), time_zones::module()?)?;

    let component = snapshot::take(&python, &sources.join("wit"), scratch.path())?;
    snapshot::check_nothing_of_the_builder_is_inside(&component, scratch.path())?;
    let layout = Layout::parse(&fs::read(python.join("layout.bin"))?)?;
    let objects = fs::read(python.join("objects.bin"))?;
    layout.check(&objects)?;
    let mut component = link::link(&component, &layout)?;
    immortal::make_all(&mut component, &objects)?;
    compile::compile(&component, target)
}
