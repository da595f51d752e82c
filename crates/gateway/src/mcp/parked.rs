//! Work whose client was asked something, and has to come back with the answer.
//!
//! Clients of the newer protocol answer in a second request. It names the work by a secret that
//! cannot be guessed; whoever has it is the client that was asked.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{ErrorData, model::ServerResult};

use super::conversation::Work;

/// Whoever does not come back within this time has lost interest.
const PATIENCE: Duration = Duration::from_secs(600);
/// Work that waits holds memory: more than this and the oldest is given up.
const MOST: usize = 256;

/// Whatever a client asked for.
pub(super) type ClientWork = Work<Result<ServerResult, ErrorData>>;

#[derive(Default)]
pub(super) struct Parked(Mutex<HashMap<String, (Instant, ClientWork)>>);

impl Parked {
    /// Keeps work, and gives the secret to come back with.
    pub(super) fn park(&self, work: ClientWork) -> Result<String, ErrorData> {
        let secret = crate::secret::random_hex()
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parked.retain(|_, (since, _)| since.elapsed() < PATIENCE);
        if parked.len() >= MOST {
            let oldest = parked.iter().min_by_key(|(_, (since, _))| *since);
            if let Some(oldest) = oldest.map(|(secret, _)| secret.clone()) {
                parked.remove(&oldest);
            }
        }
        parked.insert(secret.clone(), (Instant::now(), work));
        Ok(secret)
    }

    /// The work that waits for this secret, once.
    pub(super) fn resume(&self, secret: &str) -> Option<ClientWork> {
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parked.remove(secret).map(|(_, work)| work)
    }
}
