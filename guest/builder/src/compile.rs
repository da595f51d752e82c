//! From the component to machine code.

use anyhow::{Result, anyhow};

use crate::runtime_config;

/// Compiles the component for a target, with the settings that the sandbox runs it with.
pub(crate) fn compile(component: &[u8], target: &str) -> Result<Vec<u8>> {
    let mut config = runtime_config::shared();
    config.target(target).map_err(|error| anyhow!("{error:#}"))?;
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
    let engine = wasmtime::Engine::new(&config).map_err(|error| anyhow!("{error:#}"))?;
    engine.precompile_component(component).map_err(|error| anyhow!("{error:#}"))
}
