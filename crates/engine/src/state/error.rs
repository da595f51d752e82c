//! Errors of the lasting state.

use narrows_model::EventOutcome;
use narrows_policy::LevelError;
use narrows_store::StoreError;
use thiserror::Error;

use crate::{safety::VaultError, skills::LibraryError};

/// The reason why an operation on the lasting state failed.
#[derive(Debug, Error)]
pub enum StateError {
    #[error("{principal:?} may not {verb} the namespace {namespace:?}; it may do so in {allowed}")]
    Denied { principal: String, verb: &'static str, namespace: String, allowed: String },
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    #[error("{0:?} is no name of a session; use 1 to 64 letters, digits, - and _")]
    SessionName(String),
    #[error(
        "the session {0:?} is in use by another gateway for {1} s already; try again later, or use another session_id"
    )]
    SessionBusy(String, u64),
    #[error("{0:?} is no pattern of file names: {1}")]
    Pattern(String, String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0} (tried just now; the next try is in a moment)")]
    StoreDown(String),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error("{0}")]
    Level(String),
    #[error("{0}")]
    Exceeded(String),
    #[error(
        "nothing was run: the audit cannot be written ({0}), and this isolation level does nothing \
         that is not in it"
    )]
    AuditDown(String),
    #[error(
        "in strict mode programs do not see what tokens stand for; pass the token to the tool that needs it"
    )]
    StrictRestore,
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl StateError {
    /// Returns the outcome that the audit records for a run that could not begin because of this error.
    pub(crate) fn outcome(&self) -> EventOutcome {
        match self {
            Self::SessionBusy(..) => EventOutcome::Busy,
            Self::Store(_) | Self::StoreDown(_) | Self::Vault(_) => EventOutcome::Failed,
            _ => EventOutcome::Refused,
        }
    }

    pub(crate) fn level(error: LevelError) -> Self {
        Self::Level(error.to_string())
    }

    /// Tells whether the caller asked for something that does not exist or is not possible.
    pub fn is_wrong_use(&self) -> bool {
        matches!(self, Self::SessionName(_) | Self::Pattern(..) | Self::Level(_))
    }
}
