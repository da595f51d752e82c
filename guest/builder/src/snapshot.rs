//! The interpreter after it has run `app.py` once, as a component.

use std::{
    collections::HashMap,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// What Python leaves behind where it imports from, which is not a source.
const BYTE_CODE: &str = "__pycache__";

/// Copies the sources: the interpreter writes its byte code beside what it imports.
pub(crate) fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        if entry.file_name() == OsStr::new(BYTE_CODE) {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_sources(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Runs the interpreter until `app.py` is imported, and returns it with its memory.
pub(crate) fn take(python: &Path, wit: &Path, scratch: &Path) -> Result<Vec<u8>> {
    let python = python.to_str().context("the path of the temporary directory is not text")?;
    let output: PathBuf = scratch.join("guest.wasm");
    let generator = componentize_py::ComponentGenerator {
        wit_paths: &[wit],
        worlds: &["sandbox"],
        features: &[],
        all_features: false,
        world_module: None,
        python_path: &[python],
        module_worlds: &[],
        app_name: "app",
        output_path: &output,
        add_to_linker: None,
        stub_wasi: false,
        import_interface_names: &HashMap::new(),
        export_interface_names: &HashMap::new(),
        full_names: false,
        intersect_world: None,
    };
    tokio::runtime::Builder::new_current_thread()
        .build()?
        .block_on(generator.generate())
        .context("the interpreter could not be pre-initialised")?;
    Ok(fs::read(output)?)
}

/// Fails if the snapshot, the memory of an interpreter that ran on this machine, has in it where it
/// ran or who ran it.
pub(crate) fn check_nothing_of_the_builder_is_inside(
    component: &[u8],
    scratch: &Path,
) -> Result<()> {
    const PRIVATE: [&str; 7] =
        ["HOME", "USER", "CARGO_MANIFEST_DIR", "CARGO_HOME", "PATH", "HOSTNAME", "LD_LIBRARY_PATH"];
    let variables = PRIVATE.iter().filter_map(|name| Some((*name, env::var(name).ok()?)));
    let scratch = ("the temporary directory", scratch.display().to_string());
    for (name, value) in variables.chain([scratch]) {
        // Short values such as `/` or `/root` could stand there by chance.
        let found = value.len() > 7
            && component.windows(value.len()).any(|window| window == value.as_bytes());
        anyhow::ensure!(!found, "the value of {name} is inside the guest's snapshot");
    }
    Ok(())
}
