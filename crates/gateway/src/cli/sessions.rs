//! `narrows sessions`: variables that are kept between programs.

use clap::{Args, Subcommand};
use serde_json::{Map, json};

use super::Asking;
use crate::{
    app::{Exit, Setting},
    printer::Printer,
};

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: SessionsCommand,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List sessions, with what of them cannot be brought back
    List,
    /// Forget a session
    Rm { id: String },
}

pub(crate) async fn run(
    args: SessionsArgs,
    setting: Setting,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let agent = setting.agent(args.asking.agent.as_deref())?;
    let mut exit = Exit::Success;
    match args.command {
        SessionsCommand::List => {
            let sessions = agent.sessions().await?;
            if args.asking.json {
                printer.json(&json!({ "sessions": sessions }));
            } else if sessions.is_empty() {
                printer.line("no sessions; `narrows run --session ID` begins one");
            }
            for session in sessions.iter().filter(|_| !args.asking.json) {
                let used = if session.holder.is_some() { ", in use" } else { "" };
                let lost = session.lost.as_object().into_iter().flat_map(Map::keys);
                let lost: Vec<&str> = lost.map(String::as_str).collect();
                let lost = match lost.is_empty() {
                    true => String::new(),
                    false => format!(", without {}", lost.join(", ")),
                };
                printer.line(format!("{}  {} bytes{lost}{used}", session.id, session.bytes));
            }
        }
        SessionsCommand::Rm { id } => match agent.remove_session(&id).await? {
            true => printer.note(format!("removed {id}")),
            false => {
                printer.error(format!("there is no session {id:?}; see narrows sessions list"));
                exit = Exit::Failure;
            }
        },
    }
    agent.close().await;
    Ok(exit)
}
