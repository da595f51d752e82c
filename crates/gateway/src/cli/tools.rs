//! `narrows tools`: the tools of all servers.

use clap::{Args, Subcommand, ValueEnum};
use narrows_engine::{
    Background, Guide,
    broker::Broker,
    catalog::Unresolved,
    search::{Answer, Detail, Found, SearchRequest},
};
use narrows_model::nearest;
use serde_json::json;

use super::servers::probe;
use crate::{
    app::{Exit, Setting},
    printer::Printer,
};

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    what: ToolsCommand,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    /// All tools, or those of one server
    List(ListArgs),
    /// The tools that fit a query best
    Search(SearchArgs),
    /// How to call a tool
    Show(ShowArgs),
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
    setting: Setting,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let broker = setting.broker()?;
    let guide = setting.guide(broker.clone(), &Background::default());
    let ran = run_with(args, &guide, printer).await;
    broker.fleet().shut_down().await;
    ran
}

async fn run_with(args: ToolsArgs, guide: &Guide, printer: Printer) -> anyhow::Result<Exit> {
    let broker = guide.broker();
    match args.what {
        ToolsCommand::List(args) => {
            check_server(broker, args.server.as_deref())?;
            learn(broker, args.server.as_deref(), printer).await;
            let snapshot = broker.catalog().snapshot();
            let wanted = args.server.as_deref().and_then(|name| broker.catalog().server_of(name));
            let tools =
                snapshot.tools().filter(|tool| wanted.is_none_or(|name| tool.id.server == name));
            let found: Vec<Found> =
                tools.map(|tool| Found::new(tool, Detail::WithDescription, String::new)).collect();
            show(&found, args.json, printer);
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
            let answer = guide.search_known(&request);
            if args.json {
                printer.json(&answer);
            } else {
                show_answer(&answer, printer);
            }
            if let Answer::Tools(found) = &answer
                && found.tools.is_empty()
            {
                return Ok(Exit::Failure);
            }
        }
        ToolsCommand::Show(args) => {
            let server = args.server.as_deref();
            // Only for a tool that nobody is known to have: a server that does not start would be
            // waited for each time.
            let known = broker.catalog().resolve(&args.name, server);
            if matches!(known, Err(Unresolved::NoToolAnywhere { .. })) {
                learn(broker, server, printer).await;
            }
            let tool = broker.find(&args.name, server).await?;
            if args.json {
                printer.json(&tool.raw);
            } else {
                printer.line(guide.definition(&tool).trim_end());
            }
        }
    }
    Ok(Exit::Success)
}

fn check_server(broker: &Broker, server: Option<&str>) -> anyhow::Result<()> {
    let Some(server) = server else { return Ok(()) };
    let known = broker.catalog().modules().keys().map(String::as_str);
    anyhow::ensure!(
        broker.catalog().server_of(server).is_some(),
        "there is no server {server:?}{}",
        nearest(server, known)
    );
    Ok(())
}

/// Starts the servers whose tools are not known. What does not start is told, and left out.
async fn learn(broker: &Broker, server: Option<&str>, printer: Printer) {
    let catalog = broker.catalog();
    let unknown: Vec<String> = catalog
        .modules()
        .keys()
        .filter(|name| server.is_none_or(|server| catalog.server_of(server) == Some(name)))
        .filter(|name| catalog.listing(name).is_none())
        .cloned()
        .collect();
    for status in probe(broker, &unknown).await {
        if let Some(error) = status.last_error.filter(|_| status.tools.is_none()) {
            printer.note(format!("{} is left out: {error}", status.server));
        }
    }
}

fn show(found: &[Found], as_json: bool, printer: Printer) {
    if as_json {
        return printer.json(&json!({ "tools": found }));
    }
    for found in found {
        match (&found.definition, &found.description) {
            (Some(definition), _) => printer.line(format!("# {}\n{definition}", found.server)),
            (None, Some(text)) if !text.is_empty() => {
                printer.line(format!("{}.{}  {text}", found.server, found.name));
            }
            _ => printer.line(format!("{}.{}", found.server, found.name)),
        }
    }
}

fn show_answer(answer: &Answer, printer: Printer) {
    match answer {
        Answer::Tools(found) => {
            show(&found.tools, false, printer);
            if let Some(hint) = &found.hint {
                printer.note(hint);
            }
        }
        Answer::Overview(_) => printer.line(answer.text()),
    }
}
