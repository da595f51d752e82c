//! Requests whose client was asked something, and has to come back with the answer.
//!
//! Clients of the newer protocol answer in a second request, which repeats the first one and names what
//! was asked by a secret that cannot be guessed. Only whoever was asked can answer, and only for the
//! request that the question belongs to; nothing is begun a second time for a secret that is not known.
//! That holds as well where a server asks by itself: its own `requestState` waits here, if it gave one,
//! and the client has a secret of ours in its place. Nobody's questions make room for another's: whoever has too many
//! gets no more.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{ErrorData, model::ServerResult};
use serde_json::Value;

use super::{
    conversation::ClientTask,
    http::{CallerId, LargeBody},
};

/// How long parked work waits for its client to come back.
const PATIENCE: Duration = Duration::from_secs(600);
/// How many parked requests one client may have. Stops a client that asks without end from holding all
/// our memory.
const MAX_PER_CLIENT: usize = 64;
/// The largest `requestState` of a server. Stops servers from filling our memory with it; usual ones
/// have a few hundred bytes.
const MAX_STATE_BYTES: usize = 256 << 10;
/// The prefix of the secrets that we give to clients as `requestState`.
const PREFIX: &str = "narrows:";

/// The work for one request of a client.
pub(super) type ClientWork = ClientTask<Result<ServerResult, ErrorData>>;

/// A request, and the client that sent it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The key that it came with; none over standard input and output, where there is one client.
    pub(super) caller: Option<CallerId>,
    /// The method with its own parameters.
    pub(super) request: Value,
    /// The share of the key's memory that a large request takes, held as long as the request waits.
    pub(super) _large_body: Option<Arc<LargeBody>>,
}

/// The work that continues when the client has answered.
#[derive(Debug, PartialEq)]
pub(super) enum Pending<W = ClientWork> {
    /// Work of ours.
    Work(Box<W>),
    /// The `requestState` of a server that asked by itself: the request is sent to it once more, with
    /// this state.
    Server(String),
}

struct PendingEntry<W> {
    since: Instant,
    asked: Asked,
    pending: Pending<W>,
}

/// All requests that wait for answers of their clients, by secret.
pub(super) struct PendingInputs<W = ClientWork>(Mutex<HashMap<String, PendingEntry<W>>>);

impl<W> Default for PendingInputs<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W> PendingInputs<W> {
    /// Keeps pending work, and returns the secret to come back with.
    pub(super) fn park(&self, pending: Pending<W>, asked: Asked) -> Result<String, ErrorData> {
        if let Pending::Server(state) = &pending
            && state.len() > MAX_STATE_BYTES
        {
            return Err(too_large(state.len()));
        }
        let secret = crate::secret::random_hex()
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let secret = format!("{PREFIX}{secret}");
        self.remove_older(PATIENCE);
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = parked.values().filter(|waiting| waiting.asked.caller == asked.caller);
        if own.count() >= MAX_PER_CLIENT {
            return Err(too_many());
        }
        parked.insert(secret.clone(), PendingEntry { since: Instant::now(), asked, pending });
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

    /// Takes the work that waits for this secret, which is then used up. Fails for another client's
    /// secret as for an unknown one.
    pub(super) fn resume(&self, secret: &str, asked: &Asked) -> Result<Pending<W>, ErrorData> {
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
        parked.remove(secret).map(|waiting| waiting.pending).ok_or_else(unknown_state)
    }
}

/// Returns the refusal of a client that has to answer what it was asked before it asks for more.
fn too_many() -> ErrorData {
    let message = format!(
        "{MAX_PER_CLIENT} questions wait for your answers, the most at once, so that the call ended; \
         answer one of them, or let them expire after {} minutes",
        PATIENCE.as_secs() / 60
    );
    ErrorData::invalid_request(message, None)
}

fn too_large(bytes: usize) -> ErrorData {
    let message = format!(
        "the server's requestState has {bytes} bytes, and {MAX_STATE_BYTES} is the most, so that its \
         question cannot be answered; the server has to keep it by itself"
    );
    ErrorData::internal_error(message, None)
}

/// Returns the refusal of answers that do not say which question they belong to.
pub(super) fn missing_state() -> ErrorData {
    let message = "these inputResponses come without the requestState of the question; nothing was run \
                   again. Send it beside them, or neither of them to begin anew";
    ErrorData::invalid_params(message, None)
}

/// Returns the refusal of a `requestState` that nothing waits for.
fn unknown_state() -> ErrorData {
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

    fn work<W>(work: W) -> Pending<W> {
        Pending::Work(Box::new(work))
    }

    #[test]
    fn only_who_was_asked_can_answer_and_only_once_for_the_same_request() {
        let parked = PendingInputs::<u8>::default();
        let secret = parked.park(work(7), asked(ADA, 1)).unwrap();
        let refused = |secret: &str, asked: &Asked, why: &str| {
            let error = parked.resume(secret, asked).unwrap_err();
            assert!(error.message.contains(why), "{}", error.message);
        };
        refused("narrows:0000", &asked(ADA, 1), "nothing waits for this requestState");
        refused(&secret, &asked(EVE, 1), "nothing waits for this requestState");
        refused(&secret, &asked(ADA, 2), "belongs to another request");
        // None of that has used it up.
        assert_eq!(parked.resume(&secret, &asked(ADA, 1)).unwrap(), work(7));
        refused(&secret, &asked(ADA, 1), "nothing waits for this requestState");
        // Nor does anything wait for what we did not give.
        refused("of the server", &asked(ADA, 1), "nothing waits for this requestState");
    }

    #[test]
    fn a_servers_own_state_is_for_whoever_was_asked_and_never_shown() {
        let parked = PendingInputs::<u8>::default();
        let state = || Pending::Server("of the server".to_owned());
        let secret = parked.park(state(), asked(ADA, 1)).unwrap();
        assert!(secret.starts_with(PREFIX), "{secret}");
        for (secret, asked) in [
            ("of the server", asked(ADA, 1)),
            (secret.as_str(), asked(EVE, 1)),
            (secret.as_str(), asked(ADA, 2)),
        ] {
            parked.resume(secret, &asked).unwrap_err();
        }
        assert_eq!(parked.resume(&secret, &asked(ADA, 1)).unwrap(), state());
        parked.resume(&secret, &asked(ADA, 1)).unwrap_err();
    }

    #[test]
    fn a_state_of_megabytes_is_not_kept() {
        let parked = PendingInputs::<u8>::default();
        let state = |bytes: usize| Pending::Server("x".repeat(bytes));
        let error = parked.park(state(MAX_STATE_BYTES + 1), asked(ADA, 1)).unwrap_err();
        assert!(error.message.contains("262144 is the most"), "{}", error.message);
        parked.park(state(MAX_STATE_BYTES), asked(ADA, 1)).unwrap();
    }

    #[test]
    fn work_whose_client_does_not_come_back_is_given_up_though_nobody_asks_again() {
        let parked = PendingInputs::default();
        let held = Arc::new(());
        let secret = parked.park(work(Arc::clone(&held)), asked(ADA, 1)).unwrap();
        // The control: it has its time.
        parked.remove_expired();
        assert_eq!(Arc::strong_count(&held), 2);
        parked.remove_all();
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(parked.resume(&secret, &asked(ADA, 1)).is_err());
    }

    #[test]
    fn nobodys_questions_make_room_for_anothers() {
        let parked = PendingInputs::<usize>::default();
        let of_ada = parked.park(work(7), asked(ADA, 1)).unwrap();
        let of_eve = |number| parked.park(work(number), asked(EVE, 1));
        let all: Vec<String> = (0..MAX_PER_CLIENT).map(|number| of_eve(number).unwrap()).collect();
        let error = of_eve(MAX_PER_CLIENT).unwrap_err();
        assert!(error.message.contains("64 questions wait"), "{}", error.message);
        // Others have room, and nothing was given up.
        parked.park(work(8), asked(ADA, 2)).unwrap();
        assert_eq!(parked.resume(&of_ada, &asked(ADA, 1)).unwrap(), work(7));
        assert_eq!(parked.resume(&all[0], &asked(EVE, 1)).unwrap(), work(0));
        of_eve(MAX_PER_CLIENT).unwrap();
    }
}
