//! Calls that change something are not broken off in the middle when their client leaves.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, task::AbortHandle};
use tokio_util::sync::CancellationToken;

use super::CallError;
use crate::upstream::Caller;

/// How long a write goes on without its client. It may end sooner by the timeout of its server.
pub const MAX_WRITE_TIME: Duration = Duration::from_secs(30);

/// The writes that are under way.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    count: Arc<watch::Sender<usize>>,
    /// How long each goes on without its client.
    pub(super) max_time: Duration,
}

impl Default for Writes {
    fn default() -> Self {
        Self { count: Arc::new(watch::Sender::new(0)), max_time: MAX_WRITE_TIME }
    }
}

impl Writes {
    /// Makes a write in a task of its own, which ends with whoever waits for it unless that is because
    /// the client has left: half a write is worse than a whole one that nobody reads the answer of.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        caller: &Arc<dyn Caller>,
        write: impl Future<Output = Result<T, CallError>> + Send + 'static,
    ) -> Result<T, CallError> {
        let left = CancellationToken::new();
        let (counted, has_left, max_time) = (Counted::new(self), left.clone(), self.max_time);
        let task = tokio::spawn(async move {
            let _counted = counted;
            let time_is_up = async {
                has_left.cancelled().await;
                tokio::time::sleep(max_time).await;
            };
            tokio::select! {
                result = write => result,
                () = time_is_up => {
                    let seconds = max_time.as_secs();
                    tracing::warn!("a write of a client that left did not end within {seconds} s");
                    Err(CallError::Refused("the client has left".to_owned()))
                }
            }
        });
        let _waiting = Waiting { caller: Arc::clone(caller), left, task: task.abort_handle() };
        task.await.unwrap_or_else(|error| {
            Err(CallError::Refused(format!("the call failed: {error}; see the log of the gateway")))
        })
    }

    /// Waits until none is under way.
    pub(super) async fn ended(&self) {
        // The sender is here, so that it cannot fail.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    pub(super) fn count(&self) -> usize {
        *self.count.borrow()
    }
}

/// One write that is under way.
struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn new(writes: &Writes) -> Self {
        writes.count.send_modify(|count| *count += 1);
        Self(Arc::clone(&writes.count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Whoever waits for a write.
struct Waiting {
    caller: Arc<dyn Caller>,
    left: CancellationToken,
    task: AbortHandle,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.caller.is_gone() {
            self.left.cancel();
        } else {
            self.task.abort();
        }
    }
}
