//! `narrows servers login`: OAuth in the browser, with a page of ours to come back to.

use std::{net::Ipv4Addr, process::Stdio};

use anyhow::{Context, bail};
use clap::Args;
use narrows_model::{Connection, ServerSpec};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

use super::servers::PATIENCE;
use crate::{
    app::{Exit, Setting},
    printer::Printer,
};

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>Narrows</title>\
    <body style='font:16px system-ui;margin:4em'><h1>Narrows</h1><p>";

#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    pub(crate) name: String,
    /// Do not open a browser; show the address only
    #[arg(long)]
    no_browser: bool,
    /// Forget the login instead
    #[arg(long)]
    logout: bool,
}

pub(crate) async fn run(
    args: LoginArgs,
    spec: ServerSpec,
    setting: &Setting,
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
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .with_context(|| format!("cannot listen on port {port} for the browser to come back"))?;
    let redirect = format!("http://127.0.0.1:{}/callback", listener.local_addr()?.port());
    let login = logins.begin(&spec, &redirect).await?;
    printer.note(format!("log in to {:?} here: {}", spec.name, login.url()));
    if !args.no_browser {
        open_browser(login.url());
    }
    let callback = tokio::select! {
        callback = wait_for_callback(&listener, &redirect) => callback?,
        () = tokio::time::sleep(PATIENCE) => {
            bail!("nobody came back from the browser within {} minutes", PATIENCE.as_secs() / 60)
        }
        _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
    };
    login.finish(&callback).await?;
    printer.note(format!("you are logged in to {:?}", spec.name));
    Ok(Exit::Success)
}

/// The address that the browser came back to.
async fn wait_for_callback(listener: &TcpListener, redirect: &str) -> anyhow::Result<String> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut line = String::new();
        // Whatever else knocks here is sent away; a browser also asks for an icon.
        let read = BufReader::new(&mut stream).read_line(&mut line).await;
        let path = line.split(' ').nth(1).unwrap_or_default();
        let query = path.strip_prefix("/callback?");
        let (status, text) = match (read, query) {
            (Ok(_), Some(_)) => ("200 OK", "You can close this page and go back."),
            _ => ("404 Not Found", "There is nothing here."),
        };
        let body = format!("{PAGE}{text}");
        let response = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.write_all(response.as_bytes()).await;
        let _ = stream.shutdown().await;
        if let Some(query) = query {
            return Ok(format!("{redirect}?{query}"));
        }
    }
}

/// A browser that cannot be opened is no error: the address was shown.
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
