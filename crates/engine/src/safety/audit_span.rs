//! What is written down of a run, a call or an analysis when it ends, however it ends.

use std::{sync::Arc, time::Instant};

use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::RunGuard;

/// Something under way. If nobody says how it ended, whoever wanted it has given it up.
#[derive(Debug)]
pub(crate) struct AuditSpan {
    guard: Arc<RunGuard>,
    action: &'static str,
    target: String,
    details: Value,
    started: Instant,
    is_over: bool,
}

impl AuditSpan {
    pub(crate) fn new(
        guard: &Arc<RunGuard>,
        action: &'static str,
        target: String,
        details: Value,
    ) -> Self {
        let guard = Arc::clone(guard);
        Self { guard, action, target, details, started: Instant::now(), is_over: false }
    }

    /// One more detail, or another one in its place.
    pub(crate) fn note(&mut self, detail: &str, value: impl Into<Value>) {
        self.details[detail] = value.into();
    }

    /// Writes down that it begins, for levels that do nothing which is not in the audit.
    pub(crate) fn begin(&self) {
        self.write(&format!("{}.begin", self.action), "begun", self.details.clone());
    }

    /// Writes down how it ended.
    pub(crate) fn end(mut self, outcome: &str) {
        self.is_over = true;
        self.write_end(outcome);
    }

    fn write_end(&self, outcome: &str) {
        let mut details = self.details.clone();
        if details["milliseconds"].is_null() {
            details["milliseconds"] = json!(self.started.elapsed().as_millis() as u64);
        }
        self.write(self.action, outcome, details);
    }

    fn write(&self, action: &str, outcome: &str, details: Value) {
        let agent = self.guard.agent();
        agent.record(self.guard.audit_trail(), action, &self.target, outcome, details);
    }
}

impl Drop for AuditSpan {
    fn drop(&mut self) {
        // Nobody writes what is dropped after the runtime.
        if !self.is_over && Handle::try_current().is_ok() {
            self.write_end("cancelled");
        }
    }
}

#[cfg(test)]
mod tests {
    use narrows_model::Principal;

    use super::*;
    use crate::state::tests::state;

    #[tokio::test]
    async fn what_is_given_up_is_written_and_what_ended_is_written_once() {
        let home = tempfile::tempdir().unwrap();
        let state = state(home.path());
        let agent = state.agent(Arc::new(Principal::local()));
        let guard = agent.guard(agent.level(None).unwrap());
        let span =
            |target: &str| AuditSpan::new(&guard, "call", target.to_owned(), json!({"a": 1}));
        span("ended").end("ok");
        let under_way = async {
            let _deed = span("given up");
            std::future::pending::<()>().await;
        };
        assert!(futures::future::FutureExt::now_or_never(under_way).is_none());
        agent.written(guard.audit_trail()).await.unwrap();
        let audit = state.store().await.unwrap().audit();
        for (seq, target, outcome) in [(1, "ended", "ok"), (2, "given up", "cancelled")] {
            let entry = audit.get(seq).await.unwrap().unwrap();
            assert_eq!((entry.target.as_str(), entry.outcome.as_str()), (target, outcome));
            assert!(entry.details["a"] == 1 && entry.details["milliseconds"].is_u64());
        }
        assert_eq!(audit.get(3).await.unwrap(), None);
    }
}
