//! Why a program could not begin.

use narrows_model::EventOutcome;
use narrows_sandbox::SandboxError;
use thiserror::Error;

use super::ExecuteError;
use crate::state::StateError;

/// What was missing for a program to begin, or what it was refused for before.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

impl RunError {
    /// Returns what became of a run that could not begin for this.
    pub(crate) fn outcome(&self) -> EventOutcome {
        match self {
            Self::State(error) => error.outcome(),
            Self::Execute(ExecuteError::Sandbox(SandboxError::Busy { .. })) => EventOutcome::Busy,
            Self::Execute(ExecuteError::Sandbox(_)) => EventOutcome::Failed,
            Self::Execute(_) => EventOutcome::Refused,
        }
    }

    /// Whether the caller asked for something that cannot be had.
    pub fn is_wrong_use(&self) -> bool {
        match self {
            Self::State(error) => error.is_wrong_use(),
            Self::Execute(error) => error.is_wrong_use(),
        }
    }
}
