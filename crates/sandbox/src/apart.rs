//! Work that takes processor time, beside the async threads.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does work on the thread of its caller, while another takes over the caller's other tasks: whatever
/// else an async thread has to do must not wait for it.
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // There is one thread only, as in tests.
        _ => work(),
    }
}
