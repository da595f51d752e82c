//! Puts values back in place of their tokens.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use crate::token::{Form, Token, tokens_in};

/// A value that a token stood for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revealed {
    pub value: String,
    pub form: Form,
}

/// Puts the value in place of each token that `lookup` knows. Others stay as they are, and the
/// values are not looked at again.
pub fn reveal<'t>(
    text: &'t str,
    lookup: &mut dyn FnMut(Token<'_>) -> Option<Revealed>,
) -> Cow<'t, str> {
    let mut out = String::new();
    let mut done = 0;
    for token in tokens_in(text) {
        let range = token.range.clone();
        if let Some(revealed) = lookup(token) {
            out.push_str(&text[done..range.start]);
            out.push_str(&revealed.value);
            done = range.end;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Does the same in all texts and keys of a JSON value. Text that is nothing but the token of a number
/// becomes that number. Tells whether something changed.
pub fn reveal_json(
    value: &mut Value,
    lookup: &mut dyn FnMut(Token<'_>) -> Option<Revealed>,
) -> bool {
    match value {
        Value::String(text) => match reveal_string(text, lookup) {
            Some(revealed) => {
                *value = revealed;
                true
            }
            None => false,
        },
        Value::Array(items) => {
            items.iter_mut().fold(false, |changed, item| reveal_json(item, lookup) | changed)
        }
        Value::Object(fields) => reveal_fields(fields, lookup),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn reveal_string(
    text: &str,
    lookup: &mut dyn FnMut(Token<'_>) -> Option<Revealed>,
) -> Option<Value> {
    let mut number = None;
    let revealed = reveal(text, &mut |token| {
        let whole = token.range.len() == text.len();
        let revealed = lookup(token)?;
        if whole && revealed.form == Form::Number {
            number = revealed.value.parse::<Number>().ok();
        }
        Some(revealed)
    });
    match (number, revealed) {
        (Some(number), _) => Some(Value::Number(number)),
        (None, Cow::Owned(text)) => Some(Value::String(text)),
        (None, Cow::Borrowed(_)) => None,
    }
}

fn reveal_fields(
    fields: &mut Map<String, Value>,
    lookup: &mut dyn FnMut(Token<'_>) -> Option<Revealed>,
) -> bool {
    let mut changed = false;
    for value in fields.values_mut() {
        changed |= reveal_json(value, lookup);
    }
    changed | rename_keys(fields, &mut |key| reveal(key, lookup).into_owned_if_changed())
}

/// Gives keys their new names and keeps the order. The map is built anew only if one changes.
pub(crate) fn rename_keys(
    fields: &mut Map<String, Value>,
    rename: &mut dyn FnMut(&str) -> Option<String>,
) -> bool {
    let names: Vec<_> = fields.keys().map(|key| rename(key)).collect();
    if names.iter().all(Option::is_none) {
        return false;
    }
    let old = std::mem::take(fields);
    fields.extend(
        old.into_iter().zip(names).map(|((key, value), name)| (name.unwrap_or(key), value)),
    );
    true
}

/// A text that may have been changed.
pub(crate) trait IfChanged {
    fn into_owned_if_changed(self) -> Option<String>;
}

impl IfChanged for Cow<'_, str> {
    fn into_owned_if_changed(self) -> Option<String> {
        match self {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        }
    }
}
