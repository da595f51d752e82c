//! Runs work that takes processor time without blocking the async threads.

use tokio::runtime::{Handle, RuntimeFlavor};

/// The largest input that is worked on at once. That takes less than a millisecond, and a hand-over
/// takes as long.
pub const INLINE_BYTES: usize = 4 << 10;
/// The size for work whose time does not depend on the size of an input.
pub const ALWAYS_APART: usize = usize::MAX;

/// Does work on the current thread, while another thread takes over the async tasks of this one, so
/// that they do not wait for it.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // The runtime has only one thread, as in tests.
        _ => work(),
    }
}

/// Does work on an input of `bytes` bytes where nobody can wait for a place, such as on output of a
/// program or messages of a server. The numbers of programs and servers limit how much of this work
/// there is.
pub fn without_place<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= INLINE_BYTES { work() } else { apart(work) }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    /// Does work that waits for another task of the only async thread, and tells whether that task
    /// could run.
    async fn is_answered(bytes: usize, patience: Duration) -> bool {
        let (answer, answered) = mpsc::channel();
        let work = tokio::spawn(async move {
            without_place(bytes, move || answered.recv_timeout(patience).is_ok())
        });
        tokio::spawn(async move { answer.send(()) });
        work.await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_on_much_leaves_the_async_thread_to_others() {
        assert!(is_answered(INLINE_BYTES + 1, Duration::from_secs(300)).await);
        // The same work holds the thread where it is done at once.
        assert!(!is_answered(INLINE_BYTES, Duration::from_millis(50)).await);
    }

    #[tokio::test]
    async fn where_there_is_one_thread_it_does_the_work() {
        assert_eq!(without_place(ALWAYS_APART, || 7), 7);
    }
}
