//! What is asked for.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{answer::Format, error::AnalysisError};

/// One analysis of one or more tables.
#[derive(Debug)]
pub struct Request {
    pub kind: Kind,
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

/// The types of analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Filter,
    Aggregate,
    Transform,
    Validate,
    Describe,
    Histogram,
    Percentiles,
    TimeSeries,
    Correlation,
    Covariance,
    Test,
    Sql,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::Filter,
        Self::Aggregate,
        Self::Transform,
        Self::Validate,
        Self::Describe,
        Self::Histogram,
        Self::Percentiles,
        Self::TimeSeries,
        Self::Correlation,
        Self::Covariance,
        Self::Test,
        Self::Sql,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Aggregate => "aggregate",
            Self::Transform => "transform",
            Self::Validate => "validate",
            Self::Describe => "describe",
            Self::Histogram => "histogram",
            Self::Percentiles => "percentiles",
            Self::TimeSeries => "time_series",
            Self::Correlation => "correlation",
            Self::Covariance => "covariance",
            Self::Test => "test",
            Self::Sql => "sql",
        }
    }
}
