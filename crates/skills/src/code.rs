//! What the code of a skill says of itself. Here a skill is a file: whoever reads Python tells it.

use std::fmt;

use thiserror::Error;

use crate::prose_skill::Texts;

/// Looks at the code of skills, without running it.
pub trait CodeReader: fmt::Debug + Send + Sync {
    /// Says what the code of the skill `name` is and needs, or why it cannot be that skill. All that
    /// may be a tool is among its tools: people decide by them whether to install it.
    fn read(&self, name: &str, code: &str) -> Result<SkillCode, CodeError>;

    /// Returns the texts of a module that [`Texts::to_code`] made, or none for any other.
    fn texts(&self, code: &str) -> Option<Texts>;
}

/// What the code of a skill says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillCode {
    /// `async filter_high_risk(leads: list[dict], limit: int = 10) -> list[dict]`
    pub signature: String,
    /// What to say of the skill if nobody said it.
    pub description: String,
    /// The tools that it may call, each once: `github.create_issue`; also `github.*` and `*` for what
    /// shows only when the code runs.
    pub tools: Vec<String>,
    /// The skills that it imports, by name.
    pub skills: Vec<String>,
    /// Its functions `test_…`, in the order of the code.
    pub tests: Vec<String>,
}

/// Why code cannot be a skill, as whoever read it says.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct CodeError(String);

impl CodeError {
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}
