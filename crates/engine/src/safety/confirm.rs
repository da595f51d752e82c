//! Asking a person: through the client if it can, else by an approval that waits for the command
//! line.

use narrows_store::{ApprovalState, NewApproval};
use rmcp::model::{
    ElicitRequestParams, ElicitationAction, ElicitationSchema, ElicitationSchemaBuilder,
};
use serde_json::{Map, Value};

use super::watch::{Target, Watch, refused};
use crate::{broker::CallError, hex::random_name, state::now, upstream::Caller};

/// Whoever asks in the gateway's own name.
pub const ASKER: &str = "narrows";

/// How long a person has to decide.
const APPROVAL_TIME: i64 = 24 * 60 * 60 * 1000;
/// What of the arguments is shown.
const SHOWN_BYTES: usize = 4_000;

impl Watch {
    /// Goes on if a person agrees with the call.
    pub(super) async fn confirm(
        &self,
        target: Target<'_>,
        arguments: &Map<String, Value>,
        why: &str,
        caller: &dyn Caller,
    ) -> Result<(), CallError> {
        let name = target.to_string();
        // It may still be called.
        let why = why.split_once(" was not called: ").map_or(why, |(_, reason)| reason);
        let all = Value::Object(arguments.clone());
        let hash = self.safety().vault.digest(&format!("{name}{all}"));
        let principal = self.agent().name();
        let store = self.agent().store().await;
        // Somebody may have decided already.
        if let Ok(store) = &store {
            let decided = store.approvals().take(principal, &name, &hash, now()).await;
            match decided.map_err(|error| refused(error.to_string()))? {
                Some(approval) if approval.state == ApprovalState::Denied => {
                    return Err(refused(format!("{name} was not approved: a person denied it")));
                }
                Some(_) => return Ok(()),
                None => {}
            }
        }
        let shown = self.shown_to_person(all);
        if caller.capabilities().elicitation.is_some() {
            return self.ask(&name, &shown, why, caller).await;
        }
        let store = store.map_err(|error| refused(format!("{name} needs approval: {error}")))?;
        let wanted = NewApproval {
            // Short, to be typed.
            id: random_name::<4>(),
            namespace: self.agent().principal().home.clone(),
            principal: principal.to_owned(),
            tool: name.clone(),
            arguments_hash: hash,
            shown,
            why: why.to_owned(),
            expires_at: now() + APPROVAL_TIME,
        };
        let pending = store.approvals().ask(&wanted, now()).await;
        let pending = pending.map_err(|error| refused(error.to_string()))?;
        Err(refused(format!(
            "{name} was not called: it needs a person's approval ({why}). Ask the person to run \
             `narrows approvals allow {}` and then make the same call again",
            pending.id
        )))
    }

    /// Goes on if a person agrees that the model reads what tokens stand for.
    pub async fn confirm_restore(
        &self,
        arguments: &Map<String, Value>,
        caller: &dyn Caller,
    ) -> Result<(), CallError> {
        let why = "the model would read what these tokens stand for";
        self.confirm(Target::read(ASKER, "restore_pii"), arguments, why, caller).await
    }

    async fn ask(
        &self,
        name: &str,
        shown: &str,
        why: &str,
        caller: &dyn Caller,
    ) -> Result<(), CallError> {
        let question = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: format!("Allow this call of {name}?\n{shown}\nReason for asking: {why}"),
            requested_schema: allow_schema(),
        };
        let answer = caller.elicit(ASKER, question).await;
        let answer = answer.map_err(|error| {
            refused(format!("{name} was not called: nobody could be asked ({})", error.message))
        })?;
        let allowed = answer.content.as_ref().and_then(|content| content.get("allow"));
        match answer.action {
            ElicitationAction::Accept if allowed == Some(&Value::Bool(true)) => Ok(()),
            _ => Err(refused(format!("{name} was not called: the person did not allow it"))),
        }
    }

    /// What will be sent, as a person reads it.
    fn shown_to_person(&self, mut arguments: Value) -> String {
        self.shield().json(&mut arguments);
        let mut text = serde_json::to_string_pretty(&arguments).unwrap_or_default();
        if text.len() > SHOWN_BYTES {
            let bytes = text.len();
            text.truncate(text.floor_char_boundary(SHOWN_BYTES));
            text += &format!("… ({bytes} bytes in all)");
        }
        text
    }
}

fn allow_schema() -> ElicitationSchema {
    ElicitationSchemaBuilder::new().required_bool("allow").build_unchecked()
}
