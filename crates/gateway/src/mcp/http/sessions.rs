//! Sessions of the older protocol: each belongs to the key that it was made with, there are only so
//! many, and those that nobody uses end.
//!
//! The protocol library asks here for each session, without saying for whom; whoever sent the request is
//! known by the task that handles it ([`Sender`]).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{Stream, StreamExt, stream};
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    service::RequestContext,
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError},
    },
};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::caller::{Caller, CallerId};
use crate::{config::HttpLimits, mcp::request_ids::RequestIds};

/// A session that was not used for so long makes room for a new one of the same key.
const SPARE_TIME: Duration = Duration::from_secs(300);

tokio::task_local! {
    static SENDER: Arc<Sender>;
}

/// The sender of the request that is being handled.
pub(super) struct Sender {
    caller: Arc<Caller>,
    /// Why no session was made for it.
    refusal: OnceLock<SessionRefusal>,
}

/// The reason why no session is made, and when to try again.
#[derive(Clone, Debug, Error)]
pub(super) enum SessionRefusal {
    #[error(
        "this key has {max} sessions, the most at once; end one with DELETE, or let idle ones expire \
         ([http] max_sessions_per_key)"
    )]
    OfKey { max: u32, after: Duration },
    #[error("there are {max} sessions, the most at once; try again later ([http] max_sessions)")]
    OfAll { max: u32, after: Duration },
}

impl IntoResponse for SessionRefusal {
    fn into_response(self) -> Response {
        let (status, after) = match &self {
            Self::OfKey { after, .. } => (StatusCode::TOO_MANY_REQUESTS, after),
            Self::OfAll { after, .. } => (StatusCode::SERVICE_UNAVAILABLE, after),
        };
        let after = [(header::RETRY_AFTER, after.as_secs().max(1).to_string())];
        (status, after, format!("{self}\n")).into_response()
    }
}

impl Sender {
    /// Handles a request as its caller's. If no session could be made for it, the reason is the
    /// response.
    pub(super) async fn scope(
        caller: Arc<Caller>,
        answer: impl Future<Output = Response>,
    ) -> Response {
        let sender = Arc::new(Self { caller, refusal: OnceLock::new() });
        let response = SENDER.scope(Arc::clone(&sender), answer).await;
        match sender.refusal.get() {
            Some(refusal) => refusal.clone().into_response(),
            None => response,
        }
    }
}

/// A session, and the places that it takes.
#[derive(Debug)]
struct Entry {
    owner: CallerId,
    /// The number of open streams and unanswered requests.
    uses: AtomicUsize,
    requests: Arc<RequestIds>,
    /// Cancelled when the session ends, so that work for its client stops before the protocol layer has
    /// waited for answers.
    ended: CancellationToken,
    last_used: Mutex<Instant>,
    _of_key: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Entry {
    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns how long the session has been idle; none while it is in use.
    fn idle_for(&self) -> Option<Duration> {
        let last_used = self.last_used.lock().unwrap_or_else(PoisonError::into_inner);
        (self.uses.load(Ordering::Acquire) == 0).then(|| last_used.elapsed())
    }
}

/// A use of a session, which keeps it from expiring. It is part of each request's context until the
/// request is answered, also while a person is asked or after the client's connection broke.
#[derive(Debug)]
struct InUse(Arc<Entry>);

impl InUse {
    fn new(entry: Arc<Entry>) -> Arc<Self> {
        entry.uses.fetch_add(1, Ordering::AcqRel);
        Arc::new(Self(entry))
    }

    /// Ties this use to a stream: it ends when the stream is dropped.
    fn hold<S>(self: Arc<Self>, stream: S) -> impl Stream<Item = S::Item> + Send + Sync + 'static
    where
        S: Stream + Send + Sync + 'static,
    {
        stream.map(move |item| {
            let _in_use = &self;
            item
        })
    }
}

/// Returns a token that is cancelled when the session of a request ends; none for requests without a
/// session.
pub(in crate::mcp) fn session_end(
    context: &RequestContext<RoleServer>,
) -> Option<CancellationToken> {
    context.extensions.get::<Arc<InUse>>().map(|in_use| in_use.0.ended.clone())
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.uses.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Why a session cannot be used.
#[derive(Debug, Error)]
pub(super) enum SessionsError {
    /// The client is told by [`Sender::scope`].
    #[error(transparent)]
    Refused(#[from] SessionRefusal),
    #[error("a session is made for a request only")]
    NoRequest,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// All sessions of a gateway.
pub(super) struct Sessions {
    local: LocalSessionManager,
    limits: HttpLimits,
    places: Arc<Semaphore>,
    known: Mutex<HashMap<SessionId, Arc<Entry>>>,
}

impl Sessions {
    pub(super) fn new(limits: HttpLimits) -> Arc<Self> {
        let mut local = LocalSessionManager::default();
        // Its own limit knows nothing of people who take their time to answer.
        local.session_config.keep_alive = None;
        let places = Arc::new(Semaphore::new(limits.max_sessions as usize));
        Arc::new(Self { local, limits, places, known: Mutex::default() })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Entry>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether a caller has a session with this id.
    pub(super) fn has(&self, caller: &Caller, id: &str) -> bool {
        self.known().get(id).is_some_and(|entry| entry.owner == caller.id)
    }

    /// Returns a session of the current sender. Other callers' sessions are reported as missing.
    fn own(&self, id: &SessionId) -> Result<Arc<Entry>, SessionsError> {
        let owner = SENDER.try_with(|sender| sender.caller.id).ok();
        let entry = self.known().get(id).filter(|entry| Some(entry.owner) == owner).cloned();
        let entry = entry.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        entry.touch();
        Ok(entry)
    }

    /// Takes a place for a new session. If there is none, the caller's session that has been idle
    /// longest is ended for it, provided that it was idle for [`SPARE_TIME`].
    async fn place(&self, sender: &Sender) -> Result<Entry, SessionsError> {
        let owner = sender.caller.id;
        let take = |places: &Arc<Semaphore>| Arc::clone(places).try_acquire_owned().ok();
        let take_both = || Some((take(&sender.caller.sessions)?, take(&self.places)?));
        let mut places = take_both();
        if places.is_none() && self.end_spare(owner).await {
            places = take_both();
        }
        if let Some((_of_key, _of_all)) = places {
            let last_used = Mutex::new(Instant::now());
            let (uses, requests) = (AtomicUsize::new(0), Arc::default());
            let ended = CancellationToken::new();
            return Ok(Entry { owner, uses, requests, ended, last_used, _of_key, _of_all });
        }
        let after = self.next_expiry(owner);
        let refusal = if sender.caller.sessions.available_permits() == 0 {
            SessionRefusal::OfKey { max: self.limits.max_sessions_per_key, after }
        } else {
            SessionRefusal::OfAll { max: self.limits.max_sessions, after }
        };
        let _ = sender.refusal.set(refusal.clone());
        Err(refusal.into())
    }

    async fn end_spare(&self, owner: CallerId) -> bool {
        let longest = {
            let known = self.known();
            let own = known.iter().filter(|(_, entry)| entry.owner == owner);
            let idle = own.filter_map(|(id, entry)| Some((entry.idle_for()?, id)));
            let spare = idle.filter(|(idle, _)| *idle >= SPARE_TIME);
            spare.max_by_key(|(idle, _)| *idle).map(|(_, id)| id.clone())
        };
        match longest {
            Some(id) => {
                self.end(&id).await;
                true
            }
            None => false,
        }
    }

    /// Returns the time until the next session of a caller expires.
    fn next_expiry(&self, owner: CallerId) -> Duration {
        let known = self.known();
        let own = known.values().filter(|entry| entry.owner == owner);
        let idle = own.filter_map(|entry| entry.idle_for()).max().unwrap_or_default();
        self.limits.session_idle.min(SPARE_TIME).saturating_sub(idle)
    }

    /// Removes a session and cancels the work for its requests.
    fn forget(&self, id: &SessionId) {
        let entry = self.known().remove(id);
        if let Some(entry) = entry {
            entry.ended.cancel();
        }
    }

    async fn end(&self, id: &SessionId) {
        self.forget(id);
        if let Err(error) = self.local.close_session(id).await {
            tracing::debug!(%error, "a session did not end in order");
        }
    }

    /// Ends sessions that were idle for too long, until `stop` is cancelled.
    pub(super) async fn expire(self: Arc<Self>, stop: CancellationToken) {
        let pause = (self.limits.session_idle / 4)
            .clamp(Duration::from_millis(250), Duration::from_secs(60));
        while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            let expired: Vec<SessionId> = {
                let known = self.known();
                let is_expired = |entry: &Entry| {
                    entry.idle_for().is_some_and(|idle| idle >= self.limits.session_idle)
                };
                known
                    .iter()
                    .filter(|(_, entry)| is_expired(entry))
                    .map(|(id, _)| id.clone())
                    .collect()
            };
            for id in expired {
                let sessions = Arc::clone(&self);
                // On a task of its own: ending a session that still writes to a client which does not
                // read takes time.
                tokio::spawn(async move { sessions.end(&id).await });
            }
        }
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        let sender = SENDER.try_with(Arc::clone).map_err(|_| SessionsError::NoRequest)?;
        let entry = self.place(&sender).await?;
        let (id, transport) = self.local.create_session().await?;
        self.known().insert(id.clone(), Arc::new(entry));
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        self.own(id)?;
        Ok(self.local.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.own(id).is_ok() && self.local.has_session(id).await?)
    }

    /// Closes a session. A client calls this when it ends its session; so does the session itself when
    /// it ends, which happens outside of any request.
    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        if SENDER.try_with(|_| ()).is_ok() && self.own(id).is_err() {
            return Ok(());
        }
        self.forget(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let entry = self.own(id)?;
        let in_use = InUse::new(Arc::clone(&entry));
        message.insert_extension(Arc::clone(&in_use));
        if let ClientJsonRpcMessage::Request(request) = &message {
            let request_id = request.id.clone();
            match entry.requests.begin(&request_id) {
                // Until the request is answered, as above.
                Ok(used_id) => message.insert_extension(Arc::new(used_id)),
                Err(refusal) => {
                    let refusal = ServerJsonRpcMessage::error(refusal, Some(request_id));
                    let refusal = ServerSseMessage::from_message(refusal);
                    return Ok(stream::iter([refusal]).left_stream());
                }
            }
        }
        Ok(in_use.hold(self.local.create_stream(id, message).await?).right_stream())
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        self.own(id)?;
        Ok(self.local.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let in_use = InUse::new(self.own(id)?);
        Ok(in_use.hold(self.local.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let in_use = InUse::new(self.own(id)?);
        Ok(in_use.hold(self.local.resume(id, last_event_id).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_works_for_a_client_learns_at_once_that_its_session_ends() {
        let sessions = Sessions::new(HttpLimits::default());
        let sender = Sender { caller: Caller::new(1, None, 4), refusal: OnceLock::new() };
        let sender = Arc::new(sender);
        for is_deleted in [true, false] {
            let ending = async {
                let (id, _transport) = sessions.create_session().await.unwrap();
                let ended = sessions.own(&id).unwrap().ended.clone();
                assert!(!ended.is_cancelled());
                // By the client, or because nobody used it for long.
                match is_deleted {
                    true => sessions.close_session(&id).await.unwrap(),
                    false => sessions.end(&id).await,
                }
                assert!(ended.is_cancelled());
            };
            SENDER.scope(Arc::clone(&sender), ending).await;
        }
    }
}
