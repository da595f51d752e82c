//! Keeps calls that change something running when their client leaves.

use std::{sync::Arc, time::Duration};

use narrows_upstream::Caller;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::CallError;
use crate::UnderWay;

/// The longest time that a write goes on without its client. The timeout of its server may end it
/// sooner.
pub const MAX_WRITE_TIME: Duration = Duration::from_secs(30);

/// The writes in flight.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    under_way: UnderWay,
    /// The longest time that each goes on without its client.
    pub(super) max_time: Duration,
}

impl Default for Writes {
    fn default() -> Self {
        Self { under_way: UnderWay::default(), max_time: MAX_WRITE_TIME }
    }
}

impl Writes {
    /// Runs a write in a task of its own. Dropping this future cancels the task, unless the client has
    /// left: half a write is worse than a whole one whose answer nobody reads.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        caller: &Arc<dyn Caller>,
        write: impl Future<Output = Result<T, CallError>> + Send + 'static,
    ) -> Result<T, CallError> {
        let left = CancellationToken::new();
        let (counted, has_left, max_time) = (self.under_way.begin(), left.clone(), self.max_time);
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
        let _waiting = WriteWaiter { caller: Arc::clone(caller), left, task: task.abort_handle() };
        task.await.unwrap_or_else(|error| {
            Err(CallError::Refused(format!("the call failed: {error}; see the log of the gateway")))
        })
    }

    /// Waits until no write is in flight.
    pub(super) async fn ended(&self) {
        self.under_way.ended().await;
    }

    pub(super) fn count(&self) -> usize {
        self.under_way.count()
    }
}

/// The waiting side of a write, which on drop cancels it or lets it go on alone.
struct WriteWaiter {
    caller: Arc<dyn Caller>,
    left: CancellationToken,
    task: AbortHandle,
}

impl Drop for WriteWaiter {
    fn drop(&mut self) {
        if self.caller.is_gone() {
            self.left.cancel();
        } else {
            self.task.abort();
        }
    }
}
