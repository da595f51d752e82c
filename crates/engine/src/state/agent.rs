//! The access of one principal to the lasting state.

use std::{sync::Arc, time::Duration};

use narrows_model::{Access, Caller, EventAction, EventOutcome, EventTarget, Principal, ToolId};
use narrows_sandbox::Workspace;
use narrows_store::{Approval, Entry, Filter, Store, StoreUrl};
use serde_json::{Value, json};

use super::{AuditTrail, State, StateError, namespace};
use crate::{
    analysis_service::AnalysisService,
    safety::{PiiFilter, Safety},
    skills::Library,
};

/// The longest time that a run at a level with `audit_must_hold` waits for the audit.
const AUDIT_TIME: Duration = Duration::from_secs(10);

/// The number of audit entries that are read at once.
const AUDIT_PAGE: usize = 200;
/// The most by which the clock that wrote the audit may be behind the one that dated an approval, in
/// milliseconds.
const CLOCK_DIFFERENCE: i64 = 60 * 60 * 1000;

/// The access of one principal to files, skills, sessions, boards and shared values.
#[derive(Clone, Debug)]
pub struct Agent {
    pub(super) state: Arc<State>,
    principal: Arc<Principal>,
    caller: Caller,
}

impl Agent {
    pub(super) fn new(state: Arc<State>, principal: Arc<Principal>) -> Self {
        let caller = principal.name.as_str().into();
        Self { state, principal, caller }
    }

    /// Returns the same agent counted as another caller where places are shared fairly: one principal
    /// can have many clients, and one of them must not take all places from the others.
    pub fn sharing_as(self, caller: impl Into<Caller>) -> Self {
        Self { caller: caller.into(), ..self }
    }

    /// Returns the caller that places and turns are counted for.
    pub fn fair_caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns the same agent with another home namespace. For the owner of the installation, who may
    /// use all.
    pub fn of_namespace(&self, namespace: &str) -> Self {
        let principal = Principal::new(self.principal.name.clone(), namespace);
        let (state, caller) = (Arc::clone(&self.state), Arc::clone(&self.caller));
        Self { state, principal: Arc::new(principal), caller }
    }

    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(crate) fn name(&self) -> &str {
        &self.principal.name
    }

    /// Returns the namespace that a request names, or the home, if this principal may use it in this
    /// way.
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

    pub(crate) fn analysis_service(&self) -> &AnalysisService {
        &self.state.analysis_service
    }

    /// Does work on an input of `bytes` bytes without holding up other requests; see
    /// [`Compute`](crate::compute::Compute).
    pub async fn compute<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.state.compute.run(&self.caller, bytes, work).await
    }

    /// Takes all places that this caller may have for such work.
    #[cfg(test)]
    pub(crate) fn take_places(&self) -> Vec<narrows_model::Permit> {
        self.state.compute.take_all(&self.caller)
    }

    /// Opens the directory that this principal's programs see as `/workspace`.
    pub fn workspace(&self) -> Result<Arc<Workspace>, StateError> {
        self.state.workspaces.open(&self.principal.home)
    }

    /// Waits for the audit writer, and returns a note about entries that could not be written. For a
    /// command at its end.
    pub async fn unwritten(&self) -> Option<String> {
        let finishing = async {
            self.state.audit_writer.finish().await;
            Ok(())
        };
        let late = self.state.in_time(finishing).await.err();
        self.take_lost_audit().or_else(|| late.map(|why| format!("audit: {why}")))
    }

    /// Takes the note about audit entries that could not be written so far.
    pub(crate) fn take_lost_audit(&self) -> Option<String> {
        self.state.audit_writer.take_lost().map(|lost| format!("audit: {lost}"))
    }

    /// Finishes all writes and closes the store, for all agents of the same state.
    pub async fn close(&self) {
        self.state.close().await;
    }

    /// Returns the safety settings in force.
    pub fn safety(&self) -> &Arc<Safety> {
        &self.state.settings.safety
    }

    /// Creates a filter for what leaves for this principal's model.
    pub fn pii_filter(&self) -> PiiFilter {
        PiiFilter::new(Arc::clone(self.safety()), &self.principal)
    }

    /// Tells whether the run of an approval has ended according to the audit: approving the rest of it
    /// would allow nothing. If the gateway was killed, the audit does not know that the run has ended.
    pub async fn has_run_ended(&self, approval: &Approval) -> Result<bool, StateError> {
        let Some(run) = &approval.run else { return Ok(false) };
        let audit = self.store().await?.audit();
        let filter = Filter {
            principal: Some(approval.principal.clone()),
            action: Some(EventAction::Run.as_str().to_owned()),
            since: Some(approval.created_at.saturating_sub(CLOCK_DIFFERENCE)),
            ..Filter::default()
        };
        let mut before = None;
        loop {
            let page = audit.search(&filter, before, AUDIT_PAGE).await?;
            let is_end = |entry: &Entry| {
                entry.action == EventAction::Run.as_str() && entry.details["run"] == **run
            };
            if page.iter().any(is_end) {
                return Ok(true);
            }
            match page.last() {
                Some(last) if page.len() == AUDIT_PAGE => before = Some(last.seq),
                _ => return Ok(false),
            }
        }
    }

    /// Waits until all entries on a trail are written.
    pub(crate) async fn written(&self, audit_trail: &AuditTrail) -> Result<(), String> {
        // SQLite goes on writing to a file that was deleted, and what it writes is lost.
        if let StoreUrl::Sqlite(file) = &self.state.settings.store
            && !file.exists()
            && self.state.store.initialized()
        {
            return Err("the file of the store is gone".to_owned());
        }
        let written = self.state.audit_writer.written(&self.state, audit_trail);
        match tokio::time::timeout(AUDIT_TIME, written).await {
            Ok(written) => written,
            Err(_) => Err("the store does not answer".to_owned()),
        }
    }

    /// Writes the values of new tokens to the vault. If that fails the answer is given all the same:
    /// nothing leaks, but these tokens cannot be replaced by their values later.
    pub async fn keep_tokens(&self) -> Result<(), String> {
        let safety = self.safety();
        if !safety.vault().has_news_of(&self.principal.home) {
            return Ok(());
        }
        let keeping = async { Ok(safety.vault().write(self.store().await?).await?) };
        self.state.in_time(keeping).await
    }

    /// Writes the values of new tokens as [`Self::keep_tokens`] does, but only logs a failure, for
    /// answers without notes.
    pub async fn keep_tokens_or_warn(&self) {
        if let Err(error) = self.keep_tokens().await {
            tracing::warn!(%error, "what tokens stand for was not written to the vault");
        }
    }

    /// Replaces all tokens in a value. The caller checks that this principal may restore them.
    pub async fn restore(&self, mut value: Value) -> Result<Value, StateError> {
        let pii_filter = self.pii_filter();
        let revealed = pii_filter.reveal_all(self, &mut value).await?;
        let details = json!({ "kinds": revealed.kinds });
        let event = self.event(EventAction::PiiRestore, "", EventOutcome::Ok, details);
        self.record_and_wait(event).await;
        Ok(value)
    }

    /// Replaces tokens in a client's answer to a server's question, so that what the client was shown
    /// as a token goes back as its value. `name` is the tool or item that the request is for, as rules
    /// name it.
    pub async fn reveal_answer(
        &self,
        server: &str,
        name: &str,
        answer: &mut Value,
    ) -> Result<(), StateError> {
        let policy = self.safety().policy();
        let may = |kind: &str| policy.may_have(server, name, kind);
        let revealed = self.pii_filter().reveal(self, answer, &may).await?;
        if let Some((outcome, details)) = revealed.entry() {
            let target = EventTarget::Tool(ToolId::new(server, name));
            self.record_and_wait(self.event(EventAction::PiiAnswer, target, outcome, details))
                .await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
