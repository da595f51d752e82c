//! `narrows boards`: messages that agents leave for one another.

use std::time::Duration;

use clap::{Args, Subcommand};
use narrows_engine::state::{Board, Message};
use serde_json::{Value, json};

use crate::{
    app::{AppContext, Exit},
    cli::CommandScope,
    printer::{Column, Printer, Style, Table},
    times,
};

#[derive(Debug, Args)]
pub(crate) struct BoardsArgs {
    #[command(subcommand)]
    command: BoardsCommand,
    #[command(flatten)]
    asking: CommandScope,
    /// The namespace, if it is not the agent's own
    #[arg(long, global = true, value_name = "NAME")]
    namespace: Option<String>,
}

#[derive(Debug, Subcommand)]
enum BoardsCommand {
    /// List boards
    #[command(visible_alias = "ls")]
    List,
    /// Show the messages of a board
    #[command(visible_alias = "read")]
    Show {
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
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let agent = setting.agent(args.asking.agent.as_deref())?;
    let namespace = args.namespace.as_deref();
    match args.command {
        BoardsCommand::List => {
            let boards = agent.boards(namespace).await?;
            if args.asking.json {
                printer.json(&json!({ "boards": boards }));
            } else if boards.is_empty() {
                printer.note("no boards; `narrows boards post BOARD MESSAGE` begins one");
            } else {
                printer.table(&board_table(&boards));
            }
        }
        BoardsCommand::Show { board, since, wait } => {
            let patience = Duration::try_from_secs_f64(wait).unwrap_or_default();
            let messages = agent.wait_board(&board, Some(since), patience, namespace).await?;
            match args.asking.json {
                true => printer.json(&json!({ "messages": messages })),
                false => printer.table(&message_table(&messages)),
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

fn board_table(boards: &[Board]) -> Table {
    let mut table = Table::new([
        Column::name("board"),
        Column::number("messages"),
        Column::text("last").styled(Style::Dim),
    ]);
    for board in boards {
        table.row([(&board.name).into(), board.last.into(), times::format(board.at).into()]);
    }
    table
}

fn message_table(messages: &[Message]) -> Table {
    let mut table = Table::new([
        Column::number("seq"),
        Column::text("time").styled(Style::Dim),
        Column::text("author"),
        Column::text("message").wrapped(),
    ]);
    for message in messages {
        let body = match &message.body {
            Value::String(text) => text.clone(),
            body => body.to_string(),
        };
        let (at, author) = (times::format(message.at), &message.author);
        table.row([message.seq.into(), at.into(), author.into(), body.into()]);
    }
    table
}
