//! All upstream servers of a gateway. A failure of one does not affect the others.

mod relisting;
pub(crate) mod server;

use std::{collections::BTreeMap, sync::Arc};

use narrows_model::{ServerSpec, nearest};
use rmcp::model::{ClientRequest, ServerPeerInfo};
use tokio::sync::broadcast;

use self::server::{Status, Upstream};
use crate::{
    caller::Caller,
    catalog::Catalog,
    connection::UpstreamReply,
    error::UpstreamError,
    handler::{ServerChange, UpstreamChange},
    handshake::ConnectionDeps,
    login::LoginStore,
    logs::server_log::ServerLogs,
    messages::budget::{ANSWER_BYTES, Budget},
    protocol::ProtocolGeneration,
    stdio::child_reaper::ChildReaper,
};

/// How many unread changes are kept before the oldest are forgotten.
const CHANGES_KEPT: usize = 256;

/// The upstream servers of a gateway.
pub struct Fleet {
    servers: BTreeMap<String, Arc<Upstream>>,
    catalog: Arc<Catalog>,
    changes: broadcast::Sender<ServerChange>,
}

impl Fleet {
    /// Creates a fleet without starting a server. What servers print is kept in `logs`.
    pub fn new(
        specs: Vec<ServerSpec>,
        catalog: Arc<Catalog>,
        logins: LoginStore,
        guard: ChildReaper,
        logs: ServerLogs,
    ) -> Self {
        Self::within(ANSWER_BYTES, specs, catalog, logins, guard, logs)
    }

    /// Like [`Self::new`], with `answer_bytes` of memory for the large answers of all servers.
    pub fn within(
        answer_bytes: u64,
        specs: Vec<ServerSpec>,
        catalog: Arc<Catalog>,
        logins: LoginStore,
        guard: ChildReaper,
        logs: ServerLogs,
    ) -> Self {
        let (changes, _) = broadcast::channel(CHANGES_KEPT);
        let budget = Budget::new(answer_bytes);
        let means = ConnectionDeps { guard, logins, changes: changes.clone(), logs, budget };
        let servers = specs
            .into_iter()
            .map(|spec| {
                let era = catalog
                    .listing(&spec.name)
                    .map_or(ProtocolGeneration::Unknown, |known| known.about.era);
                let name = spec.name.clone();
                (name, Upstream::new(spec, era, means.clone(), Arc::clone(&catalog)))
            })
            .collect();
        Self { servers, catalog, changes }
    }

    /// Starts the servers whose tools are unknown or out of date, in the background, and from now on
    /// lists a server's tools again whenever it announces a change.
    pub fn warm_up(&self) {
        for (name, server) in &self.servers {
            if self.catalog.is_stale(name) {
                let server = Arc::clone(server);
                tokio::spawn(async move {
                    let _ = server.connection().await;
                });
            }
        }
        let mut changes = self.changes.subscribe();
        let servers = self.servers.clone();
        tokio::spawn(async move {
            loop {
                match changes.recv().await {
                    Ok(ServerChange { server, change: UpstreamChange::Tools }) => {
                        if let Some(server) = servers.get(&*server) {
                            let server = Arc::clone(server);
                            tokio::spawn(async move { server.refresh_after_change().await });
                        }
                    }
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        });
    }

    /// Starts a server unless it runs already, and so learns its tools.
    pub async fn start(&self, name: &str) -> Result<(), UpstreamError> {
        self.find(name)?.connection().await.map(|_| ())
    }

    /// Ends a server and starts it again, whatever it is doing and however often it failed.
    pub async fn restart(&self, name: &str) -> Result<(), UpstreamError> {
        self.find(name)?.restart().await
    }

    /// Lists a server's tools again for a name that is not among them, if they may have changed by now.
    pub async fn refresh(&self, name: &str) {
        if let Some(server) = self.servers.get(name) {
            server.refresh().await;
        }
    }

    /// Sends a request to a server.
    pub async fn request(
        &self,
        name: &str,
        request: ClientRequest,
        caller: Arc<dyn Caller>,
    ) -> Result<UpstreamReply, UpstreamError> {
        self.find(name)?.request(request, caller).await
    }

    /// Returns what a server said about itself. Starts the server if it does not run.
    pub async fn info(&self, name: &str) -> Result<ServerPeerInfo, UpstreamError> {
        self.find(name)?.info().await
    }

    /// Asks a server to tell when a resource changes.
    pub async fn subscribe(&self, name: &str, uri: &str) -> Result<(), UpstreamError> {
        self.find(name)?.connection().await?.subscribe(uri, &self.changes).await
    }

    /// Shows a problem in the status of a server that runs.
    pub fn report_problem(&self, name: &str, problem: String) {
        if let Some(server) = self.servers.get(name) {
            server.report_problem(problem);
        }
    }

    pub fn era(&self, name: &str) -> ProtocolGeneration {
        self.servers.get(name).map_or(ProtocolGeneration::Unknown, |server| server.era())
    }

    pub fn spec(&self, name: &str) -> Option<&ServerSpec> {
        self.servers.get(name).map(|server| server.spec())
    }

    pub fn specs(&self) -> impl Iterator<Item = &ServerSpec> {
        self.servers.values().map(|server| server.spec())
    }

    pub fn status(&self, name: &str) -> Option<Status> {
        self.servers.get(name).map(|server| server.status())
    }

    pub fn statuses(&self) -> Vec<Status> {
        self.servers.values().map(|server| server.status()).collect()
    }

    /// Returns a receiver of the changes that servers announce from now on.
    pub fn changes(&self) -> broadcast::Receiver<ServerChange> {
        self.changes.subscribe()
    }

    /// Ends all servers concurrently.
    pub async fn shut_down(&self) {
        futures::future::join_all(self.servers.values().map(|server| server.shut_down())).await;
    }

    fn find(&self, name: &str) -> Result<&Arc<Upstream>, UpstreamError> {
        self.servers.get(name).ok_or_else(|| {
            if let Some(disabled) = self.catalog.disabled(name) {
                return disabled.into();
            }
            let hint = nearest(name, self.servers.keys().map(String::as_str));
            UpstreamError::Unknown { name: name.to_owned(), hint: hint.to_string() }
        })
    }
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").field("servers", &self.servers.keys()).finish_non_exhaustive()
    }
}

/// Runs one server over a stream, as if it had just been started.
#[cfg(any(test, feature = "fakes"))]
pub(crate) async fn start_in_process(
    fleet: &Fleet,
    name: &str,
    stream: tokio::io::DuplexStream,
    inbox: crate::messages::inbox::Inbox,
    closed: tokio_util::sync::CancellationToken,
) {
    server::in_process::start(&fleet.servers[name], stream, inbox, closed).await;
}

#[cfg(test)]
mod tests;
