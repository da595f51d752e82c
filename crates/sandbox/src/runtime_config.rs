//! The settings that the compiler of the guest and the engine that runs it must agree on.
//!
//! Shared with the build script, which includes this file.

use wasmtime::Config;

pub(crate) fn shared() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // One task runs in an isolate; the bookkeeping for more costs time in every one.
        .concurrency_support(false)
        // Stops endless loops: compiled code looks at the epoch at every loop head and call.
        .epoch_interruption(true)
        // A failed program is explained by Python's traceback, not by a Wasm backtrace.
        .generate_address_map(false)
        .wasm_backtrace_max_frames(None)
        // The snapshot is mapped copy-on-write into every isolate, however large it is.
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(1 << 30);
    config
}
