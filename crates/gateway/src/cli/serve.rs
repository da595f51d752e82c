//! `narrows serve`: the MCP server that clients connect to.

use std::{
    io::IsTerminal,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use narrows_engine::{Background, Engine};
use narrows_model::{Principal, Template};
use narrows_sandbox::SandboxConfig;
use tokio::net::TcpListener;

use crate::{
    allocator,
    app::{self, AppContext, Exit, FLUSH_TIME, GlobalArgs},
    config::Config,
    control::RequestDirectory,
    error_chain::error_chain,
    logging::{self, LogFormat, LogReader},
    mcp::{self, Gateway, Surface},
    printer::Printer,
    secret::{kept_text, random_hex},
    status::StatusFile,
};

pub(crate) const AFTER_HELP: &str = "\
Without --http it speaks over standard input and output, as clients start it:
  claude mcp add narrows -- narrows serve
  {\"mcpServers\": {\"narrows\": {\"command\": \"narrows\", \"args\": [\"serve\"]}}}

Over HTTP, clients send a key: one of [http] keys in narrows.toml, or the one shown at the start.
  narrows serve --http
  narrows serve --http 127.0.0.1:9000";

/// How long cancelled work may take to end, and then servers.
const SHUT_DOWN_TIME: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Speak over standard input and output (the default)
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Listen for HTTP at /mcp, at this address or that of the configuration
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "")]
    http: Option<String>,
    /// Which of Narrows' own tools clients see
    #[arg(long, value_enum, default_value_t)]
    surface: Surface,
    /// The agent that clients are who do not say otherwise: one of [agents] in narrows.toml
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// How the log on standard error is written: text, or one JSON document on each line
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

pub(crate) async fn run(
    args: ServeArgs,
    at: &GlobalArgs,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let format = LogFormat::find(args.log_format)?;
    let reader = if args.http.is_some() { LogReader::Operator } else { LogReader::Client };
    logging::start(printer, format, reader);
    match serve(args, at, format, printer).await {
        Err(error) if format == LogFormat::Json => {
            tracing::error!(error = error_chain(&error), "the gateway ends for an error");
            Ok(Exit::Failure)
        }
        served => served,
    }
}

async fn serve(
    args: ServeArgs,
    at: &GlobalArgs,
    format: LogFormat,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let setting = AppContext::load(at)?;
    if let Err(error) = allocator::give_back_freed_memory() {
        tracing::warn!(%error, "memory that is free again is not given back to the system");
    }
    let broker = setting.broker()?;
    let state = setting.state()?;
    let principal = setting.principal(args.agent.as_deref())?;
    let background = Background::default();
    let discovery = setting.discovery(broker.clone(), &background);
    let token_stats = setting.token_stats(&background);
    state.keep_house();
    let live_sessions = state.live_sessions();
    let sandbox = SandboxConfig { live_sessions, ..SandboxConfig::default() };
    let engine = Engine::new(discovery, state, sandbox);
    let gateway = Gateway::new(engine, token_stats, principal, args.surface);
    let stop = app::interruption();
    let version = env!("CARGO_PKG_VERSION");
    let servers = setting.config.servers.len();
    let status = StatusFile::new(&setting.places);
    let reporting = tokio::spawn(status.clone().keep(broker.clone()));
    let asked = match RequestDirectory::create(&setting.places) {
        Ok(requests) => Some(tokio::spawn(requests.serve(broker))),
        Err(error) => {
            tracing::warn!(%error, "this gateway cannot be asked to restart servers");
            None
        }
    };
    let served = match args.http {
        Some(address) => {
            let settings = setting.config.http.clone();
            let listen = if address.is_empty() {
                settings.listen
            } else {
                address.parse().with_context(|| {
                    format!("{address:?} is not an address such as 127.0.0.1:8321")
                })?
            };
            let listener = TcpListener::bind(listen)
                .await
                .with_context(|| format!("cannot listen on {listen}"))?;
            let (door, shown) = door(&setting, listener.local_addr()?)?;
            let url = format!("http://{}/mcp", listener.local_addr()?);
            if format == LogFormat::Text {
                printer.note(format!("listening on {url}"));
            }
            if let Some((key, path)) = shown {
                match format {
                    LogFormat::Text => {
                        printer.note(format!("key: {key}   (kept in {})", path.display()));
                    }
                    // Logs are often kept where keys must not be.
                    LogFormat::Json => {
                        let file = path.display();
                        tracing::info!(%file, "clients need the key that is in a file");
                    }
                }
            }
            tracing::info!(version, transport = "http", url, servers, "the gateway has started");
            mcp::http::serve(gateway.clone(), listener, door, settings.limits, stop).await
        }
        None => {
            tracing::info!(version, transport = "stdio", servers, "the gateway has started");
            if std::io::stdin().is_terminal() && format == LogFormat::Text {
                printer.note("waiting for an MCP client on standard input (narrows serve --help)");
            }
            mcp::stdio::serve(gateway.clone(), stop).await
        }
    };
    tracing::info!("the gateway ends, and its servers with it");
    reporting.abort();
    if let Some(asked) = asked {
        // Dropping the task removes its directory.
        asked.abort();
        let _ = asked.await;
    }
    let _ = tokio::time::timeout(SHUT_DOWN_TIME, gateway.give_up_work()).await;
    app::unless_interrupted(gateway.finish_writes()).await;
    let _ = tokio::time::timeout(SHUT_DOWN_TIME, gateway.shut_down()).await;
    gateway.discovery().flush(FLUSH_TIME);
    status.remove();
    served.map(|()| Exit::Success)
}

/// Returns the authentication over HTTP, and the key with its file if one had to be made.
fn door(
    setting: &AppContext,
    address: SocketAddr,
) -> anyhow::Result<(mcp::http::HttpAuth, Option<(String, PathBuf)>)> {
    let settings = &setting.config.http;
    let mut keys = keys(&setting.config, address)?;
    let mut shown = None;
    if !settings.no_key && keys.is_empty() {
        let path = setting.places.data.join("http-key");
        let key = kept_key(&path)?;
        keys.push((key.clone(), None));
        shown = Some((key, path));
    }
    let door = mcp::http::HttpAuth {
        is_open: settings.no_key,
        keys,
        allowed_hosts: settings.allowed_hosts.clone(),
        allowed_origins: settings.allowed_origins.clone(),
    };
    Ok((door, shown))
}

/// Returns the keys of a configuration, each with the agent that it belongs to, if any.
pub(crate) fn keys(
    config: &Config,
    address: SocketAddr,
) -> anyhow::Result<Vec<(String, Option<Arc<Principal>>)>> {
    let mut keys: Vec<(String, Option<Arc<Principal>>)> = Vec::new();
    for (number, key) in config.http.keys.iter().enumerate() {
        keys.push((expanded(key, &format!("http.keys[{number}]"))?, None));
    }
    for agent in &config.keeping.agents {
        let Some(key) = &agent.key else { continue };
        let key = expanded(key, &format!("agents.{}.key", agent.principal.name))?;
        if keys.iter().any(|(known, _)| *known == key) {
            bail!("agents.{}.key is another one's too; give each its own", agent.principal.name);
        }
        keys.push((key, Some(Arc::new(agent.principal.clone()))));
    }
    if config.http.no_key {
        if !address.ip().is_loopback() {
            bail!("http.no_key is for loopback addresses only, and {address} is none; set keys");
        }
        // Agents are still known by theirs.
        keys.retain(|(_, agent)| agent.is_some());
    }
    Ok(keys)
}

fn expanded(key: &Template, name: &str) -> anyhow::Result<String> {
    let key = key.expand(|name| std::env::var(name).ok()).with_context(|| name.to_owned())?;
    if key.len() < 16 {
        bail!("{name} has less than 16 characters; use a longer one");
    }
    Ok(key)
}

/// Returns the key in a file, which is made the first time.
fn kept_key(path: &Path) -> anyhow::Result<String> {
    let is_key = |text: &str| text.len() >= 16;
    kept_text(path, is_key, || Ok(format!("nrw-{}{}", random_hex()?, random_hex()?)))
}
