//! What changes at the servers, for those who tell clients of it.

use narrows_engine::broker::Broker;
use narrows_upstream::{ServerChange, UpstreamChange};
use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

/// Changes from a moment on.
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

    /// The next one. None when there will be no more. Safe to drop and to call again.
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
