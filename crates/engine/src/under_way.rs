//! Counts work in progress, so that its end can be awaited.

use std::sync::Arc;

use tokio::sync::watch;

/// A counter of work in progress.
#[derive(Clone, Debug, Default)]
pub struct UnderWay(Arc<watch::Sender<usize>>);

impl UnderWay {
    /// Counts work until the returned guard is dropped. Work that may be cancelled must drop the guard
    /// last, so that everything else is released when the count is zero.
    pub fn begin(&self) -> WorkGuard {
        self.0.send_modify(|count| *count += 1);
        WorkGuard(Arc::clone(&self.0))
    }

    /// Waits until no work is in progress.
    pub async fn ended(&self) {
        // This cannot fail, because `self` holds the sender.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }

    pub fn count(&self) -> usize {
        *self.0.borrow()
    }
}

/// A guard for counted work.
#[derive(Debug)]
pub struct WorkGuard(Arc<watch::Sender<usize>>);

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
