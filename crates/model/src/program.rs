//! A program that a caller wants to run.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Python source and its variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The file name that tracebacks show.
    pub name: String,
    pub source: String,
    /// Each entry is a variable of the program.
    pub context: Map<String, Value>,
}

impl Program {
    /// Creates a program without variables.
    pub fn new(source: impl Into<String>) -> Self {
        Self { name: "main.py".into(), source: source.into(), context: Map::new() }
    }
}

/// The output streams of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

impl fmt::Display for OutputStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        })
    }
}
