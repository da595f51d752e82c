//! A semaphore that is shared fairly between callers.
//!
//! A permit that becomes free goes to the waiting caller who holds the fewest, so that nobody gets more
//! by asking more often, or makes others wait longer. Where permits are held for long, a newcomer would
//! wait too long even so; therefore some are kept free, see [`FairSemaphore::for_long`].

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// The name of a caller, for whom permits are counted.
pub type Caller = Arc<str>;

/// A semaphore whose permits are shared fairly between callers.
#[derive(Debug)]
pub struct FairSemaphore {
    state: Mutex<State>,
    permits: usize,
    /// The most permits of one caller, so that one who never returns its permits does not have all.
    max_held: usize,
    max_waiting: usize,
    /// The permits that are kept for callers who hold none.
    for_newcomers: Newcomers,
}

/// The rule for callers who hold no permit.
#[derive(Clone, Copy, Debug)]
enum Newcomers {
    /// They wait for the next permit that is returned, which is soon.
    Wait,
    /// They find a free permit: while there are several callers, one that holds permits gets a further
    /// one only if more are free than it holds, and more than `min_free`.
    Find { min_free: usize },
}

/// The number of long-held permits of which one is kept for newcomers, whatever others hold.
const PERMITS_PER_NEWCOMER: usize = 8;

#[derive(Debug, Default)]
struct State {
    held: usize,
    callers: HashMap<Caller, Share>,
    last_number: u64,
}

/// The permits that one caller holds and waits for. Removed when it has none of both.
#[derive(Debug, Default)]
struct Share {
    held: usize,
    waiting: VecDeque<Waiter>,
    /// The number of the last permit that it was granted, which tells who was served least recently.
    served: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    waker: Option<Waker>,
    is_granted: bool,
}

/// The error when too many requests of this caller wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull {
    pub held: usize,
    pub waiting: usize,
}

/// A permit, which is returned on drop.
#[derive(Debug)]
pub struct Permit {
    semaphore: Arc<FairSemaphore>,
    caller: Caller,
}

/// A future that waits for a permit. If it is dropped, a permit that was already granted is passed on.
#[derive(Debug)]
pub struct Acquire {
    semaphore: Arc<FairSemaphore>,
    caller: Caller,
    /// Its number among the waiting; `None` once it has its permit.
    number: Option<u64>,
}

impl FairSemaphore {
    /// Creates permits that are returned soon. `max_held` and `max_waiting` limit each caller.
    pub fn new(permits: usize, max_held: usize, max_waiting: usize) -> Arc<Self> {
        let for_newcomers = Newcomers::Wait;
        Arc::new(Self { state: Mutex::default(), permits, max_held, max_waiting, for_newcomers })
    }

    /// Creates permits that may be held for minutes, so that a newcomer cannot wait for one. A caller
    /// who comes while others hold some gets at most half of what they left. Stops two callers who take
    /// all that they can from having everything: that would need many callers.
    pub fn for_long(permits: usize, max_held: usize, max_waiting: usize) -> Arc<Self> {
        let for_newcomers = Newcomers::Find { min_free: permits / PERMITS_PER_NEWCOMER };
        Arc::new(Self { state: Mutex::default(), permits, max_held, max_waiting, for_newcomers })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit, or a place in the caller's queue.
    pub fn acquire(self: &Arc<Self>, caller: &Caller) -> Result<Acquire, QueueFull> {
        let mut state = self.state();
        state.last_number += 1;
        let number = state.last_number;
        let share = state.callers.entry(Arc::clone(caller)).or_default();
        share.waiting.push_back(Waiter { number, waker: None, is_granted: false });
        self.grant(&mut state);
        let share = &state.callers[caller];
        let (held, waiting) = (share.held, share.waiting.iter().filter(|w| !w.is_granted).count());
        if waiting > self.max_waiting {
            // All requests before it wait as well, so it has not been granted.
            state.leave(caller, number);
            return Err(QueueFull { held, waiting: waiting - 1 });
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
        self.grant(&mut state);
    }

    /// Grants free permits to those who wait.
    fn grant(&self, state: &mut State) {
        while state.held < self.permits {
            let max_held = self.max_held_now(state);
            if !state.grant_one(max_held) {
                return;
            }
        }
    }

    /// Returns the number of permits below which a caller is granted one more.
    fn max_held_now(&self, state: &State) -> usize {
        let free = self.permits - state.held;
        match self.for_newcomers {
            Newcomers::Find { min_free } if state.callers.len() > 1 => {
                let left = if free > min_free { free } else { 1 };
                self.max_held.min(left)
            }
            Newcomers::Find { .. } | Newcomers::Wait => self.max_held,
        }
    }
}

impl State {
    /// Grants a permit to the next waiting caller who holds fewer than `max_held`; tells whether there
    /// was one.
    fn grant_one(&mut self, max_held: usize) -> bool {
        let next = self
            .callers
            .values_mut()
            .filter(|share| share.held < max_held)
            .filter(|share| share.waiting.iter().any(|waiter| !waiter.is_granted))
            .min_by_key(|share| (share.held, share.served));
        let Some(share) = next else { return false };
        let Some(waiter) = share.waiting.iter_mut().find(|waiter| !waiter.is_granted) else {
            return false;
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
        true
    }

    /// Removes a waiter, and tells whether it had been granted a permit.
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
        assert_eq!(full, QueueFull { held: 2, waiting: 1 });
        taken(&semaphore, "b");
    }

    /// Takes all permits that a caller is given now.
    fn all_of(semaphore: &Arc<FairSemaphore>, name: &str) -> Vec<Permit> {
        let take = || semaphore.acquire(&caller(name)).ok()?.now_or_never();
        std::iter::from_fn(take).collect()
    }

    #[test]
    fn however_many_hold_what_they_can_get_a_newcomer_is_served_at_once() {
        for attackers in 1..=7 {
            let semaphore = FairSemaphore::for_long(40, 20, 100);
            let names: Vec<String> = (0..attackers).map(|number| format!("a{number}")).collect();
            let held: Vec<_> = names.iter().map(|name| all_of(&semaphore, name)).collect();
            // The control: the first has its full share, and all of them want more.
            assert_eq!(held[0].len(), 20);
            assert!(held.iter().all(|held| !held.is_empty()), "{attackers}");
            let queues: Vec<_> = names
                .iter()
                .map(|name| semaphore.acquire(&caller(name)).unwrap())
                .map(|mut waiting| ((&mut waiting).now_or_never().is_none(), waiting))
                .collect();
            assert!(queues.iter().all(|(waits, _)| *waits), "{attackers}");
            taken(&semaphore, "newcomer");
        }
    }

    #[test]
    fn who_comes_while_another_has_its_share_gets_half_of_the_rest() {
        let semaphore = FairSemaphore::for_long(40, 20, 100);
        let shares = ["a", "b", "c"].map(|name| all_of(&semaphore, name));
        assert_eq!(shares.each_ref().map(Vec::len), [20, 10, 5]);
        // What one gives back, others may have.
        let [a, b, c] = shares;
        drop(a);
        assert_eq!(all_of(&semaphore, "b").len(), 8);
        drop((b, c));
        assert_eq!(semaphore.state().held, 0);
    }

    #[test]
    fn those_who_come_at_the_same_time_get_the_same() {
        let semaphore = FairSemaphore::for_long(40, 20, 100);
        let mut held: [Vec<Permit>; 2] = Default::default();
        for _ in 0..20 {
            for (held, name) in held.iter_mut().zip(["a", "b"]) {
                held.extend(semaphore.acquire(&caller(name)).unwrap().now_or_never());
            }
        }
        assert!(held[0].len().abs_diff(held[1].len()) <= 1, "{}", held[0].len());
        let more = all_of(&semaphore, "c").len();
        assert!(more >= 5, "{more}");
    }

    #[test]
    fn who_is_alone_gets_the_full_share_and_what_is_given_back_soon_is_not_kept_free() {
        assert_eq!(all_of(&FairSemaphore::for_long(40, 40, 1), "a").len(), 40);
        assert_eq!(all_of(&FairSemaphore::for_long(1, 1, 1), "a").len(), 1);
        let soon = FairSemaphore::new(8, usize::MAX, 1);
        let _first = taken(&soon, "a");
        assert_eq!(all_of(&soon, "b").len(), 7);
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
