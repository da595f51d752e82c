//! Work that is under way, counted, so that its end can be waited for.

use std::sync::Arc;

use tokio::sync::watch;

/// How much of some kind of work is under way.
#[derive(Clone, Debug, Default)]
pub struct UnderWay(Arc<watch::Sender<usize>>);

impl UnderWay {
    /// Counts work until what this returns is dropped. Work that may be given up holds it longer than
    /// all else that it has, so that this is over as well when nothing is under way.
    pub fn begin(&self) -> WorkGuard {
        self.0.send_modify(|count| *count += 1);
        WorkGuard(Arc::clone(&self.0))
    }

    /// Waits until none is under way.
    pub async fn ended(&self) {
        // The sender is here, so that it cannot fail.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }

    pub fn count(&self) -> usize {
        *self.0.borrow()
    }
}

/// Work that is counted.
#[derive(Debug)]
pub struct WorkGuard(Arc<watch::Sender<usize>>);

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
