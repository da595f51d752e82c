//! The lists of all functions that queries can call.

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    catalog::TableFunction,
    common::tree_node::TreeNode,
    execution::SessionStateDefaults,
    logical_expr::{
        AggregateUDF, Expr, ScalarUDF, WindowUDF, expr::AggregateFunctionParams,
        expr_rewriter::FunctionRewrite, planner::ExprPlanner,
    },
};

use super::{
    allowance::Allowance, bounded::Bounded, extreme::Extreme, growth::Growth, rewrite::Bounds,
    series::table_functions, sum::Sum, timezone::TimeZone,
};

const SCALAR: &[&str] = &[
    // conditions
    "coalesce",
    "greatest",
    "least",
    "nullif",
    "nvl",
    "nvl2",
    "arrow_typeof",
    "get_field",
    // dates
    "current_date",
    "current_time",
    "date_bin",
    "date_part",
    "date_trunc",
    "from_unixtime",
    "make_date",
    "make_time",
    "now",
    "to_date",
    "to_local_time",
    "to_time",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
    "to_unixtime",
    // numbers
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "cot",
    "degrees",
    "exp",
    "factorial",
    "floor",
    "gcd",
    "isnan",
    "iszero",
    "lcm",
    "ln",
    "log",
    "log10",
    "log2",
    "nanvl",
    "pi",
    "power",
    "radians",
    "random",
    "round",
    "signum",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    // text
    "ascii",
    "bit_length",
    "btrim",
    "character_length",
    "chr",
    "contains",
    "ends_with",
    "find_in_set",
    "initcap",
    "left",
    "lower",
    "ltrim",
    "octet_length",
    "reverse",
    "right",
    "rtrim",
    "split_part",
    "starts_with",
    "strpos",
    "substr",
    "substr_index",
    "to_hex",
    "translate",
    "upper",
    "uuid",
    // lists
    "array_any_value",
    "array_avg",
    "array_distinct",
    "array_element",
    "array_has",
    "array_length",
    "array_max",
    "array_min",
    "array_pop_back",
    "array_pop_front",
    "array_position",
    "array_reverse",
    "array_slice",
    "array_sort",
    "array_sum",
    "cardinality",
    "empty",
    "flatten",
];

/// Functions whose result can be much larger than their arguments, or that can take very long.
const BOUNDED: &[(&str, Growth)] = &[
    ("array_append", Growth::Together),
    ("array_concat", Growth::Together),
    ("array_prepend", Growth::Together),
    ("array_to_string", Growth::ListText),
    ("concat", Growth::Together),
    ("concat_ws", Growth::Separated),
    ("generate_series", Growth::Series),
    ("levenshtein", Growth::Compared),
    ("lpad", Growth::Padded),
    ("make_array", Growth::Together),
    ("overlay", Growth::Together),
    ("range", Growth::Series),
    ("regexp_count", Growth::Matched),
    ("regexp_instr", Growth::Matched),
    ("regexp_like", Growth::Matched),
    ("regexp_match", Growth::Captured),
    ("regexp_replace", Growth::MatchesReplaced),
    ("repeat", Growth::Repeated),
    ("replace", Growth::Replaced),
    ("rpad", Growth::Padded),
    ("string_to_array", Growth::Split),
    ("to_char", Growth::Formatted),
];

const AGGREGATE: &[&str] = &[
    "any_value",
    "approx_distinct",
    "approx_median",
    "approx_percentile_cont",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "first_value",
    "grouping",
    "last_value",
    "max",
    "median",
    "min",
    "nth_value",
    "percentile_cont",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "stddev",
    "stddev_pop",
    "string_agg",
    "var",
    "var_pop",
];

/// Aggregates that are too expensive as window functions, where they are computed again for each row.
const NOT_OVER: &[&str] = &[
    "approx_distinct",
    "approx_median",
    "approx_percentile_cont",
    "array_agg",
    "grouping",
    "median",
    "percentile_cont",
    "quantile_cont",
    "string_agg",
];

pub(crate) fn planners() -> Vec<Arc<dyn ExprPlanner>> {
    SessionStateDefaults::default_expr_planners()
}

pub(crate) fn scalar(allowance: &Arc<Allowance>) -> Vec<Arc<ScalarUDF>> {
    let listed = |function: &Arc<ScalarUDF>| SCALAR.contains(&function.name());
    let mut functions = SessionStateDefaults::default_scalar_functions();
    functions.retain(listed);
    functions.extend(bounded_functions(allowance).into_values());
    functions.push(Arc::new(ScalarUDF::new_from_impl(TimeZone::new())));
    functions
}

/// Returns the bounded functions by their names.
fn bounded_functions(allowance: &Arc<Allowance>) -> HashMap<&'static str, Arc<ScalarUDF>> {
    let plain = SessionStateDefaults::default_scalar_functions();
    let bound = |(name, growth): &(&'static str, Growth)| {
        let function = plain.iter().find(|function| function.name() == *name)?;
        let bounded = Bounded::new(function.clone(), *growth, allowance.clone());
        Some((*name, Arc::new(ScalarUDF::new_from_impl(bounded))))
    };
    BOUNDED.iter().filter_map(bound).collect()
}

pub(crate) fn aggregate() -> Vec<Arc<AggregateUDF>> {
    let mut functions = SessionStateDefaults::default_aggregate_functions();
    let extremes = Extreme::both().map(|extreme| Arc::new(AggregateUDF::new_from_impl(extreme)));
    let is_plain = |name: &str| {
        AGGREGATE.contains(&name) && !extremes.iter().any(|extreme| extreme.name() == name)
    };
    functions.retain(|function| is_plain(function.name()));
    functions.extend(extremes);
    functions.push(Arc::new(AggregateUDF::new_from_impl(Sum::new())));
    functions
}

/// Returns the name of an aggregate's column. The engine leaves casts out of it, so that `max(a)` and
/// `max(a::double)` would have the same name.
pub(super) fn named_apart(name: String, params: &AggregateFunctionParams) -> String {
    let is_cast = |expression: &Expr| {
        let found = expression.exists(|part| Ok(matches!(part, Expr::Cast(_) | Expr::TryCast(_))));
        found.unwrap_or_default()
    };
    match params.args.iter().any(is_cast) {
        true => {
            let args: Vec<String> = params.args.iter().map(ToString::to_string).collect();
            format!("{name} of {}", args.join(", "))
        }
        false => name,
    }
}

pub(crate) fn window() -> Vec<Arc<WindowUDF>> {
    SessionStateDefaults::default_window_functions()
}

pub(crate) fn table() -> Vec<Arc<TableFunction>> {
    table_functions()
}

/// Makes the rewrite that replaces operators, and functions that are not called by name, by bounded
/// functions.
pub(crate) fn rewrite(allowance: &Arc<Allowance>) -> Arc<dyn FunctionRewrite + Send + Sync> {
    Arc::new(Bounds::new(bounded_functions(allowance), allowance))
}

/// Tells whether calls of a function are counted, because it is bounded.
pub(in crate::sql) fn is_bounded(name: &str) -> bool {
    BOUNDED.iter().any(|(bounded, _)| *bounded == name)
}

/// Tells whether an aggregate may be used as a window function.
pub(in crate::sql) fn may_be_windowed(name: &str) -> bool {
    !NOT_OVER.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_listed_is_there() {
        let scalar = SessionStateDefaults::default_scalar_functions();
        let bounded = BOUNDED.iter().map(|(name, _)| *name);
        for name in SCALAR.iter().copied().chain(bounded) {
            assert!(scalar.iter().any(|function| function.name() == name), "{name}");
        }
        for name in AGGREGATE {
            assert!(aggregate().iter().any(|function| function.name() == *name), "{name}");
        }
    }
}
