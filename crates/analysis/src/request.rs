//! What is asked for.

use serde_json::{Map, Value};

use crate::{answer::Format, error::AnalysisError, kind::AnalysisType};

/// One analysis of one or more tables.
#[derive(Debug)]
pub struct Request {
    pub kind: AnalysisType,
    /// What `kind` takes; each module of `ops` reads its own.
    pub parameters: Map<String, Value>,
    pub output: Output,
    /// Why nothing can be done, if that is known already: it is said once there are tables, with a
    /// call that works for them.
    pub refusal: Option<AnalysisError>,
}

/// What an answer may have in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The most rows that come back.
    pub rows: usize,
    /// The most bytes that come back.
    pub bytes: usize,
    /// The form of tables in text; the fewest tokens if nothing is said.
    pub format: Option<Format>,
    /// Whether it says what the rows would have cost a model.
    pub cost: bool,
}

impl Default for Output {
    fn default() -> Self {
        Self { rows: 100, bytes: 32 << 10, format: None, cost: false }
    }
}
