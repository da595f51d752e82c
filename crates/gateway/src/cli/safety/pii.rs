//! `narrows pii`: personal data, its tokens, and the vault.

use std::io::{self, Read};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use narrows_engine::state::{Agent, TokenSelection, now};
use serde_json::{Value, json};

use crate::{
    app::{AppContext, Exit},
    cli::CommandScope,
    printer::{Column, Printer, Table},
    settings,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  echo 'Write to ada@example.com' | narrows pii sanitize
  narrows pii restore '[EMAIL_abcdefghijkl]'
  narrows pii forget --kind EMAIL

The vault's key is NARROWS_VAULT_KEY, or what [pii] key_command prints, or the file vault-key of the
data directory.

What agents read has tokens in the place of personal data, unless narrows.toml says otherwise:
  [pii]
  mode = \"off\"          # nothing is replaced; \"boundary\" by default
  off = [\"PHONE\"]       # these kinds are left alone
  kinds = [\"PERSON\"]    # these are looked for too; docs/CONFIGURATION.md has all kinds";

/// The longest input; a longer one was probably not meant.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(crate) struct PiiArgs {
    #[command(subcommand)]
    command: PiiCommand,
    #[command(flatten)]
    asking: CommandScope,
}

#[derive(Debug, Subcommand)]
enum PiiCommand {
    /// Put tokens in the place of personal data
    Sanitize {
        /// The text; standard input if it is not given
        text: Option<String>,
        /// The text is JSON: its keys say what its values are
        #[arg(long)]
        data: bool,
    },
    /// Put back what tokens stand for
    Restore {
        /// The text; standard input if it is not given
        text: Option<String>,
        /// The text is JSON
        #[arg(long)]
        data: bool,
    },
    /// What the vault holds
    Status,
    /// Wipe values: their tokens cannot be turned back any more
    Forget {
        /// Everything, of all namespaces; also needed before another key can be used
        #[arg(long, conflicts_with_all = ["kind", "token", "older_than"])]
        all: bool,
        /// Of this kind only, such as EMAIL
        #[arg(long)]
        kind: Option<String>,
        /// One token
        #[arg(long)]
        token: Option<String>,
        /// Only what nobody has met for so many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(crate) async fn run(
    args: PiiArgs,
    setting: AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let CommandScope { agent, json } = args.asking;
    let agent = setting.agent(agent.as_deref())?;
    let exit = match args.command {
        PiiCommand::Sanitize { text, data } => {
            let mut value = given(text, data)?;
            let pii_filter = agent.pii_filter();
            pii_filter.sanitize_json(&mut value);
            agent.keep_tokens().await.map_err(anyhow::Error::msg)?;
            show(value, json, printer);
            Exit::Success
        }
        PiiCommand::Restore { text, data } => {
            let value = agent.restore(given(text, data)?).await?;
            show(value, json, printer);
            Exit::Success
        }
        PiiCommand::Status => status(&setting, &agent, json, printer).await?,
        PiiCommand::Forget { all, kind, token, older_than, yes } => {
            if !all && kind.is_none() && token.is_none() && older_than.is_none() {
                bail!("say what: --kind, --token, --older-than DAYS, or --all");
            }
            let question = "Wipe these values? Their tokens cannot be turned back any more.";
            if !yes && printer.ask(question)? != Some(true) {
                bail!("nothing was wiped; say --yes to do it without being asked");
            }
            let namespace = (!all).then_some(agent.principal().home.as_str());
            let before = older_than.map(|days| now() - i64::from(days) * 24 * 60 * 60 * 1000);
            let what = TokenSelection { kind, token, before };
            let vault = agent.store().await?.vault();
            let gone = vault.forget(namespace, &what, &agent.principal().name).await?;
            match json {
                true => printer.json(&json!({ "forgotten": gone })),
                false => printer.line(format!("{gone} values are gone")),
            }
            Exit::Success
        }
    };
    agent.close().await;
    Ok(exit)
}

async fn status(
    setting: &AppContext,
    agent: &Agent,
    json: bool,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let counts = agent.store().await?.vault().counts(None).await?;
    let mode = settings::safety(&setting.config).mode;
    if json {
        printer.json(&json!({ "mode": mode, "values": counts }));
        return Ok(Exit::Success);
    }
    printer.line(format!(
        "mode: {} ([pii] mode, kinds and off in narrows.toml say what is replaced)",
        json!(mode).as_str().unwrap_or_default()
    ));
    let mut table =
        Table::new([Column::number("values"), Column::text("namespace"), Column::text("kind")]);
    for count in &counts {
        table.row([count.values.into(), (&count.namespace).into(), (&count.kind).into()]);
    }
    if counts.is_empty() {
        printer.line("the vault is empty");
    } else {
        printer.table(&table);
    }
    Ok(Exit::Success)
}

fn given(text: Option<String>, is_json: bool) -> anyhow::Result<Value> {
    let text = match text {
        Some(text) => text,
        None => {
            let mut text = String::new();
            let read = io::stdin().take(MAX_BYTES + 1).read_to_string(&mut text);
            if read.context("standard input is no text")? as u64 > MAX_BYTES {
                bail!("a text may have {} MB at most", MAX_BYTES >> 20);
            }
            text
        }
    };
    match is_json {
        true => serde_json::from_str(&text).context("the text is not JSON"),
        false => Ok(Value::String(text)),
    }
}

fn show(value: Value, json: bool, printer: Printer) {
    match value {
        Value::String(text) if json => printer.json(&json!({ "text": text })),
        // Whatever ended the text ends it still.
        Value::String(text) => printer.line(text.strip_suffix('\n').unwrap_or(&text)),
        data => printer.json(&data),
    }
}
