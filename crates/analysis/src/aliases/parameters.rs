//! The one table of parameters: by type and by object within them, each with the names that pandas,
//! SQL and models have for it.

use serde_json::Value;

use super::scope::{Parameter, Scope};
use crate::{kind::AnalysisType, spelling::snake_case};

const GROUP_BY: Parameter = (
    "group_by",
    &["by", "groupby", "group", "groups_by", "group_columns", "keys", "dimensions", "partition_by"],
);
const FILTER: Parameter =
    ("filter", &["where", "conditions", "condition", "query", "filters", "criteria"]);
const FIELDS: Parameter = (
    "fields",
    &[
        "field",
        "columns",
        "column",
        "cols",
        "col",
        "values",
        "value",
        "variables",
        "metric",
        "array",
    ],
);
const SORT: Parameter = ("sort", &["sort_by", "order_by", "orderby", "order"]);
const DESCENDING: Parameter = ("descending", &["desc", "reverse"]);
const ASCENDING: Parameter = ("ascending", &["asc"]);
const LIMIT: Parameter = ("limit", &["n", "head", "top", "max_rows", "first"]);
const OFFSET: Parameter = ("offset", &["skip", "start"]);
const LOGIC: Parameter = ("logic", &["combine", "logical_operator", "join_operator"]);

const FILTER_TYPE: Scope = Scope {
    parameters: &[
        (
            "conditions",
            &["filter", "where", "condition", "query", "filters", "criteria", "expression", "expr"],
        ),
        LOGIC,
        ("select", &["fields", "output_fields", "columns", "field", "column", "cols"]),
        SORT,
        DESCENDING,
        ASCENDING,
        LIMIT,
        OFFSET,
    ],
    examples: &[
        r#"{"conditions": [{"field": "<number>", "operator": ">", "value": 10}]}"#,
        r#"{"conditions": [{"field": "<column>", "operator": "is_not_null"}]}"#,
    ],
};

const AGGREGATE: Scope = Scope {
    parameters: &[
        GROUP_BY,
        (
            "aggregations",
            &[
                "aggregation",
                "aggregates",
                "aggregate",
                "agg",
                "aggs",
                "aggfunc",
                "metrics",
                "measures",
                "functions",
                "function",
                "func",
                "operations",
            ],
        ),
        FIELDS,
        FILTER,
        ("having", &[]),
        SORT,
        DESCENDING,
        ASCENDING,
        LIMIT,
        OFFSET,
    ],
    examples: &[
        r#"{"group_by": "<text>", "aggregations": {"<number>": "sum"}}"#,
        r#"{"aggregations": {"<number>": "sum"}}"#,
        r#"{"group_by": "<column>", "aggregations": ["count"]}"#,
    ],
};

/// All of them in `steps` too.
pub(crate) const STEP: Scope = Scope::of(STEP_PARAMETERS);

const STEP_PARAMETERS: &[Parameter] = &[
    ("join", &["merge", "joins"]),
    ("flatten", &["explode", "unnest"]),
    ("drop_empty", &[]),
    ("cast", &["astype", "convert", "types", "dtypes"]),
    ("strict", &[]),
    ("fill_null", &["fillna", "fill_na", "fill", "fill_nulls"]),
    ("drop_null", &["dropna", "drop_na", "drop_nulls", "drop_missing"]),
    (
        "computed",
        &["add", "assign", "compute", "derive", "mutate", "calculate", "calculated", "expressions"],
    ),
    FILTER,
    ("rank", &["ranking", "ranks"]),
    ("pivot", &["pivot_table"]),
    ("unpivot", &["melt"]),
    ("sort", &["sort_by", "order_by", "orderby", "order", "by", "sort_values"]),
    DESCENDING,
    ASCENDING,
    ("select", &["output_fields", "fields", "columns", "field", "column", "cols"]),
    ("drop", &["drop_columns"]),
    ("deduplicate", &["drop_duplicates", "distinct", "unique", "dedupe", "dedup"]),
    ("keep", &[]),
    ("sample", &[]),
    ("seed", &["random_state"]),
    OFFSET,
    LIMIT,
    ("tail", &["last"]),
    ("rename", &["rename_columns"]),
];

const TRANSFORM: Scope = Scope {
    parameters: &{
        let mut all: [Parameter; STEP_PARAMETERS.len() + 1] =
            [("steps", &["operations"]); STEP_PARAMETERS.len() + 1];
        let mut at = 0;
        while at < STEP_PARAMETERS.len() {
            all[at + 1] = STEP_PARAMETERS[at];
            at += 1;
        }
        all
    },
    examples: &[
        r#"{"computed": {"double": "2 * <number>"}, "sort": "<number>", "descending": true, "limit": 10}"#,
        r#"{"sort": "<column>", "limit": 10}"#,
    ],
};

const VALIDATE: Scope = Scope {
    parameters: &[
        ("validations", &["rules", "checks", "constraints", "expectations", "validation"]),
        ("field", &["column"]),
        (
            "required",
            &["required_fields", "required_columns", "not_null", "not_nullable", "non_null"],
        ),
        ("types", &["type", "dtypes", "field_types", "column_types", "data_types"]),
        ("schema", &["fields", "columns"]),
        ("unique", &["unique_fields", "unique_together", "primary_key"]),
        ("ranges", &["range", "bounds", "between"]),
        ("min", &["minimum"]),
        ("max", &["maximum"]),
        ("positive", &[]),
        ("min_length", &[]),
        ("max_length", &[]),
        ("patterns", &["pattern", "regex", "formats"]),
        ("allowed", &["allowed_values", "enum", "enums", "in", "choices", "categories"]),
        ("not_in", &["forbidden", "disallowed"]),
        ("references", &["foreign_key", "foreign_keys"]),
        ("expressions", &["expression", "conditions", "assertions"]),
        ("increasing", &["monotonic", "is_sorted"]),
        ("row_count", &["rows"]),
        ("coerce", &[]),
    ],
    examples: &[
        r#"{"required": ["<column>"], "types": {"<number>": "numeric"}}"#,
        r#"{"required": ["<column>"]}"#,
    ],
};

const DESCRIBE: Scope = Scope {
    parameters: &[("columns", &["fields", "field", "column", "cols", "values", "include"]), FILTER],
    examples: &[r#"{"columns": ["<number>"]}"#, r#"{"columns": ["<column>"]}"#],
};

const HISTOGRAM: Scope = Scope {
    parameters: &[
        ("field", &["column", "fields", "columns", "value", "values", "x", "col"]),
        ("bins", &["n_bins", "nbins", "num_bins", "bin_count", "buckets", "edges", "bin_edges"]),
        ("range", &[]),
        FILTER,
    ],
    examples: &[r#"{"field": "<number>", "bins": 10}"#],
};

const PERCENTILES: Scope = Scope {
    parameters: &[
        FIELDS,
        (
            "percentiles",
            &["percentile", "q", "quantiles", "quantile", "p", "k", "percentages", "probabilities"],
        ),
        GROUP_BY,
        ("method", &[]),
        FILTER,
    ],
    examples: &[r#"{"fields": ["<number>"], "percentiles": [50, 95, 99]}"#],
};

const TIME_SERIES: Scope = Scope {
    parameters: &[
        (
            "time",
            &[
                "time_column",
                "time_field",
                "date",
                "date_column",
                "date_field",
                "datetime",
                "timestamp",
                "on",
                "index",
                "x",
            ],
        ),
        (
            "values",
            &[
                "value",
                "field",
                "fields",
                "column",
                "columns",
                "value_column",
                "value_field",
                "metric",
                "metrics",
                "y",
            ],
        ),
        GROUP_BY,
        ("resample", &["freq", "frequency", "rule", "interval", "bucket", "granularity", "period"]),
        (
            "functions",
            &["function", "agg", "aggfunc", "aggregation", "aggregations", "func", "how"],
        ),
        ("fill", &["fill_method", "fillna", "fill_value"]),
        ("rolling", &["window", "rolling_window", "moving_average"]),
        ("change", &["changes"]),
        ("pct_change", &[]),
        ("diff", &["difference"]),
        ("cumulative", &["cumsum", "running"]),
        ("shift", &[]),
        SORT,
        DESCENDING,
        ASCENDING,
        ("gaps", &[]),
        ("timezone", &["tz", "time_zone"]),
        ("limit", &["n", "head", "max_rows"]),
        FILTER,
    ],
    examples: &[
        r#"{"time": "<time>", "value": "<number>", "resample": "1d", "function": "sum"}"#,
        r#"{"value": "<number>", "rolling": 3}"#,
    ],
};

const X: Parameter = ("x", &["col1", "column1", "field1", "a"]);
const Y: Parameter = ("y", &["col2", "column2", "field2", "b"]);

const CORRELATION: Scope = Scope {
    parameters: &[FIELDS, X, Y, ("method", &[]), GROUP_BY, FILTER],
    examples: &[r#"{"fields": ["<number>", "<number 2>"]}"#],
};

const COVARIANCE: Scope = Scope {
    parameters: &[FIELDS, X, Y, GROUP_BY, FILTER],
    examples: &[r#"{"fields": ["<number>", "<number 2>"]}"#],
};

const TEST: Scope = Scope {
    parameters: &[
        ("test", &["test_type", "method", "kind"]),
        ("field", &["column", "value_field", "metric"]),
        ("fields", &["columns"]),
        ("group_by", &["by", "groupby", "group", "group_column", "group_field"]),
        ("groups", &[]),
        ("alternative", &["tail", "hypothesis"]),
        ("value", &["mu", "popmean"]),
        ("alpha", &["significance", "significance_level"]),
        ("hedges", &[]),
        ("mean", &[]),
        ("std", &[]),
        ("expected", &["f_exp"]),
        FILTER,
    ],
    examples: &[
        r#"{"test": "welch", "field": "<number>", "group_by": "<text>"}"#,
        r#"{"test": "anova", "field": "<number>", "group_by": "<text>"}"#,
        r#"{"test": "t", "field": "<number>", "value": 0}"#,
    ],
};

const SQL: Scope = Scope {
    parameters: &[("query", &["sql", "statement", "q"])],
    examples: &[
        r#"{"query": "select <text>, sum(<number>) as total from data group by 1"}"#,
        r#"{"query": "select * from data limit 10"}"#,
    ],
};

/// Returns the parameters of a type.
pub(crate) fn of(kind: AnalysisType) -> &'static Scope {
    match kind {
        AnalysisType::Filter => &FILTER_TYPE,
        AnalysisType::Aggregate => &AGGREGATE,
        AnalysisType::Transform => &TRANSFORM,
        AnalysisType::Validate => &VALIDATE,
        AnalysisType::Describe => &DESCRIBE,
        AnalysisType::Histogram => &HISTOGRAM,
        AnalysisType::Percentiles => &PERCENTILES,
        AnalysisType::TimeSeries => &TIME_SERIES,
        AnalysisType::Correlation => &CORRELATION,
        AnalysisType::Covariance => &COVARIANCE,
        AnalysisType::Test => &TEST,
        AnalysisType::Sql => &SQL,
    }
}

/// Tells whether some type, or an object that is a type elsewhere, has a parameter of this name.
pub fn is_parameter(name: &str) -> bool {
    let objects = [&JOIN, &PIVOT, &UNPIVOT, &ROLLING, &CHANGE, &SHIFT, &RANK];
    AnalysisType::ALL
        .into_iter()
        .map(of)
        .chain(objects)
        .any(|scope| scope.canonical(name).is_some())
}

/// A comparison of a field with a value.
pub(crate) const CONDITION: Scope = Scope::of(&[
    ("field", &["column", "col", "name"]),
    ("operator", &["op", "comparison", "comparator"]),
    ("value", &["values"]),
    ("case_sensitive", &[]),
]);

/// Several conditions.
pub(crate) const CONDITIONS: Scope = Scope::of(&[LOGIC, ("conditions", &[])]);

/// One figure of a group.
pub(crate) const FIGURE: Scope = Scope::of(&[
    ("field", &["column", "col"]),
    ("function", &["op", "func", "agg", "aggfunc", "aggregation", "operation"]),
    ("as", &["alias", "name", "label", "output"]),
    ("p", &["percentile"]),
    ("q", &["quantile"]),
    ("n", &["k", "limit"]),
    ("by", &[]),
]);

pub(crate) const SORT_KEY: Scope = Scope::of(&[
    ("field", &["column", "by", "col", "name"]),
    DESCENDING,
    ASCENDING,
    ("order", &["direction", "dir"]),
    ("nulls", &["na_position"]),
]);

pub(crate) const JOIN: Scope = Scope::of(&[
    ("with", &["table", "right", "other", "to", "with_table", "right_table"]),
    ("on", &["using", "keys", "key", "by"]),
    ("left_on", &["left_key", "left_keys"]),
    ("right_on", &["right_key", "right_keys"]),
    ("how", &["type", "kind", "join_type"]),
    ("suffix", &[]),
]);

pub(crate) const PIVOT: Scope = Scope::of(&[
    ("index", &["rows", "row", "group_by", "id"]),
    ("columns", &["column", "pivot_column", "cols", "col"]),
    ("values", &["value", "value_column"]),
    ("function", &["aggfunc", "agg", "func", "aggregation", "aggregate"]),
    ("fill_value", &["fill", "fill_null"]),
]);

pub(crate) const UNPIVOT: Scope = Scope::of(&[
    ("id", &["id_vars", "index", "ids", "id_columns"]),
    ("values", &["value_vars", "columns", "value_columns"]),
    ("variable_name", &["var_name", "variable"]),
    ("value_name", &["value"]),
]);

pub(crate) const DUPLICATES: Scope =
    Scope::of(&[("fields", &["by", "on", "subset", "columns", "field", "column"]), ("keep", &[])]);

/// What missing values become.
pub(crate) const FILLED: Scope =
    Scope::of(&[("method", &[]), ("fields", &["field", "columns", "column", "subset"])]);

/// Rows without values.
pub(crate) const MISSING: Scope =
    Scope::of(&[("fields", &["field", "subset", "columns", "column", "on", "by"]), ("how", &[])]);

pub(crate) const FLATTENED: Scope = Scope::of(&[("field", &["column"]), ("drop_empty", &[])]);

pub(crate) const SAMPLE: Scope =
    Scope::of(&[("n", &["size", "rows"]), ("seed", &["random_state"])]);

pub(crate) const ROLLING: Scope = Scope::of(&[
    ("window", &["size", "periods", "length"]),
    ("functions", &["function", "agg", "aggfunc", "func"]),
    ("min_periods", &[]),
]);

pub(crate) const CHANGE: Scope =
    Scope::of(&[("periods", &["lag", "n"]), ("kind", &["type", "method"])]);

pub(crate) const SHIFT: Scope = Scope::of(&[("periods", &["lag", "n", "by"])]);

/// Where a value stands among the others.
pub(crate) const RANK: Scope = Scope::of(&[
    (
        "field",
        &[
            "fields", "column", "columns", "col", "value", "values", "by", "sort", "sort_by",
            "order_by", "orderby", "on", "metric",
        ],
    ),
    ("group_by", &["groupby", "group", "partition_by", "within", "per"]),
    ("method", &["ties"]),
    DESCENDING,
    ASCENDING,
    ("percent", &["pct", "normalize"]),
    ("as", &["name", "alias", "label", "output"]),
]);

pub(crate) const GAPS: Scope = Scope::of(&[("expected", &["freq", "interval", "step"])]);

/// One entry of `validations`.
pub(crate) const RULE: Scope = Scope::of(&[
    ("field", &["column", "name"]),
    ("fields", &["columns"]),
    ("type", &["dtype", "data_type"]),
    ("required", &["not_null", "non_null"]),
    ("nullable", &[]),
    ("min", &["minimum", "min_value", "ge", "gte"]),
    ("max", &["maximum", "max_value", "le", "lte"]),
    ("positive", &[]),
    ("min_length", &[]),
    ("max_length", &[]),
    ("pattern", &["regex"]),
    ("allowed", &["in", "enum", "allowed_values", "values", "choices"]),
    ("not_in", &["forbidden"]),
    ("unique", &[]),
    ("references", &["foreign_key"]),
    ("compare", &[]),
    ("equals", &[]),
    ("expression", &["check", "condition"]),
    ("increasing", &["monotonic"]),
    ("row_count", &[]),
    ("severity", &["level"]),
    ("coerce", &[]),
]);

pub(crate) const REFERENCE: Scope = Scope::of(&[("table", &[]), ("field", &["column"])]);

pub(crate) const COMPARE: Scope =
    Scope::of(&[("operator", &["op"]), ("field", &["column"]), ("value", &[])]);

pub(crate) const RANGE: Scope = Scope::of(&[("min", &["minimum"]), ("max", &["maximum"])]);

#[cfg(test)]
pub(super) fn all() -> Vec<&'static Scope> {
    let nested: [&'static Scope; 23] = [
        &FILLED,
        &SHIFT,
        &RANK,
        &MISSING,
        &STEP,
        &CONDITION,
        &CONDITIONS,
        &FIGURE,
        &SORT_KEY,
        &JOIN,
        &PIVOT,
        &UNPIVOT,
        &DUPLICATES,
        &FLATTENED,
        &SAMPLE,
        &ROLLING,
        &CHANGE,
        &GAPS,
        &RULE,
        &REFERENCE,
        &COMPARE,
        &RANGE,
        &SQL,
    ];
    AnalysisType::ALL.into_iter().map(of).chain(nested).collect()
}

/// Where a key of the parameters, with its value, leads to SQL: `Some(true)` if all texts within
/// are SQL, `Some(false)` if only those are that stand where a condition may.
///
/// Values that come from elsewhere are put into SQL in another way than into other texts.
pub fn is_sql(key: &str, value: &Value) -> Option<bool> {
    let name = snake_case(key);
    let is_one_of = |scope: &Scope, names: &[&str]| {
        scope.canonical(&name).is_some_and(|known| names.contains(&known))
    };
    let is_expression = is_one_of(&STEP, &["computed"])
        || is_one_of(&RULE, &["expression"])
        || is_one_of(&VALIDATE, &["expressions"]) && !value.is_object()
        || is_one_of(&SQL, &["query"]) && value.is_string();
    let is_condition = is_one_of(&FILTER_TYPE, &["conditions"])
        || name == "having"
        || is_one_of(&STEP, &["filter"]);
    match (is_condition, is_expression) {
        (true, _) => Some(false),
        (false, true) => Some(true),
        (false, false) => None,
    }
}
