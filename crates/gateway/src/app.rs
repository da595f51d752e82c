//! The composition root: reads the command line, puts the parts together, and runs a command.

use std::process::ExitCode;

use clap::Parser;
use narrows_engine::Executor;
use narrows_sandbox::SandboxConfig;

use crate::{
    bench,
    cli::{self, Cli, Command},
    demo,
    printer::Printer,
};

/// The exit codes that scripts can rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Success = 0,
    /// The program that was run failed, or the command did.
    Failure = 1,
    /// The command was used wrongly.
    WrongUse = 2,
    /// A limit ended the program.
    Limit = 3,
    /// Interrupted by the user, as shells have it.
    Interrupted = 130,
}

pub(crate) fn main() -> ExitCode {
    // Wrong arguments end here, with clap's own message and exit code 2.
    let cli = Cli::parse();
    let printer = Printer;
    let exit = match start(cli, printer) {
        Ok(exit) => exit,
        Err(error) => {
            printer.error(format!("{error:#}"));
            Exit::Failure
        }
    };
    ExitCode::from(exit as u8)
}

fn start(cli: Cli, printer: Printer) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        match cli.command {
            Command::Run(args) => cli::run::run(args, printer).await,
            Command::Bench(args) => bench::run(args, printer).await,
            Command::Demo(args) => demo::run(args, printer).await,
        }
    });
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// An executor for a command that runs one program after another.
pub(crate) fn single_executor() -> anyhow::Result<Executor> {
    let config = SandboxConfig { most_runs: 1, warm_isolates: 0, ..SandboxConfig::default() };
    Ok(Executor::new(config)?)
}
