//! The one place where everything that happens is written down: each [`Event`] comes here when it has
//! ended, and goes to the log, to the statistics of the request that it is of, and into the audit. Another
//! sink is one more line of [`Agent::record`].

use narrows_model::{Event, EventAction, EventOutcome, EventTarget};
use serde_json::{Value, json};

use super::{Agent, AuditTrail};

impl Agent {
    /// Describes something that this principal did at home.
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

    /// Writes down what happened. The audit's entry is written beside the work.
    pub(crate) fn record(&self, audit_trail: &AuditTrail, event: Event) {
        log(&event);
        if let Some(stats) = audit_trail.stats() {
            stats.complete(&event);
        }
        self.state.audit_writer.add(&self.state, audit_trail, event.into());
    }

    /// As [`Self::record`], for something that is done on its own: its entry is in the audit when this
    /// returns. If it cannot be, the log and the next answer say so; what was done is done.
    pub(super) async fn record_and_wait(&self, event: Event) {
        let audit_trail = AuditTrail::default();
        self.record(&audit_trail, event);
        let writing = async {
            let _ = self.state.audit_writer.written(&self.state, &audit_trail).await;
            Ok(())
        };
        self.state.note("the audit was not written", writing).await;
    }

    /// Writes down that somebody logged in to a server, or tried to.
    pub async fn record_login(&self, server: &str, outcome: EventOutcome) {
        let target = EventTarget::Server(server.to_owned());
        self.record_and_wait(self.event(EventAction::Login, target, outcome, json!({}))).await;
    }
}

/// Says in the log what happened, with names and numbers alone: neither the details nor a target that is
/// no server or tool, since programs and clients choose what files and boards are called.
fn log(event: &Event) {
    /// The part of the program that filters name.
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
