//! The one table of types: what pandas, SQL and models call an analysis, and which of ours it is.

use narrows_model::nearest;
use serde_json::{Map, Value};

use super::{
    along,
    forms::{self, FormReader},
    queries, rows,
    shapes::shaped,
    sheets,
};
use crate::{
    error::{AnalysisError, Result, available},
    kind::AnalysisType,
    spelling::snake_case,
};

/// A request in terms of our own types.
#[derive(Debug)]
pub struct Understood {
    pub kind: AnalysisType,
    pub parameters: Map<String, Value>,
    /// A note on how the request is written here, if more than its name differs.
    pub note: Option<String>,
    /// The reason why it cannot be done as it is. What works instead is found where the tables are
    /// known.
    pub refusal: Option<AnalysisError>,
}

impl Understood {
    fn of(kind: AnalysisType, parameters: Map<String, Value>) -> Self {
        Self { kind, parameters, note: None, refusal: None }
    }
}

/// Finds the type that a name stands for, and converts the parameters into the form that it takes.
pub fn understand(name: &str, parameters: Map<String, Value>) -> Result<Understood> {
    let plain = snake_case(name);
    if let Some(kind) = AnalysisType::ALL.into_iter().find(|kind| kind.name() == plain) {
        return Ok(Understood::of(kind, shaped(&plain, kind, parameters)));
    }
    if let Some((_, kind)) = SAME.iter().find(|(names, _)| names.contains(&plain.as_str())) {
        return Ok(Understood::of(*kind, shaped(&plain, *kind, parameters)));
    }
    if let Some((_, form)) = FORMS.iter().find(|(names, _)| names.contains(&plain.as_str())) {
        let (kind, parameters) = match form(&plain, parameters.clone()) {
            Ok(formed) => formed,
            Err(refusal) => {
                let understood = Understood::of(AnalysisType::Transform, parameters);
                return Ok(Understood { refusal: Some(refusal), ..understood });
            }
        };
        let written = Value::Object(parameters.clone());
        let note = Some(format!("{plain} is {} with {written}", kind.name()));
        return Ok(Understood { note, ..Understood::of(kind, parameters) });
    }
    Err(unknown(name))
}

/// Returns all names of types of analysis.
pub fn type_names() -> impl Iterator<Item = &'static str> + Clone {
    let same = SAME.iter().flat_map(|(names, _)| *names);
    let forms = FORMS.iter().flat_map(|(names, _)| *names);
    AnalysisType::ALL.into_iter().map(AnalysisType::name).chain(same.chain(forms).copied())
}

fn unknown(name: &str) -> AnalysisError {
    let told = AnalysisType::ALL.map(AnalysisType::name);
    let mut near = nearest(name, type_names());
    near.0.truncate(1);
    let reason = format!("no type {name:?}{near}{}", available(told));
    AnalysisError::parameter("analysis_type", reason)
}

/// Other names of a type whose parameters are the same, or have other names for the same.
const SAME: &[(&[&str], AnalysisType)] = &[
    (&["where", "search", "find", "select_rows", "filter_rows"], AnalysisType::Filter),
    (
        &["groupby", "group_by", "group", "agg", "aggregation", "aggregations", "summarise_by"],
        AnalysisType::Aggregate,
    ),
    (&["transformation", "reshape", "pipeline"], AnalysisType::Transform),
    (&["validation", "check", "data_quality", "quality", "validate_data"], AnalysisType::Validate),
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
            "shape",
            "isna",
            "isnull",
            "null_counts",
            "missing_values",
            "countblank",
        ],
        AnalysisType::Describe,
    ),
    (
        &["hist", "distribution", "bins", "binning", "frequency_distribution"],
        AnalysisType::Histogram,
    ),
    (
        &["percentile", "quantile", "quantiles", "quartiles", "percentile.inc"],
        AnalysisType::Percentiles,
    ),
    (
        &["timeseries", "time", "resample", "trend", "trends", "seasonality"],
        AnalysisType::TimeSeries,
    ),
    (&["corr", "correlate", "correlations", "correlation_matrix"], AnalysisType::Correlation),
    (&["cov", "covariance_matrix"], AnalysisType::Covariance),
    (&["hypothesis_test", "hypothesis", "significance", "statistical_test"], AnalysisType::Test),
    (&["sql_query", "select_sql"], AnalysisType::Sql),
];

/// Types of other tools that are written here as a part of another type.
const FORMS: &[(&[&str], FormReader)] = &[
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
    (
        &[
            "fillna",
            "fill_null",
            "fill_na",
            "fill_missing",
            "impute",
            "ffill",
            "bfill",
            "pad",
            "backfill",
            "interpolate",
        ],
        forms::fill,
    ),
    (&["dropna", "drop_na", "drop_nulls", "drop_missing"], forms::drop_missing),
    (
        &[
            "cast",
            "astype",
            "convert",
            "convert_types",
            "to_datetime",
            "to_date",
            "to_numeric",
            "to_number",
            "to_string",
        ],
        forms::cast,
    ),
    (
        &["compute", "computed", "assign", "derive", "mutate", "eval", "calculate", "add_column"],
        forms::compute,
    ),
    (&["flatten", "explode", "unnest"], forms::flatten),
    (&["unique", "distinct", "unique_values"], forms::unique),
    (&["drop_duplicates", "deduplicate", "dedupe", "dedup"], forms::deduplicate),
    (&["count", "size", "row_count", "count_rows", "len", "length", "num_rows"], forms::count),
    (&["value_counts", "frequency", "frequencies", "counts", "count_values"], forms::value_counts),
    (
        &["top_n", "top", "topn", "top_k", "nlargest", "largest", "rank_top", "idxmax", "argmax"],
        rows::top,
    ),
    (
        &["bottom_n", "bottom", "bottom_k", "nsmallest", "smallest", "idxmin", "argmin"],
        rows::bottom,
    ),
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
            "stdev",
            "stdev.s",
            "stdev_s",
            "var.s",
            "counta",
        ],
        forms::figure,
    ),
    (
        &["rolling", "moving_average", "rolling_mean", "rolling_average", "expanding"],
        along::rolling,
    ),
    (&["pct_change", "diff", "change", "percent_change", "returns", "growth"], along::change),
    (
        &[
            "cumsum",
            "cumulative",
            "cumulative_sum",
            "running_total",
            "running_sum",
            "cummax",
            "cummin",
            "cumprod",
        ],
        along::cumulative,
    ),
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
    (
        &["regression", "linear_regression", "ols", "regress", "linregress", "fit"],
        queries::regression,
    ),
    (&["rank", "ranking", "row_number", "dense_rank", "window"], along::rank),
    (&["shift", "lag", "lead"], along::shift),
    (&["cumcount"], along::cumcount),
    (&["duplicated", "duplicates", "find_duplicates"], rows::duplicated),
    (&["between", "isin"], rows::compared),
    (&["slice", "iloc"], rows::slice),
    (&["ewm", "transpose", "set_index", "reset_index"], rows::not_here),
    (&["cut", "qcut"], queries::binned),
    (&["large", "small"], queries::nth),
    (&["round", "clip", "replace", "map", "upper", "lower", "trim", "abs"], queries::changed),
    (
        &[
            "sumproduct",
            "weighted_average",
            "weighted_mean",
            "stdevp",
            "stdev.p",
            "std_pop",
            "varp",
            "var.p",
            "var_pop",
            "sem",
            "range",
            "value_range",
            "skew",
            "skewness",
            "kurtosis",
            "kurt",
        ],
        queries::statistic,
    ),
    (
        &["zscore", "z_score", "standardize", "normalize", "minmax", "min_max_scale"],
        queries::scaled,
    ),
    (
        &["percent_of_total", "share", "shares", "share_of_total", "proportion"],
        queries::part_of_whole,
    ),
    (
        &[
            "sumif",
            "sumifs",
            "sum_if",
            "countif",
            "countifs",
            "count_if",
            "averageif",
            "averageifs",
            "average_if",
            "minifs",
            "maxifs",
        ],
        sheets::figure_if,
    ),
    (&["vlookup", "xlookup", "hlookup", "index_match"], sheets::lookup),
    (&["outliers", "outlier", "anomalies", "anomaly", "anomaly_detection"], queries::outliers),
    (&["union", "concat", "append", "union_all"], queries::union),
];

#[cfg(test)]
mod tests;
