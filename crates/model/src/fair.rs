//! A semaphore that is shared fairly between callers.
//!
//! A permit that becomes free goes to the caller who holds the fewest of those who wait, so nobody gets
//! more by asking more often; the others wait no longer for it.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Whoever permits are counted for.
pub type Caller = Arc<str>;

/// A number of permits.
#[derive(Debug)]
pub struct FairSemaphore {
    state: Mutex<State>,
    permits: usize,
    /// One caller who keeps what it has must not keep all.
    max_held: usize,
    max_waiting: usize,
}

#[derive(Debug, Default)]
struct State {
    held: usize,
    callers: HashMap<Caller, Share>,
    last_number: u64,
}

/// What one caller has and waits for. Gone when it is nothing.
#[derive(Debug, Default)]
struct Share {
    held: usize,
    waiting: VecDeque<Waiter>,
    /// When it was last given a permit, as the number of that permit.
    served: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    waker: Option<Waker>,
    is_granted: bool,
}

/// So many of this caller wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    pub held: usize,
    pub waiting: usize,
}

/// One permit, until dropped.
#[derive(Debug)]
pub struct Permit {
    semaphore: Arc<FairSemaphore>,
    caller: Caller,
}

/// Waits for a permit; one that came too late is passed on.
#[derive(Debug)]
pub struct Acquire {
    semaphore: Arc<FairSemaphore>,
    caller: Caller,
    /// Its place among the waiting; none once it has its permit.
    number: Option<u64>,
}

impl FairSemaphore {
    /// `max_held` and `max_waiting` are those of one caller.
    pub fn new(permits: usize, max_held: usize, max_waiting: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), permits, max_held, max_waiting })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit, or a place in the caller's queue for one.
    pub fn acquire(self: &Arc<Self>, caller: &Caller) -> Result<Acquire, Full> {
        let mut state = self.state();
        state.last_number += 1;
        let number = state.last_number;
        let share = state.callers.entry(Arc::clone(caller)).or_default();
        share.waiting.push_back(Waiter { number, waker: None, is_granted: false });
        state.grant(self.permits, self.max_held);
        let share = &state.callers[caller];
        let (held, waiting) = (share.held, share.waiting.iter().filter(|w| !w.is_granted).count());
        if waiting > self.max_waiting {
            // All before it wait as well, so it has not been granted.
            state.leave(caller, number);
            return Err(Full { held, waiting: waiting - 1 });
        }
        drop(state);
        Ok(Acquire {
            semaphore: Arc::clone(self),
            caller: Arc::clone(caller),
            number: Some(number),
        })
    }

    fn release(&self, caller: &Caller) {
        let mut state = self.state();
        state.held -= 1;
        if let Some(share) = state.callers.get_mut(caller) {
            share.held -= 1;
            if share.held == 0 && share.waiting.is_empty() {
                state.callers.remove(caller);
            }
        }
        state.grant(self.permits, self.max_held);
    }
}

impl State {
    /// Gives free permits to those who wait.
    fn grant(&mut self, permits: usize, max_held: usize) {
        while self.held < permits {
            let next = self
                .callers
                .values_mut()
                .filter(|share| share.held < max_held)
                .filter(|share| share.waiting.iter().any(|waiter| !waiter.is_granted))
                .min_by_key(|share| (share.held, share.served));
            let Some(share) = next else { return };
            let Some(waiter) = share.waiting.iter_mut().find(|waiter| !waiter.is_granted) else {
                return;
            };
            waiter.is_granted = true;
            let waker = waiter.waker.take();
            self.last_number += 1;
            share.served = self.last_number;
            share.held += 1;
            self.held += 1;
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Takes a waiter out, and tells whether it had been granted a permit.
    fn leave(&mut self, caller: &Caller, number: u64) -> bool {
        let Some(share) = self.callers.get_mut(caller) else { return false };
        let place = share.waiting.iter().position(|waiter| waiter.number == number);
        let waiter = place.and_then(|place| share.waiting.remove(place));
        if share.held == 0 && share.waiting.is_empty() {
            self.callers.remove(caller);
        }
        waiter.is_some_and(|waiter| waiter.is_granted)
    }
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit> {
        let Some(number) = self.number else { return Poll::Pending };
        let mut state = self.semaphore.state();
        let share = state.callers.get_mut(&self.caller);
        let waiter = share.and_then(|share| share.waiting.iter_mut().find(|w| w.number == number));
        match waiter {
            Some(waiter) if !waiter.is_granted => {
                waiter.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            _ => {}
        }
        state.leave(&self.caller, number);
        drop(state);
        self.number = None;
        let (semaphore, caller) = (Arc::clone(&self.semaphore), Arc::clone(&self.caller));
        Poll::Ready(Permit { semaphore, caller })
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let was_granted = self.semaphore.state().leave(&self.caller, number);
        if was_granted {
            self.semaphore.release(&self.caller);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.semaphore.release(&self.caller);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn caller(name: &str) -> Caller {
        name.into()
    }

    fn taken(semaphore: &Arc<FairSemaphore>, name: &str) -> Permit {
        semaphore.acquire(&caller(name)).unwrap().now_or_never().unwrap()
    }

    #[test]
    fn who_holds_fewest_is_next_however_many_others_wait() {
        let semaphore = FairSemaphore::new(2, 2, 100);
        let (first, second) = (taken(&semaphore, "a"), taken(&semaphore, "a"));
        let mut greedy: Vec<_> =
            (0..50).map(|_| semaphore.acquire(&caller("a")).unwrap()).collect();
        let mut modest = semaphore.acquire(&caller("b")).unwrap();
        assert!((&mut modest).now_or_never().is_none());
        drop(first);
        let permit = (&mut modest).now_or_never().expect("b is next");
        assert!(greedy.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        drop(second);
        let served = greedy.iter_mut().filter_map(|waiting| waiting.now_or_never());
        assert_eq!(served.collect::<Vec<_>>().len(), 1);
        drop(permit);
    }

    #[test]
    fn nobody_keeps_all_and_a_full_queue_is_ones_own() {
        let semaphore = FairSemaphore::new(4, 2, 1);
        let _held = [taken(&semaphore, "a"), taken(&semaphore, "a")];
        let mut waiting = semaphore.acquire(&caller("a")).unwrap();
        assert!((&mut waiting).now_or_never().is_none(), "two of four are kept for others");
        let full = semaphore.acquire(&caller("a")).unwrap_err();
        assert_eq!(full, Full { held: 2, waiting: 1 });
        taken(&semaphore, "b");
    }

    #[test]
    fn who_gives_up_waiting_leaves_nothing_behind() {
        let semaphore = FairSemaphore::new(1, 1, 10);
        let permit = taken(&semaphore, "a");
        let given_up = semaphore.acquire(&caller("b")).unwrap();
        let granted_too_late = semaphore.acquire(&caller("b")).unwrap();
        drop(given_up);
        drop(permit);
        drop(granted_too_late);
        drop(taken(&semaphore, "c"));
        assert!(semaphore.state().callers.is_empty());
        assert_eq!(semaphore.state().held, 0);
    }
}
