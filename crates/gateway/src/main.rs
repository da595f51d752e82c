//! `narrows`: one MCP server in front of many.

mod app;
mod bench;
mod cli;
mod demo;
mod printer;

use std::process::ExitCode;

fn main() -> ExitCode {
    app::main()
}
