//! What is asked for.

use narrows_model::nearest;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    answer::Format,
    error::{AnalysisError, Result, available},
};

/// One analysis of one or more tables.
#[derive(Clone, Debug)]
pub struct Request {
    pub kind: Kind,
    /// What `kind` takes; each module of `ops` reads its own.
    pub parameters: Map<String, Value>,
    pub output: Output,
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
    Percentiles,
    TimeSeries,
    Correlation,
    Covariance,
    Test,
    Sql,
}

impl Kind {
    pub const ALL: [Self; 11] = [
        Self::Filter,
        Self::Aggregate,
        Self::Transform,
        Self::Validate,
        Self::Describe,
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
            Self::Percentiles => "percentiles",
            Self::TimeSeries => "time_series",
            Self::Correlation => "correlation",
            Self::Covariance => "covariance",
            Self::Test => "test",
            Self::Sql => "sql",
        }
    }

    pub fn read(name: &str) -> Result<Self> {
        let plain = name.trim().to_lowercase().replace(['-', ' '], "_");
        Self::ALL.into_iter().find(|kind| kind.name() == plain).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let reason = format!("no type {name:?}{}{}", nearest(name, names), available(names));
            AnalysisError::parameter("analysis_type", reason)
        })
    }
}

/// Reads the parameters of an analysis. The structs have `deny_unknown_fields`; `known` are the
/// names of their fields, for suggestions.
pub(crate) fn parameters<T: DeserializeOwned>(
    given: &Map<String, Value>,
    known: &[&str],
) -> Result<T> {
    if let Some(unknown) = given.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(AnalysisError::no_parameter(unknown, unknown, known));
    }
    serde_path_to_error::deserialize(Value::Object(given.clone())).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { "parameters".to_owned() } else { path };
        AnalysisError::parameter(path, error.inner())
    })
}
