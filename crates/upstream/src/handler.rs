//! The handler of what a server sends unasked: progress, log messages, questions and changes.

pub(crate) mod notification_barrier;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use narrows_model::cut::{self, MARGIN};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ElicitationCapability, Implementation,
        LoggingMessageNotificationParam, NumberOrString, ProgressNotificationParam, ProgressToken,
        ResourceUpdatedNotificationParam, SamplingCapability,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::{sync::broadcast, time::Instant};

use self::notification_barrier::NotificationBarrier;
use crate::caller::{Caller, Progress};

/// How many progress notifications are kept that arrive before their call is known here.
const MAX_EARLY: usize = 64;
/// The most that is kept of a progress message. A person reads it in one line, and a client is given
/// its first 4 KB once they are protected, for which what stands beside them has to be seen.
const MAX_PROGRESS_BYTES: usize = (4 << 10) + MARGIN as usize;
/// The longest URI of a changed resource that is passed on: changes wait in memory for their readers.
pub(crate) const MAX_URI_BYTES: usize = 8 << 10;

/// Something that changed at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamChange {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

/// A change and the server it happened at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerChange {
    pub server: Arc<str>,
    pub change: UpstreamChange,
}

/// The client side of one connection, as rmcp calls it.
#[derive(Clone)]
pub(crate) struct Handler {
    server: Arc<str>,
    calls: Arc<Mutex<CallTable>>,
    notices: Arc<NotificationBarrier>,
    changes: broadcast::Sender<ServerChange>,
}

#[derive(Default)]
struct CallTable {
    next: u64,
    in_flight: HashMap<u64, InFlight>,
    early: VecDeque<ProgressNotificationParam>,
}

struct InFlight {
    token: Option<ProgressToken>,
    caller: Arc<dyn Caller>,
    deadline: Deadline,
    /// How often the server has asked something.
    questions: usize,
}

/// How many questions a server may ask in one call: one that asks a person or a model again and again
/// is refused.
pub const MAX_QUESTIONS: usize = 16;

/// The deadline of a call. Progress and questions move it.
#[derive(Clone, Debug)]
pub(crate) struct Deadline(Arc<Mutex<DeadlineState>>);

/// The time of a deadline, whose clock stands still while a question is open.
#[derive(Debug)]
struct DeadlineState {
    at: Instant,
    questions: u32,
    /// Since when the clock stands still without `at` having been moved for it.
    still: Instant,
}

impl DeadlineState {
    fn new(now: Instant, after: Duration) -> Self {
        Self { at: now + after, questions: 0, still: now }
    }

    /// Moves the deadline to `after` from now, unless it is later already: a sign of life never takes
    /// time away.
    fn restart(&mut self, now: Instant, after: Duration) {
        self.at = self.at.max(now + after);
        self.still = now;
    }

    fn asked(&mut self, now: Instant) {
        if self.questions == 0 {
            self.still = now;
        }
        self.questions += 1;
    }

    fn answered(&mut self, now: Instant) {
        self.questions -= 1;
        if self.questions == 0 {
            self.at += now - self.still;
        }
    }

    /// Returns when to look again, or `None` if the time is over.
    fn next_look(&mut self, now: Instant, after: Duration) -> Option<Instant> {
        if self.at <= now && self.questions > 0 {
            self.restart(now, after);
        }
        (self.at > now).then_some(self.at)
    }
}

impl Deadline {
    pub(crate) fn new(after: Duration) -> Self {
        Self(Arc::new(Mutex::new(DeadlineState::new(Instant::now(), after))))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, DeadlineState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn restart(&self, after: Duration) {
        self.state().restart(Instant::now(), after);
    }

    /// Waits until the time is over.
    pub(crate) async fn passed(&self, after: Duration) {
        let next_look = || self.state().next_look(Instant::now(), after);
        while let Some(at) = next_look() {
            tokio::time::sleep_until(at).await;
        }
    }
}

impl Handler {
    pub(crate) fn new(server: &str, changes: broadcast::Sender<ServerChange>) -> Self {
        Self { server: server.into(), calls: Arc::default(), notices: Arc::default(), changes }
    }

    /// Returns the barrier on which the transport counts notifications as read, and this handler as
    /// handled.
    pub(crate) fn notices(&self) -> &Arc<NotificationBarrier> {
        &self.notices
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, CallTable> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call: what the server says from now on may belong to it.
    pub(crate) fn begin(&self, caller: Arc<dyn Caller>, deadline: Deadline) -> CallInFlight {
        let mut calls = self.calls();
        calls.next += 1;
        let number = calls.next;
        calls.in_flight.insert(number, InFlight { token: None, caller, deadline, questions: 0 });
        CallInFlight { number, handler: self.clone() }
    }

    /// Returns the call that a question of the server belongs to, which the protocol does not say. Of
    /// one client's calls the last is the best guess; between clients there is no guessing.
    fn latest<'a>(&self, calls: &'a mut CallTable) -> Result<&'a mut InFlight, ErrorData> {
        let number = calls.in_flight.keys().max().copied();
        let Some(latest) = number.and_then(|number| calls.in_flight.get(&number)) else {
            let message = "the client asked for nothing that this could belong to";
            return Err(ErrorData::invalid_request(message, None));
        };
        let client = latest.caller.client();
        if calls.in_flight.values().any(|call| call.caller.client() != client) {
            let message = "several clients use this server now, and it does not say which of \
                           them it means; try again when no other call is running";
            return Err(ErrorData::invalid_request(message, None));
        }
        number
            .and_then(|number| calls.in_flight.get_mut(&number))
            .ok_or_else(|| ErrorData::internal_error("the call has ended", None))
    }

    /// Returns the caller whom a question is for, unless its call has asked too many before.
    fn question(&self) -> Result<(Arc<dyn Caller>, Question), ErrorData> {
        let mut calls = self.calls();
        let latest = self.latest(&mut calls)?;
        latest.questions += 1;
        if latest.questions > MAX_QUESTIONS {
            let message =
                format!("{MAX_QUESTIONS} questions were asked in this call, which is enough");
            return Err(ErrorData::invalid_request(message, None));
        }
        Ok((Arc::clone(&latest.caller), Question::new(latest.deadline.clone())))
    }

    fn changed(&self, change: UpstreamChange) {
        // Sending fails if nobody listens, as while the gateway only lists.
        let _ = self.changes.send(ServerChange { server: Arc::clone(&self.server), change });
    }
}

/// A call in flight, registered until it is dropped.
pub(crate) struct CallInFlight {
    number: u64,
    handler: Handler,
}

impl CallInFlight {
    /// Notes the progress token that the call was sent with, and delivers progress that came before.
    pub(crate) fn has_token(&self, token: &ProgressToken, restart: Duration) {
        let early: Vec<ProgressNotificationParam> = {
            let mut calls = self.handler.calls();
            if let Some(call) = calls.in_flight.get_mut(&self.number) {
                call.token = Some(token.clone());
            }
            let (ours, others) =
                calls.early.drain(..).partition(|early| early.progress_token == *token);
            calls.early = others;
            Vec::from_iter::<VecDeque<_>>(ours)
        };
        for progress in early {
            self.handler.report(progress, restart);
        }
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.handler.calls().in_flight.remove(&self.number);
    }
}

impl Handler {
    fn report(&self, mut param: ProgressNotificationParam, restart: Duration) {
        if let Some(message) = &mut param.message {
            message.truncate(cut::head(message, MAX_PROGRESS_BYTES).len());
            message.shrink_to_fit();
        }
        let found = {
            let mut calls = self.calls();
            let found = calls
                .in_flight
                .values()
                .find(|call| call.token.as_ref() == Some(&param.progress_token))
                .map(|call| (Arc::clone(&call.caller), call.deadline.clone()));
            // Our own tokens are short; no call waits for any other.
            let is_ours = match &param.progress_token.0 {
                NumberOrString::Number(_) => true,
                NumberOrString::String(token) => token.len() <= MAX_PROGRESS_BYTES,
            };
            if found.is_none() && is_ours {
                if calls.early.len() == MAX_EARLY {
                    calls.early.pop_front();
                }
                calls.early.push_back(param.clone());
            }
            found
        };
        if let Some((caller, deadline)) = found {
            deadline.restart(restart);
            let progress =
                Progress { done: param.progress, total: param.total, message: param.message };
            caller.progress(&self.server, progress);
        }
    }
}

/// A guard for an open question, which stops the clock of its call's deadline.
struct Question(Deadline);

impl Question {
    fn new(deadline: Deadline) -> Self {
        deadline.state().asked(Instant::now());
        Self(deadline)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.0.state().answered(Instant::now());
    }
}

/// Progress means that the server works; it gets this much more time.
const PROGRESS_EXTENDS: Duration = Duration::from_secs(60);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        capabilities.sampling = Some(SamplingCapability::default());
        ClientConfig::new(capabilities, Implementation::new("narrows", env!("CARGO_PKG_VERSION")))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let (caller, _question) = self.question()?;
        caller.sample(&self.server, params).await
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (caller, _question) = self.question()?;
        caller.elicit(&self.server, params).await
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.report(params, PROGRESS_EXTENDS);
        self.notices.hear();
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let caller = self.latest(&mut self.calls()).map(|latest| Arc::clone(&latest.caller));
        if let Ok(caller) = caller {
            caller.log(&self.server, params);
        }
        self.notices.hear();
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.notices.change_tools();
        self.changed(UpstreamChange::Tools);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed(UpstreamChange::Prompts);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed(UpstreamChange::Resources);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if params.uri.len() <= MAX_URI_BYTES {
            self.changed(UpstreamChange::Resource(params.uri));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER: Duration = Duration::from_secs(10);

    fn times() -> (DeadlineState, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        (DeadlineState::new(start, AFTER), move |seconds| start + Duration::from_secs(seconds))
    }

    #[test]
    fn a_call_gets_back_the_time_that_a_person_took() {
        let (mut deadline, at) = times();
        deadline.asked(at(1));
        deadline.asked(at(2));
        deadline.answered(at(3));
        deadline.answered(at(8));
        assert_eq!(deadline.next_look(at(10), AFTER), Some(at(17)));
        assert_eq!(deadline.next_look(at(17), AFTER), None);
    }

    /// Twenty thousand questions of one call once reached a client's user.
    #[test]
    fn a_call_asks_so_many_questions_and_the_next_may_ask_again() {
        let (changes, _) = broadcast::channel(1);
        let handler = Handler::new("s", changes);
        let call = || handler.begin(Arc::new(crate::caller::NoCaller), Deadline::new(AFTER));
        let first = call();
        for _ in 0..MAX_QUESTIONS {
            drop(handler.question().map_err(|error| error.message).unwrap());
        }
        let refused = handler.question().map(drop).unwrap_err();
        assert_eq!(refused.message, "16 questions were asked in this call, which is enough");
        drop(first);
        let _next = call();
        assert!(handler.question().is_ok());
    }

    #[derive(Default)]
    struct Listener(Mutex<Vec<String>>);

    impl Caller for Listener {
        fn progress(&self, _server: &str, progress: Progress) {
            self.0.lock().unwrap().extend(progress.message);
        }
    }

    /// Half of an address is found no more, and was what a client read at its end.
    #[test]
    fn what_is_cut_from_a_message_of_progress_is_no_part_of_a_value() {
        let (changes, _) = broadcast::channel(1);
        let handler = Handler::new("s", changes);
        let listener = Arc::new(Listener::default());
        let caller: Arc<dyn Caller> = Arc::<Listener>::clone(&listener);
        let call = handler.begin(caller, Deadline::new(AFTER));
        let token = ProgressToken(NumberOrString::Number(1));
        call.has_token(&token, AFTER);
        let address = "ada.lovelace@example.com";
        // At the end of what a client is given, and at the end of what is kept.
        for bytes in [4 << 10, MAX_PROGRESS_BYTES] {
            for shift in 0..address.len() {
                let message = format!("{} {address} is next", "x".repeat(bytes - 1 - shift));
                let mut param = ProgressNotificationParam::new(token.clone(), 1.0);
                param.message = Some(message);
                handler.report(param, AFTER);
                let heard = listener.0.lock().unwrap().pop().unwrap();
                assert!(heard.len() <= MAX_PROGRESS_BYTES);
                assert!(heard.contains(address) || !heard.contains("ada"), "at {bytes}");
                assert!(heard.contains(address) || bytes == MAX_PROGRESS_BYTES);
            }
        }
    }

    #[test]
    fn progress_gives_time_and_takes_none() {
        let (mut deadline, at) = times();
        deadline.restart(at(1), Duration::from_secs(5));
        assert_eq!(deadline.next_look(at(7), AFTER), Some(at(10)));
        deadline.restart(at(8), Duration::from_secs(5));
        assert_eq!(deadline.next_look(at(10), AFTER), Some(at(13)));
    }

    #[test]
    fn no_call_is_too_late_while_a_person_is_asked() {
        let (mut deadline, at) = times();
        deadline.asked(at(1));
        assert_eq!(deadline.next_look(at(10), AFTER), Some(at(20)));
        // What was given already is not given twice.
        deadline.answered(at(12));
        assert_eq!(deadline.next_look(at(20), AFTER), Some(at(22)));
        assert_eq!(deadline.next_look(at(22), AFTER), None);
    }
}
