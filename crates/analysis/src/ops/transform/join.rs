//! Rows of another table beside those of this one.
//!
//! A missing key has no partner, as in SQL; pandas pairs missing keys with each other.

use datafusion::{
    arrow::datatypes::DataType,
    functions::expr_fn::coalesce,
    logical_expr::{Expr, JoinType, cast, try_cast},
    prelude::{DataFrame, ident},
};
use serde_json::Value;

use crate::{
    aliases::parameters::JOIN,
    error::{AnalysisError, Result},
    ops::{
        columns,
        numbers::{is_text, numeric, plain_type, read_any_whole},
        params::{ParamName, Params},
        row_order::OrderedRows,
    },
    work::AnalysisContext,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
}

const HOW: &[(&str, How)] = &[
    ("inner", How::Inner),
    ("left", How::Left),
    ("right", How::Right),
    ("full", How::Full),
    ("semi", How::Semi),
    ("anti", How::Anti),
    ("outer", How::Full),
];

pub(super) async fn apply(
    work: &AnalysisContext,
    rows: OrderedRows,
    path: &str,
    value: &Value,
) -> Result<OrderedRows> {
    let given = Params::object(path, value, &JOIN)?;
    let table = match (given.name("with")?, work.tables()) {
        (Some(table), _) => table,
        (None, [_, other]) => ParamName { path: path.to_owned(), name: other.clone() },
        (None, _) => return Err(given.missing("with")),
    };
    let right = work.table(&table.path, &table.name).await?;
    let how = given.choice("how", HOW)?.unwrap_or(How::Inner);
    let suffix = given.text("suffix")?.unwrap_or("_right");
    let left = rows.table()?;
    let keys = read_keys(work, &given, &left, &right)?;

    // In the meantime nothing in the other table has a name that is in this one.
    let (rows, row) = rows.numbered()?;
    let (others, other_row) = OrderedRows::of(right.clone()).numbered()?;
    let frame = rows.into_frame();
    let hidden = |what: &str, index: usize| columns::unused(&frame, &format!("{what}_{index}"));
    let names = columns::names(&right);
    let mut other_values: Vec<Expr> = Vec::new();
    let mut conditions = Vec::new();
    // Each key as it is on the side where there is one.
    let mut either = Vec::new();
    for (index, (left_key, right_key)) in keys.iter().enumerate() {
        let (this, other) = alike(work, (&left, left_key), (&right, right_key)).await?;
        let key = hidden("key", index);
        other_values.push(other.alias(&key));
        conditions.push(this.clone().eq(ident(&key)));
        let is_text = |frame, key: &ParamName| is_text(&columns::data_type(frame, &key.name));
        let is_mixed = is_text(&left, left_key) != is_text(&right, right_key);
        let place = names.iter().position(|name| *name == right_key.name).unwrap_or_default();
        let original = ident(hidden("other", place));
        either.push(match how {
            _ if !is_mixed => coalesce(vec![this, ident(key)]),
            How::Right => original,
            _ => coalesce([ident(&left_key.name), original].map(as_text).to_vec()),
        });
    }
    let hidden_row = hidden("other_row", 0);
    other_values.push(ident(&other_row).alias(&hidden_row));
    let renamed = |(index, name)| ident(name).alias(hidden("other", index));
    other_values.extend(names.iter().enumerate().map(renamed));
    let others_frame = others.into_frame().select(other_values)?;

    let hidden_names = |(index, name)| (name, ident(hidden("other", index)));
    let others = names.into_iter().enumerate().map(hidden_names).collect();
    let mut outputs = outputs(path, &columns::names(&left), others, &keys, &either, how, suffix)?;
    let order = match how {
        How::Semi | How::Anti => vec![row],
        How::Right => vec![hidden_row, row],
        How::Inner | How::Left | How::Full => vec![row, hidden_row],
    };
    outputs.extend(order.iter().map(ident));
    let joined = frame.join_on(others_frame, how.join_type(), conditions)?;
    Ok(OrderedRows::by(joined.select(outputs)?, order))
}

impl How {
    fn join_type(self) -> JoinType {
        match self {
            Self::Inner => JoinType::Inner,
            Self::Left => JoinType::Left,
            Self::Right => JoinType::Right,
            Self::Full => JoinType::Full,
            Self::Semi => JoinType::LeftSemi,
            Self::Anti => JoinType::LeftAnti,
        }
    }
}

fn as_text(value: Expr) -> Expr {
    cast(value, DataType::Utf8)
}

type JoinKeys = Vec<(ParamName, ParamName)>;

fn read_keys(
    work: &AnalysisContext,
    given: &Params<'_>,
    left: &DataFrame,
    right: &DataFrame,
) -> Result<JoinKeys> {
    let keys: JoinKeys = match given.names("on")? {
        Some(on) => on.into_iter().map(|key| (key.clone(), key)).collect(),
        None if given.value("left_on").is_none() && given.value("right_on").is_none() => {
            let keys = common(left, right);
            if keys.is_empty() {
                return Err(given.missing("on"));
            }
            let names = keys.iter().map(|(key, _)| format!("{:?}", key.name));
            work.note(format!("joined on {}", names.collect::<Vec<_>>().join(", ")));
            keys
        }
        None => {
            let lefts = given.names("left_on")?.ok_or_else(|| given.missing("on"))?;
            let rights = given.names("right_on")?.ok_or_else(|| given.missing("right_on"))?;
            if lefts.len() != rights.len() {
                let reason = format!("has {} names, left_on {}", rights.len(), lefts.len());
                return Err(AnalysisError::parameter(given.path("right_on"), reason));
            }
            lefts.into_iter().zip(rights).collect()
        }
    };
    if keys.is_empty() {
        return Err(AnalysisError::parameter(given.path("on"), "is empty"));
    }
    for (left_key, right_key) in &keys {
        work.column(left, &left_key.path, &left_key.name)?;
        work.column(right, &right_key.path, &right_key.name)?;
    }
    Ok(keys)
}

/// Returns the columns that both tables have, which pandas' `merge` takes if none are named.
fn common(left: &DataFrame, right: &DataFrame) -> JoinKeys {
    let names = columns::names(left).into_iter().filter(|name| columns::has(right, name));
    let named = |name: String| ParamName { path: "on".to_owned(), name };
    names.map(named).map(|key| (key.clone(), key)).collect()
}

/// Converts two keys into values that can be equal: numbers may be written as text on one side.
async fn alike(
    work: &AnalysisContext,
    (left, left_key): (&DataFrame, &ParamName),
    (right, right_key): (&DataFrame, &ParamName),
) -> Result<(Expr, Expr)> {
    let types =
        [columns::data_type(left, &left_key.name), columns::data_type(right, &right_key.name)];
    let [left_type, right_type] = types.each_ref().map(plain_type);
    let left_value = columns::value(left, &left_key.name);
    let right_value = columns::value(right, &right_key.name);
    let is_boolean = |data_type: &DataType| *data_type == DataType::Boolean;
    let is_text_here = is_text(left_type) || is_text(right_type);
    if is_boolean(left_type) != is_boolean(right_type) && !is_text_here {
        let reason = format!(
            "column {:?} holds {left_type}, and {:?} of the other table {right_type}",
            left_key.name, right_key.name
        );
        return Err(AnalysisError::parameter(&left_key.path, reason));
    }
    Ok(match (is_text(left_type), is_text(right_type)) {
        (true, false) if right_type.is_numeric() => {
            (number_like(right_type, work, left, left_key).await?, right_value)
        }
        (false, true) if left_type.is_numeric() => {
            (left_value, number_like(left_type, work, right, right_key).await?)
        }
        (true, false) => (try_cast(left_value, right_type.clone()), right_value),
        (false, true) => (left_value, try_cast(right_value, left_type.clone())),
        _ => (left_value, right_value),
    })
}

/// Converts a key of text into a number, with all its digits if those of the other table are integers.
async fn number_like(
    data_type: &DataType,
    work: &AnalysisContext,
    frame: &DataFrame,
    key: &ParamName,
) -> Result<Expr> {
    let number = numeric(work, frame, &key.path, &key.name).await?;
    match data_type.is_integer() {
        true => read_any_whole(ident(&key.name), data_type),
        false => Ok(number),
    }
}

/// Returns the columns of the result: those of this table, then those of the other. A key with the same
/// name in both is one column.
fn outputs(
    path: &str,
    names: &[String],
    others: Vec<(String, Expr)>,
    keys: &JoinKeys,
    either: &[Expr],
    how: How,
    suffix: &str,
) -> Result<Vec<Expr>> {
    let shared =
        |name: &str| keys.iter().position(|(left, right)| left.name == name && right.name == name);
    let mut outputs: Vec<(String, Expr)> = Vec::new();
    for name in names {
        let value = match shared(name) {
            Some(key) if matches!(how, How::Right | How::Full) => either[key].clone(),
            _ => ident(name),
        };
        outputs.push((name.clone(), value));
    }
    let has_others = !matches!(how, How::Semi | How::Anti);
    for (name, value) in others.iter().filter(|(name, _)| has_others && shared(name).is_none()) {
        let is_taken = names.contains(name);
        let name = if is_taken { format!("{name}{suffix}") } else { name.clone() };
        outputs.push((name, value.clone()));
    }
    columns::check_unique(path, outputs.iter().map(|(name, _)| name.as_str()))?;
    Ok(outputs.into_iter().map(|(name, value)| value.alias(name)).collect())
}
