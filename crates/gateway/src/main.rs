//! `narrows`: one MCP server in front of many.

// Sampling and logging are deprecated in the newest protocol, and most clients speak an older
// one.
#![allow(deprecated)]

mod allocator;
mod app;
mod bench;
mod cli;
mod control;
mod demo;
mod error_chain;
mod logging;
mod mcp;
mod output_file;
mod printer;
mod rule_source;
mod secret;
mod settings;
mod stats;
mod status;
mod times;
mod vault_key;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use narrows_config as config;
use narrows_config::import;

use app::{AppContext, Exit, GlobalArgs};
use cli::{Cli, Command};
use error_chain::error_chain;
use narrows_upstream::ChildReaper;
use printer::{ColorWhen, Printer};

fn main() -> ExitCode {
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let color = ColorWhen::in_arguments(arguments);
    // Wrong arguments end here, with clap's own message and exit code 2.
    let cli = Cli::command()
        .color(color.into())
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, Printer::new(color)),
    };
    let printer = Printer::new(cli.color);
    let exit = match start(cli, printer) {
        // A reader that has gone away needs no further messages.
        _ if printer.is_closed() => Exit::OutputClosed,
        Ok(exit) => exit,
        Err(error) => {
            printer.error(error_chain(&error));
            Exit::Failure
        }
    };
    ExitCode::from(exit as u8)
}

/// Reports what is wrong with the arguments, or shows the help that was asked for. Control characters
/// are escaped: arguments may be names that somebody else chose, such as those of files.
fn refuse(error: &clap::Error, printer: Printer) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() || printer.is_plain(&text) {
        error.exit();
    }
    printer.error(text.trim_start_matches("error: ").trim_end());
    ExitCode::from(Exit::WrongUse as u8)
}

fn start(cli: Cli, printer: Printer) -> anyhow::Result<Exit> {
    let at = GlobalArgs { config: cli.config, data: cli.data_dir };
    // These need neither a runtime nor a configuration.
    match cli.command {
        Command::Guard => {
            ChildReaper::stand(std::io::stdin().lock());
            return Ok(Exit::Success);
        }
        Command::Completions(args) => return Ok(cli::completions::run(args, printer)),
        Command::Man(args) => return cli::man::run(args, printer),
        Command::Import(args) => return cli::import::run(args, &at, printer),
        Command::Connect(args) => return cli::connect::run(args, &at, printer),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        match cli.command {
            Command::Run(args) => cli::run::run(args, AppContext::load(&at)?, printer).await,
            Command::Analyze(args) => {
                cli::analyze::run(args, AppContext::load(&at)?, printer).await
            }
            Command::Bench(args) => while_read(bench::run(args, printer), printer).await,
            Command::Demo(args) => while_read(demo::run(args, printer), printer).await,
            Command::DemoServer { fault } => demo::server::serve(fault).await,
            Command::Serve(args) => cli::serve::run(args, &at, printer).await,
            Command::Servers(args) => cli::servers::run(args, &at, printer).await,
            Command::Tools(args) => cli::tools::run(args, AppContext::load(&at)?, printer).await,
            Command::Skills(args) => cli::skills::run(args, AppContext::load(&at)?, printer).await,
            Command::Workspace(args) => {
                cli::workspace::run(args, AppContext::load(&at)?, printer).await
            }
            Command::Sessions(args) => {
                cli::sessions::run(args, AppContext::load(&at)?, printer).await
            }
            Command::Boards(args) => cli::boards::run(args, AppContext::load(&at)?, printer).await,
            Command::Pii(args) => cli::pii::run(args, AppContext::load(&at)?, printer).await,
            Command::Approvals(args) => {
                cli::approvals::run(args, AppContext::load(&at)?, printer).await
            }
            Command::Audit(args) => cli::audit::run(args, AppContext::load(&at)?, printer).await,
            Command::Stats(args) => cli::stats::run(args, AppContext::load(&at)?, printer),
            Command::Doctor(args) => cli::doctor::run(args, &at, printer).await,
            Command::Guard
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Import(_)
            | Command::Connect(_) => Ok(Exit::Success),
        }
    });
    // A blocked read of standard input must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// Runs a command until it ends or nobody reads its output any more.
async fn while_read(
    work: impl Future<Output = anyhow::Result<Exit>>,
    printer: Printer,
) -> anyhow::Result<Exit> {
    tokio::select! {
        exit = work => exit,
        () = printer.closed() => Ok(Exit::OutputClosed),
    }
}
