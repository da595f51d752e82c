//! Replaces tokens in the parameters of an analysis by their values.
//!
//! In SQL, tokens are only replaced within quotes, and quotes in the value are doubled. This stops SQL
//! injection by a value, such as text that somebody wrote into a mail.

use std::ops::Range;

use narrows_analysis::is_sql;
use serde_json::{Value, json};

use crate::{safety::RunGuard, state::StateError};

/// Whether the texts at a place of the parameters are SQL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Nothing,
    /// Texts in the place of a condition are SQL; those within `{"field": …, "value": …}` are not.
    Conditions,
    Sql,
}

/// The keys in an object of conditions whose values are conditions too.
const GROUPS: [&str; 6] = ["and", "or", "not", "all", "any", "conditions"];

impl TextKind {
    /// Returns the kind for the value of a key.
    fn key(self, key: &str, value: &Value) -> Self {
        match (self, is_sql(key, value)) {
            (Self::Sql, _) | (Self::Nothing, Some(true)) => Self::Sql,
            (Self::Nothing, Some(false)) => Self::Conditions,
            (Self::Conditions, _) if GROUPS.contains(&key.to_lowercase().as_str()) => self,
            _ => Self::Nothing,
        }
    }

    fn is_sql(self) -> bool {
        self != Self::Nothing
    }
}

/// Returns the parameters of an analysis with tokens replaced by their values.
pub(crate) async fn restored(guard: &RunGuard, parameters: Value) -> Result<Value, StateError> {
    let mut texts = Vec::new();
    collect(&parameters, TextKind::Nothing, &mut texts);
    let inner: Vec<Vec<String>> =
        texts.iter().map(|text| quoted(text).map(plain).collect()).collect();
    let both = guard.known(json!([parameters, inner])).await?;
    let Value::Array(both) = both else { return Ok(parameters) };
    let Ok([mut restored, Value::Array(inner)]) = <[Value; 2]>::try_from(both) else {
        return Ok(parameters);
    };
    let mut texts = texts.iter().zip(&inner).map(|(text, inner)| {
        let inner = inner.as_array().into_iter().flatten().filter_map(Value::as_str);
        with(text, inner)
    });
    put(&parameters, &mut restored, TextKind::Nothing, &mut texts);
    Ok(restored)
}

/// Collects all SQL in a value.
fn collect<'v>(value: &'v Value, within: TextKind, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) if within.is_sql() => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, within, texts)),
        Value::Object(entries) => {
            for (key, value) in entries {
                collect(value, within.key(key, value), texts);
            }
        }
        _ => {}
    }
}

/// Puts SQL back into a value of the same structure, in the order of [`collect`].
fn put(given: &Value, into: &mut Value, within: TextKind, texts: &mut dyn Iterator<Item = String>) {
    match (given, into) {
        (Value::String(_), into) if within.is_sql() => {
            if let Some(text) = texts.next() {
                *into = Value::String(text);
            }
        }
        (Value::Array(given), Value::Array(into)) => {
            for (given, into) in given.iter().zip(into) {
                put(given, into, within, texts);
            }
        }
        (Value::Object(given), Value::Object(into)) => {
            for ((key, given), into) in given.iter().zip(into.values_mut()) {
                put(given, into, within.key(key, given), texts);
            }
        }
        _ => {}
    }
}

/// A string or identifier between quotes in SQL, as it is written.
struct Quoted<'s> {
    text: &'s str,
    place: Range<usize>,
    quote: char,
}

fn plain(quoted: Quoted<'_>) -> String {
    let quote = quoted.quote;
    quoted.text.replace(&format!("{quote}{quote}"), &quote.to_string())
}

/// Replaces the contents of the quotes in SQL, and doubles quotes in them.
fn with<'t>(sql: &str, inner: impl Iterator<Item = &'t str>) -> String {
    let mut made = String::new();
    let mut done = 0;
    for (quoted, inner) in quoted(sql).zip(inner) {
        let quote = quoted.quote;
        made.push_str(&sql[done..quoted.place.start]);
        made.push_str(&inner.replace(quote, &format!("{quote}{quote}")));
        done = quoted.place.end;
    }
    made + &sql[done..]
}

/// Finds the quoted strings and identifiers in SQL. Finds none in SQL with dollar quotes; comments and
/// strings with a prefix (such as `E'…'`) are left out, because other rules hold in them.
fn quoted(sql: &str) -> impl Iterator<Item = Quoted<'_>> {
    let mut at = if sql.matches('$').count() > 1 { sql.len() } else { 0 };
    std::iter::from_fn(move || {
        loop {
            let rest = sql.get(at..)?;
            let mark = rest.find(['\'', '"', '-', '/'])?;
            let start = at + mark;
            let comment = [("--", "\n"), ("/*", "*/")];
            let comment = comment.iter().find(|(begin, _)| sql[start..].starts_with(begin));
            if let Some((_, end)) = comment {
                at = start + 2 + sql[start + 2..].find(end)? + end.len();
                continue;
            }
            at = start + 1;
            let quote = sql[start..].chars().next().filter(|sign| ['\'', '"'].contains(sign));
            let Some(quote) = quote else { continue };
            let place = at..end_of(sql, at, quote)?;
            at = place.end + 1;
            let before = sql[..start].chars().next_back();
            if !before.is_some_and(|sign| sign.is_alphanumeric() || "_&".contains(sign)) {
                return Some(Quoted { text: &sql[place.clone()], place, quote });
            }
        }
    })
}

/// Returns the position of the closing quote; doubled quotes do not close.
fn end_of(sql: &str, from: usize, quote: char) -> Option<usize> {
    let mut at = from;
    loop {
        let end = at + sql.get(at..)?.find(quote)?;
        if !sql[end + 1..].starts_with(quote) {
            return Some(end);
        }
        at = end + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_within_quotes_is_replaced_and_it_stays_there() {
        let hide = |sql: &str, value: &str| {
            let inner: Vec<String> =
                quoted(sql).map(plain).map(|text| text.replace("[T]", value)).collect();
            with(sql, inner.iter().map(String::as_str))
        };
        for (sql, value, wanted) in [
            ("a = '[T]'", "o'brien", "a = 'o''brien'"),
            ("a = '[T]' or b = 'it''s [T]'", "x'--", "a = 'x''--' or b = 'it''s x''--'"),
            ("\"[T]\" = [T]", "n\"m", "\"n\"\"m\" = [T]"),
            ("a -- '[T]\n = '[T]'", "v", "a -- '[T]\n = 'v'"),
            ("a /* '[T] */ = '[T]'", "v", "a /* '[T] */ = 'v'"),
            ("a - b / c = '[T]'", "v", "a - b / c = 'v'"),
            ("e'[T]' || '[T]'", "x\\'", "e'[T]' || 'x\\'''"),
            ("$$ it's $$ || '[T]'", "v", "$$ it's $$ || '[T]'"),
            ("a = '[T]", "v", "a = '[T]"),
            ("a = ''", "v", "a = ''"),
            ("ä = 'ü[T]'", "ö", "ä = 'üö'"),
        ] {
            assert_eq!(hide(sql, value), wanted, "{sql}");
        }
    }

    #[test]
    fn sql_is_found_and_put_back() {
        let given = json!({
            "query": "a", "computed": {"x": "b", "n": 1}, "conditions": [{"value": "c"}],
            "steps": [{"computed": {"y": "d"}}, {"filter": {"value": "e"}}],
            "validations": [{"expression": "f", "field": "g"}],
            "having": "h", "where": ["i", {"or": ["j", {"field": "k", "value": "l"}]}],
            "assign": {"z": "m"},
        });
        let mut texts = Vec::new();
        collect(&given, TextKind::Nothing, &mut texts);
        let all = ["a", "b", "d", "f", "h", "i", "j", "m"];
        assert_eq!(texts, all);
        let mut into = given.clone();
        let mut upper = texts.iter().map(|text| text.to_uppercase());
        put(&given, &mut into, TextKind::Nothing, &mut upper);
        let wanted = given.to_string();
        let wanted = all.iter().fold(wanted, |text, sql| {
            text.replace(&format!("\"{sql}\""), &format!("\"{}\"", sql.to_uppercase()))
        });
        assert_eq!(into.to_string(), wanted);
    }
}
