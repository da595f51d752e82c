//! Work whose client was asked something, and has to come back with the answer.
//!
//! Clients of the newer protocol answer in a second request, which repeats the first one and names the
//! work by a secret that cannot be guessed. Only whoever was asked can answer, and only for the request
//! that the question belongs to; nothing is begun a second time for a secret that is not known.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{ErrorData, model::ServerResult};
use serde_json::Value;

use super::conversation::Work;

/// Whoever does not come back within this time has lost interest.
const PATIENCE: Duration = Duration::from_secs(600);
/// Work that waits holds memory: more than this and the oldest is given up.
const MOST: usize = 256;
/// What our secrets begin with. Those of servers that ask by themselves go back to them.
const PREFIX: &str = "narrows:";

/// Whatever a client asked for.
pub(super) type ClientWork = Work<Result<ServerResult, ErrorData>>;

/// What a client asked for, and who it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) principal: String,
    /// The method with its own parameters.
    pub(super) request: Value,
}

struct Waiting<W> {
    since: Instant,
    asked: Asked,
    work: W,
}

/// All work that waits.
pub(super) struct Parked<W = ClientWork>(Mutex<HashMap<String, Waiting<W>>>);

impl<W> Default for Parked<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W> Parked<W> {
    /// Keeps work, and gives the secret to come back with.
    pub(super) fn park(&self, work: W, asked: Asked) -> Result<String, ErrorData> {
        let secret = crate::secret::random_hex()
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let secret = format!("{PREFIX}{secret}");
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parked.retain(|_, waiting| waiting.since.elapsed() < PATIENCE);
        if parked.len() >= MOST {
            let oldest = parked.iter().min_by_key(|(_, waiting)| waiting.since);
            if let Some(oldest) = oldest.map(|(secret, _)| secret.clone()) {
                parked.remove(&oldest);
            }
        }
        parked.insert(secret.clone(), Waiting { since: Instant::now(), asked, work });
        Ok(secret)
    }

    /// The work that waits for this secret, once. None if the secret is not of ours.
    pub(super) fn resume(&self, secret: &str, asked: &Asked) -> Result<Option<W>, ErrorData> {
        if !secret.starts_with(PREFIX) {
            return Ok(None);
        }
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Others' secrets are as unknown as any other, and stay where they are.
        let is_theirs = parked.get(secret).is_some_and(|waiting| {
            waiting.since.elapsed() < PATIENCE && waiting.asked.principal == asked.principal
        });
        if !is_theirs {
            return Err(unknown_state());
        }
        if parked.get(secret).is_some_and(|waiting| waiting.asked.request != asked.request) {
            let message = "this requestState belongs to another request; repeat that one as it was";
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(parked.remove(secret).map(|waiting| waiting.work))
    }
}

/// Nothing waits for what a client came back with.
pub(super) fn unknown_state() -> ErrorData {
    let message = "nothing waits for this requestState: it was answered, or more than ten minutes \
                   have passed; nothing was run again. Send the request without it to begin anew";
    ErrorData::invalid_params(message, None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(principal: &str, amount: u32) -> Asked {
        let request = json!({"tools/call": "pay", "arguments": {"amount": amount}});
        Asked { principal: principal.to_owned(), request }
    }

    #[test]
    fn only_who_was_asked_can_answer_and_only_once_for_the_same_request() {
        let parked = Parked::<u8>::default();
        let secret = parked.park(7, asked("ada", 1)).unwrap();
        let refused = |secret: &str, asked: &Asked, why: &str| {
            let error = parked.resume(secret, asked).unwrap_err();
            assert!(error.message.contains(why), "{}", error.message);
        };
        refused("narrows:0000", &asked("ada", 1), "nothing waits for this requestState");
        refused(&secret, &asked("eve", 1), "nothing waits for this requestState");
        refused(&secret, &asked("ada", 2), "belongs to another request");
        // None of that has used it up.
        assert_eq!(parked.resume(&secret, &asked("ada", 1)).unwrap(), Some(7));
        refused(&secret, &asked("ada", 1), "nothing waits for this requestState");
        // A server's own state is not ours to judge.
        assert_eq!(parked.resume("of the server", &asked("ada", 1)).unwrap(), None);
    }

    #[test]
    fn the_oldest_is_given_up_when_too_much_waits() {
        let parked = Parked::<usize>::default();
        let secrets: Vec<String> =
            (0..=MOST).map(|number| parked.park(number, asked("ada", 1)).unwrap()).collect();
        assert!(parked.resume(&secrets[0], &asked("ada", 1)).is_err());
        assert_eq!(parked.resume(&secrets[MOST], &asked("ada", 1)).unwrap(), Some(MOST));
    }
}
