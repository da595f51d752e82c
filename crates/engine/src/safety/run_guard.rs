//! One run, or one call of a client: what it may do, what it has read, and what is written down
//! of it.

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

/// Watches over a run.
#[derive(Debug)]
pub struct RunGuard {
    agent: Agent,
    safety: Arc<Safety>,
    pii_filter: PiiFilter,
    level: Arc<Level>,
    flow: Mutex<Flow>,
    calls: AtomicU64,
    /// The audit could not be written, and this level does without nothing that is not in it.
    is_closed: AtomicBool,
    /// What a person is asked about its calls.
    questions: Questions,
    /// What its author is told about tokens.
    left_tokens: LeftTokens,
    /// Names the run in the audit.
    run: String,
    /// Its entries there.
    audit_trail: AuditTrail,
}

/// What a server is asked for, as rules name it: one of its tools, or something beside them.
#[derive(Clone, Copy, Debug)]
pub struct CallTarget<'a> {
    pub(super) server: &'a str,
    pub(super) name: &'a str,
    pub(super) hints: Hints,
}

impl<'a> CallTarget<'a> {
    /// What is only read: a resource, a prompt or a completion.
    pub fn read(server: &'a str, name: &'a str) -> Self {
        let hints = Hints { read_only: Some(true), destructive: None };
        Self { server, name, hints }
    }

    /// Whether asking for it may change something.
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

/// A call that may be made.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// With values in the place of tokens.
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

    /// The name of the run in the audit.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Its entries in the audit.
    pub(crate) fn audit_trail(&self) -> &AuditTrail {
        &self.audit_trail
    }

    /// Describes something that was done as a part of this run, or the run itself.
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

    /// What the run has read so far.
    pub(crate) fn flow(&self) -> Flow {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What earlier programs of the same session have read counts too.
    pub(crate) fn has_read(&self, flow: &Flow) {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner).merge(flow);
    }

    /// Decides on a call, asks whom it has to, and puts values in the place of tokens.
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
        // What is written now holds now.
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

    /// What the level says to a call that the policy has decided on.
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

    /// A call has come back: notes what was read, and protects what must not enter the sandbox.
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

    /// Notes what was read by a call. Gives how much it is, and what the audit has of it.
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
            // What a server says in an error was read from it too.
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

    /// A program was given what a server says beside the results of its tools: a definition, or why
    /// it is not available. Definitions are public, so that kinds of personal data in them, such as
    /// examples, count for nothing; where they come from counts.
    pub(crate) fn has_read_words(&self, server: &str, name: &str) {
        self.read(CallTarget::read(server, name), &BTreeSet::new());
    }

    fn read(&self, target: CallTarget<'_>, kinds: &BTreeSet<String>) {
        let mut flow = self.flow.lock().unwrap_or_else(PoisonError::into_inner);
        flow.read(target.server, target.name, kinds);
    }

    /// A value with what its tokens stand for, for the program: real values are what it sees
    /// anyway, except in strict mode.
    pub(crate) async fn restore(&self, mut value: Value) -> Result<Value, StateError> {
        if self.is_strict() {
            return Err(StateError::StrictRestore);
        }
        self.reveal("restore_pii", &mut value, &|_| true).await?;
        Ok(value)
    }

    /// Puts values in the place of tokens, for those kinds that `may` allows. What is revealed counts as
    /// read (a value without tokens is nothing that was), and is in the audit; `way` says there what
    /// it was revealed for.
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

    /// A value for a program, with what its tokens stand for, and of which kinds those are. A program
    /// may hand it on to any tool: what is kept from one of them stays a token, and the call decides.
    pub(crate) async fn known_by_all(
        &self,
        mut value: Value,
    ) -> Result<(Value, RevealOutcome), StateError> {
        let policy = self.safety.policy();
        let may = |kind: &str| policy.all_may_have(kind);
        let revealed = self.reveal("program", &mut value, &may).await?;
        Ok((value, revealed))
    }

    /// What a client that was shown tokens asks of an analysis, with what they stand for. In strict
    /// mode there is nothing but tokens.
    pub async fn known(&self, mut value: Value) -> Result<Value, StateError> {
        if !self.is_strict() {
            let revealed = self.reveal("analysis", &mut value, &|_| true).await?;
            self.leave(revealed.left);
        }
        Ok(value)
    }

    /// Tokens stayed as they are where values were meant.
    pub(crate) fn leave(&self, tokens: impl IntoIterator<Item = String>) {
        self.left_tokens.add(tokens);
    }

    /// Says which tokens stayed, wherever in a program or an analysis, each once.
    pub(crate) fn take_left_note(&self) -> Option<String> {
        self.left_tokens.take_note()
    }

    /// Contents as the audit has them.
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

    /// Waits until all is in the audit that was written down, at levels that do nothing else.
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

    /// Whether the audit could not be written though it must be.
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

/// Returns how a call ended that was made.
fn outcome_of(result: &Result<CallToolResult, CallError>) -> EventOutcome {
    match result {
        Ok(result) if result.is_error == Some(true) => EventOutcome::Failed,
        Ok(_) => EventOutcome::Ok,
        Err(CallError::Refused(_)) => EventOutcome::Refused,
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
