//! Work whose client was asked something, and has to come back with the answer.
//!
//! Clients of the newer protocol answer in a second request, which repeats the first one and names the
//! work by a secret that cannot be guessed. Only whoever was asked can answer, and only for the request
//! that the question belongs to; nothing is begun a second time for a secret that is not known. Nobody's
//! questions make room for another's: whoever has too many gets no more.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{ErrorData, model::ServerResult};
use serde_json::Value;

use super::{
    conversation::Work,
    http::{CallerId, LargeBody},
};

/// Whoever does not come back within this time has lost interest.
const PATIENCE: Duration = Duration::from_secs(600);
/// Work of one client that waits. It holds memory, and whoever asks without end must not hold all of it.
const MAX_PER_CLIENT: usize = 64;
/// What our secrets begin with. Those of servers that ask by themselves go back to them.
const PREFIX: &str = "narrows:";

/// Whatever a client asked for.
pub(super) type ClientWork = Work<Result<ServerResult, ErrorData>>;

/// What a client asked for, and who it is.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Whose key it came with; none over standard input and output, where there is one client.
    pub(super) caller: Option<CallerId>,
    /// The method with its own parameters.
    pub(super) request: Value,
    /// What the request takes of its key's memory if it is large, as long as it waits.
    pub(super) _large_body: Option<Arc<LargeBody>>,
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
        self.remove_older(PATIENCE);
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = parked.values().filter(|waiting| waiting.asked.caller == asked.caller);
        if own.count() >= MAX_PER_CLIENT {
            return Err(too_many());
        }
        parked.insert(secret.clone(), Waiting { since: Instant::now(), asked, work });
        Ok(secret)
    }

    /// Gives up work whose client did not come back in time: it holds memory, and the place of a program.
    pub(super) fn remove_expired(&self) {
        self.remove_older(PATIENCE);
    }

    /// Gives up all work: no client can come back any more.
    pub(super) fn remove_all(&self) {
        self.remove_older(Duration::ZERO);
    }

    fn remove_older(&self, age: Duration) {
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parked.retain(|_, waiting| waiting.since.elapsed() < age);
    }

    /// The work that waits for this secret, once. None if the secret is not of ours.
    pub(super) fn resume(&self, secret: &str, asked: &Asked) -> Result<Option<W>, ErrorData> {
        if !secret.starts_with(PREFIX) {
            return Ok(None);
        }
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Others' secrets are as unknown as any other, and stay where they are.
        let is_theirs = parked.get(secret).is_some_and(|waiting| {
            waiting.since.elapsed() < PATIENCE && waiting.asked.caller == asked.caller
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

/// A client is to answer what it was asked before it asks for more.
fn too_many() -> ErrorData {
    let message = format!(
        "{MAX_PER_CLIENT} questions wait for your answers, the most at once, so that the call ended; \
         answer one of them, or let them expire after {} minutes",
        PATIENCE.as_secs() / 60
    );
    ErrorData::invalid_request(message, None)
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

    const ADA: usize = 1;
    const EVE: usize = 2;

    fn asked(caller: usize, amount: u32) -> Asked {
        let request = json!({"tools/call": "pay", "arguments": {"amount": amount}});
        Asked { caller: Some(CallerId(caller)), request, _large_body: None }
    }

    #[test]
    fn only_who_was_asked_can_answer_and_only_once_for_the_same_request() {
        let parked = Parked::<u8>::default();
        let secret = parked.park(7, asked(ADA, 1)).unwrap();
        let refused = |secret: &str, asked: &Asked, why: &str| {
            let error = parked.resume(secret, asked).unwrap_err();
            assert!(error.message.contains(why), "{}", error.message);
        };
        refused("narrows:0000", &asked(ADA, 1), "nothing waits for this requestState");
        refused(&secret, &asked(EVE, 1), "nothing waits for this requestState");
        refused(&secret, &asked(ADA, 2), "belongs to another request");
        // None of that has used it up.
        assert_eq!(parked.resume(&secret, &asked(ADA, 1)).unwrap(), Some(7));
        refused(&secret, &asked(ADA, 1), "nothing waits for this requestState");
        // A server's own state is not ours to judge.
        assert_eq!(parked.resume("of the server", &asked(ADA, 1)).unwrap(), None);
    }

    #[test]
    fn work_whose_client_does_not_come_back_is_given_up_though_nobody_asks_again() {
        let parked = Parked::default();
        let work = Arc::new(());
        let secret = parked.park(Arc::clone(&work), asked(ADA, 1)).unwrap();
        // The control: it has its time.
        parked.remove_expired();
        assert_eq!(Arc::strong_count(&work), 2);
        parked.remove_all();
        assert_eq!(Arc::strong_count(&work), 1);
        assert!(parked.resume(&secret, &asked(ADA, 1)).is_err());
    }

    #[test]
    fn nobodys_questions_make_room_for_anothers() {
        let parked = Parked::<usize>::default();
        let of_ada = parked.park(7, asked(ADA, 1)).unwrap();
        let of_eve: Vec<String> =
            (0..MAX_PER_CLIENT).map(|number| parked.park(number, asked(EVE, 1)).unwrap()).collect();
        let error = parked.park(MAX_PER_CLIENT, asked(EVE, 1)).unwrap_err();
        assert!(error.message.contains("64 questions wait"), "{}", error.message);
        // Others have room, and nothing was given up.
        parked.park(8, asked(ADA, 2)).unwrap();
        assert_eq!(parked.resume(&of_ada, &asked(ADA, 1)).unwrap(), Some(7));
        assert_eq!(parked.resume(&of_eve[0], &asked(EVE, 1)).unwrap(), Some(0));
        parked.park(MAX_PER_CLIENT, asked(EVE, 1)).unwrap();
    }
}
