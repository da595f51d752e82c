//! The interface to the reader of Python code: this crate treats skills as files, and a
//! [`CodeReader`] finds out what their code defines and uses.

use std::fmt;

use thiserror::Error;

use crate::prose_skill::Texts;

/// A reader of the code of skills, which never runs it.
pub trait CodeReader: fmt::Debug + Send + Sync {
    /// Reads what the code of the skill `name` defines and needs, or why it cannot be that skill. Its
    /// tools must contain everything that may be one: people decide by them whether to install it.
    fn read(&self, name: &str, code: &str) -> Result<SkillCode, CodeError>;

    /// Returns the texts of a module that [`Texts::to_code`] made, or none for any other.
    fn texts(&self, code: &str) -> Option<Texts>;
}

/// The properties of a skill that its code shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillCode {
    /// `async filter_high_risk(leads: list[dict], limit: int = 10) -> list[dict]`
    pub signature: String,
    /// The description for a skill without another one.
    pub description: String,
    /// The tools that it may call, each once: `github.create_issue`; also `github.*` and `*` for tools
    /// whose names are only known when the code runs.
    pub tools: Vec<String>,
    /// The skills that it imports, by name.
    pub skills: Vec<String>,
    /// Its functions `test_…`, in the order of the code.
    pub tests: Vec<String>,
}

/// The reason for which code cannot be a skill, in the words of the [`CodeReader`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct CodeError(String);

impl CodeError {
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}
