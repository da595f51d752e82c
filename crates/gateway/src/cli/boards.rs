//! `narrows boards`: messages that agents leave for one another.

use std::time::Duration;

use clap::{Args, Subcommand};
use narrows_engine::state::Message;
use serde_json::{Value, json};

use super::Asking;
use crate::{
    app::{Exit, Setting},
    printer::Printer,
};

#[derive(Debug, Args)]
pub(crate) struct BoardsArgs {
    #[command(subcommand)]
    command: BoardsCommand,
    #[command(flatten)]
    asking: Asking,
    /// The namespace, if it is not the agent's own
    #[arg(long, global = true, value_name = "NAME")]
    namespace: Option<String>,
}

#[derive(Debug, Subcommand)]
enum BoardsCommand {
    /// List boards
    List,
    /// Show messages
    Read {
        board: String,
        /// Only those after this number
        #[arg(long, default_value_t = 0)]
        since: i64,
        /// Wait so many seconds for one, if there is none
        #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
        wait: f64,
    },
    /// Leave a message: JSON, or else text
    Post { board: String, message: String },
}

pub(crate) async fn run(
    args: BoardsArgs,
    setting: Setting,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let agent = setting.agent(args.asking.agent.as_deref())?;
    let namespace = args.namespace.as_deref();
    match args.command {
        BoardsCommand::List => {
            let boards = agent.boards(namespace).await?;
            match args.asking.json {
                true => printer.json(&json!({ "boards": boards })),
                false => {
                    for board in &boards {
                        printer.line(format!("{}  {} messages", board.name, board.last));
                    }
                }
            }
        }
        BoardsCommand::Read { board, since, wait } => {
            let patience = Duration::try_from_secs_f64(wait).unwrap_or_default();
            let messages = agent.wait_board(&board, Some(since), patience, namespace).await?;
            match args.asking.json {
                true => printer.json(&json!({ "messages": messages })),
                false => messages.iter().for_each(|message| printer.line(line(message))),
            }
        }
        BoardsCommand::Post { board, message } => {
            let body = serde_json::from_str(&message).unwrap_or(Value::String(message));
            let posted = agent.post(&board, &body, namespace).await?;
            match args.asking.json {
                true => printer.json(&posted),
                false => printer.note(format!("message {} on {board}", posted.seq)),
            }
        }
    }
    agent.close().await;
    Ok(Exit::Success)
}

fn line(message: &Message) -> String {
    let body = match &message.body {
        Value::String(text) => text.clone(),
        body => body.to_string(),
    };
    format!("{}  {}: {body}", message.seq, message.author)
}
