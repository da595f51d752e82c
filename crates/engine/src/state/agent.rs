//! One principal's way to what lasts.

use std::sync::Arc;

use narrows_model::{Access, Principal};
use narrows_sandbox::Workspace;
use narrows_store::{NewEntry, Store};
use serde_json::{Value, json};

use super::{State, StateError, namespace};
use crate::skills::Library;

/// Files, skills, sessions, boards and shared values, with one principal's rights.
#[derive(Clone, Debug)]
pub struct Agent {
    pub(super) state: Arc<State>,
    principal: Arc<Principal>,
}

impl Agent {
    pub(super) fn new(state: Arc<State>, principal: Arc<Principal>) -> Self {
        Self { state, principal }
    }

    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(crate) fn name(&self) -> &str {
        &self.principal.name
    }

    /// The namespace that is meant, if this principal may use it so.
    pub(crate) fn namespace<'a>(
        &'a self,
        named: Option<&'a str>,
        access: Access,
    ) -> Result<&'a str, StateError> {
        namespace(&self.principal, named, access)
    }

    pub async fn store(&self) -> Result<&Store, StateError> {
        self.state.store().await
    }

    pub(crate) fn library(&self) -> &Library {
        &self.state.library
    }

    /// The directory that this principal's programs see as `/workspace`.
    pub fn workspace(&self) -> Result<Arc<Workspace>, StateError> {
        self.state.workspaces.open(&self.principal.home)
    }

    /// Lets everything be written that is under way. Others of the same state are done then too.
    pub async fn close(&self) {
        self.state.close().await;
    }

    /// Writes down that a program was run. Whoever asked for it notes the files that it left, when
    /// the last of them is written.
    pub async fn ran(&self, hash: &str, outcome: &narrows_model::Outcome, session: Option<&str>) {
        let ending = match &outcome.ending {
            narrows_model::Ending::Success => "success",
            narrows_model::Ending::Failed(_) => "failed",
            narrows_model::Ending::Limit(..) => "limit",
            narrows_model::Ending::Cancelled(_) => "cancelled",
        };
        let details = json!({
            "milliseconds": outcome.wall_time.as_millis() as u64,
            "tool_calls": outcome.tool_calls,
            "session": session,
        });
        self.audit(&self.principal.home, "run", hash, ending, details).await;
    }

    /// Says in the audit what this principal did. A failure is told in the log: what was done is
    /// done.
    pub(super) async fn audit(
        &self,
        namespace: &str,
        action: &str,
        target: &str,
        outcome: &str,
        details: Value,
    ) {
        let entry = NewEntry {
            principal: self.name().to_owned(),
            namespace: namespace.to_owned(),
            action: action.to_owned(),
            target: target.to_owned(),
            outcome: outcome.to_owned(),
            details,
        };
        let append = async {
            self.store().await?.audit().append(&entry).await?;
            Ok(())
        };
        self.state.note("the audit was not written", append).await;
    }
}
