//! The part of version 46's `WasiCtxBuilder` that is used.

use std::path::Path;

use real::{
    Deterministic, FsPerms, WasiCtx,
    cli::{StdinStream, StdoutStream},
};

use crate::clocks::{Steps, Stopped};

/// Where the interpreter takes the seed of its hashes from. It is no secret: every copy of the guest
/// has it, and programs meet only their own dictionaries.
const RANDOM: [u8; 16] = *b"narrows snapshot";

/// Permissions for directories; there is one set of permissions in version 48.
#[derive(Clone, Copy, Debug)]
pub struct DirPerms;

/// Permissions for files.
#[derive(Clone, Copy, Debug)]
pub struct FilePerms;

impl DirPerms {
    pub fn all() -> Self {
        Self
    }
}

impl FilePerms {
    pub fn all() -> Self {
        Self
    }
}

/// A builder whose contexts have stopped clocks and known randomness.
pub struct WasiCtxBuilder(real::WasiCtxBuilder);

impl WasiCtxBuilder {
    #[allow(clippy::new_without_default, reason = "as in the crate that this stands for")]
    pub fn new() -> Self {
        let mut builder = real::WasiCtxBuilder::new();
        builder
            .secure_random(Deterministic::new(RANDOM.to_vec()))
            .insecure_random(Deterministic::new(RANDOM.to_vec()))
            .insecure_random_seed(0)
            .wall_clock(Stopped)
            .monotonic_clock(Steps::default());
        Self(builder)
    }

    pub fn stdin(&mut self, stream: impl StdinStream + 'static) -> &mut Self {
        self.0.stdin(stream);
        self
    }

    pub fn stdout(&mut self, stream: impl StdoutStream + 'static) -> &mut Self {
        self.0.stdout(stream);
        self
    }

    pub fn stderr(&mut self, stream: impl StdoutStream + 'static) -> &mut Self {
        self.0.stderr(stream);
        self
    }

    pub fn env(&mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> &mut Self {
        self.0.env(name, value);
        self
    }

    pub fn preopened_dir(
        &mut self,
        host: impl AsRef<Path>,
        guest: impl AsRef<str>,
        _dirs: DirPerms,
        _files: FilePerms,
    ) -> wasmtime_real::Result<&mut Self> {
        self.0.preopened_dir(host, guest, FsPerms::ReadWrite)?;
        Ok(self)
    }

    pub fn build(&mut self) -> WasiCtx {
        self.0.build()
    }
}
