//! The audit entry of a run, a call or an analysis, which is written when it ends, however it ends.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use narrows_model::{Event, EventAction, EventOutcome, EventTarget};
use serde_json::Value;
use tokio::runtime::Handle;

use super::RunGuard;

/// An action in progress, and its audit entry. Dropped without [`AuditSpan::end`], it is recorded as
/// cancelled.
#[derive(Debug)]
pub(crate) struct AuditSpan {
    guard: Arc<RunGuard>,
    action: EventAction,
    target: EventTarget,
    details: Value,
    started: Instant,
    /// The duration that the action measured itself; without it, the time since `started` counts.
    duration: Option<Duration>,
    is_over: bool,
}

impl AuditSpan {
    pub(crate) fn new(
        guard: &Arc<RunGuard>,
        action: EventAction,
        target: impl Into<EventTarget>,
        details: Value,
    ) -> Self {
        Self {
            guard: Arc::clone(guard),
            action,
            target: target.into(),
            details,
            started: Instant::now(),
            duration: None,
            is_over: false,
        }
    }

    /// Sets a detail of the entry.
    pub(crate) fn note(&mut self, detail: &str, value: impl Into<Value>) {
        self.details[detail] = value.into();
    }

    /// Sets the duration, where it is shorter than the time since the span began.
    pub(crate) fn took(&mut self, duration: Duration) {
        self.duration = Some(duration);
    }

    /// Records the beginning of the action, for levels with `audit_must_hold`.
    pub(crate) fn begin(&self) {
        if let Some(action) = self.action.begin() {
            self.record(Event { action, ..self.event(EventOutcome::Begun) });
        }
    }

    /// Records the outcome of the action.
    pub(crate) fn end(mut self, outcome: EventOutcome) {
        self.is_over = true;
        self.record_end(outcome);
    }

    fn record_end(&self, outcome: EventOutcome) {
        let duration = self.duration.unwrap_or_else(|| self.started.elapsed());
        self.record(Event { duration: Some(duration), ..self.event(outcome) });
    }

    fn event(&self, outcome: EventOutcome) -> Event {
        let (target, details) = (self.target.clone(), self.details.clone());
        self.guard.event(self.action, target, outcome, details)
    }

    fn record(&self, event: Event) {
        self.guard.agent().record(self.guard.audit_trail(), event);
    }
}

impl Drop for AuditSpan {
    fn drop(&mut self) {
        // Without a runtime there is no task that could write the entry.
        if !self.is_over && Handle::try_current().is_ok() {
            self.record_end(EventOutcome::Cancelled);
        }
    }
}

#[cfg(test)]
mod tests {
    use narrows_model::Principal;
    use serde_json::json;

    use super::*;
    use crate::state::tests::state;

    #[tokio::test]
    async fn what_is_given_up_is_written_and_what_ended_is_written_once() {
        let home = tempfile::tempdir().unwrap();
        let state = state(home.path());
        let agent = state.agent(Arc::new(Principal::local()));
        let guard = agent.guard(agent.level(None).unwrap());
        let span =
            |target: &str| AuditSpan::new(&guard, EventAction::Call, target, json!({"a": 1}));
        span("ended").end(EventOutcome::Ok);
        let under_way = async {
            let _span = span("given up");
            std::future::pending::<()>().await;
        };
        assert!(futures::future::FutureExt::now_or_never(under_way).is_none());
        agent.written(guard.audit_trail()).await.unwrap();
        let audit = state.store().await.unwrap().audit();
        for (seq, target, outcome) in [(1, "ended", "ok"), (2, "given up", "cancelled")] {
            let entry = audit.get(seq).await.unwrap().unwrap();
            assert_eq!((entry.target.as_str(), entry.outcome.as_str()), (target, outcome));
            assert!(entry.details["a"] == 1 && entry.details["milliseconds"].is_u64());
            assert_eq!(entry.details["run"], guard.run());
        }
        assert_eq!(audit.get(3).await.unwrap(), None);
    }
}
