//! The one table of types: what pandas, SQL and models call an analysis, and which of ours it is.

use narrows_model::nearest;
use serde_json::{Map, Value};

use super::{
    forms::{self, Form},
    scope::snake_case,
    shapes::shaped,
};
use crate::{
    error::{AnalysisError, Result, available},
    request::Kind,
};

/// What was asked for, as one of the types that there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Understood {
    pub kind: Kind,
    pub parameters: Map<String, Value>,
    /// How it is written here, if that is more than another name.
    pub note: Option<String>,
}

/// Finds the type that a name stands for, and gives the parameters the form that it takes.
pub fn understand(name: &str, parameters: Map<String, Value>) -> Result<Understood> {
    let plain = snake_case(name);
    if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == plain) {
        return Ok(Understood { kind, parameters: shaped(&plain, kind, parameters), note: None });
    }
    if let Some((_, kind)) = SAME.iter().find(|(names, _)| names.contains(&plain.as_str())) {
        let parameters = shaped(&plain, *kind, parameters);
        return Ok(Understood { kind: *kind, parameters, note: None });
    }
    if let Some((_, form)) = FORMS.iter().find(|(names, _)| names.contains(&plain.as_str())) {
        let (kind, parameters) = form(&plain, parameters)?;
        let written = Value::Object(parameters.clone());
        let note = Some(format!("{plain} is {} with {written}", kind.name()));
        return Ok(Understood { kind, parameters, note });
    }
    if let Some((_, instead)) = INSTEAD.iter().find(|(names, _)| names.contains(&plain.as_str())) {
        let reason = format!("no type {name:?}; write {}", instead(&parameters));
        return Err(AnalysisError::parameter("analysis_type", reason));
    }
    Err(unknown(name))
}

fn unknown(name: &str) -> AnalysisError {
    let told = Kind::ALL.map(Kind::name);
    let others = SAME.iter().flat_map(|(names, _)| *names);
    let others = others.chain(FORMS.iter().flat_map(|(names, _)| *names)).copied();
    let mut near = nearest(name, told.into_iter().chain(others));
    near.0.truncate(1);
    let reason = format!("no type {name:?}{near}{}", available(told));
    AnalysisError::parameter("analysis_type", reason)
}

/// Other names for a type whose parameters are the same, or have other names for the same.
const SAME: &[(&[&str], Kind)] = &[
    (&["where", "search", "find", "select_rows", "filter_rows"], Kind::Filter),
    (
        &["groupby", "group_by", "group", "agg", "aggregation", "aggregations", "summarise_by"],
        Kind::Aggregate,
    ),
    (&["transformation", "reshape", "pipeline"], Kind::Transform),
    (&["validation", "check", "data_quality", "quality", "validate_data"], Kind::Validate),
    (
        &[
            "profile",
            "profiling",
            "summary",
            "summarize",
            "summarise",
            "statistics",
            "stats",
            "descriptive",
            "descriptive_statistics",
            "info",
            "overview",
            "schema",
            "dtypes",
            "eda",
        ],
        Kind::Describe,
    ),
    (&["hist", "distribution", "bins", "binning", "frequency_distribution"], Kind::Histogram),
    (&["percentile", "quantile", "quantiles", "quartiles"], Kind::Percentiles),
    (&["timeseries", "time", "resample", "trend", "trends", "seasonality"], Kind::TimeSeries),
    (&["corr", "correlate", "correlations", "correlation_matrix"], Kind::Correlation),
    (&["cov", "covariance_matrix"], Kind::Covariance),
    (&["hypothesis_test", "hypothesis", "significance", "statistical_test"], Kind::Test),
    (&["sql_query", "select_sql"], Kind::Sql),
];

/// Types that are a part of another one here.
const FORMS: &[(&[&str], Form)] = &[
    (&["pivot", "pivot_table"], forms::pivot),
    (&["crosstab", "cross_tab", "contingency"], forms::crosstab),
    (&["unpivot", "melt"], forms::unpivot),
    (&["join", "merge", "lookup"], forms::join),
    (&["sort", "sort_values", "order", "order_by", "orderby"], forms::sort),
    (&["head", "limit", "preview", "first_rows"], forms::head),
    (&["tail", "last_rows"], forms::tail),
    (&["sample", "random_sample"], forms::sample),
    (&["select", "project", "columns", "select_columns"], forms::select),
    (&["drop", "drop_columns"], forms::drop_columns),
    (&["rename", "rename_columns"], forms::rename),
    (&["fillna", "fill_null", "fill_na", "fill_missing", "impute"], forms::fill),
    (&["dropna", "drop_na", "drop_nulls", "drop_missing"], forms::drop_missing),
    (&["cast", "astype", "convert", "convert_types"], forms::cast),
    (
        &["compute", "computed", "assign", "derive", "mutate", "eval", "calculate", "add_column"],
        forms::compute,
    ),
    (&["flatten", "explode", "unnest"], forms::flatten),
    (&["unique", "distinct", "unique_values"], forms::unique),
    (&["drop_duplicates", "deduplicate", "dedupe", "dedup"], forms::deduplicate),
    (&["count", "size", "row_count", "count_rows"], forms::count),
    (&["value_counts", "frequency", "frequencies", "counts", "count_values"], forms::value_counts),
    (&["top_n", "top", "topn", "top_k", "nlargest", "largest", "rank_top"], forms::top),
    (&["bottom_n", "bottom", "bottom_k", "nsmallest", "smallest"], forms::bottom),
    (
        &[
            "sum",
            "total",
            "mean",
            "avg",
            "average",
            "median",
            "min",
            "max",
            "std",
            "stddev",
            "var",
            "variance",
            "mode",
            "nunique",
            "count_distinct",
            "first",
            "last",
        ],
        forms::figure,
    ),
    (&["rolling", "moving_average", "rolling_mean", "rolling_average"], forms::rolling),
    (&["pct_change", "diff", "change", "percent_change", "returns", "growth"], forms::change),
    (&["cumsum", "cumulative", "running_total", "cummax", "cummin"], forms::cumulative),
    (
        &[
            "t_test",
            "ttest",
            "ttest_ind",
            "welch",
            "paired_t",
            "anova",
            "chi_square",
            "chi2",
            "chi2_contingency",
            "ks",
            "ks_test",
            "mann_whitney",
            "mannwhitneyu",
        ],
        forms::test,
    ),
    (&["query"], forms::query),
];

type Instead = fn(&Map<String, Value>) -> String;

/// What is not there as a type, and the call that does it, with the caller's own names.
const INSTEAD: &[(&[&str], Instead)] = &[
    (
        &["regression", "linear_regression", "ols", "regress", "linregress", "fit"],
        forms::regression,
    ),
    (&["rank", "row_number", "ranking", "window", "dense_rank"], forms::ranking),
    (&["outliers", "outlier", "anomalies", "anomaly", "anomaly_detection"], forms::outliers),
    (&["union", "concat", "append", "union_all"], forms::union),
];

#[cfg(test)]
mod tests;
