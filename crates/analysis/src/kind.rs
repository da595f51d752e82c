//! The types of analysis, by their names.

use serde::{Deserialize, Serialize};

/// A type of analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnalysisType {
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

impl AnalysisType {
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
