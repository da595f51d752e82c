//! The settings of the lasting state.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use narrows_model::Limits;
use narrows_store::StoreUrl;

use crate::safety::Safety;

/// The settings for where state is kept, and for how long.
#[derive(Clone, Debug)]
pub struct StateSettings {
    pub store: StoreUrl,
    /// The directory of the workspaces, with one directory for each namespace.
    pub workspaces: PathBuf,
    /// The name of this machine or disk: the store's list of files is kept for each place.
    pub place: String,
    /// The limits of workspaces.
    pub limits: Limits,
    /// Files that the gateway itself wrote into workspaces are removed when they are older than this,
    /// or the oldest when all are larger than `output_bytes`.
    pub output_age: Duration,
    pub output_bytes: u64,
    pub sessions: SessionSettings,
    pub safety: Arc<Safety>,
    pub analysis: narrows_analysis::Settings,
}

impl StateSettings {
    /// Returns the directory in which the processes that share the workspaces lock their files; see
    /// `holder`.
    pub(super) fn holders(&self) -> PathBuf {
        self.workspaces.parent().unwrap_or(Path::new(".")).join("holders")
    }
}

/// The limits for sessions in memory and in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    pub max_live: usize,
    pub idle: Duration,
    /// The most memory of all sessions in memory that are not in use.
    pub memory_bytes: u64,
    /// Sessions that were not used for so long are removed from the store.
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
