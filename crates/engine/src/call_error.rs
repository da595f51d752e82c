//! The errors of calls.

use narrows_upstream::{UpstreamError, catalog::Unresolved};
use thiserror::Error;

/// The reason why a call failed before the tool itself answered.
#[derive(Clone, Debug, Error)]
pub enum CallError {
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error("{tool}: {mistakes}")]
    Arguments { tool: String, mistakes: String },
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
}

impl CallError {
    /// Tells whether the message quotes a server: its own words, or those of its definitions.
    pub(crate) fn quotes_server(&self) -> bool {
        match self {
            Self::Arguments { .. } => true,
            Self::Upstream(error) => error.quotes().is_some(),
            Self::Unresolved(_) | Self::Refused(_) => false,
        }
    }
}
