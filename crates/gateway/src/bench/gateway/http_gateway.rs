//! A gateway of this very program that listens on a free port.

use std::process::Stdio;

use anyhow::Context;
use narrows_upstream::client_builder;
use rmcp::{
    service::{ClientLifecycleMode, ClientServiceExt},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Child,
};

use super::{Bench, BenchClient};

/// A gateway process that serves HTTP until it is ended or dropped.
pub(in crate::bench) struct HttpGateway {
    process: Child,
    url: String,
    /// The key that was made for it, if its configuration has none.
    key: Option<String>,
}

impl HttpGateway {
    pub(in crate::bench) async fn start(
        bench: &Bench,
        name: &str,
        config: &str,
    ) -> anyhow::Result<Self> {
        let mut command = bench.serve(name, config)?;
        command.args(["--http", "127.0.0.1:0"]).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let stderr = process.stderr.take().context("the process has no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let needs_key = !config.contains("key = ");
        let (mut url, mut key) = (None, None);
        while url.is_none() || (needs_key && key.is_none()) {
            let line = lines.next_line().await?.context("the gateway ended before it listened")?;
            if let Some((_, address)) = line.split_once("listening on ") {
                url = Some(address.trim().to_owned());
            }
            if let Some((_, rest)) = line.split_once("key: ") {
                key = rest.split_whitespace().next().map(str::to_owned);
            }
        }
        // The rest of its output is discarded, because a full pipe would block it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { process, url: url.unwrap_or_default(), key })
    }

    /// Returns the host and port that it listens on.
    pub(in crate::bench) fn address(&self) -> &str {
        let rest = self.url.strip_prefix("http://").unwrap_or(&self.url);
        rest.split('/').next().unwrap_or(rest)
    }

    /// Returns the id of its process as long as it was not seen to end.
    pub(in crate::bench) fn process_id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Returns how the process ended, if it did.
    pub(in crate::bench) fn exit_reason(&mut self) -> Option<String> {
        self.process.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// Kills the process. Its guard ends the servers that it started.
    pub(in crate::bench) async fn end(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Connects with the key that was made for it.
    pub(in crate::bench) async fn connect(&self) -> anyhow::Result<BenchClient> {
        let key = self.key.as_deref().context("the gateway has shown no key")?;
        self.connect_as(key, ClientLifecycleMode::Initialize).await
    }

    pub(in crate::bench) async fn connect_as(
        &self,
        key: &str,
        lifecycle: ClientLifecycleMode,
    ) -> anyhow::Result<BenchClient> {
        let config =
            StreamableHttpClientTransportConfig::with_uri(self.url.as_str()).auth_header(key);
        let transport =
            StreamableHttpClientTransport::with_client(client_builder().build()?, config);
        Ok(().serve_with_lifecycle(transport, lifecycle).await?)
    }
}
