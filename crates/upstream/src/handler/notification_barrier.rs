//! Holds an answer back until the notifications that the server sent before it were handled.
//!
//! rmcp hands each notification to a task of its own. An answer can overtake those tasks, and the last
//! notifications would find that the call has ended.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

/// How many steps an answer waits for the notifications before it.
const PATIENCE: u32 = 100;
const STEP: Duration = Duration::from_millis(1);

/// Counters of the log messages and progress of one connection, and whether its tools changed.
#[derive(Debug, Default)]
pub(crate) struct NotificationBarrier {
    said: AtomicU64,
    heard: AtomicU64,
    /// Set when the server announces a change of its tools, until they are read again.
    tools_changed: AtomicBool,
}

impl NotificationBarrier {
    /// Counts a notification that the transport read.
    pub(crate) fn say(&self) {
        self.said.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts a notification that was handled.
    pub(crate) fn hear(&self) {
        self.heard.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that the server announced a change of its tools.
    pub(crate) fn change_tools(&self) {
        self.tools_changed.store(true, Ordering::Release);
    }

    /// Notes that the tools are being read.
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
        // A notification got lost; the next answer must not wait for it again.
        self.heard.fetch_max(said, Ordering::AcqRel);
    }
}
