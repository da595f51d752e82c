//! `narrows`: one MCP server in front of many.

// Sampling and logging are deprecated in the newest protocol, and most clients speak an older
// one.
#![allow(deprecated)]

mod allocator;
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

fn main() -> ExitCode {
    app::main()
}
