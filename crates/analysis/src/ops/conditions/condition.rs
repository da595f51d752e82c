//! Parses conditions, and converts them into an expression.

use datafusion::{
    arrow::datatypes::DataType,
    logical_expr::{Expr, ExprSchemable, lit},
    prelude::DataFrame,
};
use serde_json::Value;

use super::compare;
use crate::{
    aliases::parameters::{CONDITION, CONDITIONS},
    error::{AnalysisError, Result},
    operators::Operator,
    ops::params::{self, ParamName, Params, one_or_more, short, wrong},
    sql,
    work::AnalysisContext,
};

/// Reads conditions: a list, one condition or a group. An empty list holds for every row.
pub(crate) async fn predicate(
    work: &AnalysisContext,
    frame: &DataFrame,
    path: &str,
    value: &Value,
    logic: Logic,
) -> Result<Expr> {
    if matches!(value, Value::Array(list) if list.is_empty()) {
        return Ok(lit(true));
    }
    let conditions = match value {
        Value::Array(_) => Condition::group(path, value, logic, 0)?,
        one => Condition::read(path, one, 0)?,
    };
    let comparisons = conditions.comparisons();
    if comparisons.len() > MAX_CONDITIONS {
        let reason =
            format!("there are more than {MAX_CONDITIONS} conditions; many values are for \"in\"");
        return Err(AnalysisError::parameter(path, reason));
    }
    let columns = compare::ComparedColumns::look_at(work, frame, &comparisons).await?;
    conditions.expression(work, frame, &columns)
}

/// How several conditions are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Logic {
    #[default]
    And,
    Or,
}

const LOGIC: &[(&str, Logic)] =
    &[("and", Logic::And), ("or", Logic::Or), ("all", Logic::And), ("any", Logic::Or)];

impl Logic {
    pub(crate) fn of(given: &Params<'_>) -> Result<Self> {
        Ok(given.choice("logic", LOGIC)?.unwrap_or_default())
    }
}

#[derive(Debug)]
enum Condition {
    Group(Logic, Vec<Self>),
    Not(Box<Self>),
    Comparison(Comparison),
    /// An expression of SQL, after its path.
    Written(String, String),
}

#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) path: String,
    pub(super) field: ParamName,
    pub(super) operator: Operator,
    pub(super) value: Value,
    pub(super) ignore_case: bool,
}

/// Converts a pattern of SQL's `LIKE` into a regular expression: `%` stands for any text, `_` for any
/// character.
fn pattern_of(like: &str) -> String {
    let inner = like.chars().map(|sign| match sign {
        '%' => ".*".to_owned(),
        '_' => ".".to_owned(),
        sign => regex::escape(sign.encode_utf8(&mut [0; 4])),
    });
    format!("(?s)^{}$", inner.collect::<String>())
}

/// The deepest nesting of groups. Stops requests from overflowing the stack.
const MAX_DEPTH: usize = 32;

/// The most conditions. The query engine makes one deep expression of all of them, which has to fit on a
/// stack.
const MAX_CONDITIONS: usize = 500;

impl Condition {
    fn read(path: &str, value: &Value, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            let reason = format!("conditions are more than {MAX_DEPTH} groups deep");
            return Err(AnalysisError::parameter(path, reason));
        }
        let fields = match value {
            Value::Array(_) => return Self::group(path, value, Logic::And, depth),
            Value::Object(fields) => fields,
            Value::String(text) => return Ok(Self::Written(path.to_owned(), text.clone())),
            other => return Err(wrong(path, "a condition or a list of conditions", other)),
        };
        if let Some(conditions) = fields.get("conditions") {
            let given = Params::object(path, value, &CONDITIONS)?;
            let logic = Logic::of(&given)?;
            return Self::group(&given.path("conditions"), conditions, logic, depth + 1);
        }
        let group = fields.iter().next().filter(|_| fields.len() == 1);
        let group = group.map(|(name, inner)| (name, name.to_lowercase(), inner));
        match group.as_ref().map(|(name, plain, inner)| (name, plain.as_str(), inner)) {
            Some((name, "not", inner)) => {
                let inner = Self::read(&format!("{path}.{name}"), inner, depth + 1)?;
                Ok(Self::Not(Box::new(inner)))
            }
            Some((name, "and" | "or" | "all" | "any", inner)) => {
                let path = format!("{path}.{name}");
                let logic = params::choice(&path, name, LOGIC)?;
                Self::group(&path, inner, logic, depth + 1)
            }
            _ => Comparison::read(path, value).map(Self::Comparison),
        }
    }

    fn group(path: &str, value: &Value, logic: Logic, depth: usize) -> Result<Self> {
        let conditions = one_or_more(path, value);
        if conditions.is_empty() {
            return Err(AnalysisError::parameter(path, "has no conditions in it"));
        }
        let conditions = conditions.iter().map(|(path, value)| Self::read(path, value, depth + 1));
        Ok(Self::Group(logic, conditions.collect::<Result<_>>()?))
    }

    fn comparisons(&self) -> Vec<&Comparison> {
        match self {
            Self::Group(_, conditions) => {
                conditions.iter().flat_map(|condition| condition.comparisons()).collect()
            }
            Self::Not(condition) => condition.comparisons(),
            Self::Comparison(comparison) => vec![comparison],
            Self::Written(..) => Vec::new(),
        }
    }

    fn expression(
        &self,
        work: &AnalysisContext,
        frame: &DataFrame,
        columns: &compare::ComparedColumns<'_>,
    ) -> Result<Expr> {
        match self {
            Self::Group(logic, conditions) => {
                let conditions = conditions.iter();
                let conditions =
                    conditions.map(|condition| condition.expression(work, frame, columns));
                Ok(joined(conditions.collect::<Result<_>>()?, *logic))
            }
            Self::Not(condition) => Ok(condition.expression(work, frame, columns)?.is_not_true()),
            Self::Comparison(comparison) => columns.compare(comparison),
            Self::Written(path, text) => written(work, frame, path, text),
        }
    }
}

/// Plans a condition that is written as in SQL or pandas: `roi > 3 and sector == 'Tech'`.
fn written(work: &AnalysisContext, frame: &DataFrame, path: &str, text: &str) -> Result<Expr> {
    let holds = sql::expression(work, frame, path, text)?;
    match holds.get_type(frame.schema())? {
        DataType::Boolean | DataType::Null => Ok(holds),
        other => {
            let reason = format!("{text:?} gives {other} for a row, not whether it is wanted");
            Err(AnalysisError::parameter(path, reason))
        }
    }
}

/// Joins conditions as a balanced tree, so that a long list does not become a deep expression.
fn joined(mut conditions: Vec<Expr>, logic: Logic) -> Expr {
    let join = match logic {
        Logic::And => Expr::and,
        Logic::Or => Expr::or,
    };
    while conditions.len() > 1 {
        let mut rest = conditions.into_iter();
        let mut next = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(first) = rest.next() {
            next.push(match rest.next() {
                Some(second) => join(first, second),
                None => first,
            });
        }
        conditions = next;
    }
    conditions.pop().unwrap_or(lit(true))
}

impl Comparison {
    fn read(path: &str, value: &Value) -> Result<Self> {
        let is_named = |name: &str| {
            let is_it = |key: &String| CONDITION.canonical(key) == Some(name);
            value.as_object().is_some_and(|fields| fields.keys().any(is_it))
        };
        if !is_named("field") {
            let reason = format!(
                "must have \"field\", \"operator\" and \"value\", or be a group \
                 {{\"and\": […]}}, {{\"or\": […]}} or {{\"not\": …}}, not {}",
                short(value)
            );
            return Err(AnalysisError::parameter(path, reason));
        }
        let given = Params::object(path, value, &CONDITION)?;
        let field = given.required_name("field")?;
        let operator = given.required_name("operator")?;
        let word = operator.name.trim().to_lowercase();
        let operator = Operator::read(&operator.path, &operator.name)?;
        // Here null is a value as any other.
        let fields = value.as_object().into_iter().flatten();
        let mut values = fields.filter(|(key, _)| CONDITION.canonical(key) == Some("value"));
        let value = values.next().map(|(_, value)| value);
        if value.is_none() && operator.takes_value() {
            return Err(given.missing("value"));
        }
        let ignore_case = !given.flag("case_sensitive")?.unwrap_or(true);
        let ignore_case = ignore_case || word == "ilike";
        let value = match value {
            Some(Value::String(like)) if matches!(word.as_str(), "like" | "ilike") => {
                Some(Value::String(pattern_of(like)))
            }
            value => value.cloned(),
        };
        Ok(Self {
            path: given.path("value"),
            field,
            operator,
            value: value.unwrap_or_default(),
            ignore_case,
        })
    }
}
