//! The one table of parameters: by type and by object within them, each with the names that pandas,
//! SQL and models have for it.

use serde_json::Value;

use super::scope::{Parameter, Scope};
use crate::request::Kind;

const GROUP_BY: Parameter = (
    "group_by",
    &["by", "groupby", "group", "groups_by", "group_columns", "keys", "dimensions", "partition_by"],
);
const FILTER: Parameter =
    ("filter", &["where", "conditions", "condition", "query", "filters", "criteria"]);
const FIELDS: Parameter = (
    "fields",
    &["field", "columns", "column", "cols", "col", "values", "value", "variables", "metric"],
);
const SORT: Parameter = ("sort", &["sort_by", "order_by", "orderby", "order"]);
const DESCENDING: Parameter = ("descending", &["desc", "reverse"]);
const ASCENDING: Parameter = ("ascending", &["asc"]);
const LIMIT: Parameter = ("limit", &["n", "head", "top", "max_rows", "first"]);
const OFFSET: Parameter = ("offset", &["skip", "start"]);
const LOGIC: Parameter = ("logic", &["combine", "logical_operator", "join_operator"]);

const FILTER_TYPE: Scope = Scope {
    parameters: &[
        ("conditions", &["filter", "where", "condition", "query", "filters", "criteria"]),
        LOGIC,
        ("select", &["fields", "output_fields", "columns", "field", "column", "cols"]),
        SORT,
        DESCENDING,
        ASCENDING,
        LIMIT,
        OFFSET,
    ],
    example: r#"{"conditions": [{"field": "amount", "operator": ">", "value": 10}]}"#,
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
    example: r#"{"group_by": "region", "aggregations": {"amount": "sum"}}"#,
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
    (
        "computed",
        &["add", "assign", "compute", "derive", "mutate", "calculate", "calculated", "expressions"],
    ),
    FILTER,
    ("pivot", &["pivot_table"]),
    ("unpivot", &["melt"]),
    ("sort", &["sort_by", "order_by", "orderby", "order", "by"]),
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
    example: r#"{"computed": {"total": "price * quantity"}, "sort": "-total", "limit": 10}"#,
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
    example: r#"{"required": ["id"], "types": {"price": "numeric"}}"#,
};

const DESCRIBE: Scope = Scope {
    parameters: &[("columns", &["fields", "field", "column", "cols", "values", "include"]), FILTER],
    example: r#"{"columns": ["amount"]}"#,
};

const HISTOGRAM: Scope = Scope {
    parameters: &[
        ("field", &["column", "fields", "columns", "value", "values", "x", "col"]),
        ("bins", &["n_bins", "nbins", "num_bins", "bin_count", "buckets", "edges", "bin_edges"]),
        ("range", &[]),
        FILTER,
    ],
    example: r#"{"field": "amount", "bins": 10}"#,
};

const PERCENTILES: Scope = Scope {
    parameters: &[
        FIELDS,
        (
            "percentiles",
            &["percentile", "q", "quantiles", "quantile", "p", "percentages", "probabilities"],
        ),
        GROUP_BY,
        ("method", &[]),
        FILTER,
    ],
    example: r#"{"fields": ["amount"], "percentiles": [50, 95, 99]}"#,
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
        ("fill", &["fill_method", "fillna"]),
        ("rolling", &["window", "rolling_window", "moving_average"]),
        ("change", &["changes"]),
        ("pct_change", &[]),
        ("diff", &["difference"]),
        ("cumulative", &["cumsum", "running"]),
        ("gaps", &[]),
        ("timezone", &["tz", "time_zone"]),
        ("limit", &["n", "head", "max_rows"]),
        FILTER,
    ],
    example: r#"{"time": "date", "value": "amount", "resample": "1d", "function": "sum"}"#,
};

const CORRELATION: Scope = Scope {
    parameters: &[FIELDS, ("x", &[]), ("y", &[]), ("method", &[]), GROUP_BY, FILTER],
    example: r#"{"fields": ["price", "quantity"]}"#,
};

const COVARIANCE: Scope = Scope {
    parameters: &[FIELDS, ("x", &[]), ("y", &[]), GROUP_BY, FILTER],
    example: r#"{"fields": ["price", "quantity"]}"#,
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
    example: r#"{"test": "welch", "field": "amount", "group_by": "region"}"#,
};

const SQL: Scope = Scope {
    parameters: &[("query", &["sql", "statement", "q"])],
    example: r#"{"query": "select region, sum(amount) from data group by 1"}"#,
};

/// The parameters of a type.
pub(crate) fn of(kind: Kind) -> &'static Scope {
    match kind {
        Kind::Filter => &FILTER_TYPE,
        Kind::Aggregate => &AGGREGATE,
        Kind::Transform => &TRANSFORM,
        Kind::Validate => &VALIDATE,
        Kind::Describe => &DESCRIBE,
        Kind::Histogram => &HISTOGRAM,
        Kind::Percentiles => &PERCENTILES,
        Kind::TimeSeries => &TIME_SERIES,
        Kind::Correlation => &CORRELATION,
        Kind::Covariance => &COVARIANCE,
        Kind::Test => &TEST,
        Kind::Sql => &SQL,
    }
}

/// Whether some type, or an object that is a type elsewhere, has a parameter of this name.
pub fn is_parameter(name: &str) -> bool {
    let objects = [&JOIN, &PIVOT, &UNPIVOT, &ROLLING, &CHANGE];
    Kind::ALL.into_iter().map(of).chain(objects).any(|scope| scope.canonical(name).is_some())
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
    ("columns", &["column", "pivot_column"]),
    ("values", &["value", "value_column"]),
    ("function", &["aggfunc", "agg", "func", "aggregation", "aggregate"]),
]);

pub(crate) const UNPIVOT: Scope = Scope::of(&[
    ("id", &["id_vars", "index", "ids", "id_columns"]),
    ("values", &["value_vars", "columns", "value_columns"]),
    ("variable_name", &["var_name", "variable"]),
    ("value_name", &["value"]),
]);

pub(crate) const DUPLICATES: Scope =
    Scope::of(&[("fields", &["by", "on", "subset", "columns", "field", "column"]), ("keep", &[])]);

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
    let nested: [&'static Scope; 19] = [
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
    Kind::ALL.into_iter().map(of).chain(nested).collect()
}

/// Where a key of the parameters, with its value, leads to SQL: `Some(true)` if all texts within
/// are SQL, `Some(false)` if only those are that stand where a condition may.
///
/// Values that come from elsewhere are put into SQL in another way than into other texts.
pub fn is_sql(key: &str, value: &Value) -> Option<bool> {
    let name = super::scope::snake_case(key);
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
