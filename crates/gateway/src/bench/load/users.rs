//! The clients of a load test: users who ask almost without a pause, a bystander who asks rarely, and a
//! monitor of `/health`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure};
use rmcp::{
    model::{CallToolResult, ProtocolVersion},
    service::ClientLifecycleMode,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{
    requests::{BenchRequest, Mix, RequestKind, first_request},
    tally::Tally,
};
use crate::bench::gateway::{BenchClient, HttpGateway, call};

/// How many agents, each with a key of its own, the users are spread over.
pub(super) const AGENTS: u64 = 4;
/// How long an answer may take. It is more than any request needs, so that a longer wait means that the
/// request was lost.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// The pause of a user between two requests.
const PAUSE: Duration = Duration::from_millis(50);
/// How often the bystander and the monitor ask.
const RARELY: Duration = Duration::from_secs(1);
/// The number of requests after which a user connects anew, as clients do when they are restarted.
const CONNECTION_TURNS: u64 = 100;
/// How much is kept of the text of an unexpected answer.
const ERROR_BYTES: usize = 300;

pub(super) const BYSTANDER: &str = "bystander";

/// Returns the key of an agent. It is not secret: the gateway is local and lives for a short time.
pub(super) fn key(agent: &str) -> String {
    format!("key-of-the-load-agent-{agent}")
}

pub(super) fn agent_of(user: u64) -> String {
    format!("agent{}", user % AGENTS)
}

/// Returns the protocol of a user. Half of the users have the older one, with sessions; the others the
/// newer one, without.
fn lifecycle(user: u64) -> ClientLifecycleMode {
    if user.is_multiple_of(2) {
        ClientLifecycleMode::Initialize
    } else {
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
    }
}

/// Sends one request after the other, until it is dropped.
pub(super) async fn be_user(gateway: Arc<HttpGateway>, tally: Arc<Tally>, mix: Mix, user: u64) {
    let key = key(&agent_of(user));
    let mut turn = 0;
    loop {
        let connecting = gateway.connect_as(&key, lifecycle(user));
        let client = match timeout(ANSWER_TIME, connecting).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                tally.count_failure(RequestKind::Code, format!("cannot connect: {error:#}"));
                tokio::time::sleep(RARELY).await;
                continue;
            }
            Err(_) => {
                tally.count_failure(RequestKind::Code, "cannot connect in time".to_owned());
                continue;
            }
        };
        if turn == 0 {
            ask(&client, first_request(), &tally).await;
        }
        for _ in 0..CONNECTION_TURNS {
            ask(&client, mix.request(user, turn), &tally).await;
            turn += 1;
            tokio::time::sleep(PAUSE).await;
        }
        let _ = timeout(ANSWER_TIME, client.cancel()).await;
    }
}

async fn ask(client: &BenchClient, request: BenchRequest, tally: &Tally) {
    let BenchRequest { kind, tool, arguments, fails } = request;
    let start = Instant::now();
    let answer = timeout(ANSWER_TIME, call(client, tool, arguments)).await;
    let time = start.elapsed();
    match answer {
        Ok(Ok(result)) if (result.is_error == Some(true)) == fails => tally.count(time),
        Ok(Ok(result)) => tally.count_failure(kind, shortened(&result)),
        Ok(Err(error)) => tally.count_failure(kind, format!("{error:#}")),
        Err(_) => {
            let seconds = ANSWER_TIME.as_secs();
            tally.count_failure(kind, format!("no answer to {tool} within {seconds} s"));
        }
    }
}

fn shortened(result: &CallToolResult) -> String {
    let mut text = serde_json::to_string(result).unwrap_or_default();
    text.truncate(text.floor_char_boundary(ERROR_BYTES));
    text
}

/// Runs a program each second, for an agent that does nothing else, to see whether others slow it down.
pub(super) async fn be_bystander(client: BenchClient, tally: Arc<Tally>) {
    loop {
        let start = Instant::now();
        let running = call(&client, "execute_code", json!({"code": "result = 1 + 1"}));
        match timeout(ANSWER_TIME, running).await {
            Ok(Ok(result)) if result.is_error != Some(true) => {
                tally.see_bystander(start.elapsed());
            }
            Ok(Ok(result)) => tally.count_failure(RequestKind::Code, shortened(&result)),
            Ok(Err(error)) => tally.count_failure(RequestKind::Code, format!("{error:#}")),
            Err(_) => tally.see_bystander(ANSWER_TIME),
        }
        tokio::time::sleep(RARELY).await;
    }
}

/// Requests `/health` each second, on a new connection as monitors do.
pub(super) async fn watch_health(gateway: Arc<HttpGateway>, tally: Arc<Tally>) {
    loop {
        let start = Instant::now();
        match timeout(ANSWER_TIME, health(gateway.address())).await {
            Ok(Ok(())) => tally.see_health(start.elapsed()),
            Ok(Err(error)) => {
                tally.count_failure(RequestKind::Code, format!("/health: {error:#}"));
            }
            Err(_) => tally.see_health(ANSWER_TIME),
        }
        tokio::time::sleep(RARELY).await;
    }
}

async fn health(address: &str) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let Some(status) = answer.lines().next() else { bail!("no answer") };
    ensure!(status.contains("200"), "{status}");
    Ok(())
}
