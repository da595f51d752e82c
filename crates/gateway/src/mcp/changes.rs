//! Changes at the servers, of which clients are notified.

use narrows_engine::broker::Broker;
use narrows_upstream::{ServerChange, UpstreamChange};
use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

/// A stream of the changes from one moment on.
pub(super) struct Changes {
    /// Tools count as changed when the catalog has the new ones.
    tools: watch::Receiver<u64>,
    others: broadcast::Receiver<ServerChange>,
}

impl Changes {
    pub(super) fn from_now(broker: &Broker) -> Self {
        let mut tools = broker.catalog().version();
        tools.mark_unchanged();
        Self { tools, others: broker.fleet().changes() }
    }

    /// Waits for the next change. Returns none when there will be no more. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<UpstreamChange> {
        loop {
            tokio::select! {
                changed = self.tools.changed() => return changed.ok().map(|()| UpstreamChange::Tools),
                change = self.others.recv() => match change {
                    Ok(ServerChange { change: UpstreamChange::Tools, .. })
                    | Err(RecvError::Lagged(_)) => {}
                    Ok(ServerChange { change, .. }) => return Some(change),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }
}
