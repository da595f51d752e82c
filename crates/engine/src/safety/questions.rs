//! Groups calls of one run that need an approval at about the same time: they become one question, or
//! pending approvals together. Calls that come while a question is open wait for the next one.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, WeakShared},
};
use narrows_store::ApprovalState;
use narrows_upstream::Caller;
use tokio::sync::oneshot;

use super::{
    confirm::{AskedCall, CallDecision, can_ask},
    question::ApprovalAnswer,
    run_guard::RunGuard,
};

/// Calls that come within this time of each other are decided together.
const GATHER_TIME: Duration = Duration::from_millis(50);
/// The most rounds of gathering, after which the calls are decided even if more keep coming.
const MAX_GATHERED: usize = 20;
/// The most calls in one question, because nobody reads more.
const MAX_LISTED: usize = 20;

/// The questions of one run.
#[derive(Default)]
pub(super) struct Questions(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    /// The calls that nobody has decided on yet.
    calls: Vec<WaitingCall>,
    /// The future that decides. All waiting calls poll it, so that any of them can be dropped.
    deciding: Option<WeakShared<BoxFuture<'static, ()>>>,
}

/// A call and the channel for its decision, which is closed when its program has given the call up.
struct WaitingCall {
    call: Arc<AskedCall>,
    decision: oneshot::Sender<CallDecision>,
}

impl WaitingCall {
    /// Sends a call its decision, if its program still waits for it.
    fn decide(self, decision: CallDecision) {
        let _ = self.decision.send(decision);
    }
}

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Questions")
    }
}

impl Questions {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of calls that wait for a decision.
    pub(super) fn waiting(&self) -> usize {
        let mut queue = self.queue();
        queue.calls.retain(|waiting| !waiting.decision.is_closed());
        queue.calls.len()
    }

    /// Takes all calls that wait. If there are none, the next call starts a new deciding future.
    fn take(&self) -> Option<Vec<WaitingCall>> {
        let mut queue = self.queue();
        queue.calls.retain(|waiting| !waiting.decision.is_closed());
        if queue.calls.is_empty() {
            queue.deciding = None;
            return None;
        }
        Some(std::mem::take(&mut queue.calls))
    }

    /// Puts calls back in front of those that came meanwhile.
    fn put_back(&self, calls: impl IntoIterator<Item = WaitingCall>) {
        self.queue().calls.splice(0..0, calls);
    }
}

impl RunGuard {
    /// Waits for the decision about a call, which is made together with that about others of the same
    /// run.
    pub(super) async fn decide_with_others(
        self: &Arc<Self>,
        call: &Arc<AskedCall>,
        caller: &Arc<dyn Caller>,
    ) -> CallDecision {
        let (decision, mut decided) = oneshot::channel();
        let deciding = {
            let mut queue = self.questions().queue();
            queue.calls.push(WaitingCall { call: Arc::clone(call), decision });
            match queue.deciding.as_ref().and_then(WeakShared::upgrade) {
                Some(deciding) => deciding,
                None => {
                    let deciding = decide_all(Arc::clone(self), Arc::clone(caller));
                    let deciding = deciding.boxed().shared();
                    queue.deciding = deciding.downgrade();
                    deciding
                }
            }
        };
        let decided = tokio::select! {
            biased;
            decided = &mut decided => decided,
            () = deciding => decided.await,
        };
        decided
            .unwrap_or_else(|_| CallDecision::Waiting("nobody could be asked about it".to_owned()))
    }

    /// Decides on calls that are made together. Calls that were approved before are held back until the
    /// others are decided: a program that ends with the first refusal would make them twice.
    async fn decide_together(self: &Arc<Self>, calls: Vec<WaitingCall>, caller: &dyn Caller) {
        let asked: Vec<&AskedCall> = calls.iter().map(|waiting| &*waiting.call).collect();
        let decisions = match self.take_decisions(&asked, caller).await {
            Ok(decisions) => decisions,
            Err(error) => {
                calls.into_iter().for_each(|it| it.decide(CallDecision::Waiting(error.clone())));
                return;
            }
        };
        let all_decided = decisions.iter().all(Option::is_some);
        let (mut held, mut undecided) = (Vec::new(), Vec::new());
        for (waiting, decision) in calls.into_iter().zip(decisions) {
            let decision = decision.map(|approval| match approval.state {
                ApprovalState::Denied => CallDecision::Denied,
                _ => CallDecision::Allowed(approval.scope),
            });
            match decision {
                None => undecided.push(waiting),
                Some(decision) if all_decided => waiting.decide(decision),
                Some(decision) => held.push((waiting, decision)),
            }
        }
        if undecided.is_empty() {
            return;
        }
        if can_ask(caller) {
            let later = undecided.split_off(undecided.len().min(MAX_LISTED));
            let count = later.len() + self.questions().waiting();
            let listed: Vec<_> = undecided.iter().map(|it| Arc::clone(&it.call)).collect();
            let decision = match self.ask(&listed, count, caller).await {
                ApprovalAnswer::Allowed(scope) => Some(CallDecision::Allowed(scope)),
                ApprovalAnswer::Declined => Some(CallDecision::Declined),
                ApprovalAnswer::NotAsked => None,
            };
            if let Some(decision) = decision {
                undecided.into_iter().for_each(|it| it.decide(decision.clone()));
                let held = held.into_iter().map(|(waiting, _)| waiting);
                self.questions().put_back(later.into_iter().chain(held));
                return;
            }
            undecided.extend(later);
        }
        // All approvals are created before any call is refused, which may end the program that makes
        // the others.
        let asked: Vec<&AskedCall> = undecided.iter().map(|waiting| &*waiting.call).collect();
        let left = self.leave_approvals(&asked, caller).await;
        for waiting in undecided {
            let told = left.told(&waiting.call, caller.is_program());
            waiting.decide(CallDecision::Waiting(told));
        }
        for (waiting, decision) in held {
            let told = left.told_held(&waiting.call, caller.is_program());
            waiting.decide(match decision {
                CallDecision::Allowed(_) => CallDecision::Waiting(told),
                other => other,
            });
        }
    }
}

/// Decides on the calls of a run while any wait. Each round begins when no further calls come.
async fn decide_all(guard: Arc<RunGuard>, caller: Arc<dyn Caller>) {
    loop {
        let mut seen = 0;
        for _ in 0..MAX_GATHERED {
            let count = guard.questions().waiting();
            if count == seen {
                break;
            }
            seen = count;
            tokio::time::sleep(GATHER_TIME).await;
        }
        let Some(calls) = guard.questions().take() else { return };
        guard.decide_together(calls, caller.as_ref()).await;
    }
}
