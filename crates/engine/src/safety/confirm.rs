//! Asking a person: through the client if it can, else by an approval that waits for the command
//! line.

use std::sync::Arc;

use narrows_model::Principal;
use narrows_store::{ApprovalState, CallKey, NewApproval, Scope};
use serde_json::{Map, Value, json};

use super::{
    question::{Answer, Choices, question},
    shown::MAX_ARGUMENTS,
    watch::{Target, Watch, refused},
};
use crate::{
    broker::CallError,
    compute::json_bytes,
    hex::random_name,
    policy::{AlwaysRule, Reason},
    state::now,
    upstream::Caller,
};

/// Whoever asks in the gateway's own name.
pub const ASKER: &str = "narrows";

/// How long a person has to decide, and how long a yes for a session lasts at most.
const APPROVAL_TIME: i64 = 24 * 60 * 60 * 1000;
/// What the command line shows of the arguments.
const APPROVAL_BYTES: usize = 16_000;

/// A call that a person is asked about.
pub(super) struct AskedCall {
    /// `server.tool`.
    pub(super) name: String,
    /// Of the name and all arguments.
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

/// Why a person is asked about a call: a sentence of each reason, and the reasons themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Why {
    pub(super) sentences: Vec<String>,
    pub(super) reasons: Vec<Reason>,
}

impl Why {
    pub(super) fn add(&mut self, reason: Reason, sentence: String) {
        self.reasons.push(reason);
        self.sentences.push(sentence);
    }
}

impl Watch {
    /// Goes on if a person agrees with the call, and says to how much they agreed.
    pub(super) async fn confirm(
        self: &Arc<Self>,
        target: Target<'_>,
        arguments: &Map<String, Value>,
        why: Why,
        caller: &Arc<dyn Caller>,
    ) -> Result<Scope, CallError> {
        let count = arguments.len();
        if count > MAX_ARGUMENTS {
            return Err(refused(format!(
                "{target} was not called: a person has to allow it, and it has {count} arguments, of \
                 which {MAX_ARGUMENTS} can be shown; give fewer"
            )));
        }
        let describing = || self.asked_call(target, arguments, why);
        let call = Arc::new(self.agent().compute(json_bytes(arguments), describing).await);
        // Somebody may have decided already.
        let decided = self.decision(&call, caller.as_ref()).await.map_err(refused)?;
        let answer = match decided {
            Some(decided) => decided,
            None if can_ask(caller.as_ref()) => match self.ask_with_others(&call, caller).await {
                Answer::Allowed(scope) => Decided::Allowed(scope),
                Answer::Declined => Decided::Declined,
                Answer::NotAsked => Decided::NotAsked,
            },
            None => Decided::NotAsked,
        };
        let name = &call.name;
        match answer {
            Decided::Allowed(scope) => Ok(scope),
            Decided::Denied => Err(refused(format!("{name} was not approved: a person denied it"))),
            Decided::Declined => {
                Err(refused(format!("{name} was not called: the person did not allow it")))
            }
            Decided::NotAsked => Err(self.leave_approval(&call, caller.as_ref()).await),
        }
    }

    /// Goes on if a person agrees that the model reads what tokens stand for.
    pub async fn confirm_restore(
        self: &Arc<Self>,
        arguments: &Map<String, Value>,
        caller: &Arc<dyn Caller>,
    ) -> Result<(), CallError> {
        let mut why = Why::default();
        why.add(Reason::Restore, "the model would read what these tokens stand for".to_owned());
        let target = Target::read(ASKER, "restore_pii");
        let confirmed = self.confirm(target, arguments, why, caller).await;
        if let Err(refusal) = &confirmed {
            let why = self.shield().for_record().sanitized(&refusal.to_string()).into_owned();
            let details = json!({ "run": self.run(), "why": why });
            self.agent().write_down(self.trail(), "pii.restore", "", "refused", details);
        }
        confirmed.map(|_| ())
    }

    fn asked_call(
        &self,
        target: Target<'_>,
        arguments: &Map<String, Value>,
        why: Why,
    ) -> AskedCall {
        let name = target.to_string();
        let mut value = Value::Object(arguments.clone());
        let hash = self.safety().vault.digest(&format!("{name}{value}"));
        self.shield().for_person(&mut value);
        let protected = match value {
            Value::Object(protected) => protected,
            _ => Map::new(),
        };
        let Why { sentences, reasons } = why;
        let why = sentences.join("; ");
        AskedCall { name, hash, why, reasons, arguments: arguments.clone(), protected }
    }

    /// What was decided on a call before, if anything was.
    pub(super) async fn decision(
        &self,
        call: &AskedCall,
        caller: &dyn Caller,
    ) -> Result<Option<Decided>, String> {
        let Ok(store) = self.agent().store().await else { return Ok(None) };
        let key = CallKey {
            principal: self.agent().name(),
            tool: &call.name,
            arguments_hash: &call.hash,
            reasons: &call.reasons_text(),
            run: caller.is_program().then_some(self.run()),
            session: caller.session(),
        };
        let taken = store.approvals().take(&key, now()).await;
        Ok(taken.map_err(|error| error.to_string())?.map(|approval| match approval.state {
            ApprovalState::Denied => Decided::Denied,
            _ => Decided::Allowed(approval.scope),
        }))
    }

    /// Asks about these calls, and does what the answer says for the time after them.
    pub(super) async fn ask(
        self: &Arc<Self>,
        calls: &[Arc<AskedCall>],
        waiting: usize,
        caller: &dyn Caller,
    ) -> Answer {
        let choices = self.choices(calls, caller);
        let digest = |text: &str| self.safety().vault.digest(text);
        let bytes = calls.iter().map(|call| json_bytes(&call.arguments)).sum();
        let form =
            self.agent().compute(bytes, || question(calls, waiting, &choices, &digest)).await;
        let answer = match caller.elicit(ASKER, form).await {
            Ok(answer) => choices.read(&answer),
            Err(error) => {
                tracing::debug!(%error, "nobody could be asked about a call");
                Answer::NotAsked
            }
        };
        match answer {
            Answer::Allowed(Scope::Always) => self.write_rules(choices).await,
            Answer::Allowed(scope @ (Scope::Run | Scope::Session)) => {
                self.note_yes(calls, scope, caller).await;
            }
            _ => {}
        }
        answer
    }

    /// What the person can choose from. A yes for a run is for programs, one for a session for clients
    /// that have one, and a rule is written for whoever owns the file: whoever uses this machine.
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

    /// Writes the rules that a person wants for good. One that cannot be written is told in the log: the
    /// calls were allowed all the same.
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
                    self.agent().write_down(self.trail(), "approval.allow", &tool, "ok", details);
                }
                Err(error) => tracing::error!(tool, %error, "the rule was not written"),
            }
        }
        self.safety().refresh_policy();
    }

    /// Notes a yes for more than these calls. If it cannot be noted, the next call asks again.
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
                    tracing::warn!(tool = call.name, %error, "a yes is for one call only");
                    continue;
                }
            };
            if let Err(error) = recorded {
                tracing::warn!(tool = call.name, %error, "a yes is for one call only");
            }
        }
    }

    fn new_approval(&self, call: &AskedCall, caller: &dyn Caller) -> NewApproval {
        let digest = |text: &str| self.safety().vault.digest(text);
        NewApproval {
            // Short, to be typed.
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

    /// Leaves an approval for the command line, and says how to go on.
    async fn leave_approval(&self, call: &AskedCall, caller: &dyn Caller) -> CallError {
        let AskedCall { name, why, .. } = call;
        let store = match self.agent().store().await {
            Ok(store) => store,
            Err(error) => return refused(format!("{name} needs approval: {error}")),
        };
        match store.approvals().ask(&self.new_approval(call, caller), now()).await {
            Ok(pending) => refused(format!(
                "{name} was not called: it needs a person's approval ({why}). Ask the person to run \
                 `narrows approvals allow {}` and then make the same call again",
                pending.id
            )),
            Err(error) => refused(error.to_string()),
        }
    }
}

/// What was decided on a call.
pub(super) enum Decided {
    Allowed(Scope),
    /// On the command line.
    Denied,
    /// When they were asked.
    Declined,
    NotAsked,
}

/// Whether the client can show a form to a person. One that names neither form nor URL shows forms.
fn can_ask(caller: &dyn Caller) -> bool {
    let elicitation = caller.capabilities().elicitation;
    elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

#[cfg(test)]
mod tests;
