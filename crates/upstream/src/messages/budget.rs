//! One budget of memory for the messages of all servers, from their first bytes until their answers
//! are used.
//!
//! Small messages are free. A larger one reserves what it takes before it is read on, and once more
//! before it is parsed; while there is nothing left it waits on the wire. Those that wait are served
//! in order. Several half-read messages could wait for each other for ever, so one of them at a time
//! is read to its end though the budget is used up.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::{sync::oneshot, time::Instant};

use crate::messages::limits::Excess;

/// The memory for messages of all servers, unless the configuration has another size.
pub const ANSWER_BYTES: u64 = 256 << 20;
/// A message of so little memory is free: there are never more of them than calls in flight.
pub(crate) const FREE_BYTES: usize = 256 << 10;
/// About how much memory a JSON value or key takes while it is parsed.
const VALUE_BYTES: usize = 128;
/// How long a message waits for memory.
const WAITING_TIME: Duration = Duration::from_secs(30);
/// How long a message may take that others may wait for. A server that stops in the middle of one
/// must not keep its memory.
const READING_TIME: Duration = Duration::from_secs(120);

/// Memory that all messages share.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max_bytes: u64,
    waiting_time: Duration,
    state: Mutex<BudgetState>,
}

#[derive(Debug, Default)]
struct BudgetState {
    used: u64,
    last_id: u64,
    /// The reservation that may go beyond the budget.
    beyond: Option<u64>,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    more: u64,
    granted: oneshot::Sender<()>,
}

/// Memory that a message has, until dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Budget,
    id: u64,
    bytes: u64,
}

/// The memory that an answer holds in the budget. Keep it until the answer was used.
#[derive(Debug, Default)]
pub struct Held {
    pub(crate) _reservation: Option<Reservation>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(ANSWER_BYTES)
    }
}

/// Estimates how much memory a message takes while it is parsed, with its text.
pub(crate) fn memory(bytes: usize, values: usize) -> usize {
    2 * bytes + values * VALUE_BYTES
}

impl Budget {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self::with_waiting_time(max_bytes, WAITING_TIME)
    }

    fn with_waiting_time(max_bytes: u64, waiting_time: Duration) -> Self {
        Self(Arc::new(Shared { max_bytes, waiting_time, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nothing(&self) -> Reservation {
        let mut state = self.state();
        state.last_id += 1;
        Reservation { budget: self.clone(), id: state.last_id, bytes: 0 }
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.state().used
    }
}

impl BudgetState {
    /// Takes memory if there is enough, or if nobody else goes beyond what there is.
    fn take(&mut self, max_bytes: u64, id: u64, more: u64) -> bool {
        if self.used + more > max_bytes && *self.beyond.get_or_insert(id) != id {
            return false;
        }
        self.used += more;
        true
    }

    /// Serves those who wait, in order.
    fn grant(&mut self, max_bytes: u64) {
        while let Some(next) = self.waiting.front() {
            let (id, more) = (next.id, next.more);
            if !self.take(max_bytes, id, more) {
                return;
            }
            // A waiter that gives up removes itself, so there is a receiver.
            if let Some(waiter) = self.waiting.pop_front() {
                let _ = waiter.granted.send(());
            }
        }
    }
}

impl Reservation {
    /// Grows the reservation to so many bytes, as soon as there is memory.
    async fn grow(mut self, bytes: u64) -> Result<Self, Excess> {
        let more = bytes.saturating_sub(self.bytes);
        let waiting = {
            let mut state = self.budget.state();
            // A message that goes beyond the budget does not wait behind others, which wait for it.
            let is_first = state.waiting.is_empty() || state.beyond == Some(self.id);
            if more == 0 || is_first && state.take(self.budget.0.max_bytes, self.id, more) {
                None
            } else {
                let (granted, is_granted) = oneshot::channel();
                state.waiting.push_back(Waiter { id: self.id, more, granted });
                Some(PendingReservation {
                    budget: self.budget.clone(),
                    id: self.id,
                    more,
                    is_granted,
                })
            }
        };
        if let Some(mut waiting) = waiting {
            let granted = tokio::time::timeout(self.budget.0.waiting_time, &mut waiting.is_granted);
            if granted.await.is_err() {
                return Err(Excess::Busy);
            }
            waiting.more = 0;
        }
        self.bytes += more;
        Ok(self)
    }

    /// Gives back so many bytes of the reservation.
    pub(crate) fn shrink_by(&mut self, bytes: u64) {
        let less = bytes.min(self.bytes);
        self.bytes -= less;
        let mut state = self.budget.state();
        state.used -= less;
        state.grant(self.budget.0.max_bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.used -= self.bytes;
        state.beyond.take_if(|id| *id == self.id);
        state.grant(self.budget.0.max_bytes);
    }
}

/// A reservation that waits. If it is granted after nobody waits any more, the memory is given back.
struct PendingReservation {
    budget: Budget,
    id: u64,
    more: u64,
    is_granted: oneshot::Receiver<()>,
}

impl Drop for PendingReservation {
    fn drop(&mut self) {
        if self.more == 0 {
            return;
        }
        let mut state = self.budget.state();
        let place = state.waiting.iter().position(|waiter| waiter.id == self.id);
        match place {
            Some(place) => {
                state.waiting.remove(place);
            }
            None => state.used -= self.more,
        }
        state.grant(self.budget.0.max_bytes);
    }
}

/// The memory of the message that a transport reads.
pub(crate) struct MessageMemory {
    budget: Budget,
    held: Option<Reservation>,
    /// Kept between calls of `reserve`, which may be dropped and called again: it goes on where it was
    /// left.
    growing: Option<BoxFuture<'static, Result<Reservation, Excess>>>,
    deadline: Option<Instant>,
}

impl MessageMemory {
    pub(crate) fn new(budget: &Budget) -> Self {
        Self { budget: budget.clone(), held: None, growing: None, deadline: None }
    }

    /// Waits until there are so many bytes for the message. Safe to drop and to call again.
    pub(crate) async fn reserve(&mut self, bytes: usize) -> Result<(), Excess> {
        let has = self.held.as_ref().map_or(0, |held| held.bytes);
        if self.growing.is_none() && (bytes <= FREE_BYTES || bytes as u64 <= has) {
            return Ok(());
        }
        let since = Instant::now();
        let deadline = *self.deadline.get_or_insert(since + READING_TIME);
        let (held, budget) = (&mut self.held, &self.budget);
        let growing = self.growing.get_or_insert_with(|| {
            let reservation = held.take().unwrap_or_else(|| budget.nothing());
            reservation.grow(bytes as u64).boxed()
        });
        let grown = growing.await;
        self.growing = None;
        // The time that we let it wait is not the server's.
        self.deadline = Some(deadline + since.elapsed());
        self.held = Some(grown?);
        Ok(())
    }

    /// Returns when the message has to be complete.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Ends with the message, and returns the reservation that it holds.
    pub(crate) fn take(&mut self) -> Option<Reservation> {
        self.growing = None;
        self.deadline = None;
        self.held.take()
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    const MEGABYTE: usize = 1 << 20;

    fn budget(megabytes: u64) -> Budget {
        Budget::new(megabytes << 20)
    }

    async fn room(budget: &Budget, megabytes: usize) -> MessageMemory {
        let mut room = MessageMemory::new(budget);
        room.reserve(megabytes * MEGABYTE).await.unwrap();
        room
    }

    #[tokio::test]
    async fn messages_wait_for_memory_that_others_have() {
        let budget = budget(10);
        let mut first = room(&budget, 8).await;
        // One goes beyond the budget, so that nothing stands still; the next does not.
        let beyond = room(&budget, 4).await;
        let mut waiting = MessageMemory::new(&budget);
        let mut reserving = Box::pin(waiting.reserve(2 * MEGABYTE));
        assert!(poll!(&mut reserving).is_pending());
        // Control: what is small does not wait, nor does what is there already.
        MessageMemory::new(&budget).reserve(FREE_BYTES).await.unwrap();
        first.reserve(8 * MEGABYTE).await.unwrap();
        drop(beyond);
        reserving.await.unwrap();
        assert_eq!(budget.used(), 10 << 20);
        drop((first, waiting));
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn half_read_messages_do_not_wait_for_each_other_for_ever() {
        let budget = budget(4);
        let mut rooms = Vec::new();
        for _ in 0..4 {
            rooms.push(room(&budget, 1).await);
        }
        // Each wants all: they come to their ends one after the other.
        let whole = rooms.into_iter().map(|mut room| async move {
            for megabytes in 2..=4 {
                room.reserve(megabytes * MEGABYTE).await?;
                tokio::task::yield_now().await;
            }
            Ok::<_, Excess>(())
        });
        let ended = tokio::time::timeout(WAITING_TIME / 2, futures::future::try_join_all(whole));
        ended.await.expect("they wait for each other").unwrap();
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn who_waits_too_long_is_told_so() {
        let budget = Budget::with_waiting_time(1 << 20, Duration::from_millis(1));
        let _held = [room(&budget, 1).await, room(&budget, 1).await];
        assert_eq!(MessageMemory::new(&budget).reserve(MEGABYTE).await, Err(Excess::Busy));
        assert_eq!(budget.used(), 2 << 20);
    }

    #[tokio::test]
    async fn who_gives_up_waiting_leaves_nothing_behind() {
        let budget = budget(1);
        let held = [room(&budget, 1).await, room(&budget, 1).await];
        let (mut leaves, mut granted) = (MessageMemory::new(&budget), MessageMemory::new(&budget));
        for waiting in [&mut leaves, &mut granted] {
            assert!(poll!(std::pin::pin!(waiting.reserve(MEGABYTE))).is_pending());
        }
        drop(leaves);
        drop(held);
        // It was granted, and is not asked for any more.
        assert_eq!(budget.used(), 1 << 20);
        drop(granted);
        assert_eq!(budget.used(), 0);
        assert!(budget.state().waiting.is_empty() && budget.state().beyond.is_none());
    }
}
