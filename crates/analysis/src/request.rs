//! Requests: one analysis, and what its answer may contain.

use serde_json::{Map, Value};

use crate::{answer::Format, error::AnalysisError, kind::AnalysisType};

/// A request for one analysis of one or more tables.
#[derive(Debug)]
pub struct Request {
    pub kind: AnalysisType,
    /// The parameters of `kind`; each module of `ops` reads its own.
    pub parameters: Map<String, Value>,
    pub output: Output,
    /// The reason why the analysis cannot be done, if it is known already. It is returned once the
    /// tables are loaded, together with a call that works for them.
    pub refusal: Option<AnalysisError>,
}

/// The limits and the form of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The most rows that come back.
    pub rows: usize,
    /// The most bytes that come back.
    pub bytes: usize,
    /// The form of tables in text; none chooses the one with the fewest tokens.
    pub format: Option<Format>,
    /// Whether the answer says how many tokens the rows would have cost a model.
    pub cost: bool,
}

impl Default for Output {
    fn default() -> Self {
        Self { rows: 100, bytes: 32 << 10, format: None, cost: false }
    }
}
