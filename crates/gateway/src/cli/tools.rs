//! `narrows tools`: the tools of all servers.

use clap::{Args, Subcommand, ValueEnum};
use narrows_engine::{
    broker::Broker,
    definition, nearest,
    search::{self, Detail, Found, SearchRequest},
};
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
    query: String,
    /// How many at most
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// Only tools of this server
    #[arg(long)]
    server: Option<String>,
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
    let ran = run_with(args, &broker, printer).await;
    broker.fleet().shut_down().await;
    ran
}

async fn run_with(args: ToolsArgs, broker: &Broker, printer: Printer) -> anyhow::Result<Exit> {
    match args.what {
        ToolsCommand::List(args) => {
            check_server(broker, args.server.as_deref())?;
            learn(broker, args.server.as_deref(), printer).await;
            let request = SearchRequest {
                server: args.server,
                limit: usize::MAX,
                ..SearchRequest::default()
            };
            let found = search::search(&broker.catalog().snapshot(), &request);
            show(&found, args.json, printer);
        }
        ToolsCommand::Search(args) => {
            check_server(broker, args.server.as_deref())?;
            learn(broker, args.server.as_deref(), printer).await;
            let request = SearchRequest {
                query: args.query,
                limit: args.limit,
                server: args.server,
                detail_level: match args.detail {
                    DetailArg::Name => Detail::NameOnly,
                    DetailArg::Description => Detail::WithDescription,
                    DetailArg::Full => Detail::Full,
                },
            };
            let found = search::search(&broker.catalog().snapshot(), &request);
            show(&found, args.json, printer);
            if found.is_empty() {
                printer.note("nothing fits; name the thing and what to do with it");
                return Ok(Exit::Failure);
            }
        }
        ToolsCommand::Show(args) => {
            learn(broker, args.server.as_deref(), printer).await;
            let tool = broker.find(&args.name, args.server.as_deref()).await?;
            if args.json {
                printer.json(&tool.raw);
            } else {
                printer.line(definition::text(&tool).trim_end());
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
