//! `narrows completions`: scripts that teach a shell our commands.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{app::Exit, cli::Cli, printer::Printer};

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

pub(crate) fn run(args: CompletionsArgs, printer: Printer) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "narrows", &mut script);
    printer.line(String::from_utf8_lossy(&script).trim_end());
    Exit::Success
}
