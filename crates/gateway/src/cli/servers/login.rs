//! `narrows servers login`: OAuth in the browser, which is redirected to a local page of ours.

use std::{net::Ipv4Addr, process::Stdio, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use narrows_model::{Connection, EventOutcome, ServerSpec};
use narrows_upstream::LoginStore;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use super::PATIENCE;
use crate::{
    app::{AppContext, Exit},
    printer::Printer,
};

/// How long a request of the browser may take, and how large it may be.
const REQUEST_TIME: Duration = Duration::from_secs(10);
const MAX_REQUEST: u64 = 64 << 10;

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>Narrows</title>\
    <body style='font:16px system-ui;margin:4em'><h1>Narrows</h1><p>";

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    pub(crate) name: String,
    /// Do not open a browser; show the address only
    #[arg(long)]
    no_browser: bool,
    /// Ask for this scope too, beside those that the server suggests and the last login had
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Forget the login instead
    #[arg(long)]
    logout: bool,
}

pub(crate) async fn run(
    args: LoginArgs,
    spec: ServerSpec,
    setting: &AppContext,
    printer: Printer,
) -> anyhow::Result<Exit> {
    let logins = setting.logins();
    if args.logout {
        let there = logins.forget(&spec).context("the login cannot be removed")?;
        let told = if there { "is forgotten" } else { "was not there" };
        printer.note(format!("the login of {:?} {told}", spec.name));
        return Ok(Exit::Success);
    }
    let port = match &spec.connection {
        Connection::Http(http) => http.oauth.redirect_port.unwrap_or(0),
        Connection::Stdio(_) => 0,
    };
    // Before anything is sent, so that no interruption is missed.
    let interrupted = tokio::signal::ctrl_c();
    let logged_in = tokio::select! {
        logged_in = log_in(&args, &spec, port, &logins, printer) => Some(logged_in),
        _ = interrupted => None,
    };
    let (outcome, exit) = match &logged_in {
        Some(Ok(())) => (EventOutcome::Ok, Exit::Success),
        Some(Err(_)) => (EventOutcome::Failed, Exit::Failure),
        None => (EventOutcome::Cancelled, Exit::Interrupted),
    };
    if let Err(error) = record(setting, &spec.name, outcome).await {
        printer.note(format!("the login is not in the audit: {error:#}"));
    }
    if let Some(Err(error)) = logged_in {
        return Err(error);
    }
    if outcome == EventOutcome::Ok {
        printer.note(format!("you are logged in to {:?}", spec.name));
    }
    Ok(exit)
}

/// Records the outcome of a login in the audit.
async fn record(setting: &AppContext, server: &str, outcome: EventOutcome) -> anyhow::Result<()> {
    let agent = setting.agent(None)?;
    agent.record_login(server, outcome).await;
    let lost = agent.unwritten().await;
    agent.close().await;
    lost.map_or(Ok(()), |lost| Err(anyhow::Error::msg(lost)))
}

async fn log_in(
    args: &LoginArgs,
    spec: &ServerSpec,
    port: u16,
    logins: &LoginStore,
    printer: Printer,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .with_context(|| format!("cannot listen on port {port} for the browser to come back"))?;
    let redirect = format!("http://127.0.0.1:{}/callback", listener.local_addr()?.port());
    let login = logins.begin(spec, &redirect, &args.scopes).await?;
    printer.note(format!("log in to {:?} here: {}", spec.name, login.url()));
    if !args.no_browser {
        open_browser(login.url());
    }
    let callback = tokio::time::timeout(PATIENCE, wait_for_callback(&listener)).await;
    let Ok(callback) = callback else {
        bail!("nobody came back from the browser within {} minutes", PATIENCE.as_secs() / 60)
    };
    login.finish(&format!("{redirect}?{}", callback?)).await?;
    Ok(())
}

/// Waits for the browser's redirect, and returns its query. Other connections are ignored: browsers open
/// some that they do not use, and ask for an icon.
async fn wait_for_callback(listener: &TcpListener) -> anyhow::Result<String> {
    let (found, mut callback) = mpsc::channel(1);
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, found) = (accepted?.0, found.clone());
                tokio::spawn(async move {
                    let answered = tokio::time::timeout(REQUEST_TIME, answer(stream)).await;
                    if let Ok(Ok(Some(query))) = answered {
                        let _ = found.send(query).await;
                    }
                });
            }
            Some(query) = callback.recv() => return Ok(query),
        }
    }
}

/// Answers one request of the browser, and returns its query if it is the redirect.
async fn answer(mut stream: TcpStream) -> std::io::Result<Option<String>> {
    let mut lines = BufReader::new(&mut stream).take(MAX_REQUEST).lines();
    let request = lines.next_line().await?.unwrap_or_default();
    while lines.next_line().await?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default();
    let query = path.strip_prefix("/callback?").map(str::to_owned);
    let (status, text) = match query {
        Some(_) => ("200 OK", "You can close this page and go back."),
        None => ("404 Not Found", "There is nothing here."),
    };
    let body = format!("{PAGE}{text}");
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(query)
}

/// Opens the browser. A failure is ignored, because the address was shown.
fn open_browser(url: &str) {
    let (program, args): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let _ = std::process::Command::new(program)
        .args(args)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}
