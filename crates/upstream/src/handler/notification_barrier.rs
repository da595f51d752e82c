//! Whether all that a server said before an answer has been heard.
//!
//! rmcp hands each notification to a task of its own. An answer can overtake those, and what the
//! server said last would find the call gone.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

/// How long an answer waits for what was said before it.
const PATIENCE: u32 = 100;
const STEP: Duration = Duration::from_millis(1);

/// Log messages and progress of one connection, and whether its tools changed.
#[derive(Debug, Default)]
pub(crate) struct NotificationBarrier {
    said: AtomicU64,
    heard: AtomicU64,
    /// The server said that its tools changed, and they were not read since.
    tools_changed: AtomicBool,
}

impl NotificationBarrier {
    /// The transport read one.
    pub(crate) fn say(&self) {
        self.said.fetch_add(1, Ordering::AcqRel);
    }

    /// It reached its caller.
    pub(crate) fn hear(&self) {
        self.heard.fetch_add(1, Ordering::AcqRel);
    }

    /// The server said that its tools changed.
    pub(crate) fn change_tools(&self) {
        self.tools_changed.store(true, Ordering::Release);
    }

    /// Its tools are read now.
    pub(crate) fn read_tools(&self) {
        self.tools_changed.store(false, Ordering::Release);
    }

    pub(crate) fn have_tools_changed(&self) -> bool {
        self.tools_changed.load(Ordering::Acquire)
    }

    pub(crate) async fn all_heard(&self) {
        // Over HTTP they are not counted; those that are waiting to run get their turn.
        tokio::task::yield_now().await;
        let said = self.said.load(Ordering::Acquire);
        for _ in 0..PATIENCE {
            if self.heard.load(Ordering::Acquire) >= said {
                return;
            }
            tokio::time::sleep(STEP).await;
        }
        // Something else took it; the next answer shall not wait for it again.
        self.heard.fetch_max(said, Ordering::AcqRel);
    }
}
