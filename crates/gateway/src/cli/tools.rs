//! `narrows tools`: the tools of all servers.

mod arguments;
mod call;

use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use narrows_engine::{
    Background, Discovery,
    broker::{Broker, CallError},
    search::{Detail, SearchAnswer, SearchHit, SearchRequest},
};
use narrows_model::nearest;
use narrows_upstream::catalog::{Tool, Unresolved};
use serde_json::json;

use super::{servers::probe_each, waiting::WaitingLine};
use crate::{
    app::{AppContext, Exit},
    printer::{Cell, Column, Printer, Table},
};

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    what: ToolsCommand,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    /// All tools, or those of one server
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// The tools that fit a query best
    Search(SearchArgs),
    /// How to call a tool
    Show(ShowArgs),
    /// Call a tool, under the same rules as programs
    #[command(after_help = call::AFTER_HELP)]
    Call(call::CallArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    server: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct SearchArgs {
    /// What to do, or the name of a server or category to list it; without it, all servers
    #[arg(default_value = "")]
    query: String,
    /// How many at most (10 of the best, 50 of a list)
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Only tools of this server
    #[arg(long)]
    server: Option<String>,
    /// Only tools of servers of this category
    #[arg(long)]
    category: Option<String>,
    /// How much of each is shown
    #[arg(long, value_enum, default_value_t)]
    detail: DetailArg,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum DetailArg {
    Name,
    #[default]
    Description,
    Full,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// github.create_issue, mcp__github__create_issue or create_issue
    name: String,
    #[arg(long)]
    server: Option<String>,
    /// Print the definition as the server wrote it
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(
    args: ToolsArgs,
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let what = match args.what {
        ToolsCommand::Call(args) => return call::run(args, setting, printer).await,
        what => what,
    };
    let broker = setting.broker()?;
    let discovery = setting.discovery(broker.clone(), &Background::default());
    let ran = run_with(what, &discovery, printer).await;
    broker.fleet().shut_down().await;
    ran
}

async fn run_with(
    what: ToolsCommand,
    discovery: &Discovery,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let broker = discovery.broker();
    match what {
        ToolsCommand::List(args) => {
            check_server(broker, args.server.as_deref())?;
            learn(broker, args.server.as_deref(), printer).await;
            let snapshot = broker.catalog().snapshot();
            let wanted = args.server.as_deref().and_then(|name| broker.catalog().server_of(name));
            let tools =
                snapshot.tools().filter(|tool| wanted.is_none_or(|name| tool.id.server == name));
            let found: Vec<SearchHit> = tools
                .map(|tool| SearchHit::new(tool, Detail::WithDescription, String::new))
                .collect();
            if args.json {
                printer.json(&json!({ "tools": found }));
            } else {
                printer.table(&table(&found, Column::text("what it does").cut()));
            }
        }
        ToolsCommand::Search(args) => {
            check_server(broker, args.server.as_deref())?;
            learn(broker, args.server.as_deref(), printer).await;
            let request = SearchRequest {
                query: args.query,
                limit: args.limit.map(|limit| limit as usize),
                server: args.server,
                category: args.category,
                detail_level: match args.detail {
                    DetailArg::Name => Detail::NameOnly,
                    DetailArg::Description => Detail::WithDescription,
                    DetailArg::Full => Detail::Full,
                },
            };
            let answer = discovery.search_known(&request);
            if args.json {
                printer.json(&answer);
            } else {
                show_answer(&answer, printer);
            }
            if let SearchAnswer::Tools(found) = &answer
                && found.tools.is_empty()
            {
                return Ok(Exit::Failure);
            }
        }
        ToolsCommand::Show(args) => {
            let tool = find(broker, &args.name, args.server.as_deref(), printer).await?;
            if args.json {
                printer.json(&tool.raw);
            } else {
                printer.line(discovery.definition(&tool).trim_end());
            }
        }
        ToolsCommand::Call(_) => {}
    }
    Ok(Exit::Success)
}

/// Resolves a name to a tool, and starts servers whose tools are not known if no known tool has it.
pub(super) async fn find(
    broker: &Broker,
    name: &str,
    server: Option<&str>,
    printer: Printer,
) -> Result<Arc<Tool>, CallError> {
    // Only if no known server has the tool: otherwise, a server that does not start would be awaited
    // each time.
    let known = broker.catalog().resolve(name, server);
    if matches!(known, Err(Unresolved::NoToolAnywhere { .. })) {
        learn(broker, server, printer).await;
    }
    WaitingLine::for_servers(broker, printer).during(broker.find(name, server)).await
}

fn check_server(broker: &Broker, server: Option<&str>) -> anyhow::Result<()> {
    let Some(server) = server else { return Ok(()) };
    let known = broker.catalog().modules().keys().map(String::as_str);
    if let Some(disabled) = broker.catalog().disabled(server) {
        return Err(disabled.into());
    }
    anyhow::ensure!(
        broker.catalog().server_of(server).is_some(),
        "there is no server {server:?}{}",
        nearest(server, known)
    );
    Ok(())
}

/// Starts the servers whose tools are not known, and reports those that do not start.
async fn learn(broker: &Broker, server: Option<&str>, printer: Printer) {
    let catalog = broker.catalog();
    let unknown: Vec<String> = catalog
        .modules()
        .keys()
        .filter(|name| server.is_none_or(|server| catalog.server_of(server) == Some(name)))
        .filter(|name| catalog.listing(name).is_none())
        .cloned()
        .collect();
    probe_each(broker, &unknown, printer, |status| {
        if let Some(error) = status.last_error.as_ref().filter(|_| status.tools.is_none()) {
            printer.note(format!("{} is left out: {error}", status.server));
        }
    })
    .await;
}

fn table(tools: &[SearchHit], text: Column) -> Table {
    let has_text = tools.iter().any(|tool| tool.description.is_some());
    let columns = [Column::name("tool")].into_iter().chain(has_text.then_some(text));
    let mut table = Table::new(columns);
    for tool in tools {
        let name = format!("{}.{}", tool.server, tool.name);
        let text = has_text.then(|| Cell::from(tool.description.as_deref().unwrap_or_default()));
        table.row([Cell::from(name)].into_iter().chain(text));
    }
    table
}

/// Prints search hits: consecutive tools as a table, definitions and abilities as texts of their own.
fn show(found: &[SearchHit], printer: Printer) {
    let is_row = |found: &SearchHit| found.is_tool() && found.definition.is_none();
    for group in found.chunk_by(|one, next| is_row(one) && is_row(next)) {
        match group {
            [first, ..] if is_row(first) => {
                printer.table(&table(group, Column::text("what it does").wrapped()));
            }
            texts => texts.iter().for_each(|text| printer.line(told(text).trim_end())),
        }
    }
}

fn told(found: &SearchHit) -> String {
    match &found.definition {
        Some(definition) if found.is_tool() => format!("# {}\n{definition}", found.server),
        definition => {
            let told = definition.as_ref().or(found.description.as_ref());
            told.unwrap_or(&found.name).clone()
        }
    }
}

fn show_answer(answer: &SearchAnswer, printer: Printer) {
    match answer {
        SearchAnswer::Tools(found) => {
            show(&found.tools, printer);
            if let Some(hint) = &found.hint {
                printer.note(hint);
            }
        }
        SearchAnswer::Overview(_) => printer.line(answer.text()),
    }
}
