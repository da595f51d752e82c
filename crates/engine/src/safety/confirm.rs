//! Asks a person to approve a call: through the client if that can show a form, otherwise by a pending
//! approval that `narrows approvals` decides on.

use std::sync::Arc;

use narrows_model::{EventAction, EventOutcome, Principal};
use narrows_policy::{AlwaysRule, Reason};
use narrows_store::{Approval, CallKey, NewApproval, Scope};
use narrows_upstream::Caller;
use serde_json::{Map, Value, json};

use super::{
    question::{ApprovalAnswer, Choices, question},
    run_guard::{CallTarget, RunGuard, refused},
    shown::{MAX_VALUES, count_values},
};
use crate::{call_error::CallError, compute::json_bytes, hex::random_name, state::now};

/// The name under which the gateway itself asks.
pub const ASKER: &str = "narrows";

/// The time in milliseconds that a person has to decide, and that an approval for a session lasts at
/// most.
const APPROVAL_TIME: i64 = 24 * 60 * 60 * 1000;
/// The bytes of the arguments that the command line shows.
const APPROVAL_BYTES: usize = 16_000;

/// A call that a person is asked about.
pub(super) struct AskedCall {
    /// `server.tool`.
    pub(super) name: String,
    /// A keyed hash of the name and all arguments.
    pub(super) hash: String,
    pub(super) why: String,
    reasons: Vec<Reason>,
    pub(super) arguments: Map<String, Value>,
    /// The arguments with tokens in the place of personal data and secrets.
    pub(super) protected: Map<String, Value>,
}

impl AskedCall {
    fn reasons_text(&self) -> String {
        json!(self.reasons).to_string()
    }
}

/// The reasons why a person is asked about a call, each with a sentence for the person.
#[derive(Clone, Debug, Default)]
pub(super) struct ApprovalReason {
    pub(super) sentences: Vec<String>,
    pub(super) reasons: Vec<Reason>,
}

impl ApprovalReason {
    pub(super) fn add(&mut self, reason: Reason, sentence: String) {
        self.reasons.push(reason);
        self.sentences.push(sentence);
    }
}

impl RunGuard {
    /// Waits until a person approves the call. Returns the scope that they approved, or a refusal.
    pub(super) async fn confirm(
        self: &Arc<Self>,
        target: CallTarget<'_>,
        arguments: &Map<String, Value>,
        why: ApprovalReason,
        caller: &Arc<dyn Caller>,
    ) -> Result<Scope, CallError> {
        let count = count_values(arguments);
        if count > MAX_VALUES {
            return Err(refused(format!(
                "{target} was not called: a person has to allow it, and its arguments are {count} values \
                 with those that are in them, of which {MAX_VALUES} can be shown; give fewer"
            )));
        }
        let describing = || self.asked_call(target, arguments, why);
        let call = Arc::new(self.agent().compute(json_bytes(arguments), describing).await);
        // An approval for the whole run or session does not wait for other calls.
        let decided = match self.standing(&call, caller.as_ref()).await.map_err(refused)? {
            Some(scope) => CallDecision::Allowed(scope),
            None => self.decide_with_others(&call, caller).await,
        };
        let name = &call.name;
        match decided {
            CallDecision::Allowed(scope) => Ok(scope),
            CallDecision::Denied => {
                Err(refused(format!("{name} was not approved: a person denied it")))
            }
            CallDecision::Declined => {
                Err(refused(format!("{name} was not called: the person did not allow it")))
            }
            CallDecision::Waiting(why) => Err(refused(why)),
        }
    }

    /// Waits until a person approves that the model reads the values of tokens; fails if they do not.
    pub async fn confirm_restore(
        self: &Arc<Self>,
        arguments: &Map<String, Value>,
        caller: &Arc<dyn Caller>,
    ) -> Result<(), CallError> {
        let mut why = ApprovalReason::default();
        why.add(Reason::Restore, "the model would read what these tokens stand for".to_owned());
        let target = CallTarget::read(ASKER, "restore_pii");
        let confirmed = self.confirm(target, arguments, why, caller).await;
        if let Err(refusal) = &confirmed {
            let why =
                self.pii_filter().without_exemptions().sanitized(&refusal.to_string()).into_owned();
            let details = json!({ "why": why });
            let (action, outcome) = (EventAction::PiiRestore, EventOutcome::Refused);
            self.agent().record(self.audit_trail(), self.event(action, "", outcome, details));
        }
        confirmed.map(|_| ())
    }

    fn asked_call(
        &self,
        target: CallTarget<'_>,
        arguments: &Map<String, Value>,
        why: ApprovalReason,
    ) -> AskedCall {
        let name = target.to_string();
        let mut value = Value::Object(arguments.clone());
        let hash = self.safety().vault.digest(&format!("{name}{value}"));
        self.pii_filter().for_person(&mut value);
        let protected = match value {
            Value::Object(protected) => protected,
            _ => Map::new(),
        };
        let ApprovalReason { sentences, reasons } = why;
        let why = sentences.join("; ");
        AskedCall { name, hash, why, reasons, arguments: arguments.clone(), protected }
    }

    /// Looks for an approval of all calls of the tool in this run or session.
    async fn standing(
        &self,
        call: &AskedCall,
        caller: &dyn Caller,
    ) -> Result<Option<Scope>, String> {
        let Ok(store) = self.agent().store().await else { return Ok(None) };
        let reasons = call.reasons_text();
        let found = store.approvals().standing(&self.key(call, &reasons, caller), now()).await;
        Ok(found.map_err(|error| error.to_string())?.map(|approval| approval.scope))
    }

    /// Takes the decisions that were made before about calls that are made together. One-time decisions
    /// are only used up if all of the calls are decided.
    pub(super) async fn take_decisions(
        &self,
        calls: &[&AskedCall],
        caller: &dyn Caller,
    ) -> Result<Vec<Option<Approval>>, String> {
        let Ok(store) = self.agent().store().await else { return Ok(vec![None; calls.len()]) };
        let reasons: Vec<String> = calls.iter().map(|call| call.reasons_text()).collect();
        let keys =
            calls.iter().zip(&reasons).map(|(call, reasons)| self.key(call, reasons, caller));
        let keys: Vec<CallKey<'_>> = keys.collect();
        store.approvals().take_all(&keys, now()).await.map_err(|error| error.to_string())
    }

    fn key<'a>(
        &'a self,
        call: &'a AskedCall,
        reasons: &'a str,
        caller: &'a dyn Caller,
    ) -> CallKey<'a> {
        CallKey {
            principal: self.agent().name(),
            tool: &call.name,
            arguments_hash: &call.hash,
            reasons,
            run: caller.is_program().then_some(self.run()),
            session: caller.session(),
        }
    }

    /// Asks the client about these calls. An answer that also covers later calls is stored: as an
    /// approval for the run or session, or as a rule.
    pub(super) async fn ask(
        self: &Arc<Self>,
        calls: &[Arc<AskedCall>],
        waiting: usize,
        caller: &dyn Caller,
    ) -> ApprovalAnswer {
        let choices = self.choices(calls, caller);
        let digest = |text: &str| self.safety().vault.digest(text);
        let bytes = calls.iter().map(|call| json_bytes(&call.arguments)).sum();
        let form =
            self.agent().compute(bytes, || question(calls, waiting, &choices, &digest)).await;
        let answer = match caller.elicit(ASKER, form).await {
            Ok(answer) => choices.read(&answer),
            Err(error) => {
                // The client's message is not logged, because it may repeat the question.
                tracing::debug!(code = error.code.0, "a client cannot ask about a call");
                ApprovalAnswer::NotAsked
            }
        };
        match answer {
            ApprovalAnswer::Allowed(Scope::Always) => self.write_rules(choices).await,
            ApprovalAnswer::Allowed(scope @ (Scope::Run | Scope::Session)) => {
                self.note_yes(calls, scope, caller).await;
            }
            _ => {}
        }
        answer
    }

    /// Returns the choices of the person. An approval for a run is offered for programs, one for a
    /// session to clients that have a session, and a rule only to the local user, who owns the file.
    fn choices(&self, calls: &[Arc<AskedCall>], caller: &dyn Caller) -> Choices {
        let mut choices = Choices { scopes: vec![Scope::Once], ..Choices::default() };
        if caller.is_program() {
            choices.scopes.push(Scope::Run);
        }
        if caller.session().is_some() {
            choices.scopes.push(Scope::Session);
        }
        let source = self.safety().rule_source();
        let Some(source) = source.filter(|_| self.agent().name() == Principal::local().name) else {
            return choices;
        };
        let policy = self.safety().policy();
        let mut rules: Vec<AlwaysRule> = Vec::new();
        for call in calls {
            let rule = AlwaysRule::new(
                self.agent().name(),
                &call.name,
                &call.reasons,
                policy.rule_names(),
            );
            match rule {
                Some(rule) if rules.contains(&rule) => {}
                Some(rule) => rules.push(rule),
                None => return choices,
            }
        }
        let texts: Option<Vec<String>> = rules.iter().map(|rule| source.preview(rule)).collect();
        if let Some(texts) = texts {
            choices.scopes.push(Scope::Always);
            choices.rule_text = texts.join("\n");
            choices.rule_place = source.name();
            choices.rules = rules;
        }
        choices
    }

    /// Writes the rules for "always". A rule that cannot be written is only logged, because the calls
    /// were allowed all the same.
    async fn write_rules(&self, choices: Choices) {
        let Some(source) = self.safety().rule_source() else { return };
        for always in choices.rules {
            let tool = always.rule.tools.concat();
            let details = json!({ "scope": Scope::Always.name(), "rule": always.rule.name });
            let source = Arc::clone(source);
            // Another process may hold the lock of the file.
            let added = tokio::task::spawn_blocking(move || source.add(&always)).await;
            match added.unwrap_or_else(|error| Err(error.to_string())) {
                Ok(()) => {
                    let (action, outcome) = (EventAction::ApprovalAllow, EventOutcome::Ok);
                    let event = self.agent().event(action, tool, outcome, details);
                    self.agent().record(self.audit_trail(), event);
                }
                Err(error) => {
                    tracing::error!(tool, %error, "a rule that a person wants for good was not written");
                }
            }
        }
        self.safety().refresh_policy();
    }

    /// Stores an approval for the rest of a run or session. If it cannot be stored, the next call asks
    /// again.
    async fn note_yes(&self, calls: &[Arc<AskedCall>], scope: Scope, caller: &dyn Caller) {
        let mut noted: Vec<(&str, &[Reason])> = Vec::new();
        for call in calls {
            if noted.contains(&(&call.name, &call.reasons)) {
                continue;
            }
            noted.push((&call.name, &call.reasons));
            let new = self.new_approval(call, caller);
            let recorded = match self.agent().store().await {
                Ok(store) => {
                    store.approvals().record(&new, scope, self.agent().name(), now()).await
                }
                Err(error) => {
                    tracing::warn!(tool = call.name, %error, "a yes for more than one call could not be noted");
                    continue;
                }
            };
            if let Err(error) = recorded {
                tracing::warn!(tool = call.name, %error, "a yes for more than one call could not be noted");
            }
        }
    }

    fn new_approval(&self, call: &AskedCall, caller: &dyn Caller) -> NewApproval {
        let digest = |text: &str| self.safety().vault.digest(text);
        NewApproval {
            // Short, because people type it.
            id: random_name::<4>(),
            namespace: self.agent().principal().home.clone(),
            principal: self.agent().name().to_owned(),
            tool: call.name.clone(),
            arguments_hash: call.hash.clone(),
            shown: call.shown(APPROVAL_BYTES, &digest),
            why: call.why.clone(),
            reasons: call.reasons_text(),
            run: caller.is_program().then(|| self.run().to_owned()),
            session: caller.session().map(str::to_owned),
            expires_at: now() + APPROVAL_TIME,
        }
    }

    /// Creates pending approvals of calls that are made together, for the command line to decide on.
    pub(super) async fn leave_approvals(
        &self,
        calls: &[&AskedCall],
        caller: &dyn Caller,
    ) -> LeftApprovals {
        let mut left = LeftApprovals { calls: calls.len(), ..LeftApprovals::default() };
        let store = match self.agent().store().await {
            Ok(store) => store,
            Err(error) => return LeftApprovals { problem: Some(error.to_string()), ..left },
        };
        for call in calls {
            match store.approvals().ask(&self.new_approval(call, caller), now()).await {
                Ok(pending) if left.ids.contains(&pending.id) => {}
                Ok(pending) => left.ids.push(pending.id),
                Err(error) => {
                    left.problem = Some(error.to_string());
                    break;
                }
            }
        }
        left
    }
}

/// The pending approvals that were created for calls that are made together.
#[derive(Debug, Default)]
pub(super) struct LeftApprovals {
    /// The number of calls that wait for a decision.
    calls: usize,
    ids: Vec<String>,
    /// The reason why not all approvals could be created.
    problem: Option<String>,
}

impl LeftApprovals {
    /// Returns the message to a call that waits for a decision: why it was not made, and how to go on.
    pub(super) fn told(&self, call: &AskedCall, is_program: bool) -> String {
        let AskedCall { name, why, .. } = call;
        let subject = match self.calls - 1 {
            0 => "it needs".to_owned(),
            1 => "it and 1 other call made with it need".to_owned(),
            others => format!("it and {others} other calls made with it need"),
        };
        let next = self.next_step(self.calls > 1, is_program);
        format!("{name} was not called: {subject} a person's approval ({why}). {next}")
    }

    /// Returns the same message for a call that was approved before, and is held back until the others
    /// are decided.
    pub(super) fn told_held(&self, call: &AskedCall, is_program: bool) -> String {
        let others = match self.calls {
            1 => "1 other call made with it needs".to_owned(),
            others => format!("{others} other calls made with it need"),
        };
        let next = self.next_step(true, is_program);
        format!("{} was not called: {others} a person's approval. {next}", call.name)
    }

    fn next_step(&self, are_several: bool, is_program: bool) -> String {
        let mut next = match (self.ids.is_empty(), &self.problem) {
            (true, Some(problem)) => return format!("None could be asked for: {problem}"),
            (_, Some(problem)) => format!("Not all could be asked for ({problem}). "),
            (_, None) => String::new(),
        };
        let again =
            if are_several { "the same calls again together" } else { "the same call again" };
        let ids = self.ids.join(" ");
        next +=
            &format!("Ask the person to run `narrows approvals allow {ids}` and then make {again}");
        if is_program {
            next += ". A program that runs again repeats its other calls too: leave out those that \
                     were made (with a session_id, variables keep what they gave)";
        }
        next
    }
}

/// The decision about a call.
#[derive(Clone, Debug)]
pub(super) enum CallDecision {
    Allowed(Scope),
    /// A person denied it on the command line.
    Denied,
    /// A person did not allow it in the client's form.
    Declined,
    /// Nobody has decided yet; the text says what to do.
    Waiting(String),
}

/// Tells whether the client can show a form to a person. A client that names neither form nor URL can.
pub(super) fn can_ask(caller: &dyn Caller) -> bool {
    let elicitation = caller.capabilities().elicitation;
    elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

#[cfg(test)]
mod tests;
