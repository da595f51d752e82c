//! The errors of programs that could not begin.

use narrows_model::EventOutcome;
use narrows_sandbox::SandboxError;
use thiserror::Error;

use super::ExecuteError;
use crate::state::StateError;

/// The reason why a program could not begin: something was missing, or it was refused.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

impl RunError {
    /// Returns the outcome that the audit records for a run that could not begin because of this error.
    pub(crate) fn outcome(&self) -> EventOutcome {
        match self {
            Self::State(error) => error.outcome(),
            Self::Execute(ExecuteError::Sandbox(SandboxError::Busy { .. })) => EventOutcome::Busy,
            Self::Execute(ExecuteError::Sandbox(_)) => EventOutcome::Failed,
            Self::Execute(_) => EventOutcome::Refused,
        }
    }

    /// Tells whether the caller asked for something that does not exist or is not possible.
    pub fn is_wrong_use(&self) -> bool {
        match self {
            Self::State(error) => error.is_wrong_use(),
            Self::Execute(error) => error.is_wrong_use(),
        }
    }
}
