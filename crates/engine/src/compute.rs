//! Runs work that takes processor time without blocking the async threads.
//!
//! A request that keeps an async thread busy delays all others on that thread. So work that may take
//! more than a millisecond runs beside these threads, with a limit for each caller and for all; further
//! work waits, and stops waiting when its request ends. The size of inputs is limited where they come
//! in, so that no work takes too long.

use std::sync::Arc;

use narrows_model::{Caller, FairSemaphore};
use narrows_system::apart;

pub use narrows_system::{ALWAYS_APART, INLINE_BYTES, json_bytes, without_place};

/// The places for work that takes processor time, shared fairly between callers.
#[derive(Clone, Debug)]
pub struct Compute {
    places: Arc<FairSemaphore>,
}

impl Default for Compute {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self::new(cores.max(2))
    }
}

impl Compute {
    /// Creates `places` places, of which one caller gets at most half, so that some are left for
    /// others.
    fn new(places: usize) -> Self {
        // The queue needs no limit, because programs, requests and connections are limited.
        Self { places: FairSemaphore::new(places, (places / 2).max(1), usize::MAX) }
    }

    /// Does work on an input of `bytes` bytes for a caller; small work at once, larger work when a
    /// place is free.
    pub async fn run<T>(&self, caller: &Caller, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= INLINE_BYTES {
            return work();
        }
        let _place = match self.places.acquire(caller) {
            Ok(waiting) => Some(waiting.await),
            Err(_) => None,
        };
        apart(work)
    }

    /// Takes all places that a caller has.
    #[cfg(test)]
    pub(crate) fn take_all(&self, caller: &Caller) -> Vec<narrows_model::Permit> {
        use futures::FutureExt as _;

        let place = || self.places.acquire(caller).ok()?.now_or_never();
        std::iter::from_fn(place).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{sync::mpsc, time::Duration};

    pub(crate) use narrows_testkit::leaves_thread;

    use super::*;

    const LARGE: usize = INLINE_BYTES + 1;
    const LONG: Duration = Duration::from_secs(300);

    /// Does work that waits for another task of the only async thread, and tells whether that task
    /// could run.
    async fn is_answered(compute: &Compute, bytes: usize, patience: Duration) -> bool {
        let (answer, answered) = mpsc::channel();
        let compute = compute.clone();
        let work = tokio::spawn(async move {
            compute.run(&"ada".into(), bytes, move || answered.recv_timeout(patience).is_ok()).await
        });
        tokio::spawn(async move { answer.send(()) });
        work.await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_on_much_leaves_the_async_thread_to_others() {
        let compute = Compute::new(2);
        assert!(is_answered(&compute, LARGE, LONG).await);
        // The same work holds the thread where it is done at once.
        assert!(!is_answered(&compute, 1, Duration::from_millis(50)).await);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn who_has_much_to_do_leaves_a_place_to_others() {
        let compute = Compute::new(2);
        let (end, ended) = mpsc::channel::<()>();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let ada = compute.clone();
        let first = tokio::spawn(async move {
            ada.run(&"ada".into(), LARGE, move || {
                let _ = begin.send(());
                ended.recv_timeout(LONG).is_ok()
            })
            .await
        });
        begun.await.unwrap();
        let caller = Caller::from("ada");
        let mut second = std::pin::pin!(compute.run(&caller, LARGE, || ()));
        assert!(futures::poll!(&mut second).is_pending(), "ada has her share");
        compute.run(&"eve".into(), LARGE, || ()).await;
        end.send(()).unwrap();
        assert!(first.await.unwrap());
        second.await;
    }

    #[tokio::test]
    async fn where_there_is_one_thread_it_does_the_work() {
        assert_eq!(Compute::default().run(&"ada".into(), LARGE, || 7).await, 7);
    }
}
