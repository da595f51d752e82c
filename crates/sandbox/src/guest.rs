//! The guest as the host sees it: its compiled code, its interface, and what it is linked with.

#[cfg(target_os = "linux")]
use std::{fs::File, io::Write, os::fd::AsRawFd};

#[cfg(target_os = "linux")]
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    component::{Component, HasSelf, Linker},
};
use wasmtime_wasi::{
    cli::{WasiCli, WasiCliView as _},
    clocks::{WasiClocks, WasiClocksView as _},
    p2::bindings::{cli, clocks, random, sockets},
    random::{WasiRandom, WasiRandomView as _},
    sockets::{WasiSockets, WasiSocketsView as _},
};

use crate::{fs, isolate::IsolateState, runtime_config};
use narrows_model::Limits;

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../guest/wit",
        world: "sandbox",
        imports: {
            "narrows:guest/host.poll": async | trappable,
            "narrows:guest/host.query": async | trappable,
            "narrows:guest/host.module-source": async | trappable,
            default: trappable,
        },
        exports: { default: async },
    });
}

pub(crate) use bindings::{Sandbox as Guest, SandboxPre, narrows::guest::host as interface};

/// The interpreter with the standard library in its memory, as machine code; see `guest/`.
static COMPILED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.cwasm"));

/// Room for the host's own functions on the stack that the guest runs on.
const HOST_STACK_BYTES: usize = 2 << 20;
/// How much of an isolate's memory is put back by hand when it ends, if it is kept.
const KEEP_RESIDENT_BYTES: usize = 16 << 20;
/// The guest itself, and two small ones that hand it the host's functions.
const CORE_INSTANCES: u32 = 3;
/// The guest's functions, and those of the host.
const TABLES: u32 = 2;
/// Filling the host's memory by growing tables of functions.
const MAX_TABLE_ELEMENTS: usize = 40_000;

/// The fate of an isolate's memory when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryReuse {
    /// It is put back as it was, for the next isolate in its place: most programs touch less than
    /// [`KEEP_RESIDENT_BYTES`], and the next run is spared its page faults.
    Kept,
    /// It is returned to the system. wasmtime takes no memory back from a place that is free, so many
    /// programs at once would otherwise leave the memory of all of them resident for good.
    Returned,
}

impl MemoryReuse {
    /// Returns how many of these bytes of a part of an isolate are kept: all or none.
    fn keep(self, bytes: usize) -> usize {
        match self {
            Self::Kept => bytes,
            Self::Returned => 0,
        }
    }
}

/// Makes an engine with room for so many isolates at once.
pub(crate) fn engine(isolates: u32, afterwards: MemoryReuse) -> wasmtime::Result<Engine> {
    let mut pooling = PoolingAllocationConfig::new();
    pooling
        .total_component_instances(isolates)
        .total_core_instances(isolates * CORE_INSTANCES)
        .max_core_instances_per_component(CORE_INSTANCES)
        .total_memories(isolates)
        .max_memories_per_component(1)
        .total_tables(isolates * TABLES)
        .max_tables_per_component(TABLES)
        .total_stacks(isolates)
        .table_elements(MAX_TABLE_ELEMENTS)
        .max_memory_size(Limits::MAX_MEMORY_BYTES as usize)
        .max_component_instance_size(1 << 20)
        .max_core_instance_size(1 << 20)
        .max_unused_warm_slots(isolates * 2)
        .linear_memory_keep_resident(afterwards.keep(KEEP_RESIDENT_BYTES))
        .table_keep_resident(afterwards.keep(1 << 20))
        .async_stack_keep_resident(afterwards.keep(256 << 10))
        // Where the kernel can tell which pages were written, only those are put back.
        .pagemap_scan(Enabled::Auto);
    let stack = Limits::STACK_BYTES as usize;
    let mut config: Config = runtime_config::shared();
    config
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK_BYTES)
        // A stack that was used to its end does not stay in memory, and the next run finds
        // nothing on it.
        .async_stack_zeroing(true)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pooling));
    Engine::new(&config)
}

/// Makes the guest ready to be instantiated.
pub(crate) fn prepare(
    engine: &Engine,
    compiled: &Compiled,
) -> wasmtime::Result<SandboxPre<IsolateState>> {
    let mut linker = Linker::new(engine);
    link_wasi(&mut linker)?;
    Guest::add_to_linker::<IsolateState, HasSelf<IsolateState>>(&mut linker, |state| state)?;
    SandboxPre::new(linker.instantiate_pre(&compiled.component(engine)?)?)
}

/// Links what the interpreter's C library imports. It names sockets; every isolate is made with all of
/// them denied (see `isolate`), and Python says so before it comes to that.
fn link_wasi(linker: &mut Linker<IsolateState>) -> wasmtime::Result<()> {
    type State = IsolateState;
    wasmtime_wasi_io::add_to_linker_async(linker)?;
    clocks::wall_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
    clocks::monotonic_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
    random::random::add_to_linker::<State, WasiRandom>(linker, State::random)?;
    cli::exit::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::environment::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    let options = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<State, WasiSockets>(linker, &options, State::sockets)?;
    sockets::instance_network::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::ip_name_lookup::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::tcp::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::tcp_create_socket::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::udp::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::udp_create_socket::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    fs::add_to_linker(linker, State::files)
}

/// The compiled guest, from where engines load it.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The same in a file in memory, or `None` where there are no such files.
    #[cfg(target_os = "linux")]
    file: Option<File>,
}

impl Compiled {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            file: memory_file().ok(),
        }
    }

    /// Loads the guest into an engine.
    ///
    /// SAFETY: `deserialize` trusts its input to be what a compiler of this wasmtime wrote. It is:
    /// `guest/builder` compiled it with the same wasmtime (one exact version in both workspaces) and
    /// the same settings (`runtime_config`), and it is part of this very binary, so whoever can change
    /// it can change the program around it as well. Nothing is read from disk. wasmtime checks its
    /// own version, the settings and the processor's features before it uses the code. The file in
    /// memory is sealed, so that nobody changes it afterwards.
    #[allow(unsafe_code)]
    fn component(&self, engine: &Engine) -> wasmtime::Result<Component> {
        #[cfg(target_os = "linux")]
        if let Some(file) = &self.file {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            // Where there is no /proc, or memory files cannot be executed, it is copied instead.
            if let Ok(component) = unsafe { Component::deserialize_file(engine, path) } {
                forget_compiled();
                return Ok(component);
            }
        }
        unsafe { Component::deserialize(engine, COMPILED) }
    }
}

/// Writes the compiled guest to a file in memory. What is mapped from a file is in memory once, for
/// the code and for the snapshot of every isolate alike, and only the pages that are used count.
#[cfg(target_os = "linux")]
fn memory_file() -> std::io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("narrows-guest", flags)?);
    file.write_all(COMPILED)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// Lets the system take back the pages of this binary that hold the compiled guest: it was read once,
/// to copy it, and is fifty megabytes.
///
/// SAFETY: the range is within `COMPILED`, which nobody writes to, so its pages are those of the file
/// of this binary; whoever reads them again gets the same.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn forget_compiled() {
    let page = rustix::param::page_size();
    let start = COMPILED.as_ptr().addr().next_multiple_of(page) - COMPILED.as_ptr().addr();
    let Some(whole) = COMPILED.len().checked_sub(start).map(|length| length / page * page) else {
        return;
    };
    let Some(first) = COMPILED.get(start..) else { return };
    let advice = rustix::mm::Advice::LinuxDontNeed;
    let _ = unsafe { rustix::mm::madvise(first.as_ptr().cast_mut().cast(), whole, advice) };
}
