//! `narrows tools call`: one call of one tool, for a person.

use std::sync::Arc;

use clap::Args;
use narrows_engine::{Audience, Background, Engine, broker::Broker, state::Agent};
use serde_json::{Value, json};

use super::{arguments, find};
use crate::{
    app::{self, AppContext, Exit},
    cli::{programs::ending, run::TerminalCaller, waiting::WaitingLine},
    printer::Printer,
};

pub(super) const AFTER_HELP: &str = "\
Values of name=value have the types that the tool says (narrows tools show): numbers, true and false
as they are, lists and objects as JSON; a name that is given twice is a list.

Exit codes: 0 success, 1 the call failed, 2 wrong use, 130 interrupted.

Examples:
  narrows tools call github.list_issues owner=o repo=r state=open
  narrows tools call mcp__github__list_issues '{\"owner\": \"o\", \"repo\": \"r\"}'
  narrows tools call files.write_file @arguments.json
  jq '{query: .title}' issue.json | narrows tools call docs.search -";

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// github.list_issues, mcp__github__list_issues or list_issues
    name: String,
    /// name=value for each argument, or all as one JSON object; `-` reads it from standard input,
    /// @FILE from a file
    #[arg(value_name = "JSON | NAME=VALUE")]
    arguments: Vec<String>,
    /// Call it as this agent: one of [agents] in narrows.toml
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Show tokens instead of personal data, as an agent is shown them
    #[arg(long)]
    protect: bool,
    /// Allow a call that a person has to approve
    #[arg(long)]
    yes: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The reason why a call gave no value.
#[derive(Debug)]
enum CallFailure {
    /// The command was used wrongly.
    WrongUse(String),
    Failed(String),
    Interrupted,
}

pub(super) async fn run(
    args: CallArgs,
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let principal = setting.principal(args.agent.as_deref())?;
    let broker = setting.broker()?;
    let engine = setting.engine(broker.clone(), &Background::default())?;
    let agent = engine.agent(Arc::new(principal));
    let called = call(&args, &engine, &agent, &broker, printer).await;
    let lost_audit = ending::finish(&engine, &agent, printer).await;
    lost_audit.iter().for_each(|why| printer.note(why));
    Ok(show(called, args.json, printer))
}

async fn call(
    args: &CallArgs,
    engine: &Engine,
    agent: &Agent,
    broker: &Broker,
    printer: Printer,
) -> Result<Value, CallFailure> {
    let interrupted = app::interruption();
    let person = TerminalCaller::new(printer, args.yes, interrupted.clone());
    let audience = Audience::Person { protect: args.protect };
    let calling = async {
        let tool = find(broker, &args.name, None, printer).await;
        let tool = tool.map_err(|error| CallFailure::Failed(error.to_string()))?;
        let arguments = arguments::parse(&args.arguments, tool.input_schema())
            .map_err(|reason| CallFailure::WrongUse(format!("{}: {reason}", args.name)))?;
        let name = tool.id.to_string();
        let calling = engine.call(agent, &name, arguments, audience, Arc::new(person));
        let called = WaitingLine::for_servers(broker, printer).during(calling).await;
        called.map_err(|refusal| CallFailure::Failed(refusal.to_string()))
    };
    let mut called = tokio::select! {
        called = calling => called,
        () = interrupted.cancelled() => Err(CallFailure::Interrupted),
    };
    // An error may quote personal data: that of a server which is not available, or one about the
    // person's own arguments.
    if args.protect
        && let Err(CallFailure::Failed(text) | CallFailure::WrongUse(text)) = &mut called
    {
        agent.pii_filter().replace(text);
    }
    called
}

fn show(called: Result<Value, CallFailure>, as_json: bool, printer: Printer) -> Exit {
    let (message, exit) = match called {
        Ok(value) if as_json => {
            printer.json(&json!({ "success": true, "result": value }));
            return Exit::Success;
        }
        Ok(value) => {
            match value {
                Value::Null => {}
                Value::String(text) => printer.line(text),
                value => printer.json(&value),
            }
            return Exit::Success;
        }
        Err(CallFailure::Interrupted) => return Exit::Interrupted,
        Err(CallFailure::WrongUse(message)) => (message, Exit::WrongUse),
        Err(CallFailure::Failed(message)) => (message, Exit::Failure),
    };
    if as_json {
        printer.json(&json!({ "success": false, "error": message }));
    } else {
        printer.error(message);
    }
    exit
}
