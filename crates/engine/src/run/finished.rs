//! Results that a caller may be given. Only the protection stage constructs them, so that nothing else
//! can reach a caller.

use narrows_model::Outcome;
use serde_json::Value;
use thiserror::Error;

use super::{Audience, RunError};
use crate::{media::Shown, program::AnalyzeError, safety::PiiFilter, state::StateError};

/// The outcome of a program, as its caller may read it.
#[derive(Debug)]
pub struct Finished {
    outcome: Outcome,
    shown: Vec<Shown>,
    /// `None` if the caller may read values.
    pii_filter: Option<PiiFilter>,
}

impl Finished {
    /// Wraps a protected outcome. Only for the protection stage.
    pub(super) fn new(outcome: Outcome, shown: Vec<Shown>, pii_filter: Option<PiiFilter>) -> Self {
        Self { outcome, shown, pii_filter }
    }

    /// Returns the output of both streams as one text, and protects it again: a value may be printed
    /// half to one stream and half to the other.
    pub fn joined_output(&self) -> String {
        let mut text = format!("{}{}", self.outcome.stdout, self.outcome.stderr);
        if let Some(pii_filter) = &self.pii_filter {
            pii_filter.replace(&mut text);
        }
        text
    }

    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the outcome and the images and files that the program displayed.
    pub fn into_parts(self) -> (Outcome, Vec<Shown>) {
        (self.outcome, self.shown)
    }
}

/// The answer of an analysis, as its caller may read it.
#[derive(Debug)]
pub struct Analyzed {
    text: String,
    structured: Value,
    notes: Vec<String>,
}

impl Analyzed {
    /// Wraps a protected answer. Only for the protection stage.
    pub(super) fn new(text: String, structured: Value, notes: Vec<String>) -> Self {
        Self { text, structured, notes }
    }

    /// Returns the answer as text for people and models, the same answer as data, and further notes for
    /// the author of the request.
    pub fn into_parts(self) -> (String, Value, Vec<String>) {
        (self.text, self.structured, self.notes)
    }
}

/// The reason why nothing was done, as the caller may read it.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct Refusal {
    message: String,
    reason: RefusalReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalReason {
    /// The caller asked for something that cannot be had.
    WrongUse,
    Limit,
    Other,
}

impl From<&StateError> for RefusalReason {
    fn from(error: &StateError) -> Self {
        if error.is_wrong_use() { Self::WrongUse } else { Self::Other }
    }
}

impl From<&RunError> for RefusalReason {
    fn from(error: &RunError) -> Self {
        if error.is_wrong_use() { Self::WrongUse } else { Self::Other }
    }
}

impl From<&AnalyzeError> for RefusalReason {
    fn from(error: &AnalyzeError) -> Self {
        match error {
            AnalyzeError::Analysis(error) if error.is_limit() => Self::Limit,
            AnalyzeError::Analysis(error) if error.is_wrong_use() => Self::WrongUse,
            _ => Self::Other,
        }
    }
}

impl Refusal {
    /// Makes a refusal of an error, and protects its message if the audience must not read values.
    pub(super) fn new<'e, E>(error: &'e E, audience: Audience, pii_filter: &PiiFilter) -> Self
    where
        E: ToString,
        RefusalReason: From<&'e E>,
    {
        Self::of_message(error.to_string(), RefusalReason::from(error), audience, pii_filter)
    }

    pub(super) fn of_message(
        mut message: String,
        reason: RefusalReason,
        audience: Audience,
        pii_filter: &PiiFilter,
    ) -> Self {
        if audience.is_protected() {
            pii_filter.printed(&mut message);
        }
        Self { message, reason }
    }

    pub fn is_wrong_use(&self) -> bool {
        self.reason == RefusalReason::WrongUse
    }

    pub fn is_limit(&self) -> bool {
        self.reason == RefusalReason::Limit
    }
}
