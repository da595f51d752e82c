//! `narrows`: one MCP server in front of many.

// Sampling and logging are deprecated in the newest protocol, and most clients speak an older
// one.
#![allow(deprecated)]

mod app;
mod bench;
mod cli;
mod config;
mod control;
mod demo;
mod import;
mod mcp;
mod output_file;
mod printer;
mod secret;
mod stats;
mod status;
mod times;
mod vault_key;

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Tables are made and dropped all the time. This allocator keeps their memory for the next one, where
/// the system's gives it back and has it cleared again, which took a fifth of an analysis.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    app::main()
}
