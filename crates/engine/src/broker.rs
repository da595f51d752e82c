//! The broker: every call of a tool, and every other request to a server, goes through it. This module
//! finds tools; `forward` sends requests to their servers, `in_flight` keeps writes alive whose client
//! has left, and `questions` puts to the caller what servers ask.

mod forward;
mod in_flight;
#[cfg(test)]
pub(crate) mod in_process;
mod questions;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{compute::ALWAYS_APART, state::Agent};

use in_flight::Writes;
use narrows_upstream::{
    Fleet, UpstreamError,
    catalog::{Catalog, Missing, Tool},
};

pub use crate::call_error::CallError;
pub use forward::{Called, ForwardRequest, Forwarded, RequestOrigin};
pub use in_flight::MAX_WRITE_TIME;

/// The time after its start in which the gateway waits for servers that have not listed their tools
/// yet.
const LEARNING_TIME: Duration = Duration::from_secs(5);

/// Finds tools, checks what they are given, and forwards requests to their servers.
#[derive(Clone, Debug)]
pub struct Broker {
    catalog: Arc<Catalog>,
    fleet: Arc<Fleet>,
    born: Instant,
    writes: Writes,
}

impl Broker {
    pub fn new(catalog: Arc<Catalog>, fleet: Arc<Fleet>) -> Self {
        Self { catalog, fleet, born: Instant::now(), writes: Writes::default() }
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    pub fn fleet(&self) -> &Arc<Fleet> {
        &self.fleet
    }

    /// Finds the tool that a name means; the error suggests similar names. Starts the server if its
    /// tools are not known.
    pub async fn find(&self, name: &str, server: Option<&str>) -> Result<Arc<Tool>, CallError> {
        let found = self.find_exactly(name, server).await?;
        found.map_err(|missing| self.catalog.advise(missing).into())
    }

    /// Finds a tool as [`Self::find`] does, but counts the search for similar names as work of this
    /// agent, so that it does not delay others.
    pub(crate) async fn find_for(
        &self,
        name: &str,
        server: Option<&str>,
        agent: &Agent,
    ) -> Result<Arc<Tool>, CallError> {
        let missing = match self.find_exactly(name, server).await? {
            Ok(tool) => return Ok(tool),
            Err(missing) => missing,
        };
        // A program can ask for one wrong name after another, and each is compared with thousands of
        // tools.
        let unresolved = agent.compute(ALWAYS_APART, || self.catalog.advise(missing)).await;
        Err(unresolved.into())
    }

    /// Finds a tool as [`Self::find`] does, without suggestions of similar names.
    pub(crate) async fn find_exactly(
        &self,
        name: &str,
        server: Option<&str>,
    ) -> Result<Result<Arc<Tool>, Missing>, UpstreamError> {
        let missing = match self.catalog.find(name, server) {
            Ok(tool) => return Ok(Ok(tool)),
            Err(missing) => missing,
        };
        Ok(match missing {
            Missing::NotListed(server) => {
                self.fleet.start(&server).await?;
                self.catalog.find(name, Some(&server))
            }
            // The tool may be newer than the list that is known.
            Missing::Tool { server, .. } => {
                self.fleet.refresh(&server.server).await;
                self.catalog.find(name, Some(&server.server))
            }
            // Its server may not have listed its tools yet.
            Missing::ToolAnywhere(_) => {
                self.learn().await;
                self.catalog.find(name, server)
            }
            other => Err(other),
        })
    }

    /// Returns the number of calls in flight that may change something.
    pub fn writes_in_flight(&self) -> usize {
        self.writes.count()
    }

    /// Waits until the calls in flight that may change something have ended, for at most
    /// [`MAX_WRITE_TIME`]. To be called at shutdown, before the servers are stopped.
    pub async fn finish_writes(&self) {
        let _ = tokio::time::timeout(MAX_WRITE_TIME, self.writes.ended()).await;
    }

    /// Waits for servers whose tools are not known yet, but only in the first moments after the start
    /// of the gateway: a server that hangs must not make every search wait.
    pub async fn learn(&self) {
        let unknown = self.catalog.modules().keys();
        let unknown = unknown.filter(|server| self.catalog.listing(server).is_none());
        let starting = futures::future::join_all(unknown.map(|server| self.fleet.start(server)));
        let _ = tokio::time::timeout_at(self.born + LEARNING_TIME, starting).await;
    }
}

#[cfg(test)]
pub(crate) mod tests;
