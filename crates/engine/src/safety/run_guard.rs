//! The guard of one run, or of one call of a client: what it may do, what it has read, and what the
//! audit records of it.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use narrows_model::{Event, EventAction, EventOutcome, EventTarget, ToolId};
use narrows_policy::{Action, Ask, Decision, Flow, Hints, Level, Reason};
use narrows_upstream::{Caller, UpstreamError, catalog::Tool};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};

use super::{
    AuditContents, AuditSpan, Mode, PiiFilter, RevealOutcome, Safety, confirm::ApprovalReason,
    left_tokens::LeftTokens, pii_filter::into_object, questions::Questions,
};
use crate::{
    call_error::CallError,
    compute::json_bytes,
    hex::random_name,
    state::{Agent, AuditTrail, StateError},
    value,
};

/// The guard of a run: authorizes its calls, tracks what it has read, and writes its audit entries.
#[derive(Debug)]
pub struct RunGuard {
    agent: Agent,
    safety: Arc<Safety>,
    pii_filter: PiiFilter,
    level: Arc<Level>,
    flow: Mutex<Flow>,
    calls: AtomicU64,
    /// Set when the audit could not be written at a level with `audit_must_hold`; nothing more is
    /// called then.
    is_closed: AtomicBool,
    /// The questions to a person about its calls.
    questions: Questions,
    /// The tokens that its author has to be told about.
    left_tokens: LeftTokens,
    /// The name of the run in the audit.
    run: String,
    /// The state of its audit entries: whether any was lost.
    audit_trail: AuditTrail,
}

/// The target of a request, as rules name it: a tool of a server, or another part of it, such as a
/// resource.
#[derive(Clone, Copy, Debug)]
pub struct CallTarget<'a> {
    pub(super) server: &'a str,
    pub(super) name: &'a str,
    pub(super) hints: Hints,
}

impl<'a> CallTarget<'a> {
    /// Returns the target of a request that only reads, such as a resource, a prompt or a completion.
    pub fn read(server: &'a str, name: &'a str) -> Self {
        let hints = Hints { read_only: Some(true), destructive: None };
        Self { server, name, hints }
    }

    /// Tells whether a request for this target may change something.
    pub fn writes(self) -> bool {
        self.hints.writes()
    }
}

impl<'a> From<&'a Tool> for CallTarget<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self { server: &tool.id.server, name: &tool.id.tool, hints: Hints::of(&tool.raw) }
    }
}

/// `server.tool`, as rules name it.
impl fmt::Display for CallTarget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.server, self.name)
    }
}

impl From<CallTarget<'_>> for EventTarget {
    fn from(target: CallTarget<'_>) -> Self {
        Self::Tool(ToolId::new(target.server, target.name))
    }
}

/// An authorized call, with its audit entry open.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// The arguments, with tokens replaced by their values.
    pub(crate) arguments: Map<String, Value>,
    span: AuditSpan,
}

impl RunGuard {
    pub(super) fn new(agent: Agent, level: Arc<Level>) -> Arc<Self> {
        let safety = Arc::clone(agent.safety());
        let pii_filter = agent.pii_filter();
        let run = random_name::<6>();
        Arc::new(Self {
            agent,
            safety,
            pii_filter,
            level,
            flow: Mutex::default(),
            calls: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            questions: Questions::default(),
            left_tokens: LeftTokens::default(),
            run,
            audit_trail: AuditTrail::default(),
        })
    }

    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    pub fn pii_filter(&self) -> &PiiFilter {
        &self.pii_filter
    }

    pub fn level(&self) -> &Arc<Level> {
        &self.level
    }

    /// Returns the name of the run in the audit.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the trail on which its audit entries are written.
    pub(crate) fn audit_trail(&self) -> &AuditTrail {
        &self.audit_trail
    }

    /// Creates an event that is a part of this run, or the event of the run itself.
    pub(crate) fn event(
        &self,
        action: EventAction,
        target: impl Into<EventTarget>,
        outcome: EventOutcome,
        details: Value,
    ) -> Event {
        let run_id = Some(self.run.clone());
        Event { run_id, ..self.agent.event(action, target, outcome, details) }
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.safety.mode == Mode::Strict
    }

    /// Returns what the run has read so far.
    pub(crate) fn flow(&self) -> Flow {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds what earlier programs of the same session have read: it counts as read by this run.
    pub(crate) fn has_read(&self, flow: &Flow) {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner).merge(flow);
    }

    /// Authorizes a call: applies quotas and rules, asks a person if they require it, and replaces
    /// tokens by their values. Returns the call with its audit entry open, or the refusal.
    pub(crate) async fn authorize(
        self: &Arc<Self>,
        target: CallTarget<'_>,
        arguments: Map<String, Value>,
        caller: &Arc<dyn Caller>,
    ) -> Result<Admitted, CallError> {
        let describing = || {
            let sent = Value::Object(arguments.clone());
            json!({
                "decision": "allow",
                "rule": null,
                "arguments": self.shown(&sent),
                "sent_bytes": sent.to_string().len(),
                "revealed": [],
            })
        };
        let details = self.agent.compute(json_bytes(&arguments), describing).await;
        let mut span = AuditSpan::new(self, EventAction::Call, target, details);
        match self.decide(target, arguments, &mut span, caller).await {
            Ok(arguments) => {
                if self.level.audit_must_hold {
                    span.begin();
                    if let Err(error) = self.held().await {
                        span.end(EventOutcome::Refused);
                        return Err(error);
                    }
                }
                Ok(Admitted { arguments, span })
            }
            Err(error) => {
                span.note(
                    "why",
                    self.pii_filter.without_exemptions().sanitized(&error.to_string()),
                );
                span.end(EventOutcome::Refused);
                self.held().await?;
                Err(error)
            }
        }
    }

    async fn decide(
        self: &Arc<Self>,
        target: CallTarget<'_>,
        arguments: Map<String, Value>,
        span: &mut AuditSpan,
        caller: &Arc<dyn Caller>,
    ) -> Result<Map<String, Value>, CallError> {
        let principal = self.agent.name();
        let CallTarget { server, name, hints } = target;
        if caller.is_gone() {
            return Err(refused(format!("{target} was not called: the client has left")));
        }
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(refused("nothing more is called: the audit cannot be written"));
        }
        // Rules that were changed in the file hold from this call on.
        self.safety.refresh_policy();
        let policy = self.safety.policy();
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(max) = policy.calls_per_run(principal).filter(|max| calls > *max) {
            span.note("decision", "limit");
            return Err(refused(format!("a run may make {max} calls, and this is one more")));
        }
        if let Err(exceeded) =
            self.safety.meter.call(&policy, principal, server, name, Instant::now())
        {
            span.note("decision", "limit");
            span.note("rule", exceeded.quota.clone());
            return Err(refused(exceeded.to_string()));
        }
        let mut value = Value::Object(arguments);
        let may_have = |kind: &str| policy.may_have(server, name, kind);
        let revealed = self
            .pii_filter
            .reveal(&self.agent, &mut value, &may_have)
            .await
            .map_err(|error| refused(format!("a token cannot be turned back: {error}")))?;
        if revealed.withheld > 0 {
            span.note("withheld", revealed.withheld);
        }
        let revealed = revealed.kinds;
        span.note("revealed", json!(revealed));
        let sent_kinds = match policy.looks_at_kinds() {
            true => {
                let looking = || self.pii_filter.kinds(&value);
                &self.agent.compute(json_bytes(&value), looking).await | &revealed
            }
            false => revealed,
        };
        let arguments = into_object(value);
        let ask = Ask { principal, server, tool: name, hints, arguments: &arguments };
        let decision = self.apply_level(policy.decide(&ask), hints, server, name);
        span.note("rule", decision.rule.clone());
        span.note("decision", word(decision.action));
        let mut questions = ApprovalReason::default();
        match decision.action {
            Action::Allow => {}
            Action::Deny => return Err(refused(decision.why)),
            Action::Confirm => questions.add(decision.reason(), decision.why),
        }
        let flow = self.flow();
        if let Some(found) = policy.flow(&flow, server, name, &sent_kinds) {
            span.note("rule", found.rule.clone());
            span.note("decision", word(found.action));
            match found.action {
                Action::Allow => {}
                Action::Deny => return Err(refused(found.why)),
                Action::Confirm => questions.add(Reason::Flow(found.rule), found.why),
            }
        }
        if !questions.reasons.is_empty() {
            span.note("decision", "not confirmed");
            let scope = self.confirm(target, &arguments, questions, caller).await?;
            span.note("decision", "confirmed");
            span.note("scope", scope.name());
        }
        Ok(arguments)
    }

    /// Replaces the policy's decision by a refusal if the isolation level does not allow the call.
    pub(super) fn apply_level(
        &self,
        decision: Decision,
        hints: Hints,
        server: &str,
        tool: &str,
    ) -> Decision {
        match self.level.refuses(server, tool, hints, &decision) {
            None => decision,
            Some(why) => {
                let rule = Some(format!("isolation.{}", self.level.name));
                Decision { action: Action::Deny, rule, why, ..decision }
            }
        }
    }

    /// Ends an authorized call: notes what it has read, ends its audit entry, and in strict mode
    /// replaces personal data in its result by tokens, so that none enters the sandbox.
    pub(crate) async fn complete(
        &self,
        admitted: Admitted,
        target: CallTarget<'_>,
        mut result: Result<CallToolResult, CallError>,
    ) -> Result<CallToolResult, CallError> {
        let mut span = admitted.span;
        let bytes = result.as_ref().map_or(0, json_bytes);
        let noting = || self.note_result(target, &result);
        let (got_bytes, shown) = self.agent.compute(bytes, noting).await;
        let outcome = outcome_of(&result);
        span.note("got_bytes", got_bytes);
        span.note("result", shown);
        span.end(outcome);
        self.held().await?;
        if self.is_strict() {
            match &mut result {
                Ok(result) => self.agent.compute(bytes, || self.pii_filter.answer(result)).await,
                Err(error) => return Err(refused(self.pii_filter.text(&error.to_string()))),
            }
        }
        result
    }

    /// Notes what a call has read. Returns how many bytes that is, and what the audit records of it.
    fn note_result(
        &self,
        target: CallTarget<'_>,
        result: &Result<CallToolResult, CallError>,
    ) -> (usize, Value) {
        let text = match result {
            Ok(result) => value::text(result).into_owned(),
            Err(error) => error.to_string(),
        };
        let policy = self.safety.policy();
        let looks = policy.looks_at_kinds();
        let CallTarget { server, name, .. } = target;
        match &result {
            Ok(result) => {
                let exempt = self.safety.mode != Mode::Off && policy.has_exemption(server, name);
                let mut kinds = BTreeSet::new();
                if looks || exempt {
                    let value = serde_json::to_value(result).unwrap_or_default();
                    if looks {
                        kinds = self.pii_filter.kinds(&value);
                    }
                    if exempt {
                        let is_exempt = |kind: &str| policy.exempts(server, name, kind);
                        self.pii_filter.exempt(&value, &is_exempt);
                    }
                }
                self.read(target, &kinds);
            }
            // An error that quotes its server was read from that server too.
            Err(error) if error.quotes_server() => {
                let kinds = match looks {
                    true => self.pii_filter.kinds(&Value::String(text.clone())),
                    false => BTreeSet::new(),
                };
                self.read(target, &kinds);
            }
            Err(_) => {}
        }
        self.safety.meter.bytes(&policy, self.agent.name(), text.len() as u64, Instant::now());
        (text.len(), self.shown(&Value::String(text)))
    }

    /// Notes that a program has read other words of a server than the results of its tools: a
    /// definition, or why the server is not available. Definitions are public, so personal data in
    /// them, such as examples, does not count for flow rules; only the source does.
    pub(crate) fn has_read_words(&self, server: &str, name: &str) {
        self.read(CallTarget::read(server, name), &BTreeSet::new());
    }

    fn read(&self, target: CallTarget<'_>, kinds: &BTreeSet<String>) {
        let mut flow = self.flow.lock().unwrap_or_else(PoisonError::into_inner);
        flow.read(target.server, target.name, kinds);
    }

    /// Replaces the tokens in a value for the program that asks for it, except in strict mode:
    /// otherwise a program sees real values anyway.
    pub(crate) async fn restore(&self, mut value: Value) -> Result<Value, StateError> {
        if self.is_strict() {
            return Err(StateError::StrictRestore);
        }
        self.reveal("restore_pii", &mut value, &|_| true).await?;
        Ok(value)
    }

    /// Replaces tokens by their values, for the kinds that `may` allows. Revealed values count as read
    /// and are recorded in the audit, where `way` says what they were revealed for. If no token was
    /// replaced, nothing counts as read.
    async fn reveal(
        &self,
        way: &str,
        value: &mut Value,
        may: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<RevealOutcome, StateError> {
        let revealed = self.pii_filter.reveal(&self.agent, value, may).await?;
        if let Some((outcome, details)) = revealed.entry() {
            let event = self.event(EventAction::PiiRestore, way, outcome, details);
            self.agent.record(&self.audit_trail, event);
            if self.level.audit_must_hold {
                self.agent.written(&self.audit_trail).await.map_err(StateError::AuditDown)?;
            }
        }
        if !revealed.kinds.is_empty() {
            let mut flow = self.flow.lock().unwrap_or_else(PoisonError::into_inner);
            flow.read("narrows", "restore_pii", &revealed.kinds);
        }
        Ok(revealed)
    }

    /// Replaces tokens in a value for a program, of kinds that every tool may have. A program may pass
    /// the value to any tool, so other kinds stay tokens until the call to a tool decides about them.
    pub(crate) async fn known_by_all(
        &self,
        mut value: Value,
    ) -> Result<(Value, RevealOutcome), StateError> {
        let policy = self.safety.policy();
        let may = |kind: &str| policy.all_may_have(kind);
        let revealed = self.reveal("program", &mut value, &may).await?;
        Ok((value, revealed))
    }

    /// Replaces the tokens that a client was shown and uses in an analysis. In strict mode they stay,
    /// because the rows have tokens too.
    pub async fn known(&self, mut value: Value) -> Result<Value, StateError> {
        if !self.is_strict() {
            let revealed = self.reveal("analysis", &mut value, &|_| true).await?;
            self.leave(revealed.left);
        }
        Ok(value)
    }

    /// Notes tokens that stayed where values were meant.
    pub(crate) fn leave(&self, tokens: impl IntoIterator<Item = String>) {
        self.left_tokens.add(tokens);
    }

    /// Takes the note about tokens that stayed, anywhere in the program or an analysis, each named
    /// once.
    pub(crate) fn take_left_note(&self) -> Option<String> {
        self.left_tokens.take_note()
    }

    /// Returns arguments or a result as the audit records them: a keyed hash, or protected text.
    fn shown(&self, value: &Value) -> Value {
        match self.safety.audit.contents {
            AuditContents::Hashes => {
                let text = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                json!({ "hash": self.safety.vault.digest(&text) })
            }
            AuditContents::Protected => {
                let mut value = value.clone();
                self.pii_filter.without_exemptions().sanitize_json(&mut value);
                value
            }
        }
    }

    /// Waits until the audit has all entries of this run, at levels with `audit_must_hold`. If one
    /// cannot be written, closes the guard: nothing more is called.
    async fn held(&self) -> Result<(), CallError> {
        if !self.level.audit_must_hold {
            return Ok(());
        }
        self.agent.written(&self.audit_trail).await.map_err(|why| {
            self.is_closed.store(true, Ordering::SeqCst);
            refused(format!(
                "the audit cannot be written ({why}), and the isolation level {:?} does nothing \
                 that is not in it",
                self.level.name
            ))
        })
    }

    /// Tells whether the guard is closed, because the audit could not be written though it must be.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    pub(super) fn questions(&self) -> &Questions {
        &self.questions
    }

    pub(super) fn safety(&self) -> &Safety {
        &self.safety
    }
}

pub(super) fn refused(why: impl Into<String>) -> CallError {
    CallError::Refused(why.into())
}

/// Returns the outcome that the audit records for a call that was made.
fn outcome_of(result: &Result<CallToolResult, CallError>) -> EventOutcome {
    match result {
        Ok(result) if result.is_error == Some(true) => EventOutcome::Failed,
        Ok(_) => EventOutcome::Ok,
        Err(CallError::Refused(_) | CallError::Arguments { .. }) => EventOutcome::Refused,
        Err(CallError::Upstream(UpstreamError::Timeout { .. })) => EventOutcome::Limit,
        Err(_) => EventOutcome::Failed,
    }
}

fn word(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Deny => "deny",
        Action::Confirm => "confirm",
    }
}

#[cfg(test)]
mod tests;
