//! One principal's way to what lasts.

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

/// How long those wait for the audit who do nothing that is not in it.
const AUDIT_TIME: Duration = Duration::from_secs(10);

/// How many entries of the audit are looked at together.
const AUDIT_PAGE: usize = 200;
/// By how much the clock that wrote the audit may be behind that of an approval, in milliseconds.
const CLOCK_DIFFERENCE: i64 = 60 * 60 * 1000;

/// Files, skills, sessions, boards and shared values, with one principal's rights.
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

    /// The same, with a share of its own of all that is shared fairly: one principal can be many
    /// clients, of whom one must not take what there is from the others.
    pub fn sharing_as(self, caller: impl Into<Caller>) -> Self {
        Self { caller: caller.into(), ..self }
    }

    /// Returns whom places and turns are counted for.
    pub fn fair_caller(&self) -> &Caller {
        &self.caller
    }

    /// The same, at home in another namespace: for whoever owns all of them.
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

    pub(crate) fn analysis_service(&self) -> &AnalysisService {
        &self.state.analysis_service
    }

    /// Does work on an input of so many bytes where it keeps nobody waiting; see
    /// [`Compute`](crate::compute::Compute).
    pub async fn compute<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.state.compute.run(&self.caller, bytes, work).await
    }

    /// Takes all places that this caller has for such work.
    #[cfg(test)]
    pub(crate) fn take_places(&self) -> Vec<narrows_model::Permit> {
        self.state.compute.take_all(&self.caller)
    }

    /// The directory that this principal's programs see as `/workspace`.
    pub fn workspace(&self) -> Result<Arc<Workspace>, StateError> {
        self.state.workspaces.open(&self.principal.home)
    }

    /// Waits for the audit, and says what of it could not be written: for a command that ends then.
    pub async fn unwritten(&self) -> Option<String> {
        let finishing = async {
            self.state.audit_writer.finish().await;
            Ok(())
        };
        let late = self.state.in_time(finishing).await.err();
        self.take_lost_audit().or_else(|| late.map(|why| format!("audit: {why}")))
    }

    /// Says what of the audit could not be written so far.
    pub(crate) fn take_lost_audit(&self) -> Option<String> {
        self.state.audit_writer.take_lost().map(|lost| format!("audit: {lost}"))
    }

    /// Lets everything be written that is under way. Others of the same state are done then too.
    pub async fn close(&self) {
        self.state.close().await;
    }

    /// What keeps data in and harm out.
    pub fn safety(&self) -> &Arc<Safety> {
        &self.state.settings.safety
    }

    /// Protects what leaves for this principal's model.
    pub fn pii_filter(&self) -> PiiFilter {
        PiiFilter::new(Arc::clone(self.safety()), &self.principal)
    }

    /// Returns whether the run that an approval is of has ended, as the audit says: a yes for the rest
    /// of it would allow nothing. One whose gateway was killed is not known to have ended.
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

    /// Waits until all that was handed over on a trail is written.
    pub(crate) async fn written(&self, audit_trail: &AuditTrail) -> Result<(), String> {
        // A file that was removed can still be written to, and is lost.
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

    /// Writes down what the tokens of now stand for. An answer is given without it too: nothing
    /// leaks, but these tokens cannot be turned back.
    pub async fn keep_tokens(&self) -> Result<(), String> {
        let safety = self.safety();
        if !safety.vault().has_news_of(&self.principal.home) {
            return Ok(());
        }
        let keeping = async { Ok(safety.vault().write(self.store().await?).await?) };
        self.state.in_time(keeping).await
    }

    /// As [`Self::keep_tokens`], for an answer in which a failure has no place: it is logged.
    pub async fn keep_tokens_or_warn(&self) {
        if let Err(error) = self.keep_tokens().await {
            tracing::warn!(%error, "what tokens stand for was not written to the vault");
        }
    }

    /// The value with what its tokens stand for, for those who may know.
    pub async fn restore(&self, mut value: Value) -> Result<Value, StateError> {
        let pii_filter = self.pii_filter();
        let revealed = pii_filter.reveal_all(self, &mut value).await?;
        let details = json!({ "kinds": revealed.kinds });
        let event = self.event(EventAction::PiiRestore, "", EventOutcome::Ok, details);
        self.record_and_wait(event).await;
        Ok(value)
    }

    /// Puts values in the place of tokens in what a client answers to a server that asks: what was
    /// shown as a token goes back as it is. `name` is what the server was asked for, as rules name it.
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
