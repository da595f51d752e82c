//! The one place where events are recorded: each [`Event`] goes to the log, to the statistics of its
//! request, and into the audit. Another sink would be one more line of [`Agent::record`].

use narrows_model::{Event, EventAction, EventOutcome, EventTarget};
use serde_json::{Value, json};

use super::{Agent, AuditTrail};

impl Agent {
    /// Creates an event of this principal in its home namespace.
    pub(crate) fn event(
        &self,
        action: EventAction,
        target: impl Into<EventTarget>,
        outcome: EventOutcome,
        details: Value,
    ) -> Event {
        Event {
            action,
            outcome,
            principal: self.name().to_owned(),
            namespace: self.principal().home.clone(),
            target: target.into(),
            run_id: None,
            duration: None,
            details,
        }
    }

    /// Records an event. The audit entry is written in the background.
    pub(crate) fn record(&self, audit_trail: &AuditTrail, event: Event) {
        log(&event);
        if let Some(stats) = audit_trail.stats() {
            stats.complete(&event);
        }
        self.state.audit_writer.add(&self.state, audit_trail, event.into());
    }

    /// Records an event that is not part of a run, and waits for its audit entry. If that cannot be
    /// written, the log and the next answer say so; the action itself is not undone.
    pub(super) async fn record_and_wait(&self, event: Event) {
        let audit_trail = AuditTrail::default();
        self.record(&audit_trail, event);
        let writing = async {
            let _ = self.state.audit_writer.written(&self.state, &audit_trail).await;
            Ok(())
        };
        self.state.note("the audit was not written", writing).await;
    }

    /// Records a login to a server, or an attempt.
    pub async fn record_login(&self, server: &str, outcome: EventOutcome) {
        let target = EventTarget::Server(server.to_owned());
        self.record_and_wait(self.event(EventAction::Login, target, outcome, json!({}))).await;
    }
}

/// Logs an event with names and numbers only: no details, and no target other than a server or tool,
/// because programs and clients choose the names of files and boards.
fn log(event: &Event) {
    /// The target that log filters name.
    const TARGET: &str = "narrows::event";
    let Event { action, outcome, principal, run_id, .. } = event;
    let (outcome, run_id, principal) = (outcome.as_str(), run_id.as_deref(), principal.as_str());
    let (server, tool) = (event.target.server(), event.target.tool());
    let ms = event.duration.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let sentence = action.sentence();
    if event.outcome == EventOutcome::Begun {
        tracing::debug!(target: TARGET, run_id, principal, server, tool, outcome, "{sentence}");
    } else {
        tracing::info!(target: TARGET, run_id, principal, server, tool, outcome, ms, "{sentence}");
    }
}
