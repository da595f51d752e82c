//! The operators of conditions, and the names that callers use for them.

use narrows_model::nearest;

use crate::error::{AnalysisError, Result, available};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    In,
    NotIn,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    IsNull,
    IsNotNull,
    Between,
}

/// All names of operators. Those that messages list come first.
const OPERATORS: &[(&str, Operator)] = &[
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    (">", Operator::Greater),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    ("<=", Operator::LessOrEqual),
    ("in", Operator::In),
    ("not_in", Operator::NotIn),
    ("contains", Operator::Contains),
    ("starts_with", Operator::StartsWith),
    ("ends_with", Operator::EndsWith),
    ("matches", Operator::Matches),
    ("is_null", Operator::IsNull),
    ("is_not_null", Operator::IsNotNull),
    ("between", Operator::Between),
    ("=", Operator::Equal),
    ("eq", Operator::Equal),
    ("equals", Operator::Equal),
    ("<>", Operator::NotEqual),
    ("ne", Operator::NotEqual),
    ("neq", Operator::NotEqual),
    ("not_equals", Operator::NotEqual),
    ("gt", Operator::Greater),
    ("gte", Operator::GreaterOrEqual),
    ("ge", Operator::GreaterOrEqual),
    ("lt", Operator::Less),
    ("lte", Operator::LessOrEqual),
    ("le", Operator::LessOrEqual),
    ("startswith", Operator::StartsWith),
    ("endswith", Operator::EndsWith),
    ("regex", Operator::Matches),
    ("isnull", Operator::IsNull),
    ("notnull", Operator::IsNotNull),
    ("not_null", Operator::IsNotNull),
    ("isna", Operator::IsNull),
    ("notna", Operator::IsNotNull),
    ("isin", Operator::In),
    ("nin", Operator::NotIn),
    ("notin", Operator::NotIn),
    ("like", Operator::Matches),
    ("ilike", Operator::Matches),
];

/// How many names of operators a message lists.
const TOLD_OPERATORS: usize = 15;

impl Operator {
    pub(crate) fn read(path: &str, given: &str) -> Result<Self> {
        let plain = given.trim().to_lowercase().replace([' ', '-'], "_");
        let found = OPERATORS.iter().find(|(name, _)| *name == plain);
        found.map(|(_, operator)| *operator).ok_or_else(|| {
            let told = OPERATORS[..TOLD_OPERATORS].iter().map(|(name, _)| *name);
            let near = nearest(given, told.clone());
            let reason = format!("no operator {given:?}{near}{}", available(told));
            AnalysisError::parameter(path, reason)
        })
    }

    pub(crate) fn takes_value(self) -> bool {
        !matches!(self, Self::IsNull | Self::IsNotNull)
    }
}

/// Tells whether a text is the name of an operator.
pub(crate) fn is_operator(text: &str) -> bool {
    Operator::read("", text).is_ok()
}
