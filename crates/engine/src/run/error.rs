//! Why a program could not begin.

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
    /// Whether the caller asked for something that cannot be had.
    pub fn is_wrong_use(&self) -> bool {
        match self {
            Self::State(error) => error.is_wrong_use(),
            Self::Execute(error) => error.is_wrong_use(),
        }
    }
}
