//! `narrows sessions`: variables that are kept between programs.

use clap::{Args, Subcommand};
use narrows_engine::state::SessionRow;
use serde_json::{Map, Value, json};

use crate::{
    app::{AppContext, Exit},
    cli::CommandScope,
    printer::{Column, Printer, Style, Table},
    times,
};

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: SessionsCommand,
    #[command(flatten)]
    asking: CommandScope,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List sessions, with what of them cannot be brought back
    #[command(visible_alias = "ls")]
    List,
    /// What of a session is kept, and why the rest is not
    Show { id: String },
    /// Forget a session
    #[command(visible_alias = "rm")]
    Remove { id: String },
}

pub(crate) async fn run(
    args: SessionsArgs,
    setting: AppContext,
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
                printer.note("no sessions; `narrows run --session ID` begins one");
            } else {
                printer.table(&table(&sessions));
            }
        }
        SessionsCommand::Show { id } => {
            let sessions = agent.sessions().await?;
            match sessions.iter().find(|session| session.id == id) {
                Some(session) if args.asking.json => printer.json(session),
                Some(session) => show(session, printer),
                None => {
                    missing(&id, printer);
                    exit = Exit::Failure;
                }
            }
        }
        SessionsCommand::Remove { id } => {
            if agent.remove_session(&id).await? {
                printer.note(format!("removed {id}"));
            } else {
                missing(&id, printer);
                exit = Exit::Failure;
            }
        }
    }
    agent.close().await;
    Ok(exit)
}

fn missing(id: &str, printer: Printer) {
    printer.error(format!("there is no session {id:?}; see narrows sessions list"));
}

fn table(sessions: &[SessionRow]) -> Table {
    let mut table = Table::new([
        Column::name("id"),
        Column::text("last used").styled(Style::Dim),
        Column::text("by"),
        Column::number("bytes"),
        Column::text("in use"),
        Column::text("not kept").cut(),
    ]);
    for session in sessions {
        let lost = session.lost.as_object().into_iter().flat_map(Map::keys);
        let lost: Vec<&str> = lost.map(String::as_str).collect();
        table.row([
            (&session.id).into(),
            times::format(session.updated_at).into(),
            (&session.author).into(),
            session.bytes.into(),
            if session.holder.is_some() { "yes" } else { "no" }.into(),
            lost.join(", ").into(),
        ]);
    }
    table
}

fn show(session: &SessionRow, printer: Printer) {
    let used = if session.holder.is_some() { ", in use" } else { "" };
    let (at, author) = (times::format(session.updated_at), &session.author);
    printer.line(format!("last used {at} by {author}{used}"));
    printer.line(format!("its variables have {} bytes", session.bytes));
    for (name, why) in session.lost.as_object().into_iter().flatten() {
        let why = match why {
            Value::String(why) => why.clone(),
            why => why.to_string(),
        };
        printer.line(format!("{name} is not kept: {why}"));
    }
}
