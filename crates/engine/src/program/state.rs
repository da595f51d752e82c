//! Answers a program's queries about the lasting state: skills, boards, shared values.

use std::time::Duration;

use narrows_sandbox::ToolFailure;
use narrows_store::{Expected, SetResult, SharedValue};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::host::{ProgramHost, parse};
use crate::{search::optional_query, skills::SkillDraft, state::StateError};

#[derive(Deserialize)]
struct SkillRequest {
    name: String,
    version: Option<i64>,
    namespace: Option<String>,
}

#[derive(Deserialize)]
struct ListRequest {
    #[serde(default, deserialize_with = "optional_query")]
    query: Option<String>,
    namespace: Option<String>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct NamesRequest {
    /// Limits the names to those that are similar to this one.
    near: Option<String>,
}

#[derive(Deserialize)]
struct BoardRequest {
    board: String,
    namespace: Option<String>,
    #[serde(default)]
    body: Value,
    since: Option<i64>,
    limit: Option<usize>,
    timeout: Option<f64>,
}

#[derive(Deserialize)]
struct SharedRequest {
    #[serde(default)]
    key: String,
    namespace: Option<String>,
    #[serde(default)]
    value: Value,
    if_version: Option<i64>,
    #[serde(default)]
    if_absent: bool,
    #[serde(default)]
    prefix: String,
}

#[derive(Deserialize)]
struct NamespaceRequest {
    namespace: Option<String>,
}

#[derive(Deserialize)]
struct ValueRequest {
    value: Value,
}

/// The most bytes that `sanitize_pii` takes, as much as a client can send. Nothing interrupts a scan,
/// so a larger input could keep it running for minutes after the program's end.
const MAX_SANITIZED_BYTES: usize = 16 << 20;
const READ: usize = 100;
const PATIENCE_SECONDS: f64 = 30.0;

impl ProgramHost {
    /// Answers the calls, other than those of tools, for which a program uses `await`.
    pub(super) async fn call_own(
        &self,
        name: &str,
        arguments: &RawValue,
    ) -> Result<Value, ToolFailure> {
        match name {
            "board_wait" => {
                let wanted: BoardRequest = parse(arguments)?;
                let seconds = wanted.timeout.unwrap_or(PATIENCE_SECONDS);
                let patience = patience(seconds);
                let (board, namespace) = (&wanted.board, wanted.namespace.as_deref());
                let waited = self.agent().wait_board(board, wanted.since, patience, namespace);
                Ok(self.let_in(json!(waited.await.map_err(failure)?)))
            }
            other => Err(ToolFailure::new(format!("{other:?} is not available here"))),
        }
    }

    /// Answers a program's synchronous queries about skills, boards, shared values and tokens.
    pub(super) async fn answer_state(
        &self,
        name: &str,
        arguments: &RawValue,
    ) -> Result<Value, ToolFailure> {
        let agent = self.agent();
        let broker = self.broker();
        match name {
            "save_skill" => {
                let draft: SkillDraft = parse(arguments)?;
                Ok(json!(agent.save_skill(broker, draft).await.map_err(failure)?))
            }
            "load_skill" => {
                let SkillRequest { name, version, namespace } = parse(arguments)?;
                let skill = agent.load_skill(&name, version, namespace.as_deref()).await;
                let skill = skill.map_err(failure)?;
                Ok(json!({ "code": skill.code, "version": skill.head.version }))
            }
            "skill_names" => {
                let NamesRequest { near } = parse(arguments)?;
                Ok(json!(agent.skill_names(near.as_deref()).await.map_err(failure)?))
            }
            "list_skills" => {
                let ListRequest { query, namespace, limit } = parse(arguments)?;
                let namespace = namespace.as_deref();
                let listed = agent.list_skills(broker, query.as_deref(), namespace, limit).await;
                Ok(json!(listed.map_err(failure)?))
            }
            "board_post" => {
                let wanted: BoardRequest = parse(arguments)?;
                let namespace = wanted.namespace.as_deref();
                let posted = agent.post(&wanted.board, &wanted.body, namespace).await;
                Ok(json!(posted.map_err(failure)?))
            }
            "board_read" => {
                let wanted: BoardRequest = parse(arguments)?;
                let (since, limit) = (wanted.since.unwrap_or(0), wanted.limit.unwrap_or(READ));
                let namespace = wanted.namespace.as_deref();
                let read = agent.read_board(&wanted.board, since, limit, namespace).await;
                Ok(json!(read.map_err(failure)?))
            }
            "boards" => {
                let NamespaceRequest { namespace } = parse(arguments)?;
                Ok(json!(agent.boards(namespace.as_deref()).await.map_err(failure)?))
            }
            "shared_get" => {
                let wanted: SharedRequest = parse(arguments)?;
                let found = agent.shared_value(&wanted.key, wanted.namespace.as_deref()).await;
                Ok(shared(found.map_err(failure)?))
            }
            "shared_set" | "shared_remove" => {
                let wanted: SharedRequest = parse(arguments)?;
                let expected = match (wanted.if_version, wanted.if_absent) {
                    (Some(version), _) => Expected::Version(version),
                    (None, true) => Expected::Absent,
                    (None, false) => Expected::Anything,
                };
                let value = (name == "shared_set").then_some(&wanted.value);
                let namespace = wanted.namespace.as_deref();
                let set = agent.set_shared(&wanted.key, value, expected, namespace).await;
                Ok(match set.map_err(failure)? {
                    SetResult::Done { version } => {
                        json!({ "done": true, "found": true, "version": version })
                    }
                    SetResult::Changed { current } => json!({
                        "done": false,
                        "found": current.is_some(),
                        "version": current.as_ref().map(|current| current.version),
                        "current": current.map(|current| current.value),
                    }),
                })
            }
            "shared_keys" => {
                let wanted: SharedRequest = parse(arguments)?;
                let keys = agent.shared_keys(&wanted.prefix, wanted.namespace.as_deref()).await;
                Ok(json!(keys.map_err(failure)?))
            }
            "sanitize_pii" => {
                let bytes = arguments.get().len();
                if bytes > MAX_SANITIZED_BYTES {
                    return Err(ToolFailure::new(format!(
                        "sanitize_pii was given {bytes} bytes, and takes {MAX_SANITIZED_BYTES} at \
                         once; give it one part after the other"
                    )));
                }
                let mut wanted: ValueRequest = parse(arguments)?;
                let sanitizing = || self.guard().pii_filter().sanitize_json(&mut wanted.value);
                agent.compute(bytes, sanitizing).await;
                Ok(wanted.value)
            }
            "restore_pii" => {
                let ValueRequest { value } = parse(arguments)?;
                self.guard().restore(value).await.map_err(failure)
            }
            other => Err(ToolFailure::new(format!("{other:?} is not available here"))),
        }
    }
}

/// Converts seconds to a time to wait. A program may give any number, also infinity or a negative one.
fn patience(seconds: f64) -> Duration {
    match Duration::try_from_secs_f64(seconds) {
        Ok(patience) => patience,
        Err(_) if seconds > 0.0 => Duration::MAX,
        Err(_) => Duration::ZERO,
    }
}

fn shared(found: Option<SharedValue>) -> Value {
    match found {
        Some(found) => json!({ "found": true, "value": found.value, "version": found.version }),
        None => json!({ "found": false }),
    }
}

fn failure(error: StateError) -> ToolFailure {
    ToolFailure::new(error.to_string())
}

#[cfg(test)]
mod tests;
