//! Where things are kept, and for how long.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use narrows_model::Limits;
use narrows_store::StoreUrl;

use crate::safety::Safety;

/// Where things are kept, and for how long.
#[derive(Clone, Debug)]
pub struct StateSettings {
    pub store: StoreUrl,
    /// The workspaces are below it, one directory for each namespace.
    pub workspaces: PathBuf,
    /// Which machine or disk this is: files of one place are not those of another.
    pub place: String,
    /// Of workspaces.
    pub limits: Limits,
    /// What the gateway itself wrote into workspaces is removed when it is older than this, or
    /// when all of it is larger than `output_bytes`.
    pub output_age: Duration,
    pub output_bytes: u64,
    pub sessions: SessionSettings,
    pub safety: Arc<Safety>,
    pub analysis: narrows_analysis::Settings,
}

impl StateSettings {
    /// Where the processes that share the workspaces say that they live.
    pub(super) fn holders(&self) -> PathBuf {
        self.workspaces.parent().unwrap_or(Path::new(".")).join("holders")
    }
}

/// How long and how many sessions are kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    pub max_live: usize,
    pub idle: Duration,
    /// Of all sessions in memory that nobody uses.
    pub memory_bytes: u64,
    /// Sessions that nobody used for so long are removed from the store.
    pub age: Duration,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            max_live: 16,
            idle: Duration::from_secs(10 * 60),
            memory_bytes: 384 << 20,
            age: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}
