//! A check for tests whether work holds up the only async thread.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Tells whether work left the only async thread to others while it was done: another thread takes it
/// over then. It may not come to that if the work is over before.
pub async fn leaves_thread(work: impl Future<Output = ()> + Send + 'static) -> bool {
    let is_over = Arc::new(AtomicBool::new(false));
    let (begin, begun) = tokio::sync::oneshot::channel();
    let over = Arc::clone(&is_over);
    let others = tokio::spawn(async move {
        let mut threads = HashSet::from([std::thread::current().id()]);
        let _ = begin.send(());
        while !over.load(Ordering::Acquire) {
            tokio::task::yield_now().await;
            threads.insert(std::thread::current().id());
        }
        threads.len() > 1
    });
    begun.await.unwrap();
    let done = tokio::spawn(work).await;
    is_over.store(true, Ordering::Release);
    done.unwrap();
    others.await.unwrap()
}
