//! `narrows`: one MCP server in front of many.

// Sampling and logging are deprecated in the newest protocol, and most clients speak an older
// one.
#![allow(deprecated)]

mod app;
mod bench;
mod cli;
mod config;
mod demo;
mod import;
mod mcp;
mod printer;
mod secret;
mod stats;
mod status;
mod vault_key;

use std::process::ExitCode;

fn main() -> ExitCode {
    app::main()
}
