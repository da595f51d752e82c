//! `narrows servers logs`: what a server printed.

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use narrows_upstream::LogFollower;
use serde_json::json;

use super::{OutputArgs, find};
use crate::{
    app::{self, AppContext, Exit},
    printer::Printer,
};

pub(super) const AFTER_HELP: &str = "\
What servers print on standard error, and on standard output where it is no message, is kept without
the values of their settings and without personal data, in files of the data directory that only you
can read. Each line has its time, and says who wrote it: the server (stderr, stdout) or the gateway
(narrows).

Examples:
  narrows servers logs github
  narrows servers logs github --lines 20 --follow";

/// How often the log is read for new lines.
const INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(super) struct LogsArgs {
    /// The server's name
    name: String,
    /// Go on, and show what is added
    #[arg(short, long, conflicts_with = "json")]
    follow: bool,
    /// How many of the last lines
    #[arg(short = 'n', long, default_value_t = 100)]
    lines: usize,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(
    setting: &AppContext,
    args: LogsArgs,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let name = &find(setting, &args.name)?.name;
    let interrupted = app::interruption();
    let logs = setting.server_logs()?;
    let path = logs.path(name).unwrap_or_default();
    let context = || format!("cannot read {}", path.display());
    // Before the last lines are read, so that no line in between is missed.
    let follower = args.follow.then(|| logs.follow(name));
    let lines = logs.last_lines(name, args.lines).with_context(context)?;
    if args.output.json {
        printer.json(&json!({ "server": name, "path": path, "lines": lines }));
        return Ok(Exit::Success);
    }
    if lines.is_empty() {
        printer.note(format!("nothing was printed by {name} so far"));
    }
    for line in &lines {
        printer.line(line.to_string());
    }
    let Some(mut follower) = follower else { return Ok(Exit::Success) };
    tokio::select! {
        failed = follow(&mut follower, printer) => Err(failed).with_context(context),
        () = interrupted.cancelled() => Ok(Exit::Interrupted),
    }
}

async fn follow(follower: &mut LogFollower, printer: Printer) -> std::io::Error {
    loop {
        match follower.new_lines() {
            Ok(lines) => lines.iter().for_each(|line| printer.line(line.to_string())),
            Err(error) => return error,
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
